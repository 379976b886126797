"""How a scan looks on a terminal and in Markdown."""

from __future__ import annotations

import io

from holmes.analyzers.graph import Cause
from holmes.analyzers.scan_result import ScanResult
from holmes.cli.scan_text import gap_lines, print_scan, scan_markdown
from holmes.cli.terminal import Terminal
from holmes.core.findings import Finding, ObjectRef
from holmes.kube.cluster import Gap
from support.shop import NOW

COMMAND = (
    "kubectl get pods --namespace shop --selector app=catalog,tier=backend,release=stable --output wide --show-labels"
)


def result(**more: object) -> ScanResult:
    finding = Finding(
        cause="oom-killed",
        object=ObjectRef("Deployment", "catalog", "shop"),
        severity="critical",
        explanation="Container app of Deployment shop/catalog is killed for want of memory, " * 3,
        evidence=("pod catalog-1: `OOMKilled`", "limit 32Mi"),
        remedy="Raise the limit.",
        commands=(COMMAND,),
    )
    note = Finding("scaled-to-zero", ObjectRef("Deployment", "batch", "shop"), "info", "It is scaled to zero.", (), "")
    facts: dict[str, object] = {
        "causes": (Cause(finding), Cause(note)),
        "looked_at": {"Pod": 2, "Ingress": 3},
        "healthy": {"Pod": 1, "Ingress": 3},
    }
    return ScanResult("namespace shop", "test", NOW, **(facts | more))  # type: ignore[arg-type]


class Screen(io.StringIO):
    """A terminal; its width is not known, so it counts as 100 columns."""

    def isatty(self) -> bool:
        return True


def shown(stream: io.StringIO, **env: str) -> str:
    print_scan(result(), str, Terminal.of(stream, env))
    return stream.getvalue()


def test_a_terminal_gets_colours_and_wrapped_lines_but_whole_commands() -> None:
    text = shown(Screen(), TERM="xterm")
    assert "\x1b[1;31m1. critical: oom-killed\x1b[0m" in text
    lines = [line.replace("\r\x1b[K", "") for line in text.splitlines()]
    plain = [line for line in lines if "\x1b" not in line]
    assert all(len(line) <= 100 for line in plain)
    assert sum("killed for want of memory" in line for line in lines) >= 2, "the long sentence is wrapped"
    assert any(COMMAND in line for line in lines)


def test_a_file_gets_neither() -> None:
    text = shown(io.StringIO())
    assert "\x1b" not in text
    assert sum("killed for want of memory" in line for line in text.splitlines()) == 1


def test_people_can_turn_colours_off() -> None:
    assert "\x1b[1" not in shown(Screen(), TERM="xterm", NO_COLOR="1")


def test_notes_are_told_apart_from_faults() -> None:
    text = shown(io.StringIO())
    assert text.splitlines()[0] == "namespace shop of cluster test: 1 fault found"
    assert text.index("no fault:") < text.index("It is scaled to zero.")
    assert "Without a fault: 1 of 2 Pods, 3 of 3 Ingresses" in text


def test_markdown_survives_backticks_in_evidence() -> None:
    text = scan_markdown(result(), str)
    assert "- `` pod catalog-1: `OOMKilled` ``" in text
    assert "- `limit 32Mi`" in text
    assert f"```sh\n{COMMAND}\n```" in text


def test_the_same_reason_is_told_once() -> None:
    gaps = [Gap(f"{kind} in namespace shop", "forbidden", "ask for the right") for kind in ("jobs", "pods", "nodes")]
    other = Gap("logs", "error", "gone")
    assert gap_lines([*gaps, other]) == [
        "jobs in namespace shop, pods in namespace shop and nodes in namespace shop: ask for the right",
        "logs: gone",
    ]
