"""Which language a text is written in, as far as programs that write a few words themselves need to know it."""

from __future__ import annotations

import re
from typing import Literal

Language = Literal["en", "zh"]

_HAN = re.compile(r"[\u4e00-\u9fff]")
_KANA_OR_HANGUL = re.compile(r"[\u3040-\u30ff\uac00-\ud7af]")

_PHRASES: dict[str, dict[Language, str]] = {
    "gaps": {"en": "Not seen", "zh": "未能查看的内容"},
    "notes": {"en": "Notes", "zh": "说明"},
    "refused": {"en": "Not run without approval", "zh": "未经批准而未执行"},
    "found_so_far": {"en": "What was found so far", "zh": "目前已查明的内容"},
    "cut_short": {
        "en": "This answer was cut short: {why}. It rests on the evidence gathered until then.",
        "zh": "本回答提前结束：{why}。结论仅基于此前收集到的证据。",
    },
    "no_answer": {"en": "The model gave no answer.", "zh": "模型没有给出回答。"},
    "model_failed": {"en": "The model could not go on: {why}", "zh": "模型无法继续：{why}"},
    "uncited": {
        "en": "This answer cites no result: nothing in it was checked.",
        "zh": "本回答没有引用任何结果，内容未经核对。",
    },
    "false_quote": {"en": "not found in the results: {quote}", "zh": "在结果中未找到：{quote}"},
    "missing_reference": {"en": "there is no result {reference}", "zh": "不存在结果 {reference}"},
    "suspicious": {
        "en": "suspicious text in {source}, taken as data: {quote}",
        "zh": "{source} 中有可疑文字，仅作为数据处理：{quote}",
    },
    "more_suspicious": {"en": "and {count} more passages like these", "zh": "以及另外 {count} 处类似文字"},
    "failed_reference": {"en": "{reference} is a call that failed", "zh": "{reference} 是一次失败的调用"},
    "results": {"en": "Results", "zh": "查询结果"},
    "looked_at": {"en": "What was looked at", "zh": "查询内容"},
    "outcome": {"en": "How it went", "zh": "查询情况"},
    "size": {"en": "{seconds} s, {characters} characters", "zh": "{seconds} 秒，{characters} 个字符"},
    "cluster": {"en": "cluster", "zh": "集群"},
    "model": {"en": "model", "zh": "模型"},
    "run": {"en": "run", "zh": "运行"},
    "confidence": {"en": "confidence", "zh": "置信度"},
    "high": {"en": "high", "zh": "高"},
    "medium": {"en": "medium", "zh": "中"},
    "low": {"en": "low", "zh": "低"},
}


def language_of(text: str) -> Language:
    """Chinese when it has Han characters and no Japanese or Korean ones; everything else gets English."""
    return "zh" if _HAN.search(text) and not _KANA_OR_HANGUL.search(text) else "en"


def phrase(name: str, language: Language, **values: str) -> str:
    """The program's own words in that language."""
    return _PHRASES[name][language].format(**values)
