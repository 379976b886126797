"""``holmes model`` in a process of its own, with a model list and a configuration."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.subprocesses import Done, holmes

Holmes = Callable[..., Done]


@pytest.fixture
def run(tmp_path: Path) -> Holmes:
    """``holmes model ARGUMENTS``; ``models`` is the model list, ``config`` the configuration."""

    def call(*arguments: str, models: Any = None, config: Any = None, **env: str) -> Done:
        home = tmp_path / ".holmes"
        home.mkdir(exist_ok=True)
        for name, content in (("model_list.yaml", models), ("config.yaml", config)):
            if content is not None:
                (home / name).write_text(content if isinstance(content, str) else json.dumps(content))
        return holmes("model", *arguments, home=tmp_path, env=env)

    return call
