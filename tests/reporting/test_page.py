"""The page of a report: complete in itself and harmless, whatever an answer holds."""

from __future__ import annotations

from collections.abc import Callable
from html.parser import HTMLParser

import pytest

from holmes.core.report import Report
from holmes.core.results import StructuredToolResult
from holmes.report.page import to_html

Build = Callable[..., Report]
FETCHING = {"script", "img", "link", "iframe", "object", "embed", "video", "audio", "source", "form", "svg", "base"}


class Page(HTMLParser):
    """Tags with their attributes, and the text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        self.text += data

    @property
    def links(self) -> list[str]:
        return [attrs["href"] for tag, attrs in self.tags if tag == "a"]


def harmless(html: str) -> Page:
    """The page, which fetches and runs nothing."""
    page = Page(html)
    for tag, attrs in page.tags:
        assert tag not in FETCHING, tag
        assert not {name for name in attrs if name.startswith("on") or name in ("src", "style", "background")}
    assert all(link.startswith(("#", "https://", "http://", "mailto:")) for link in page.links)
    assert "url(" not in html
    assert "@import" not in html
    return page


def test_a_page_has_the_answer_and_the_results(report: Build) -> None:
    page = harmless(
        to_html(report("## Root cause\nIt ran **out** [E1]. Confidence: high\n\n| a | b |\n|---|---|\n| 1 | 2 |"))
    )
    names = [tag for tag, _ in page.tags]
    assert {"h2", "strong", "table", "td"} <= set(names)
    for text in (
        "Why is checkout failing?",
        "kubectl describe pod checkout-1",
        "no metrics",
        "confidence high",
        "prod",
    ):
        assert text in page.text
    assert "default-src 'none'" in dict(page.tags[names.index("meta") + 2][1])["content"]


def test_references_lead_to_their_rows(report: Build) -> None:
    page = harmless(to_html(report("It ran out [E1], [E1, E2] 【E2】, not [E9], `E1`.\n\n```\nE1\n```")))
    assert page.links[:4] == ["#E1", "#E1", "#E2", "#E2"]
    assert set(page.links) == {"#E1", "#E2"}  # those that follow stand among what was not seen
    assert {attrs["id"] for tag, attrs in page.tags if tag == "tr" and "id" in attrs} == {"E1", "E2"}


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "<svg/onload=alert(1)>",
        '<iframe src="https://evil.example"></iframe>',
        "<style>",
        "![pixel](https://evil.example/p.png)",
        "[![pixel](https://evil.example/p.png)](https://evil.example)",
        "![E1](https://evil.example/p.png)",
        "[click](javascript:alert(1))",
        "[click](JaVaScRiPt&colon;alert(1))",
        "[click](data:text/html;base64,PHNjcmlwdD4=)",
        "[click](vbscript:x)",
        "<javascript:alert(1)>",
        '[click](https://a.example "onmouseover=alert(1) \\" x=\\"")',
        '[see](https://a.example "[E1]")',
        "`<b>` and\n```html\n<img src=x>\n```",
        "```<img src=x>\n```",
        "&lt;img src=x&gt; &#60;script&#62;",
        "</main></body><script>",
        "> " * 300 + "deep",
        "[" * 300,
    ],
)
def test_hostile_answers_are_harmless(report: Build, hostile: str) -> None:
    page = harmless(to_html(report(f"It ran out [E1].\n\n{hostile}\n")))
    assert "#E1" in page.links


def test_a_link_definition_does_not_take_over_the_citations(report: Build) -> None:
    page = harmless(to_html(report("It ran out [E1].\n\n[E1]: https://evil.example\n")))
    assert "https://evil.example" not in page.links


def test_hostile_results_and_questions_are_harmless(report: Build) -> None:
    bad = "<script>alert(1)</script>"
    results = (
        StructuredToolResult.success(bad, invocation=f"{bad} `![x](https://evil.example)`"),
        StructuredToolResult.failure(f"{bad}\n![x](https://evil.example)", gaps=(f"{bad} ![x](https://evil.example)",)),
    )
    for text, status in ((f"`{bad}` and `{bad}!` [E1]", "answered"), ("", "cut_short")):
        page = harmless(to_html(report(text, status, "why", f"{bad}</title>", results)))
        assert bad in page.text


def test_quotes_are_marked(report: Build) -> None:
    page = harmless(to_html(report("`OOMKilled` [E1], `disk is full` [E1], `exit code 137` [E2]")))
    assert "✓ OOMKilled" in page.text
    assert "✗ disk is full" in page.text
    assert "✓ exit code 137 (E1)" in page.text


def test_a_page_speaks_the_language_of_the_question(report: Build) -> None:
    html = to_html(report("内存不足【E1】。置信度：高", question="为什么 checkout 失败？"))
    assert '<html lang="zh">' in html
    assert "置信度 高" in html
    assert "查询结果" in html


def test_a_report_without_results_has_no_table(report: Build) -> None:
    assert "<table>" not in to_html(report("A pod is a group of containers.", results=()))
