"""The configuration that ``holmes config init`` writes."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from holmes.core.errors import StoreError
from holmes.core.paths import private_folder


@dataclass(frozen=True, slots=True)
class Settings:
    """What was chosen; "" leaves a key out. ``key`` is the key itself or a reference to a variable."""

    model: str
    api_base: str
    key: str
    key_variable: str  # where the key belongs when it is not written here
    context: str
    kubeconfig: Path | None


def config_text(settings: Settings) -> str:
    """The file, with a comment on each key that is there and on those most often wanted."""
    kubeconfig = str(settings.kubeconfig.expanduser().absolute()) if settings.kubeconfig else ""
    return "\n".join(
        [
            "# Holmes. Command line beats environment beats this file; what counts in the end: holmes config show",
            "",
            "# The model: PROVIDER/NAME, an alias of your model list, or offline (analyzers only, no model).",
            _line("model", settings.model, "openai/gpt-4.1"),
            "# Base URL of a server of your own. Without a model, the first one that it lists is taken.",
            _line("api_base", settings.api_base, "http://localhost:11434/v1"),
            "# The key. {{ env.NAME }} is the value of a variable.",
            _line("api_key", settings.key, f"{{{{ env.{settings.key_variable or 'OPENAI_API_KEY'} }}}}"),
            "",
            "# The cluster: a context of the kubeconfig. Left out: the current one.",
            _line("context", settings.context, "my-cluster"),
            _line("kubeconfig", kubeconfig, "~/.kube/config"),
            "",
            "# Limits for one question: calls of the model, seconds, US dollars.",
            "# max_steps: 100",
            "# max_seconds: 600",
            "# max_cost: 1.00",
            "",
            "# Calls that need a person: never, ask or always. Left out: ask on a terminal, else never.",
            "# approve: ask",
            "",
            "# More commands that may run without asking, by how they begin.",
            "# toolsets:",
            "#   bash:",
            "#     config:",
            '#       allow: ["systemctl status"]',
            "",
        ]
    )


def write_config(file: Path, text: str) -> Path | None:
    """Write the file (0600) in one go. One that was there is kept beside it; its new path, None without one."""
    target = file.resolve()  # a link stays a link
    private_folder(target.parent)
    old = target.with_name(f"{target.name}.old") if target.exists() else None
    fresh = target.with_name(f"{target.name}.new")
    try:
        fresh.unlink(missing_ok=True)
        with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as stream:  # noqa: PTH123
            stream.write(text)
        if old:
            target.replace(old)
        fresh.replace(target)
    except OSError as error:
        raise StoreError(f"cannot be written: {error.strerror}", where=str(file)) from error
    return old


def _line(key: str, value: str, example: str) -> str:
    """JSON strings are YAML."""
    return f"{key}: {json.dumps(value, ensure_ascii=False)}" if value else f"# {key}: {json.dumps(example)}"
