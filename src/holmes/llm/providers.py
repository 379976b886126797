"""Providers whose models are reached with an OpenAI-compatible or Anthropic request: where, and with which key.

Base URLs and variable names are those of the providers' own documentation; where LiteLLM has another name for the
same variable, both are read, so that a configuration made for HolmesGPT goes on working.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Wire = Literal["openai", "anthropic", "litellm"]


@dataclass(frozen=True, slots=True)
class Provider:
    """One family of models: the part of a model string before the first slash."""

    name: str
    base_url: str = ""  # empty: has to be configured
    key_names: tuple[str, ...] = ()  # the first is the one to name to people
    base_names: tuple[str, ...] = ()
    wire: Wire = "openai"
    local: bool = False  # runs on the user's machine or in the user's network: a key is optional
    returns_reasoning: bool = False  # wants reasoning_content back in the history
    hint: str = ""  # what to do when nobody listens

    def key(self, env: Mapping[str, str]) -> str:
        """The key from the environment, "" when there is none."""
        return next((env[name].strip() for name in self.key_names if env.get(name, "").strip()), "")

    def base(self, env: Mapping[str, str]) -> str:
        """The base URL from the environment, else the default one."""
        return next((env[name].strip() for name in self.base_names if env.get(name, "").strip()), self.base_url)


def _hosted(name: str, base_url: str, *keys: str, returns_reasoning: bool = False) -> Provider:
    base_names = (f"{name.upper()}_API_BASE", f"{name.upper()}_BASE_URL")
    return Provider(name, base_url, keys, base_names, returns_reasoning=returns_reasoning)


def _local(name: str, base_url: str, hint: str) -> Provider:
    upper = name.upper()
    return Provider(name, base_url, (f"{upper}_API_KEY",), (f"{upper}_API_BASE",), local=True, hint=hint)


_ALL = (
    Provider("openai", "https://api.openai.com/v1", ("OPENAI_API_KEY",), ("OPENAI_BASE_URL", "OPENAI_API_BASE")),
    Provider(
        "anthropic",
        "https://api.anthropic.com",
        ("ANTHROPIC_API_KEY",),
        ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE"),
        wire="anthropic",
    ),
    Provider("azure", "", ("AZURE_API_KEY", "AZURE_OPENAI_API_KEY"), ("AZURE_API_BASE", "AZURE_OPENAI_ENDPOINT")),
    _hosted("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    _hosted("deepseek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", returns_reasoning=True),
    _hosted("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    _hosted("mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    _hosted("xai", "https://api.x.ai/v1", "XAI_API_KEY"),
    _hosted("together_ai", "https://api.together.xyz/v1", "TOGETHERAI_API_KEY", "TOGETHER_API_KEY"),
    _hosted("fireworks_ai", "https://api.fireworks.ai/inference/v1", "FIREWORKS_AI_API_KEY", "FIREWORKS_API_KEY"),
    _hosted("cerebras", "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
    _hosted("deepinfra", "https://api.deepinfra.com/v1/openai", "DEEPINFRA_API_KEY"),
    _hosted("nvidia_nim", "https://integrate.api.nvidia.com/v1", "NVIDIA_NIM_API_KEY"),
    _hosted("moonshot", "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY", returns_reasoning=True),
    _hosted("zai", "https://api.z.ai/api/paas/v4", "ZAI_API_KEY", returns_reasoning=True),
    _hosted(
        "dashscope",
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        "DASHSCOPE_API_KEY",
        returns_reasoning=True,
    ),
    _local("litellm_proxy", "", "start the LiteLLM proxy, or give its address with --api-base"),
    _local("ollama", "http://localhost:11434/v1", "start it with: ollama serve (or set OLLAMA_API_BASE)"),
    _local("ollama_chat", "http://localhost:11434/v1", "start it with: ollama serve (or set OLLAMA_API_BASE)"),
    _local("hosted_vllm", "", "start it with: vllm serve MODEL (or set HOSTED_VLLM_API_BASE)"),
    _local("lm_studio", "http://localhost:1234/v1", "start it with: lms server start (or set LM_STUDIO_API_BASE)"),
    _local("llamafile", "http://127.0.0.1:8080/v1", "start the llamafile (or set LLAMAFILE_API_BASE)"),
    _local("llama_cpp", "http://127.0.0.1:8080/v1", "start it with: llama-server -m MODEL (or set LLAMA_CPP_API_BASE)"),
)


# Other first parts of model strings; LiteLLM knows more, these are taken for providers even beside a base URL.
LITELLM = frozenset(
    [
        "ai21",
        "amazon",
        "azure_ai",
        "bedrock",
        "bedrock_converse",
        "cloudflare",
        "codestral",
        "cohere",
        "cohere_chat",
        "custom",
        "databricks",
        "gemini",
        "gigachat",
        "github",
        "github_copilot",
        "heroku",
        "huggingface",
        "meta_llama",
        "nlp_cloud",
        "oci",
        "perplexity",
        "predibase",
        "replicate",
        "sagemaker",
        "sagemaker_chat",
        "snowflake",
        "vertex_ai",
        "vertex_ai_beta",
        "volcengine",
        "watsonx",
        "watsonx_text",
    ]
)


def known() -> dict[str, Provider]:
    """The providers by name."""
    return {provider.name: provider for provider in _ALL}


def find(name: str) -> Provider:
    """The provider of that name; one that is not listed here is LiteLLM's business."""
    return known().get(name) or Provider(name, wire="litellm")
