"""The masker that knows our own credentials."""

from __future__ import annotations

import re
from collections.abc import Mapping

from holmes.core.config import Config
from holmes.core.env import MODEL_KEYS
from holmes.core.masking import Masker

# Variables whose value is a secret wherever it turns up.
_CREDENTIALS = re.compile(r".*(PASSWORD|PASSWD|SECRET|TOKEN|API_?KEY|ACCESS_KEY|PRIVATE_KEY|CREDENTIALS?)$")


def masker_for(config: Config, env: Mapping[str, str]) -> Masker:
    """A Masker that also hides the credentials of this configuration and environment."""
    found = {value: name for name, value in env.items() if MODEL_KEYS.fullmatch(name) or _CREDENTIALS.fullmatch(name)}
    if config.api_key:
        found[config.api_key.reveal()] = "api_key"
    return Masker(found)
