"""Toolsets written in YAML: commands that a model fills in (see ``rendering`` for why that is safe)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from holmes.core.env import child_environment
from holmes.core.results import StructuredToolResult
from holmes.tools.cluster_programs import cluster_access, mentioned
from holmes.tools.jq import explain, jq_environment
from holmes.tools.tool import ALLOW, Effect, Health, JsonSchema, Services, Tool, ToolContext, Trust, Verdict

if TYPE_CHECKING:
    from holmes.core.process import Exit
    from holmes.tools.rendering import Command, CommandTemplate
    from holmes.tools.toolset_definition import PrerequisiteCommand, ToolDefinition, ToolsetDefinition

MEMORY_MB = 2048  # of one command with all that it starts
_KEPT = 1_000_000  # bytes of stderr that wait for the end of stdout
_RUN_WIDE = ("KUBECONFIG",)  # the run's own: --context and --kubeconfig hold for every child
_NO_RESOURCES = b"No resources found"  # kubectl and oc say so and exit with 0


class YAMLToolset:
    """Toolset made from a definition without problems."""

    def __init__(self, definition: ToolsetDefinition, services: Services) -> None:
        self.definition = definition
        self.instructions = _instructions(definition)
        self._services = services
        self._tools = tuple(
            YAMLTool(
                tool,
                frozenset(definition.prerequisites.env),
                (*definition.transformers, *tool.transformers),
                any(fnmatchcase(tool.name, pattern) for pattern in definition.approval_required_tools),
            )
            for tool in definition.tools
        )

    async def open(self) -> Health:
        """Look at the prerequisites: variables first, commands last; the first that is not met decides."""
        wanted, env = self.definition.prerequisites, self._services.env
        missing = [name for name in wanted.env if name not in env]
        if missing:
            noun, verb = ("variable", "is") if len(missing) == 1 else ("variables", "are")
            reason = f"the environment {noun} {', '.join(missing)} {verb} not set"
            return Health("failed", reason, self._remedy(f"set {'it' if len(missing) == 1 else 'them'}"))
        if not wanted.enabled:
            return Health("disabled", wanted.disabled_reason or "a prerequisite says so")
        deadline = time.monotonic() + self._services.deadline
        for command in wanted.commands:
            health = await self._check(command, deadline)
            if health.status != "enabled":
                return health
        return Health("enabled")

    def tools(self) -> Sequence[Tool]:
        """The tools of the file, in its order."""
        return self._tools

    async def close(self) -> None:
        """Nothing to let go of."""

    async def _check(self, wanted: PrerequisiteCommand, deadline: float) -> Health:
        from holmes.tools.rendering import Refused

        env = _child_env(self._services.env, wanted.template, frozenset(self.definition.prerequisites.env))
        try:
            command = wanted.template.command({}, env)
        except Refused as refusal:
            return Health("failed", f"a prerequisite cannot be checked: {refusal}")
        output = bytearray()
        end = await self._services.process.run(
            command.argv,
            env=env,
            deadline=deadline,
            write=lambda chunk: output.extend(chunk[: _KEPT - len(output)]),
            memory_mb=MEMORY_MB,
        )
        text = output.decode("utf-8", "replace")
        if end.cause == "timeout":
            reason = f"{command.shown} did not end within {self._services.deadline:g} s"
            return Health("failed", reason, self._remedy("look why it hangs"))
        if end.code or end.cause:
            reason = f"{command.shown} failed: {_why(command, end, text)}"
            return Health("failed", reason, self._remedy("make that command work"))
        if wanted.expected_output not in text:
            reason = f'{command.shown} did not print "{wanted.expected_output}"'
            return Health("failed", reason, self._remedy("make that command print it"))
        return Health("enabled")

    def _remedy(self, otherwise: str) -> str:
        definition = self.definition
        return definition.installation_instructions.strip() or " or see ".join(
            filter(None, [otherwise, definition.docs_url])
        )


@dataclass(frozen=True)
class YAMLTool:
    """One tool of a YAML toolset. ``timeout`` is in seconds, 0 is the configured default."""

    definition: ToolDefinition
    env_names: frozenset[str] = frozenset()
    transformers: tuple[Mapping[str, Any], ...] = ()
    approval_required: bool = False
    trust: Trust = "data"
    aliases: tuple[str, ...] = ()
    live: bool = False
    timeout: float = 0.0

    @property
    def name(self) -> str:
        """As in the file."""
        return self.definition.name

    @property
    def description(self) -> str:
        """As in the file."""
        return self.definition.description

    @property
    def parameters(self) -> JsonSchema:
        """Declared parameters and the other placeholders."""
        return self.definition.parameters

    @property
    def effect(self) -> Effect:
        """A YAML tool is its author's own: it reads, unless approval is asked for."""
        return "unknown" if self.approval_required or self.definition.hazards else "read"

    def describe_call(self, args: Mapping[str, Any]) -> str:
        """One line for people: ``user_description`` filled in, "" without one."""
        from holmes.tools.rendering import TemplateProblem, render_text

        try:
            return " ".join(render_text(self.definition.user_description, args).split())
        except TemplateProblem:
            return self.definition.user_description

    def judge(self, args: Mapping[str, Any], ctx: ToolContext) -> Verdict:
        """Ask when the file wants approval, or when a value of this call is more than data."""
        from holmes.tools.rendering import Refused

        try:
            command = self._command(args, ctx)
        except Refused:
            return ALLOW  # nothing will run: invoke answers with the reason
        if self.approval_required:
            return Verdict(
                "ask", f"{self.name} is in approval_required_tools", "approval_required_tools", command.shown
            )
        if command.hazards:
            return Verdict("ask", "; ".join(command.hazards), "placeholder in program text", command.shown)
        return ALLOW

    async def invoke(self, args: Mapping[str, Any], ctx: ToolContext) -> StructuredToolResult:
        """Run the command; its output goes to the sink as it arrives, what it says on stderr behind it."""
        from holmes.tools.rendering import Refused

        try:
            command = self._command(args, ctx)
        except Refused as refusal:
            return StructuredToolResult.failure(f"Not run: {refusal}")
        with TemporaryDirectory(prefix="holmes-") as folder:
            cluster = await cluster_access(mentioned(self.definition.template.source), ctx, Path(folder))
            if cluster.refusal:
                return StructuredToolResult.failure(f"Not run: {cluster.refusal}", invocation=command.shown)
            env = _child_env(ctx.env, self.definition.template, self.env_names) | dict(cluster.env)
            return await self._run(command, env, ctx)

    async def _run(self, command: Command, env: Mapping[str, str], ctx: ToolContext) -> StructuredToolResult:
        output, errors = _Watched(ctx.sink.write), _Held(ctx.sink.write)
        end = await ctx.process.run(
            command.argv,
            env=env,
            deadline=ctx.deadline,
            write=output.write,
            write_error=errors.write,
            memory_mb=MEMORY_MB,
        )
        errors.release(output.last)
        return _result(command, end, output, errors)

    def _command(self, args: Mapping[str, Any], ctx: ToolContext) -> Command:
        required = self.parameters.get("required", ())
        # Models send "" for what they do not want to give.
        given = {name: value for name, value in args.items() if value != "" or name in required}
        env = _child_env(ctx.env, self.definition.template, self.env_names)
        return self.definition.template.command(given, env, ctx.principal.headers)


