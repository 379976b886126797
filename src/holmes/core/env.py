"""The one place that reads the process environment."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

_CHILD_NAMES = frozenset(
    [
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "LANG",
        "LANGUAGE",
        "TZ",
        "TMPDIR",
        "TERM",
        "COLUMNS",
        "NO_COLOR",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "KUBERNETES_SERVICE_HOST",
        "KUBERNETES_SERVICE_PORT",
        "AWS_PROFILE",
        "AWS_REGION",
        "AWS_DEFAULT_REGION",
        "AWS_CONFIG_FILE",
        "CLOUDSDK_CONFIG",
        "AZURE_CONFIG_DIR",
    ]
)
_CHILD_PATTERNS = re.compile(r"LC_[A-Z]+|(HTTP|HTTPS|NO|ALL|FTP)_PROXY|(http|https|no|all|ftp)_proxy")

# Keys of language models: no child ever gets them, whatever a toolset declares.
MODEL_KEYS = re.compile(
    r"(OPENAI|ANTHROPIC|AZURE|AZURE_OPENAI|OPENROUTER|GEMINI|GOOGLE|MISTRAL|GROQ|COHERE|DEEPSEEK|XAI|TOGETHERAI|"
    r"TOGETHER|TOGETHER_AI|FIREWORKS|FIREWORKS_AI|PERPLEXITY|CEREBRAS|DEEPINFRA|NVIDIA_NIM|MOONSHOT|ZAI|DASHSCOPE|HUGGINGFACE|WATSONX|LITELLM|HOSTED_VLLM|LM_STUDIO|OLLAMA)_(API_KEY|APIKEY|TOKEN)"
    r"|AWS_BEARER_TOKEN_BEDROCK|HOLMES_(API_KEY|APPROVAL_SIGNING_KEY)"
)


def environment() -> dict[str, str]:
    """A copy of the process environment."""
    return dict(os.environ)


def holmes_home(env: Mapping[str, str]) -> Path:
    """The state folder: HOLMES_HOME, default ``~/.holmes``. Not created here."""
    if env.get("HOLMES_HOME"):
        return Path(env["HOLMES_HOME"]).expanduser()
    return Path(env.get("HOME") or Path.home()) / ".holmes"


def child_environment(env: Mapping[str, str], declared: Iterable[str] = ()) -> dict[str, str]:
    """What a child process gets: the fixed list plus the names that its toolset declares; never a model's key."""
    wanted = set(declared)
    return {
        name: value
        for name, value in env.items()
        if (name in _CHILD_NAMES or name in wanted or _CHILD_PATTERNS.fullmatch(name))
        and not MODEL_KEYS.fullmatch(name)
    }


def without_model_keys(env: Mapping[str, str]) -> dict[str, str]:
    """The whole environment less the models' keys: for the user's own programs (kubeconfig exec plugins)."""
    return {name: value for name, value in env.items() if not MODEL_KEYS.fullmatch(name)}
