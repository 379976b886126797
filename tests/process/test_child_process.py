"""Programs that behave and programs that do not."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from holmes.core.process import ChildProcess, Exit

pytestmark = pytest.mark.anyio

BASH = ("bash", "--noprofile", "--norc", "-c")
ENV = {"PATH": os.environ["PATH"]}


class Collector:
    """What a program wrote."""

    def __init__(self) -> None:
        self.data = bytearray()

    def __call__(self, piece: bytes) -> None:
        self.data += piece

    @property
    def text(self) -> str:
        return self.data.decode()


async def run(*argv: str, seconds: float = 10.0, **more: object) -> tuple[Exit, str]:
    out = Collector()
    arguments: dict[str, object] = {"env": ENV, "write": out, **more}
    process = ChildProcess(grace=0.2, drain=0.1, poll=0.05)
    end = await process.run(argv, deadline=time.monotonic() + seconds, **arguments)  # type: ignore[arg-type]
    return end, out.text


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


async def gone(pid: int) -> bool:
    with anyio.move_on_after(10):
        while alive(pid):
            await anyio.sleep(0.01)
    return not alive(pid)


async def test_output_and_exit_code() -> None:
    end, text = await run(*BASH, "echo out; echo err >&2; exit 3")
    assert end == Exit(3, "", 8)
    assert text == "out\nerr\n"


async def test_stderr_apart() -> None:
    errors = Collector()
    end, text = await run(*BASH, "echo out; echo err >&2", write_error=errors)
    assert (end.code, text, errors.text) == (0, "out\n", "err\n")


async def test_no_shell_is_involved() -> None:
    _, text = await run("echo", "$HOME; touch x", "*")
    assert text == "$HOME; touch x *\n"


async def test_the_environment_is_only_what_is_given() -> None:
    _, text = await run("env", env={"PATH": ENV["PATH"], "A": "1"})
    assert sorted(text.splitlines()) == ["A=1", f"PATH={ENV['PATH']}"]


async def test_missing_program() -> None:
    assert (await run("no-such-program-here"))[0] == Exit(127, "not found")


async def test_programs_that_cannot_start(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("not a program")
    assert (await run(str(plain)))[0].cause.lower() == "cannot start: permission denied"
    assert (await run("echo", cwd=str(tmp_path / "none")))[0].cause.startswith("cannot start: no directory")
    assert (await run("echo", "a\0b"))[0].cause.startswith("cannot start: ")
    assert (await run("echo", "x" * 3_000_000))[0].cause.startswith("cannot start: ")


async def test_working_directory(tmp_path: Path) -> None:
    _, text = await run("pwd", cwd=str(tmp_path))
    assert text.strip() == str(tmp_path.resolve())


async def test_stdin_is_empty_by_default() -> None:
    end, text = await run("cat", seconds=5)
    assert (end, text) == (Exit(0, "", 0), "")


async def test_stdin_larger_than_a_pipe() -> None:
    end, text = await run("cat", stdin=b"x" * 3_000_000)
    assert end == Exit(0, "", 3_000_000)
    assert len(text) == 3_000_000


async def test_stdin_that_nobody_reads() -> None:
    assert (await run("true", stdin=b"x" * 3_000_000))[0].code == 0


async def test_killed_by_a_signal_is_named() -> None:
    assert (await run(*BASH, "kill -KILL $$"))[0] == Exit(137, "killed by signal 9")
    assert (await run(*BASH, "kill -SEGV $$"))[0] == Exit(139, "killed by signal 11")


async def test_the_deadline_ends_it_and_what_came_is_kept() -> None:
    end, text = await run(*BASH, "echo before; exec sleep 60", seconds=0.3)
    assert end == Exit(143, "timeout", 7)
    assert text == "before\n"


async def test_a_deadline_in_the_past() -> None:
    assert (await run("sleep", "60", seconds=-1))[0].cause == "timeout"


async def test_a_program_may_say_good_bye_at_the_deadline() -> None:
    end, text = await run(*BASH, "trap 'echo bye; exit 7' TERM; sleep 60 & wait", seconds=0.3)
    assert (end.cause, text) == ("timeout", "bye\n")


async def test_ignoring_sigterm_does_not_help() -> None:
    began = time.monotonic()
    end, _ = await run(*BASH, "trap '' TERM; while :; do sleep 0.05; done", seconds=0.3)
    assert end == Exit(137, "timeout", 0)
    assert time.monotonic() - began < 20


async def test_the_whole_group_dies_at_the_deadline() -> None:
    _, text = await run(*BASH, "trap '' TERM; sleep 60 & echo $!; sleep 60 & echo $!; wait; wait; wait", seconds=0.4)
    for pid in text.split():
        assert await gone(int(pid))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
async def test_descendants_that_left_the_session_die_too() -> None:
    script = "(setsid bash -c 'echo $$; trap \"\" TERM; while :; do sleep 0.05; done'; :) & wait"
    end, text = await run(*BASH, script, seconds=0.4)
    assert end.cause == "timeout"
    assert await gone(int(text))


async def test_a_grandchild_that_holds_the_pipe_does_not_hang_us() -> None:
    began = time.monotonic()
    end, text = await run(*BASH, "sleep 60 & echo $!")
    assert end.code == 0
    assert time.monotonic() - began < 20
    assert await gone(int(text))


async def test_a_grandchild_that_writes_on_and_on_does_not_hang_us() -> None:
    began = time.monotonic()
    end, _ = await run(*BASH, "setsid yes & sleep 0.1; kill -KILL $$", write=lambda piece: None)
    assert end.cause == "killed by signal 9"
    assert time.monotonic() - began < 20
    # Its parent is gone and so is its session: only the closed pipe can end it.


async def test_a_background_process_does_not_outlive_the_call() -> None:
    _, text = await run(*BASH, "sleep 60 >/dev/null 2>&1 & echo $!")
    assert await gone(int(text))


@pytest.mark.parametrize("native", [False, True])
async def test_cancelling_kills(native: bool) -> None:
    pids: asyncio.Queue[int] = asyncio.Queue()

    async def work() -> None:
        await run(*BASH, "echo $$; exec sleep 60", write=lambda piece: pids.put_nowait(int(piece)))

    if native:
        task = asyncio.ensure_future(work())
        pid = await pids.get()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    else:
        async with anyio.create_task_group() as group:
            group.start_soon(work)
            pid = await pids.get()
            group.cancel_scope.cancel()
    assert not alive(pid)


async def test_what_write_raises_comes_out_and_ends_the_program() -> None:
    pids: list[int] = []

    def full(piece: bytes) -> None:
        pids.append(int(piece.split()[0]))
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        await run(*BASH, "echo $$; exec yes", write=full)
    assert await gone(pids[0])


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
async def test_memory_limit_counts_descendants() -> None:
    hungry = "x = []\nwhile True: x.append(bytearray(4_000_000))"
    end, _ = await run(*BASH, f"{sys.executable} -c '{hungry}'; true", memory_mb=150)
    assert end.cause == "memory limit"
    assert (await run("echo", "x", memory_mb=150))[0] == Exit(0, "", 2)


async def test_address_space_is_not_limited() -> None:
    _, text = await run(*BASH, "ulimit -v", memory_mb=100)
    assert text == "unlimited\n"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
async def test_our_files_are_not_inherited(tmp_path: Path) -> None:
    fd = os.open(tmp_path / "secret", os.O_CREAT | os.O_RDWR)
    os.set_inheritable(fd, True)
    try:
        _, text = await run(*BASH, "ls /proc/$$/fd; :")
    finally:
        os.close(fd)
    assert set(text.split()) <= {"0", "1", "2", "255"}


async def test_it_has_its_own_session() -> None:
    _, text = await run("ps", "-o", "pid=,sid=,pgid=", "-C", "ps")
    pid, session, group = next(line.split() for line in text.splitlines())
    assert pid == session == group


async def test_a_slow_reader_slows_the_program_down() -> None:
    """The program cannot run ahead of the reader by more than pipes and a few pieces."""
    taken = 0
    ahead: list[int] = []
    script = "import os\nn = 0\nwhile n < 20_000_000: n += os.write(1, bytes(65536)); os.write(2, b'%d ' % n)"

    def take(piece: bytes) -> None:
        nonlocal taken
        taken += len(piece)
        time.sleep(0.002)

    def progress(piece: bytes) -> None:
        ahead.append(int(piece.split()[-1]) - taken)

    end, _ = await run(sys.executable, "-c", script, write=take, write_error=progress)
    assert end.code == 0
    assert taken >= 20_000_000
    assert max(ahead) < 4_000_000


async def test_much_output_is_fast() -> None:
    size = 0

    def count(piece: bytes) -> None:
        nonlocal size
        size += len(piece)

    began = time.perf_counter()
    end, _ = await run("head", "-c", "200000000", "/dev/zero", write=count)
    assert size == end.size == 200_000_000
    assert time.perf_counter() - began < 10  # 0.15 s on a quiet machine


async def test_sixteen_at_a_time() -> None:
    results: list[str] = []

    async def one(number: int) -> None:
        results.append((await run(*BASH, f"sleep 0.1; echo {number}"))[1])

    async with anyio.create_task_group() as group:
        for number in range(16):
            group.start_soon(one, number)
    assert sorted(map(int, results)) == list(range(16))


async def test_without_pidfd(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    assert await run("echo", "x") == (Exit(0, "", 2), "x\n")
    assert (await run("sleep", "60", seconds=0.2))[0] == Exit(143, "timeout", 0)


async def test_nothing_is_left_open() -> None:
    before = _open_files()
    await run("echo", "x")
    await run("cat", stdin=b"x")
    await run("sleep", "60", seconds=0.1)
    await run(*BASH, "sleep 60 & echo")
    assert _open_files() == before


def _open_files() -> int:
    return len(os.listdir("/dev/fd"))


@pytest.fixture(autouse=True)
def no_leftover_reaping() -> Callable[[], None]:
    """Programs are reaped by the call itself, so that no zombie of ours remains."""
    yield  # type: ignore[misc]
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
