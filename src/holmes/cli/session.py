"""What ``holmes ask`` does once its options are parsed: one question, or a conversation on a terminal."""

from __future__ import annotations

import asyncio
import re
import signal
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from holmes.agent.approval import Decision, Mode
from holmes.agent.engine import Engine, RunOptions
from holmes.agent.run import Run
from holmes.app.wiring import Say, Setup, model, wire
from holmes.cli.approvals import TerminalApprovals, somebody_there
from holmes.cli.inputs import Inputs, gather
from holmes.cli.options import Output
from holmes.cli.output import check_writable, print_event, print_report, write_json_file
from holmes.cli.progress import Progress, usage_line
from holmes.cli.terminal import Terminal, is_interactive
from holmes.core.config import load_config
from holmes.core.env import environment
from holmes.core.errors import HolmesError, UsageError
from holmes.core.events import ApprovalRequired
from holmes.core.report import Report

INTERRUPTED = 130
UNATTENDED = 900.0  # seconds for a question when nobody watches and no other limit is set
SAME_NAME = (
    "model fast_model api_key api_base context kubeconfig namespace max_steps max_seconds max_tokens max_cost "
    "system_prompt_additions custom_toolsets"
).split()
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


@dataclass(slots=True)
class Session:
    """One call of the command."""

    setup: Setup
    inputs: Inputs
    output: Output
    progress: Progress
    approvals: TerminalApprovals
    approve: Mode
    explicit: bool  # --approve was given
    interactive: bool
    json_file: Path | None = None
    log_costs: bool = False
    resumed: str = ""  # the run to go on with
    interrupted: bool = False
    asking: asyncio.Task[Decision] | None = None  # the person at the terminal
    shown: int = 0  # journal number up to which events were shown

    async def run(self) -> int:
        """The first question, then follow-ups while there are some. Returns the exit code."""
        async with Engine(self.setup.parts) as engine:
            question, files, run_id, code = self.inputs.question, self.inputs.files, self.resumed, 0
            going_on = bool(self.resumed)  # a turn that was cut off needs no new question
            if not question and not going_on:
                question = await _next_question("What is wrong? ")
            while question or going_on:
                run = await engine.start(question, self._options(run_id, files))
                run_id, files, going_on = run.id, (), False
                code = await self._one(engine, run)
                if not self.interactive:
                    break
                question = await _next_question("\nAsk on (empty line to leave): ")
            return code

    async def _one(self, engine: Engine, run: Run) -> int:
        """Follow one question to its end; the exit code. HolmesError only when nobody can ask on."""
        self.interrupted = False
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._interrupt, run)
        try:
            await self._follow(run)
            self.progress.clear()
            return self._finish(engine, await run.wait())
        except HolmesError as error:
            self.progress.clear()
            if not (self.interactive or self.interrupted):
                raise
            self.progress.terminal.print(f"holmes: {error}")
            return INTERRUPTED if self.interrupted else 1
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)

    async def _follow(self, run: Run) -> None:
        async for entry in run.log.read(self.shown):
            self.shown = max(self.shown, entry.seq)
            if self.output is Output.JSONL:
                print_event(entry.event.kind, entry.seq, entry.event.as_data())
            self.progress.show(entry.event)
            if isinstance(entry.event, ApprovalRequired):
                for pending in entry.event.pending_approvals:
                    await self._ask_person(run, pending)

    async def _ask_person(self, run: Run, pending: dict[str, Any]) -> None:
        self.asking = asyncio.create_task(self.approvals.decide(pending))
        try:
            decision = await self.asking
            await run.decide(pending["tool_call_id"], decision.approved, decision.note)
        except asyncio.CancelledError:
            if not self.interrupted:
                raise
        finally:
            self.asking = None

    def _finish(self, engine: Engine, report: Report) -> int:
        if self.output is not Output.JSONL:
            print_report(report, self.output, self.setup.env)
        if self.json_file:
            write_json_file(self.json_file, report, *engine.transcript(report.run_id))
        if self.log_costs:
            self.progress.terminal.print(usage_line(report.metadata))
        if problem := self.setup.problem():
            self.progress.terminal.print(f"holmes: {problem}")
        return INTERRUPTED if self.interrupted else exit_code(report, self.explicit and self.approve == "never")

    def _interrupt(self, run: Run) -> None:
        """Ctrl-C: the run ends with what it has. A second one leaves at once."""
        if self.interrupted:
            raise KeyboardInterrupt
        self.interrupted = True
        run.cancel("interrupted")
        if self.asking is not None:
            self.asking.cancel()

    def _options(self, run_id: str, files: tuple[tuple[str, bytes], ...]) -> RunOptions:
        waits = self.approve == "ask" and somebody_there()
        return RunOptions(
            run_id,
            self.approve,
            "wait" if waits else "refuse",
            files,
            resume=bool(self.resumed) and run_id == self.resumed,
        )


