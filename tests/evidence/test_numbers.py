"""Numbers of an answer: they stand in the cited results, follow from such, or nobody knows."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from holmes.agent.evidence import Evidence


@pytest.mark.parametrize(
    ("passage", "marks"),
    [
        ("It restarted 17 times [E1].", {"17": "verified"}),
        ("它重启了17次【E1】。", {"17": "verified"}),
        ("It restarted 18 times [E1].", {"18": "unknown"}),
        ("It restarted 7 times [E1].", {"7": "unknown"}),
        ("Exit code 137, limit 64Mi [E2].", {"137": "verified", "64Mi": "verified"}),
        ("The limit is 64 MiB [E2].", {"64": "verified"}),
        ("The limit is 64Gi [E2].", {"64Gi": "unknown"}),
        ("256 of 1024 requests failed, that is 25% [E2].", {"256": "verified", "1024": "verified", "25%": "derived"}),
        ("256 of 1024 requests failed, 768 worked [E2].", {"256": "verified", "1024": "verified", "768": "derived"}),
        ("1,024 requests, 1500ms [E2]", {"1,024": "verified", "1500ms": "verified"}),
        ("Last 0,5 [E2]", {"0,5": "verified"}),
        ("Version 1.34.4, that is v1.34 [E2].", {"1.34.4": "verified", "v1.34": "verified"}),
        ("Version 1.34.5 [E2].", {"1.34.5": "unknown"}),
        ("It started at 10:42, not at 10:43 [E2].", {"10:42": "verified", "10:43": "unknown"}),
        ("Since 2026-01-02T10:42:07Z [E2].", {"2026-01-02T10:42:07Z": "verified"}),
        ("Since 2026-01-02 10:42:07 [E2].", {"2026-01-02 10:42:07": "verified"}),
        ("Since 2026-01-02T10:43:07Z [E2].", {"2026-01-02T10:43:07Z": "unknown"}),
        ("1. The first item of a list [E1].", {}),
        ("Numbers in names such as checkout-9 and k8s are no numbers [E1].", {}),
        ("A quote is checked as a quote: `Exit Code: 137` [E2].", {}),
        ("Nothing is cited: 99 problems.", {}),
        ("## Next steps\nRaise it to 512 [E2].", {}),
        ("17 in E1, and 137 [E2].", {"17": "verified", "137": "verified"}),
    ],
)
def test_marks(evidence: Evidence, passage: str, marks: dict[str, str]) -> None:
    check = evidence.check(passage)
    assert {number.text: number.mark for number in check.numbers} == marks
    assert not check.false


def test_a_number_is_judged_by_its_own_passage(evidence: Evidence) -> None:
    check = evidence.check("- 17 restarts [E1]\n- 17 restarts [E2]")
    assert [(number.text, number.mark) for number in check.numbers] == [("17", "verified"), ("17", "unknown")]


def test_the_middle_of_a_long_result_is_searched_too(make: Callable[..., Evidence]) -> None:
    evidence = make("head 1\n" + "filler\n" * 100 + "code 137\n" + "filler\n" * 100 + "tail 42", kept=40)
    marks = [number.mark for number in evidence.check("Codes 137, 42 and 999 [E1].").numbers]
    assert marks == ["verified", "verified", "unknown"]
    assert evidence.check("`filler code 137 filler` [E1]").quotes[0].found == "E1"
