"""A page as text that can be read: Markdown of HTML, JSON with line breaks, other text as it is.

Nothing is loaded for it. What a reader of the page would not see (scripts, styles, hidden elements, comments) is left
out; links become text with their URL, pictures their alternative text.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from markdownify import ATX, MarkdownConverter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bs4 import Tag

    from holmes.core.fetch import Fetched

_HTML = ("text/html", "application/xhtml+xml")
_TEXTUAL = re.compile(r"text/.*|application/(.*\+)?(json|xml|yaml|x-yaml|toml|javascript|x-ndjson|x-sh|graphql)")
_UNSEEN = frozenset("script style noscript template iframe object embed svg canvas audio video title input".split())
_HIDDEN = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|content-visibility\s*:\s*hidden"
    r"|(?<![\w-])(?:font-size|opacity|(?:max-)?(?:width|height))\s*:\s*0*(?:\.0*)?(?:px|em|rem|pt|%)?\s*(?:!important)?\s*(?:;|$)"
    r"|(?:left|top|right|bottom|text-indent|margin-(?:left|top))\s*:\s*-\d{3,}|clip\s*:\s*rect\(\s*0|color\s*:\s*transparent",
    re.I,
)


class _Converter(MarkdownConverter):
    """markdownify without anything that a reader's program would load by itself. ``base`` completes links."""

    def __init__(self, base: str) -> None:
        super().__init__(heading_style=ATX, bullets="-")
        self._base = base

    def process_element(self, node: Any, parent_tags: Any = None) -> str:
        if _unseen(node):
            return ""
        return str(super().process_element(node, parent_tags=parent_tags))  # type: ignore[misc]

    def convert_a(self, el: Tag, text: str, parent_tags: Any) -> str:
        url = urljoin(self._base, str(el.get("href") or "").strip())
        label = " ".join(text.split())
        if not url.startswith(("http://", "https://", "mailto:")) or url.partition("#")[0] == self._base:
            return text
        return f"{label} ({url})" if label and label != url else url

    def convert_img(self, el: Tag, text: str, parent_tags: Any) -> str:
        alt = " ".join(str(el.get("alt") or "").split())
        return f"[picture: {alt}]" if alt else ""


def readable(page: Fetched) -> str | None:
    """The text of a page; None when it cannot be read. 1 MB of HTML takes seconds: call it in a thread."""
    kind = page.media_type
    start = page.body[:1024].lstrip().lower()
    if kind in _HTML or (not kind and start.startswith((b"<!doctype html", b"<html"))):
        return _markdown(page)
    if (kind and not _TEXTUAL.fullmatch(kind)) or b"\0" in start:
        return None
    if kind.endswith("json") or (not kind and start[:1] in (b"{", b"[")):
        return _pretty(page.text)
    return page.text


def _pretty(text: str) -> str:
    try:
        return json.dumps(json.loads(text), indent=1, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def _markdown(page: Fetched) -> str:
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(page.body, "html.parser", from_encoding=page.charset or None)
    title = " ".join(soup.title.get_text().split()) if soup.title else ""
    try:
        body = str(_Converter(page.url.partition("#")[0]).convert_soup(soup))
    except RecursionError:  # hundreds of elements inside each other, as old pages without </p> have
        body = "\n".join(_texts(soup))
    body = re.sub(r"[ \t]+\n", "\n", body)
    body = re.sub(r"\n{3,}", "\n\n", body).strip()
    return f"{title}\n\n{body}" if title and not body.startswith(f"# {title}") else body


def _texts(soup: Any) -> Iterator[str]:
    waiting = [iter(soup.contents)]
    while waiting:
        node = next(waiting[-1], None)
        if node is None:
            waiting.pop()
        elif isinstance(node, str):
            if node.strip() and not _unseen(node):
                yield node.strip()
        elif not _unseen(node):
            waiting.append(iter(node.contents))


def _unseen(node: Any) -> bool:
    """Whether a browser would not show it. Texts that are not plain ones are comments, CDATA and declarations."""
    from bs4.element import NavigableString

    if isinstance(node, str):
        return type(node) is not NavigableString
    if node.name in _UNSEEN or (node.name == "dialog" and not node.has_attr("open")):
        return True
    style = node.get("style")
    return node.has_attr("hidden") or node.get("aria-hidden") == "true" or bool(style and _HIDDEN.search(str(style)))
