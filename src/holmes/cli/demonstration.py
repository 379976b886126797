"""What ``holmes demo`` does: the real engine with the offline model, over the snapshot that comes with the package."""

from __future__ import annotations

import asyncio
import sys
from importlib.resources import files
from pathlib import Path

from holmes.agent.engine import Engine
from holmes.app.wiring import wire
from holmes.cli.options import Output
from holmes.cli.output import print_event, print_report
from holmes.cli.progress import Progress
from holmes.cli.session import exit_code
from holmes.cli.terminal import Terminal
from holmes.core.config import Config
from holmes.core.env import environment
from holmes.llm.offline import OfflineLLM

QUESTION = "Why do customers get errors at checkout?"
_NEXT = """\
Ask your own cluster:  holmes ask "why is my-app failing?"
With a model:          OPENAI_API_KEY=... holmes ask --model openai/NAME "..."   (or anthropic/NAME, ollama/NAME, ...)
Find all faults:       holmes scan"""


def snapshot_folder() -> Path:
    """The recorded incident; demo/incident.yaml tells how it was made."""
    return Path(str(files("holmes") / "demo" / "snapshot"))


def run_demo(output: Output, verbose: int) -> int:
    """Ask the question, print the report, say how to go on; the exit code. No configuration is read, nothing kept."""
    env = environment()
    terminal = Terminal.of(sys.stderr, env)
    progress = Progress(terminal, verbose=verbose)
    setup = wire(Config(), env, llm=OfflineLLM(), keep=False, snapshot=snapshot_folder())
    terminal.print("A recorded incident, looked into by program alone: no key, no cluster, no network.", "dim")
    terminal.print(f"? {QUESTION}", "bold")

    async def investigate() -> int:
        async with Engine(setup.parts) as engine:
            run = await engine.start(QUESTION)
            async for entry in run.log.read():
                if output is Output.JSONL:
                    print_event(entry.event.kind, entry.seq, entry.event.as_data())
                progress.show(entry.event)
            progress.clear()
            report = await run.wait()
        if output is not Output.JSONL:
            print_report(report, output, env)
        return exit_code(report, never_explicitly=False)

    try:
        code = asyncio.run(investigate())
    finally:
        setup.close()
    if output is Output.TEXT:
        print(f"\n{_NEXT}")
    return code
