"""What the parts of an answer are, however a model writes its headings."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from holmes.agent.reporting import split_sections
from holmes.agent.sections import code_span
from holmes.core.report import Report

PARTS = {"root_cause": "It ran out.", "evidence": "- killed [E1]", "ruled_out": "- network", "remediation": "Raise it."}


@pytest.mark.parametrize(
    "titles",
    [
        "## Root cause|## Evidence|## Ruled out|## Next steps",
        "# Root Cause|# Evidence|# Ruled Out|# Recommended fix",
        "### ROOT CAUSE:|### EVIDENCE:|### RULED OUT:|### REMEDIATION:",
        "## **Root cause**|## **Evidence**|## **Ruled out**|## **Next steps**",
        "**Root cause**|**Evidence**|**Ruled out**|**Next steps**",
        "**Root cause:**|**Evidence:**|**Ruled out:**|**Next steps:**",
        "**Root cause**:|**Evidence**:|**Ruled out**:|**Next steps**:",
        "__Root cause__|__Evidence__|__Ruled out__|__Next steps__",
        "Root cause:|Evidence:|Ruled out:|Next steps:",
        "## 1. Root cause|## 2. Evidence|## 3. Ruled out|## 4. Next steps",
        "## What is the cause?|## Evidence for this cause|## Causes ruled out|## Recommended next steps",
        "## 根本原因|## 证据|## 已排除的原因|## 下一步",
        "**根因：**|**证据：**|**已排除：**|**处理建议：**",
        "## 一、根本原因|## 二、证据|## 三、排除|## 四、后续步骤",
        "## Ursache|## Belege|## Ausgeschlossen|## Nächste Schritte",
        "## Causa raíz|## Evidencia|## Descartado|## Próximos pasos",
        "## 根本原因|## 証拠|## 除外した原因|## 次のステップ",
    ],
)
def test_headings(titles: str) -> None:
    texts = PARTS.values()
    answer = "\n".join(f"{title}\n{text}\n" for title, text in zip(titles.split("|"), texts, strict=True))
    assert split_sections(answer) == PARTS


def test_text_may_stand_behind_its_heading() -> None:
    answer = "**Root cause:** It ran out.\nEvidence: killed [E1]\n1. **Ruled out**: network\n- Next steps: Raise it."
    assert split_sections(answer) == PARTS | {"evidence": "killed [E1]", "ruled_out": "network"}


def test_unknown_headings_end_a_part_unless_they_are_deeper() -> None:
    answer = "Hello.\n# Root cause\nIt ran out.\n## How\nSlowly.\n**When**\nToday.\n# Appendix\nMore.\n"
    parts = split_sections(answer)
    assert parts["root_cause"].splitlines() == ["It ran out.", "Slowly.", "Today."]
    assert parts[""].splitlines() == ["Hello.", "More."]


def test_words_of_headings_in_ordinary_text_are_not_headings() -> None:
    answer = "## Root cause\nThe fix: none known.\nIts cause and evidence are unclear. **Evidence** is missing.\n"
    assert set(split_sections(answer)) == {"root_cause"}
    assert split_sections("## Prefixes\nx\n## Because\ny") == {"": "x\ny"}


def test_comments_of_a_script_are_not_headings() -> None:
    answer = "## Next steps\n```bash\n# Root cause\nkubectl get pods\n```\n~~~\n## Evidence\n```\n~~~\ndone\n"
    assert set(split_sections(answer)) == {"remediation"}


def test_an_answer_without_headings_has_no_parts() -> None:
    assert split_sections("All is well [E1].") == {"": "All is well [E1]."}
    assert split_sections("") == {}


@pytest.mark.parametrize(
    ("words", "level"),
    [
        ("Confidence: high", "high"),
        ("**Confidence:** Medium", "medium"),
        ("**Confidence: LOW**", "low"),
        ("*Confidence*: **High**.", "high"),
        ("(confidence: low)", "low"),
        ("Confidence level: medium", "medium"),
        ("My confidence is high", "high"),
        ("With high confidence", "high"),
        ("置信度：高", "high"),
        ("置信度：**中等**", "medium"),
        ("置信度为低。", "low"),
        ("信心：较高", "high"),
        ("I am confident that it is high time", ""),
        ("Confidence: who knows", ""),
    ],
)
def test_confidence(report: Callable[..., Report], words: str, level: str) -> None:
    assert report(f"## Root cause\nIt ran out [E1]. {words}\n").confidence == level
    assert report(f"It ran out [E1]. {words}").confidence == level


def test_the_confidence_is_no_part_of_the_cause(report: Callable[..., Report]) -> None:
    assert report("## Root cause\nIt ran out [E1].\n\n**Confidence: high**\n").root_cause == "It ran out [E1]."


@pytest.mark.parametrize(
    ("remediation", "commands"),
    [
        (
            "```bash\n# first\n$ kubectl get pods\n\nkubectl delete pod a\n```",
            ["kubectl get pods", "kubectl delete pod a"],
        ),
        ("Run `kubectl rollout undo deploy/a`, or set `memory: 1Gi`.", ["kubectl rollout undo deploy/a"]),
        ("1. Raise it:\n   ```sh\n   helm upgrade a \\\n     --set x=1\n   ```", ["helm upgrade a --set x=1"]),
        ("```yaml\nlimits:\n  memory: 1Gi\n```", []),
        ("```\nlimits:\n  memory: 1Gi\n```", []),
        ("```\nkubectl get pods\n```", ["kubectl get pods"]),
        ("```bash\n./own-script.sh\n```", ["./own-script.sh"]),
        ("```sh\nkubectl apply -f - <<EOF\nkind: Pod\nEOF\n```", ["kubectl apply -f - <<EOF\nkind: Pod\nEOF"]),
        ("```bash\nkubectl get pods\n```\nAgain: `kubectl get pods`", ["kubectl get pods"]),
        ("Nothing to do.", []),
    ],
)
def test_commands_to_copy(report: Callable[..., Report], remediation: str, commands: list[str]) -> None:
    assert list(report(f"It ran out [E1].\n## Next steps\n{remediation}\n").remediation) == commands


def test_commands_elsewhere_are_not_for_copying(report: Callable[..., Report]) -> None:
    assert report("## Evidence\n`kubectl describe pod checkout-1` shows it [E1].").remediation == ()


def test_what_was_ruled_out(report: Callable[..., Report]) -> None:
    text = "## Ruled out\n- **Network**: endpoints are there [E1]\n  and answer\n* Node pressure\n1. Image\n"
    assert report(text).ruled_out == ("**Network**: endpoints are there [E1] and answer", "Node pressure", "Image")


@pytest.mark.parametrize(
    ("text", "span"),
    [("a b", "`a b`"), ("a\n b", "`a b`"), ("a `b` c", "`` a `b` c ``"), ("``", "``` `` ```"), ("", "")],
)
def test_a_code_span_holds_any_text(text: str, span: str) -> None:
    assert code_span(text) == span
