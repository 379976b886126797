"""What ``holmes replay`` does once its options are parsed."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from holmes.agent.engine import Engine, RunOptions
from holmes.app.replay import replay_parts
from holmes.cli.options import Output
from holmes.cli.output import print_event, print_report
from holmes.cli.progress import Progress
from holmes.cli.session import exit_code
from holmes.cli.terminal import Terminal
from holmes.core.env import environment


def run_replay(path: Path, output: Output, verbose: int) -> int:
    """Run the recorded question through the real loop; the exit code. Parted says where the program differs."""
    env = environment()
    progress = Progress(Terminal.of(sys.stderr, env), verbose=verbose)
    replay = replay_parts(path, env)

    async def run() -> int:
        async with Engine(replay.parts) as engine:
            options = RunOptions(
                namespace=replay.namespace, files=replay.files, approve=replay.approve, max_steps=replay.max_steps
            )
            run = await engine.start(replay.question, options)
            async for entry in run.log.read():
                if output is Output.JSONL:
                    print_event(entry.event.kind, entry.seq, entry.event.as_data())
                progress.show(entry.event)
            progress.clear()
            report = await run.wait()
        if output is not Output.JSONL:
            print_report(report, output, env)
        return exit_code(report, never_explicitly=False)

    return asyncio.run(run())
