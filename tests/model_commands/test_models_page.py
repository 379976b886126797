"""docs/models.md says what is so."""

from __future__ import annotations

import re
from pathlib import Path

from holmes.core.yaml_marks import load
from holmes.llm.catalogue import HOSTED_WINDOW, LOCAL_WINDOW, catalogue, lookup
from holmes.llm.models import LARGEST_OUTPUT, load_model_list
from holmes.llm.providers import known

PAGE = (Path(__file__).parents[2] / "docs" / "models.md").read_text()


def test_the_model_list_of_the_page_loads() -> None:
    [example] = re.findall(r"```yaml\n(.*?)```", PAGE, re.S)
    models = load_model_list(load(example, "model_list.yaml"), {"PROD_ANTHROPIC_KEY": "a", "AZURE_EU_KEY": "b"})
    assert models.problems == ()
    prod, azure, local = models.entries.values()
    assert (prod.effort, azure.api_version, local.text_calls) == ("medium", "2024-10-21", True)
    assert (local.facts.window, local.facts.output, local.seconds) == (16384, 2048, 300)
    assert local.parameters == {"temperature": 0.2} and local.facts.prices is not None


def test_every_provider_is_named_with_its_variables() -> None:
    for name, provider in known().items():
        if f"`{name}/" in PAGE and not provider.local:
            assert provider.key_names[0] in PAGE or "their key" in PAGE, name
    for name in set(re.findall(r"`([A-Z][A-Z_]+_API_(?:KEY|BASE))`", PAGE)):
        variables = {each for provider in known().values() for each in (*provider.key_names, *provider.base_names)}
        assert name in variables or name == "GEMINI_API_KEY", name


def test_the_numbers_of_the_page() -> None:
    assert f"on {catalogue()['date']}" in PAGE
    assert all(f"{number:,}" in PAGE for number in (HOSTED_WINDOW, LOCAL_WINDOW, LARGEST_OUTPUT))
    names = {"openai": "OpenAI", "anthropic": "Anthropic", "deepseek": "DeepSeek", "mistral": "Mistral"}
    assert f"{', '.join(names[provider] for provider in catalogue()['defaults'])}, in this order" in PAGE
    assert all(lookup(name).known for name in ("gpt-4o", "claude-sonnet-5", "claude-sonnet-5-5"))
