"""A report as one self-contained HTML page: no script, no link that is fetched, nothing from outside."""

from __future__ import annotations

from html import escape

from holmes.core.report import EvidenceItem, Report
from holmes.report.markdown import to_markdown

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --ok: #2a7; --bad: #c44; --weak: #888; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }
header { border-bottom: 1px solid var(--line); margin-bottom: 1rem; }
h1 { font-size: 1.3rem; } h2 { font-size: 1.1rem; margin-top: 1.6rem; }
pre, code { font: 0.9em/1.4 ui-monospace, monospace; background: #8881; border-radius: 4px; }
code { padding: 0.1em 0.3em; } pre { padding: 0.6em; overflow-x: auto; } pre code { padding: 0; background: none; }
table { border-collapse: collapse; width: 100%; font-size: 0.9em; }
td, th { border-bottom: 1px solid var(--line); padding: 0.3em 0.5em; text-align: left; vertical-align: top; }
.ok { color: var(--ok); } .bad { color: var(--bad); } .weak { color: var(--weak); }
:target { background: #fd03; }
"""


def to_html(report: Report) -> str:
    """The page. Markdown of the answer is rendered without raw HTML and without images."""
    rows = "\n".join(_row(item) for item in report.evidence)
    facts = [
        f"{report.started:%Y-%m-%d %H:%M} UTC",
        report.cluster and f"cluster {report.cluster}",
        f"model {report.model}",
        report.confidence and f"confidence {report.confidence}",
        f"run {report.run_id}",
    ]
    return f"""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{escape(report.question[:80])}</title><style>{_STYLE}</style></head>
<body>
<header><h1>{escape(report.question)}</h1>
<p class="weak">{escape(" · ".join(fact for fact in facts if fact))}</p></header>
<main>{_body(to_markdown(report), [item.reference for item in report.evidence])}</main>
<h2>Results</h2>
<table><tr><th></th><th>What was looked at</th><th>How it went</th></tr>
{rows}
</table>
</body></html>"""


def _body(markdown: str, references: list[str]) -> str:
    from markdown_it import MarkdownIt

    html: str = MarkdownIt("js-default", {"html": False}).disable("image").render(markdown)
    for reference in sorted(references, key=len, reverse=True):
        html = html.replace(f"[{reference}]", f'[<a href="#{reference}">{reference}</a>]')
    return html


def _row(item: EvidenceItem) -> str:
    good = item.status in ("success", "no_data")
    state = f'<span class="{"ok" if good else "bad"}">{escape(item.status)}</span>'
    quotes = "".join(
        f'<br><span class="{"ok" if quote.found else "bad"}">{"✓" if quote.found else "✗"}</span> '
        f"<code>{escape(quote.text)}</code>"
        for quote in item.quote_checks
    )
    error = f"<br>{escape(item.error)}" if item.error else ""
    return (
        f'<tr id="{item.reference}"><td>{item.reference}</td>'
        f"<td><code>{escape(item.invocation or item.tool)}</code>{quotes}</td>"
        f"<td>{state} {item.elapsed_seconds:.1f} s, {item.size:,} characters{error}</td></tr>"
    )
