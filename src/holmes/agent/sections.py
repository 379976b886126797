"""The parts of an answer: which lines stand under which heading, which are code, and what is a command."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Name = Literal["root_cause", "evidence", "ruled_out", "remediation", ""]

# In this order: "ruled out causes" is not the cause. English and Chinese, and what is short in a few more languages.
_TITLES: dict[Name, str] = {
    "ruled_out": r"ruled out|excluded|rejected|排除|descartad\w+|ausgeschlossen|écarté\w*|除外",
    "remediation": r"next steps?|remediation|mitigation|fix(?:es)?|recommend\w+|solution|actions?|下一步|后续|建议|处理"
    r"|修复|解决|próximos pasos|solución|nächste schritte|behebung|prochaines étapes|次のステップ|対処\w*|対策",
    "evidence": r"evidence|证据|依据|evidencias?|belege|nachweise|preuves?|証拠|根拠",
    "root_cause": r"(?:root |likely |probable )*causes?|根本原因|根因|原因|causa(?: raíz| raiz)?|ursache|cause racine",
}
_SEARCH = {name: re.compile(rf"(?<![A-Za-z])(?:{words})(?![A-Za-z])", re.I) for name, words in _TITLES.items()}

# Bounded, so that no line can make them slow.
_HEADING = re.compile(r" {0,3}(#{1,6})\s(.*)")
_BOLD_LINE = re.compile(r" {0,3}(?:\*\*|__)([^*_]+)(?:\*\*|__)[ :：]*$")
_LEAD = re.compile(r" {0,3}(?:[-*+•] |\d+[.)] )?(?:\*\*|__)?([^*_:：]{2,40})(?:\*\*|__)? ?[:：](?:\*\*|__)?(.*)")
_BOLD = 7  # the level of a heading that is only bold, or a word with a colon
_NUMBERING = re.compile(r"^[\s*_]*(?:\d+[.)]|[一二三四五六七八九十]+、)?[\s*_]*")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_COMMAND = re.compile(
    r"(?:\$ )?(?:sudo )?(?:kubectl|helm|oc|docker|crictl|systemctl|journalctl|git|curl|psql|mysql|redis-cli|aws|gcloud"
    r"|az|terraform|argocd|flux|istioctl|ssh|sysctl) \S"
)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of an answer without the heading that stands in it; ``code`` is inside a fence or a fence itself."""

    text: str
    section: Name
    code: bool = False


def read_lines(answer: str) -> Iterator[Line]:
    """The lines with their sections. Headings that are not known end a section, unless they are deeper than its own."""
    section: Name = ""
    level = 0
    fence = ""
    for line in answer.splitlines():
        mark = _FENCE.match(line)
        if fence or mark:
            yield Line(line, section, code=True)
            if not fence:
                fence = mark.group(1) if mark else ""
            elif line.strip().startswith(fence):
                fence = ""
            continue
        depth, name, rest = _heading(line, level)
        if name or (depth and depth <= level):
            section, level = name, depth
        if rest.strip() or not depth:
            yield Line(rest, section)


def is_command(text: str) -> bool:
    """Whether a text is a command line to copy, not a quote."""
    return _COMMAND.match(text) is not None


def code_span(text: str) -> str:
    """Markdown that shows a text as code, whatever it holds, on one line."""
    line = " ".join(text.split())
    ticks = "`" * (1 + max(map(len, re.findall("`+", line)), default=0))
    return f"{ticks} {line} {ticks}" if "`" in line else f"`{line}`" if line else ""


def _heading(line: str, level: int) -> tuple[int, Name, str]:
    """The level of the heading in a line (0: none), what it means, and the text that follows it on the line."""
    if match := _HEADING.match(line):
        return len(match.group(1)), _meaning(match.group(2), strictly=0 < level < len(match.group(1))), ""
    if match := _BOLD_LINE.match(line):
        return _BOLD, _meaning(match.group(1), strictly=0 < level < _BOLD), ""
    if (match := _LEAD.match(line)) and (name := _meaning(match.group(1), strictly=True)):
        return _BOLD, name, match.group(2)
    return 0, "", line


def _meaning(title: str, *, strictly: bool) -> Name:
    """The section that a title names; ``strictly`` when it must say nothing else."""
    plain = _NUMBERING.sub("", title).strip("*_#:： \t")
    for name, words in _SEARCH.items():
        if words.fullmatch(plain) if strictly else words.search(plain):
            return name
    return ""
