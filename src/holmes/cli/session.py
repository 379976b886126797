"""What ``holmes ask`` does once its options are parsed: one question, or a conversation on a terminal."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from holmes.agent.engine import Engine, RunOptions
from holmes.agent.run import Run
from holmes.app.wiring import Say, Setup, model, wire
from holmes.cli.approvals import TerminalApprovals
from holmes.cli.inputs import Inputs, gather
from holmes.cli.options import Output
from holmes.cli.output import print_jsonl, print_report, write_json_file
from holmes.cli.progress import Progress, usage_line
from holmes.cli.terminal import Terminal, is_interactive
from holmes.core.config import load_config
from holmes.core.env import environment
from holmes.core.errors import HolmesError, UsageError
from holmes.core.events import ApprovalRequired
from holmes.core.report import Report

INTERRUPTED = 130
SAME_NAME = (
    "model fast_model api_key api_base context kubeconfig namespace max_steps max_seconds max_tokens max_cost "
    "system_prompt_additions custom_toolsets"
).split()


@dataclass(slots=True)
class Session:
    """One call of the command."""

    given: Mapping[str, Any]
    setup: Setup
    inputs: Inputs
    output: Output
    progress: Progress
    approve: str
    explicit: bool  # --approve was given
    interactive: bool
    interrupted: bool = False
    shown: int = 0  # journal number up to which -o jsonl has printed

    async def run(self) -> int:
        """The first question, then follow-ups while there are some. Returns the exit code."""
        async with Engine(self.setup.parts) as engine:
            question, files, run_id, code = self.inputs.question, self.inputs.files, "", 0
            if not question and self.interactive:
                question = await asyncio.to_thread(_follow_up, "What is wrong? ")
                if not question:
                    return 0
            while True:
                options = self._options(run_id, files)
                run = await engine.start(question, options)
                run_id, files = run.id, ()
                code = await self._one(engine, run)
                if not self.interactive:
                    return code
                question = await asyncio.to_thread(_follow_up, "\nAsk on (empty line to leave): ")
                if not question:
                    return code

    async def _one(self, engine: Engine, run: Run) -> int:
        self.interrupted = False
        approvals = TerminalApprovals(self.progress.terminal)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._interrupt, run)
        try:
            async for entry in run.log.read(self.shown):
                self.shown = max(self.shown, entry.seq)
                if self.output is Output.JSONL:
                    print_jsonl(entry)
                self.progress.show(entry.event)
                if isinstance(entry.event, ApprovalRequired):
                    for pending in entry.event.pending_approvals:
                        decision = await approvals.decide(pending)
                        await run.decide(pending["tool_call_id"], decision.approved, decision.note)
            self.progress.clear()
            return self._finish(engine, await run.wait())
        except HolmesError as error:
            self.progress.clear()
            if self.interrupted:
                self.progress.terminal.print("interrupted; nothing was found yet")
                return INTERRUPTED
            if not self.interactive:
                raise
            self.progress.terminal.print(f"holmes: {error}")
            return 1
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)

    def _finish(self, engine: Engine, report: Report) -> int:
        if self.output is not Output.JSONL:
            print_report(report, self.output, self.setup.env)
        if path := self.given.get("json_output_file"):
            write_json_file(path, report, *engine.transcript(report.run_id))
        if self.given.get("log_costs"):
            self.progress.terminal.print(usage_line(report.metadata))
        if problem := self.setup.problem():
            self.progress.terminal.print(f"holmes: {problem}")
        return INTERRUPTED if self.interrupted else exit_code(report, self.explicit and self.approve == "never")

    def _interrupt(self, run: Run) -> None:
        self.interrupted = True
        run.cancel("interrupted")

    def _options(self, run_id: str, files: tuple[tuple[str, bytes], ...]) -> RunOptions:
        asks = self.approve == "ask"
        return RunOptions(
            run_id,
            self.approve,  # type: ignore[arg-type]  # judged by config
            "wait" if asks else "refuse",
            files,
        )


def run_ask(given: Mapping[str, Any]) -> int:
    """Do what the options say; the exit code. HolmesError is for the caller to print."""
    env = environment()
    terminal = Terminal.of(sys.stderr, env)
    say = _say(terminal)
    _check(given)
    output = Output.JSON if given["json"] else given["output"]
    prompt = " ".join(given["prompt"]) if given["prompt"] else None
    inputs = gather(prompt, given["prompt_file"], given["file"] or [], say)
    interactive = is_interactive() and not given["no_interactive"] and not inputs.piped and output is Output.TEXT
    if not inputs.question and not interactive:
        raise UsageError("the question is empty", remedy='ask something: holmes ask "why is checkout failing?"')
    config, warnings = load_config(given["config"], env, {name: given[name] for name in SAME_NAME})
    for warning in warnings:
        say(str(warning))
    asked = _approve(given) or config.approve
    person = is_interactive() and not given["no_interactive"]
    approve = asked or ("ask" if person else "never")
    progress = Progress(terminal, given["show_tool_output"], given["verbose"])
    setup = wire(
        config,
        env,
        llm=model(config, env, progress.waiting, say),
        say=say,
        keep=not given["no_history"],
        refresh=given["refresh_toolsets"],
    )
    if given["echo"] and inputs.question and terminal.stream.isatty():
        terminal.print(terminal.paint(f"? {inputs.question}", "bold"))
    if given["record"]:
        from holmes.app.recording import Recorder, recorded

        options = RunOptions(approve=approve, files=inputs.files)  # type: ignore[arg-type]
        setup.parts = recorded(setup.parts, Recorder(given["record"]), inputs.question, options)
    session = Session(given, setup, inputs, output, progress, approve, asked is not None, interactive)
    try:
        return asyncio.run(session.run())
    finally:
        setup.close()


def _say(terminal: Terminal) -> Say:
    return lambda text: terminal.print(terminal.paint(f"holmes: {text}", "dim"))


def exit_code(report: Report, never_explicitly: bool) -> int:
    """The exit code of a report: 1 nothing to show, 3 cut short or no answer, 4 a call was refused, 0 answered."""
    if report.status == "failed":
        return 1
    if report.status != "answered":
        return 3
    if not never_explicitly and any(refusal.verdict == "ask" for refusal in report.refused):
        return 4
    return 0


def _check(given: Mapping[str, Any]) -> None:
    if given["bash_always_allow"] and given["bash_always_deny"]:
        raise UsageError("give --bash-always-allow or --bash-always-deny, not both")
    words = given["prompt"] or []
    if len(words) == 2 and given["no_interactive"] and " " in words[0]:
        raise UsageError(
            f"-n takes no value, and {words[1]!r} is left over",
            remedy=f"did you mean --namespace {words[1]} ? -n is --no-interactive",
        )


def _approve(given: Mapping[str, Any]) -> str | None:
    if given["bash_always_allow"]:
        return "always"
    if given["bash_always_deny"]:
        return "never"
    return given["approve"].value if given["approve"] else None


def _follow_up(prompt: str) -> str:
    """Read a line with editing; an end of file is an empty line."""
    from prompt_toolkit import prompt as ask

    try:
        return ask(prompt).strip()
    except (EOFError, KeyboardInterrupt):
        return ""
