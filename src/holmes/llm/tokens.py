"""A fast guess at token counts, for decisions before a call; after it the provider's own count is used.

No tokenizer: those of today's models are not public, the public ones want a download, and some hang on long lines
without spaces. The guess counts bytes by kind, so that it is linear in any text. Against published tokenizers it is
meant to be a little high (up to a quarter for English prose), never far too low.
"""

from __future__ import annotations

import json
import string
from collections.abc import Iterable
from typing import TYPE_CHECKING

from holmes.llm.protocol import arguments_json

if TYPE_CHECKING:
    from holmes.core.messages import Message
    from holmes.llm.base import Request, ToolSchema

CHARACTERS_PER_TOKEN = 3  # of logs, YAML and JSON, cautiously: to turn a budget of tokens into a length of text
IMAGE_TOKENS = 1_500  # of a picture of about a megapixel, at OpenAI as at Anthropic
MESSAGE_TOKENS = 4  # role and separators
_TOOL_TOKENS = 8

_PROSE = (string.ascii_lowercase + " ").encode()
_DENSE = (string.ascii_uppercase + string.digits).encode()
_NOT_ASCII = bytes(range(128, 256))

# Bytes a token. Lower case words and blanks; capitals and digits (names, ids, hashes); punctuation and line ends;
# everything else (two bytes for Latin and Cyrillic letters, three for Chinese, Japanese, Korean, four for emoji).
_PROSE_BYTES, _DENSE_BYTES, _MARK_BYTES, _OTHER_BYTES = 4.0, 2.0, 1.7, 2.8


def estimate_text(text: str) -> int:
    """Tokens of a text, about."""
    if not text:
        return 0
    data = text.encode("utf-8", "replace")
    without_prose = data.translate(None, _PROSE)
    without_dense = without_prose.translate(None, _DENSE)
    marks = without_dense if text.isascii() else without_dense.translate(None, _NOT_ASCII)
    prose, dense = len(data) - len(without_prose), len(without_prose) - len(without_dense)
    other = len(without_dense) - len(marks)
    count = prose / _PROSE_BYTES + dense / _DENSE_BYTES + len(marks) / _MARK_BYTES + other / _OTHER_BYTES
    return int(count) + 1


def estimate_message(message: Message) -> int:
    """Tokens of one message with its calls and pictures, about."""
    count = MESSAGE_TOKENS + estimate_text(message.content) + len(message.images) * IMAGE_TOKENS
    for call in message.tool_calls:
        count += _TOOL_TOKENS + estimate_text(call.name) + estimate_text(arguments_json(call.arguments))
    return count


def estimate_tools(tools: Iterable[ToolSchema]) -> int:
    """Tokens of tool declarations, about."""
    count = 0
    for tool in tools:
        schema = json.dumps(tool.parameters, ensure_ascii=False, separators=(",", ":"))
        # Providers turn schemas into a terser form before the model sees them.
        count += (
            _TOOL_TOKENS + estimate_text(tool.name) + estimate_text(tool.description) + int(estimate_text(schema) * 0.7)
        )
    return count


def estimate_request(request: Request) -> int:
    """Tokens of a whole request, about: messages and tools."""
    return sum(estimate_message(message) for message in request.messages) + estimate_tools(request.tools)
