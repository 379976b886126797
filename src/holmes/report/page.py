"""A report as one self-contained HTML page: no script, no picture, nothing that is fetched from outside."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from holmes.core.language import Language, language_of, phrase
from holmes.core.report import EvidenceItem, QuoteCheck, Report
from holmes.report.markdown import to_markdown

if TYPE_CHECKING:
    from markdown_it.token import Token

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = """
:root { color-scheme: light dark; --line: #8884; --ok: #2a7; --bad: #c44; --weak: #888; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }
header { border-bottom: 1px solid var(--line); margin-bottom: 1rem; }
h1 { font-size: 1.3rem; } h2 { font-size: 1.1rem; margin-top: 1.6rem; }
pre, code { font: 0.9em/1.4 ui-monospace, monospace; background: #8881; border-radius: 4px; }
code { padding: 0.1em 0.3em; overflow-wrap: anywhere; }
pre { padding: 0.6em; overflow-x: auto; } pre code { padding: 0; background: none; }
table { border-collapse: collapse; width: 100%; font-size: 0.9em; }
td, th { border-bottom: 1px solid var(--line); padding: 0.3em 0.5em; text-align: left; vertical-align: top; }
.ok { color: var(--ok); } .bad { color: var(--bad); } .weak { color: var(--weak); }
:target { background: #fd03; }
"""


def to_html(report: Report) -> str:
    """The page. Markdown of the answer is rendered without raw HTML and without pictures; references lead to rows."""
    language = language_of(report.question)
    facts = [
        f"{report.started:%Y-%m-%d %H:%M} UTC",
        report.cluster and f"{phrase('cluster', language)} {report.cluster}",
        f"{phrase('model', language)} {report.model}",
        report.confidence and f"{phrase('confidence', language)} {phrase(report.confidence, language)}",
        f"{phrase('run', language)} {report.run_id}",
    ]
    return f"""<!doctype html>
<html lang="{language}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<title>{escape(report.question[:80])}</title><style>{_STYLE}</style></head>
<body>
<header><h1>{escape(report.question)}</h1>
<p class="weak">{escape(" · ".join(fact for fact in facts if fact))}</p></header>
<main>{_body(to_markdown(report), [item.reference for item in report.evidence])}</main>
{_results(report.evidence, language)}</body></html>"""


def _body(markdown: str, references: Sequence[str]) -> str:
    from markdown_it import MarkdownIt

    # Link definitions are off too: "[E1]: https://..." would take over the citations.
    parser = MarkdownIt("js-default", {"html": False}).disable(["image", "reference"])
    parser.add_render_rule("text", _text)
    html: str = parser.render(markdown, {"evidence": frozenset(references)})
    return html


def _text(renderer: Any, tokens: Sequence[Token], index: int, options: Any, env: Mapping[str, Any]) -> str:
    """Plain text, its references as links to their rows."""

    def link(match: re.Match[str]) -> str:
        reference = match.group()
        return f'<a href="#{reference}">{reference}</a>' if reference in env["evidence"] else reference

    text = escape(tokens[index].content)
    linked = index > 0 and tokens[index - 1].type == "link_open"
    return text if linked else re.sub(r"\bE\d+\b", link, text, flags=re.A)


def _results(items: Sequence[EvidenceItem], language: Language) -> str:
    if not items:
        return ""
    heads = "".join(f"<th>{phrase(name, language)}</th>" for name in ("looked_at", "outcome"))
    rows = "\n".join(_row(item, language) for item in items)
    return f"<h2>{phrase('results', language)}</h2>\n<table><tr><th></th>{heads}</tr>\n{rows}\n</table>\n"


def _row(item: EvidenceItem, language: Language) -> str:
    good = item.status in ("success", "no_data")
    state = f'<span class="{"ok" if good else "bad"}">{escape(item.status)}</span>'
    size = phrase("size", language, seconds=f"{item.elapsed_seconds:.1f}", characters=f"{item.size:,}")
    quotes = "".join(_quote(quote, item.reference) for quote in item.quote_checks)
    error = f"<br>{escape(item.error)}" if item.error else ""
    reference = escape(item.reference)
    return (
        f'<tr id="{reference}"><td>{reference}</td>'
        f"<td><code>{escape(item.invocation or item.tool)}</code>{quotes}</td>"
        f"<td>{state} {size}{error}</td></tr>"
    )


def _quote(quote: QuoteCheck, reference: str) -> str:
    """A quote with its mark, and the result that has it when that is another one."""
    mark = '<span class="ok">✓</span>' if quote.found else '<span class="bad">✗</span>'
    other = f" ({escape(quote.found)})" if quote.found not in ("", reference) else ""
    return f"<br>{mark} <code>{escape(quote.text)}</code>{other}"