@dataclass(slots=True)
class _Watched:
    """Passes output on and remembers what the result depends on."""

    pass_on: Callable[[bytes], None]
    head: bytes = b""
    last: bytes = b""
    blank: bool = True

    def write(self, chunk: bytes) -> None:
        self.pass_on(chunk)
        self.head += chunk[: 1000 - len(self.head)]
        self.last = chunk[-1:] or self.last
        self.blank = self.blank and not chunk.strip()


class _Held:
    """Keeps stderr until stdout has ended; very long stderr goes its own way."""

    def __init__(self, pass_on: Callable[[bytes], None]) -> None:
        self._pass_on = pass_on
        self._held = bytearray()
        self.tail = b""
        self.blank = True

    def write(self, chunk: bytes) -> None:
        self.tail = (self.tail + chunk)[-2000:]
        self.blank = self.blank and not chunk.strip()
        self._held += chunk
        if len(self._held) > _KEPT:
            self.release(b"\n")

    def release(self, last: bytes) -> None:
        """Pass on what is held; ``last`` is the byte before it."""
        if self._held:
            self._pass_on(bytes(self._held) if last in (b"", b"\n") else b"\n" + bytes(self._held))
            self._held.clear()


def _child_env(env: Mapping[str, str], template: CommandTemplate, names: frozenset[str]) -> dict[str, str]:
    declared = names | template.variables | template.environment
    return jq_environment(child_environment(env, declared.union(_RUN_WIDE)))


def _instructions(definition: ToolsetDefinition) -> str:
    from holmes.tools.rendering import render_text

    values = {"tool_names": [tool.name for tool in definition.tools], "config": definition.config}
    return render_text(definition.llm_instructions, values).strip()


def _result(command: Command, end: Exit, output: _Watched, errors: _Held) -> StructuredToolResult:
    blank = output.blank and errors.blank
    known: dict[str, Any] = {"invocation": command.shown, "return_code": end.code}
    found_nothing = end.code == 1 and command.searches and (blank or command.argv[0] != "bash")
    if end.cause or (end.code and not found_nothing):
        return StructuredToolResult.failure(_failure(command, end, output, errors), **known)
    if blank:
        return StructuredToolResult.nothing(f"The command printed nothing: {command.shown}", **known)
    if (output.head if not output.blank else errors.tail).lstrip().startswith(_NO_RESOURCES):
        return StructuredToolResult.nothing("", **known)
    return StructuredToolResult.success(**known)


def _failure(command: Command, end: Exit, output: _Watched, errors: _Held) -> str:
    said = errors.tail if not errors.blank else output.head if end.size < 1000 else b""
    return f"The command failed: {_why(command, end, said.decode('utf-8', 'replace'))}"


def _why(command: Command, end: Exit, said: str) -> str:
    """How a command ended, for people."""
    start = said.rfind("Error: ")
    if start >= 0 and "[<inline>]" in said[start:]:  # jaq draws its complaint over many lines
        said = explain(said[start:])
    lines = said.strip().splitlines()
    last = f": {lines[-1].strip()[:300]}" if lines else " and printed no reason"
    if end.cause == "timeout":
        return "it did not end in time and was stopped; what it printed until then is below. Narrow the request"
    if end.cause == "memory limit":
        return f"it needed more than {MEMORY_MB} MB of memory and was stopped. Narrow the request"
    if end.cause == "not found" or end.code == 127:
        program = command.argv[0] if end.cause else "a program"
        return f"{program} is not installed here (not on PATH){last if lines else ''}"
    if end.code == 137:
        return f"a program was killed (exit status 137), mostly for lack of memory{last if lines else ''}"
    if end.cause:
        return end.cause
    if end.code > 128:
        return f"a program was ended by signal {end.code - 128} (exit status {end.code}){last if lines else ''}"
    return f"exit status {end.code}{last}"