def run_ask(given: Mapping[str, Any]) -> int:
    """Do what the options say; the exit code. HolmesError is for the caller to print."""
    env = environment()
    terminal = Terminal.of(sys.stderr, env)
    say = _say(terminal)
    check(given)
    output = Output.JSON if given["json"] else given["output"]
    prompt = " ".join(given["prompt"]) if given["prompt"] else None
    inputs = gather(prompt, given["prompt_file"], given["file"] or [], say)
    person = is_interactive() and not given["no_interactive"]
    interactive = person and not inputs.piped and output is Output.TEXT
    if not inputs.question and not interactive and not given["resume"]:
        raise UsageError("the question is empty", remedy='ask something: holmes ask "why is checkout failing?"')
    config, warnings = load_config(given["config"], env, {name: given[name] for name in SAME_NAME})
    for warning in warnings:
        say(str(warning))
    if config.max_seconds is None and not is_interactive():
        config = replace(config, max_seconds=UNATTENDED)
    asked = approval_mode(given) or config.approve
    approve: Mode = asked or ("ask" if person else "never")
    progress = Progress(terminal, given["show_tool_output"], given["verbose"])
    if given["echo"] and inputs.question and terminal.live:
        terminal.print(f"? {inputs.question}", "bold")
    with ExitStack() as closing:
        llm = model(config, env, progress.waiting, say)
        setup = wire(
            config,
            env,
            llm=llm,
            say=say,
            keep=not given["no_history"],
            refresh=given["refresh_toolsets"],
            snapshot=given["snapshot"],
        )
        closing.callback(setup.close)
        if given["record"]:
            from holmes.app.recording import Recorder, recorded

            recorder = Recorder(given["record"])
            closing.callback(recorder.close)
            options = RunOptions(approve=approve, files=inputs.files)
            setup.parts = recorded(setup.parts, recorder, inputs.question, options)
        approvals = TerminalApprovals(terminal)
        session = Session(setup, inputs, output, progress, approvals, approve, bool(asked), interactive)
        session.resumed = earlier_run(given["resume"], setup) if given["resume"] else ""
        session.json_file, session.log_costs = given["json_output_file"], given["log_costs"]
        return asyncio.run(session.run())


def earlier_run(name: str, setup: Setup) -> str:
    """The id of a run to go on with; "last" is the newest. UsageError when nothing was kept."""
    if name != "last":
        return name
    newest = next(iter(setup.journal.runs(1)), None)
    if newest is None:
        raise UsageError("there is no earlier run", remedy="holmes history list shows what there is")
    return newest.run_id


def check(given: Mapping[str, Any]) -> None:
    """UsageError for options that contradict each other, or were surely meant otherwise."""
    approval_mode(given)
    if given["json_output_file"]:
        check_writable(given["json_output_file"])
    words = given["prompt"] or []
    names = [word for word in words if _NAMESPACE.fullmatch(word)]
    if given["no_interactive"] and len(words) == 2 and len(names) == 1:
        raise UsageError(
            f"-n takes no value, and {names[0]} is left over",
            remedy=f"did you mean --namespace {names[0]} ? -n is --no-interactive",
        )


def approval_mode(given: Mapping[str, Any]) -> Mode | None:
    """What --approve and its two aliases say, None when none was given."""
    modes: dict[str, Mode] = {}
    if given["bash_always_allow"]:
        modes["--bash-always-allow"] = "always"
    if given["bash_always_deny"]:
        modes["--bash-always-deny"] = "never"
    if given["approve"]:
        modes[f"--approve {given['approve'].value}"] = given["approve"].value
    if len(set(modes.values())) > 1:
        raise UsageError(f"give {' or '.join(modes)}, not both")
    return next(iter(modes.values()), None)


def exit_code(report: Report, never_explicitly: bool) -> int:
    """The exit code of a report: 1 nothing to show, 3 cut short or no answer, 4 a call was refused, 0 answered."""
    if report.status == "failed":
        return 1
    if report.status != "answered":
        return 3
    if not never_explicitly and any(refusal.verdict == "ask" for refusal in report.refused):
        return 4
    return 0


def _say(terminal: Terminal) -> Say:
    return lambda text: terminal.print(f"holmes: {text}", "dim")


async def _next_question(prompt: str) -> str:
    """A line with editing; Ctrl-C, Ctrl-D and an empty line are ""."""
    from prompt_toolkit import PromptSession

    try:
        return (await PromptSession[str]().prompt_async(prompt)).strip()
    except (EOFError, KeyboardInterrupt):
        return ""
