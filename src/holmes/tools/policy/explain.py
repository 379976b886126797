"""Why a command runs or not, as data."""

from __future__ import annotations

from typing import Any

from holmes.tools.policy.judge import decide
from holmes.tools.policy.settings import PolicySettings


def explain(command: str, settings: PolicySettings) -> dict[str, Any]:
    """JSON types: command, parse (the words of each program), verdict (allow, ask, deny), reason, rule, runs.

    ``runs`` is the script that the shell would get, "" unless the verdict is allow.
    """
    judgement = decide(command, settings)
    return {
        "command": command,
        "parse": [list(words) for words in judgement.commands],
        "verdict": judgement.verdict.decision,
        "reason": judgement.verdict.reason,
        "rule": judgement.verdict.rule,
        "runs": judgement.script,
    }
