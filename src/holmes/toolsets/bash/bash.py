"""The tool ``bash``: a command runs when the policy allows it, or when a person has approved it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holmes.core.env import child_environment
from holmes.core.results import StructuredToolResult
from holmes.tools.cluster_programs import cluster_access
from holmes.tools.tool import Effect, Services, SimpleToolset, ToolContext, Toolset, Trust, Verdict

if TYPE_CHECKING:
    from holmes.core.result_store import ResultSink
    from holmes.tools.policy.judge import Judgement
    from holmes.toolsets.bash.config import BashConfig

_MEMORY_MB = 2048  # for a command with everything that it starts
_OUTPUT = 1_000_000_000  # bytes that one command may print
_WAITING = 64  # judged calls that are remembered until they run
_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "command": {"type": "string"},
        "suggested_prefixes": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Prefixes to allow for good, should a person have to approve",
        },
        "timeout": {"type": "number", "description": "Seconds, default 60, at most 300"},
    },
    "required": ["command"],
}


def make_bash(config: Mapping[str, Any], services: Services) -> Toolset:
    """The toolset. ValueError says what is wrong with its config."""
    from holmes.toolsets.bash.config import read_config

    return SimpleToolset((BashTool(read_config(config)),))


@dataclass
class BashTool:
    """Runs what the policy wrote anew from the judged command; after an approval, the command as it was shown."""

    config: BashConfig
    name: str = "bash"
    description: str = (
        "Run a shell command that only reads: kubectl, helm, grep, jq, awk, journalctl, git, ... "
        "Pipes, loops and $(...) work; files cannot be written."
    )
    parameters: Mapping[str, Any] = field(default_factory=lambda: _SCHEMA)
    effect: Effect = "unknown"
    trust: Trust = "data"
    live: bool = True
    timeout: float = 0.0
    _judged: dict[tuple[str, str], Judgement] = field(default_factory=dict, init=False, repr=False)

    def judge(self, args: Mapping[str, Any], ctx: ToolContext) -> Verdict:
        """The policy's verdict; ``prefixes`` are the suggested ones that the command really begins with."""
        from holmes.tools.policy.rules import has_prefix

        command = str(args["command"]).strip()
        judgement = self._decide(command, ctx)
        while len(self._judged) >= _WAITING:
            del self._judged[next(iter(self._judged))]
        self._judged[ctx.call_id, command] = judgement
        verdict = judgement.verdict
        suggested = [prefix for prefix in args.get("suggested_prefixes") or () if str(prefix).strip()]
        real = tuple(prefix for prefix in suggested if any(has_prefix(words, [prefix]) for words in judgement.commands))
        if verdict.decision != "ask" or not real:
            return verdict
        return Verdict(verdict.decision, verdict.reason, verdict.rule, verdict.show, real)

    async def invoke(self, args: Mapping[str, Any], ctx: ToolContext) -> StructuredToolResult:
        """Run it until it ends or ``ctx.deadline``; its output goes to ``ctx.sink``."""
        command = str(args["command"]).strip()
        judgement = self._judged.pop((ctx.call_id, command), None) or self._decide(command, ctx)
        if judgement.verdict.decision == "deny":
            return StructuredToolResult.failure(f"Not run: {judgement.verdict.reason}.", invocation=command)
        programs = {words[0].rpartition("/")[2] for words in judgement.commands}
        folder = Path(tempfile.mkdtemp(prefix="holmes-"))
        try:
            return await self._run(judgement, command, programs, folder, ctx)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    async def _run(
        self, judgement: Judgement, command: str, programs: set[str], folder: Path, ctx: ToolContext
    ) -> StructuredToolResult:
        from holmes.tools.jq import jq_environment
        from holmes.toolsets.bash.outcome import outcome

        env = jq_environment(child_environment(ctx.env, self.config.pass_env)) | {"TMPDIR": str(folder)}
        cluster = await cluster_access(programs, ctx, folder)
        if cluster.refusal:
            return StructuredToolResult.failure(f"Not run: {cluster.refusal}", invocation=command)
        output = _Output(ctx.sink)
        try:
            end = await ctx.process.run(
                ["bash", "--noprofile", "--norc", "-c", judgement.script or command],
                env=env | dict(cluster.env),
                deadline=ctx.deadline,
                write=output.write,
                cwd=self.config.cwd,
                memory_mb=_MEMORY_MB,
            )
        except _TooMuch:
            return StructuredToolResult.failure(
                f"It printed more than {_OUTPUT // 10**6} MB and was stopped; what came until then is kept. Narrow it.",
                invocation=command,
            )
        return outcome(end, judgement.commands, command, output.last_words, cluster.gap)

    def _decide(self, command: str, ctx: ToolContext) -> Judgement:
        from holmes.tools.policy.judge import decide

        return decide(command, self.config.policy(ctx.env))


class _TooMuch(Exception):
    """The command prints more than anybody can use."""


class _Output:
    """Hands output on to the sink, up to a limit, and remembers the end of it."""

    def __init__(self, sink: ResultSink) -> None:
        self._sink = sink
        self._tail = b""

    @property
    def last_words(self) -> str:
        """The last characters."""
        return self._tail.decode("utf-8", "replace")

    def write(self, piece: bytes) -> None:
        """Take the next piece."""
        if self._sink.size > _OUTPUT:
            raise _TooMuch
        self._sink.write(piece)
        self._tail = (self._tail + piece[-200:])[-200:]
