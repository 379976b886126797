"""Speed and size of the whole program, each figure as a ratio to a floor that is measured in the same run.

    python scripts/bench.py             measure, compare with scripts/bench.json, exit 1 when a ratio grew by half
    python scripts/bench.py --record    measure and write scripts/bench.json

Floors: ``python -c pass`` for starting, ``bash -c echo`` for a step, ``cat`` for bytes. A loaded machine slows both
sides of a ratio; compare ratios, not seconds.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "tests")]

from holmes.llm.tokens import estimate_text
from support.openai_server import OpenAIServer

BASELINE = HERE / "bench.json"
WORSE = 1.5
ROUNDS = 5
STEPS = 50
HOLMES = [sys.executable, "-m", "holmes"]
CONFIG = "toolsets: {bash: {config: {allow: [echo, cat, tail, head]}}}\nopening_evidence: false\n"


class Moments:
    """Replies that remember when they were asked for and when they were given."""

    def __init__(self, replies: Sequence[Any]) -> None:
        self.replies = list(replies)
        self.asked: list[float] = []
        self.given: list[float] = []
        self.bodies: list[dict[str, Any]] = []

    def __call__(self, body: dict[str, Any]) -> Any:
        """The next reply."""
        self.asked.append(time.monotonic())
        self.bodies.append(body)
        reply = self.replies[len(self.asked) - 1]
        self.given.append(time.monotonic())
        return reply

    @property
    def gaps(self) -> list[float]:
        """Seconds from a reply to the next request."""
        return [asked - given for given, asked in zip(self.given, self.asked[1:], strict=False)]


def timed(command: Sequence[str], env: dict[str, str] | None = None) -> tuple[float, float, float]:
    """Start, end and peak memory (MB) of a command."""
    start = time.monotonic()
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, env=env, **quiet)
    errors = process.stderr.read() if process.stderr else b""
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status):
        sys.exit(f"{' '.join(command)} failed:\n{errors.decode()}")
    return start, time.monotonic(), usage.ru_maxrss / 1024


def median(measure: Callable[[], float], rounds: int = ROUNDS) -> float:
    """The median of some rounds."""
    return statistics.median(measure() for _ in range(rounds))


def wall(*command: str) -> float:
    """Seconds of a command."""
    start, end, _ = timed(command)
    return end - start


def ask(home: Path, replies: Sequence[Any], **env: str) -> tuple[Moments, float, float, float]:
    """One ``holmes ask``: moments, start, end, memory."""
    moments = Moments(replies)
    with OpenAIServer(moments) as server:
        world = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "OPENAI_BASE_URL": server.url,
            "OPENAI_API_KEY": server.key,
            "OVERRIDE_MAX_CONTENT_SIZE": "2000000",
            **env,
        }
        command = [*HOLMES, "ask", "why?", "-n", "--approve", "never", "--model", "openai/gpt-4o"]
        start, end, memory = timed([*command, "--config", str(home / "config.yaml")], world)
    return moments, start, end, memory


def shell(command: str) -> dict[str, Any]:
    """A reply that runs a command."""
    return {"calls": [{"name": "bash", "arguments": {"command": command}}]}


def write_log(path: Path, megabytes: int) -> None:
    """An ordinary log, written in pieces: a child's peak memory begins with its parent's."""
    line = '2026-11-30T12:00:00.000Z level=info svc=checkout msg="request failed upstream timeout" pod=web-1\n'
    piece = (line * 10_000).encode()
    with path.open("wb") as file:
        for _ in range(megabytes * 1_000_000 // len(piece)):
            file.write(piece)


def measure(home: Path) -> dict[str, tuple[float, str]]:
    """Every figure: name -> (ratio to its floor, what it is in absolute terms)."""
    (home / "config.yaml").write_text(CONFIG)
    pass_floor = median(lambda: wall(sys.executable, "-c", "pass"))
    echo_floor = median(lambda: wall("bash", "--noprofile", "--norc", "-c", "echo x"))
    figures: dict[str, tuple[float, str]] = {}

    help_wall = median(lambda: wall(*HOLMES, "--help"))
    figures["help"] = (help_wall / pass_floor, f"{help_wall:.3f} s")

    ask(home, ["warm up"])
    firsts, lags, memories = [], [], []
    for _ in range(ROUNDS):
        moments, start, end, memory = ask(home, ["done"])
        firsts.append(moments.asked[0] - start)
        lags.append(end - moments.given[-1])
        memories.append(memory)
    first, lag = statistics.median(firsts), statistics.median(lags)
    figures["first request"] = (first / pass_floor, f"{first:.3f} s, {statistics.median(memories):.0f} MB")
    figures["exit after the last reply"] = (lag / pass_floor, f"{lag:.3f} s")
    body = moments.bodies[0]
    tokens = estimate_text(json.dumps([body["messages"], body.get("tools", [])], ensure_ascii=False))
    figures["first request, 1,000 tokens"] = (
        tokens / 1000,
        f"{tokens:,} tokens, {len(body.get('tools', []))} tools",
    )

    for size in (2_000, 20_000):
        text = home / f"{size}.txt"
        text.write_text("\n".join(f"2026-01-01T00:00:00Z info request {n} took {n % 97} ms" for n in range(size // 30)))
        replies = [*(shell(f"tail -c +{n} {text}") for n in range(1, STEPS + 1)), "done"]
        moments, *_ = ask(home, replies)
        for step in (5, STEPS):
            gap = statistics.median(moments.gaps[step - 3 : step])
            figures[f"step {step}, {size // 1000} KB results"] = (gap / echo_floor, f"{gap * 1000:.1f} ms")

    for megabytes in (30, 200):
        big = home / f"{megabytes}.log"
        write_log(big, megabytes)
        floor = median(lambda path=str(big): wall("bash", "-c", f"cat {path} | cat > /dev/null"), 3)
        moments, _, _, memory = ask(home, [shell(f"cat {big}"), "done"])
        figures[f"{megabytes} MB result"] = (moments.gaps[0] / floor, f"{moments.gaps[0]:.2f} s, {memory:.0f} MB")
        big.unlink()
    return figures


def main() -> int:
    """Measure and compare."""
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(Path(folder))
    if "--record" in sys.argv:
        ratios = {name: round(ratio, 2) for name, (ratio, _) in figures.items()}
        BASELINE.write_text(json.dumps(ratios, indent=1) + "\n")
    known = json.loads(BASELINE.read_text()) if BASELINE.exists() else {}
    worse = []
    for name, (ratio, absolute) in figures.items():
        before = known.get(name)
        mark = ""
        if before and ratio > before * WORSE:
            worse.append(name)
            mark = "  WORSE"
        print(f"{name:<34} {ratio:8.1f} x floor   (recorded {before or '-'})   {absolute}{mark}")
    return int(bool(worse))


if __name__ == "__main__":
    sys.exit(main())
