"""Which results an answer cites."""

from __future__ import annotations

import pytest

from holmes.agent.evidence import Evidence
from holmes.core.results import StructuredToolResult


@pytest.mark.parametrize(
    ("answer", "cited"),
    [
        ("The pod crashes [E1].", ["E1"]),
        ("The pod crashes [E2, E1].", ["E2", "E1"]),
        ("The pod crashes [E1][E2].", ["E1", "E2"]),
        ("The pod crashes [E1; E2] and [E1 and E2].", ["E1", "E2"]),
        ("容器崩溃【E1、E2】。", ["E1", "E2"]),
        ("容器崩溃［E1，E2］。", ["E1", "E2"]),
        ("容器崩溃（E1和E2）。", ["E1", "E2"]),
        ("ポッドが落ちた[E1、E2]。", ["E1", "E2"]),
        ("As E2 shows, it was killed (E1).", ["E2", "E1"]),
        ("crashes [e1]", ["E1"]),
        ("| `checkout-1` | crashes | [E1] |", ["E1"]),
        ("Nothing is cited here.", []),
        ("Error E11000 is not a reference, nor is an E27 lamp.", []),
        ("```\n[E1]\n```", ["E1"]),
    ],
)
def test_cited(evidence: Evidence, answer: str, cited: list[str]) -> None:
    check = evidence.check(answer)
    assert (list(check.cited), list(check.missing)) == (cited, [])


@pytest.mark.parametrize(
    "answer", ["It crashed [E9].", "It crashed [E1, E9].", "它崩溃了（E9）。", "## Next steps\nSee [E9]."]
)
def test_a_cited_result_that_does_not_exist_is_missing(evidence: Evidence, answer: str) -> None:
    check = evidence.check(answer)
    assert check.missing == ("E9",)
    assert check.false


def test_a_failed_call_may_be_cited_and_is_marked(evidence: Evidence) -> None:
    check = evidence.check("Metrics could not be read [E3].")
    assert (check.failed, check.missing, check.false) == (("E3",), (), False)


def test_an_answer_without_citations_is_not_false(evidence: Evidence) -> None:
    check = evidence.check("Everything is `made up`, all 17 of it.")
    assert check.as_data() == {"cited": [], "missing": [], "failed": [], "quotes": [], "numbers": []}


def test_a_result_without_a_reference_cannot_be_cited(evidence: Evidence) -> None:
    evidence.add("kubernetes_get", StructuredToolResult.success("repeated"))
    assert "" not in evidence.calls
