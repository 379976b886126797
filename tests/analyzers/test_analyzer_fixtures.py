"""Every analyzer against what real clusters show, and against look-alikes; expected.yaml says what each fixture is."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
import yaml

from holmes.analyzers.docs import describe, render_docs
from holmes.analyzers.graph import Cause
from holmes.analyzers.registry import Analyzer
from holmes.analyzers.run import inspect, scan
from holmes.core.findings import Finding

HERE = Path(__file__).parent
EXPECTED: dict[str, list[dict[str, Any]]] = yaml.safe_load((HERE / "expected.yaml").read_text())
NAMES = sorted(path.stem for path in (HERE / "fixtures").iterdir())
READS = re.compile(r"kubectl (get|describe|logs|top|rollout history) [^|;&]+")


def told(cause: Cause) -> dict[str, Any]:
    found = {"cause": f"{cause.severity} {cause.finding.cause} {cause.finding.object}"}
    follows = sorted(f"{item.cause} {item.object}" for item in cause.symptoms)
    return found | ({"follows": follows} if follows else {})


def expected(name: str) -> list[dict[str, Any]]:
    return [{key: item[key] for key in ("cause", "follows") if key in item} for item in EXPECTED[name]]


def by_cause(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(items, key=lambda item: str(item["cause"]))


def test_every_fixture_is_described() -> None:
    assert sorted(EXPECTED) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_what_a_fixture_shows(name: str, incident: Callable[[str], Any], causes: Callable[[Any], list[Cause]]) -> None:
    found = causes(incident(name))
    assert by_cause([told(cause) for cause in found]) == by_cause(expected(name))
    for item in EXPECTED[name]:
        if "shows" in item:
            evidence = [
                line for cause in found if told(cause)["cause"] == item["cause"] for line in cause.finding.evidence
            ]
            assert any(item["shows"] in line for line in evidence), evidence


@pytest.mark.parametrize("name", NAMES)
def test_texts_are_whole_and_true(
    name: str, incident: Callable[[str], Any], causes: Callable[[Any], list[Cause]]
) -> None:
    source = incident(name)
    data = plain(source)
    for cause in causes(source):
        for finding in (cause.finding, *cause.symptoms):
            check_texts(finding, data)


def plain(source: Any) -> str:
    """All texts of the objects and logs, white space runs as one space."""
    texts: list[str] = []

    def walk(value: object) -> None:
        if isinstance(value, dict):
            for item in value.values():
                walk(item)
        elif isinstance(value, list):
            for item in value:
                walk(item)
        elif isinstance(value, str):
            texts.append(" ".join(value.split()))

    walk(source.objects)
    walk(source.logs)
    return "\n".join(texts)


def check_texts(finding: Finding, data: str) -> None:
    assert finding.explanation.endswith("."), finding.explanation
    assert finding.object.name in finding.explanation
    assert "None" not in finding.explanation + finding.remedy, finding
    assert "  " not in finding.explanation
    assert finding.remedy.endswith((".", "?"))
    assert finding.evidence
    assert 0 < finding.confidence <= 1
    assert finding.analyzer
    for command in finding.commands:
        assert READS.fullmatch(command), command
    for line in finding.evidence:
        quoted = re.match(r"(?:log of|event|message:|condition) ?.*?: (.*)", line)
        if quoted and "…" not in line and line.startswith(("log of", "event")):
            words = quoted[1]
            assert words in re.sub(r"\(?[0-9a-f]{8}-[0-9a-f-]{27}\)?", "", data), line


@pytest.mark.parametrize("name", [name for name in NAMES if name != "stuck-terminating"])
def test_a_scan_reads_what_the_analyzers_need(name: str, incident: Callable[[str], Any]) -> None:
    """The same causes through a cluster as from complete facts."""

    async def main() -> None:
        source = incident(name)
        result = await scan(source.cluster, None, time.monotonic() + 20)
        assert by_cause([told(cause) for cause in result.causes]) == by_cause(expected(name))
        assert not result.gaps
        assert bool(result.faults) == any(not item["cause"].startswith("info") for item in EXPECTED[name])

    anyio.run(main)


INSPECTABLE = [
    (name, item["cause"])
    for name in NAMES
    for item in EXPECTED[name]
    if not item["cause"].startswith("info") and name not in ("pending-cordoned",)
]


@pytest.mark.parametrize(("name", "cause"), INSPECTABLE)
def test_an_inspection_of_the_object_finds_its_cause(name: str, cause: str, incident: Callable[[str], Any]) -> None:
    async def main() -> None:
        _, _, kind, place = cause.split(" ")
        namespace, _, obj = place.rpartition("/")
        result = await inspect(incident(name).cluster, kind.lower(), obj, namespace or None, time.monotonic() + 20)
        assert cause in [told(item)["cause"] for item in result.causes]
        assert result.state

    anyio.run(main)


def test_every_documented_cause_has_a_fixture(
    analyzers: list[Analyzer], incident: Callable[[str], Any], causes: Callable[[Any], list[Cause]]
) -> None:
    documented = {cause: item.name for item in analyzers for cause in describe(item).causes}
    found: dict[str, str] = {}
    for name in NAMES:
        for cause in causes(incident(name)):
            found |= {item.cause: item.analyzer for item in (cause.finding, *cause.symptoms)}
    assert found == documented


def test_the_page_is_up_to_date() -> None:
    page = HERE.parents[1] / "docs" / "analyzers.md"
    assert page.read_text() == render_docs(), "run: python -m holmes.analyzers.docs > docs/analyzers.md"
