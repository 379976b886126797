"""A strict Anthropic Messages server on loopback: ``with AnthropicServer(["the answer"]) as server: server.url``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from support.model_server import Body, ModelServer, Reply, calls_of

_KINDS = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 413: "request_too_large"}
_KINDS |= {429: "rate_limit_error", 500: "api_error", 529: "overloaded_error"}


class AnthropicServer(ModelServer):
    """Messages, streamed or not; ``reasoning`` of a reply becomes a thinking block with a signature."""

    dialect = "anthropic"

    def authorised(self, headers: dict[str, str]) -> bool:
        return headers.get("x-api-key") == self.key

    def serves(self, path: str) -> bool:
        return path == "/v1/messages"

    def unsupported_reply(self, name: str) -> Reply:
        return {"status": 400, "message": f"{name}: Extra inputs are not permitted"}

    def error(self, reply: Body) -> Body:
        kind = _KINDS.get(reply.get("status", 400), "invalid_request_error")
        return {"type": "error", "error": {"type": kind, "message": reply.get("message", "no")}, "request_id": "req_1"}

    def whole(self, reply: Body, body: Body) -> Body:
        return self._message(body, self._blocks(reply), self._stop(reply), usage(reply))

    def events(self, reply: Body, body: Body) -> Iterator[Body | str]:
        counts = usage(reply)
        yield {"type": "message_start", "message": self._message(body, [], None, counts | {"output_tokens": 1})}
        yield {"type": "ping"}
        for index, block in enumerate(self._blocks(reply)):
            start, deltas = _pieces(block)
            yield {"type": "content_block_start", "index": index, "content_block": start}
            for delta in deltas:
                yield {"type": "content_block_delta", "index": index, "delta": delta}
            yield {"type": "content_block_stop", "index": index}
        yield {
            "type": "message_delta",
            "delta": {"stop_reason": self._stop(reply), "stop_sequence": None},
            "usage": {"output_tokens": counts["output_tokens"]},
        }
        yield {"type": "message_stop"}

    def frame(self, event: Body | str) -> bytes:
        if isinstance(event, str):
            return f"data: {event}\n\n".encode()
        return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()

    def _message(self, body: Body, blocks: list[Body], stop: str | None, counts: Body) -> Body:
        return {
            "id": f"msg_{len(self.requests)}",
            "type": "message",
            "role": "assistant",
            "model": body.get("model"),
            "content": blocks,
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": counts,
        }

    def _stop(self, reply: Body) -> str:
        return reply.get("finish_reason") or ("tool_use" if reply.get("calls") else "end_turn")

    def _blocks(self, reply: Body) -> list[Body]:
        blocks: list[Body] = []
        if reply.get("reasoning"):
            signature = f"signed-{len(self.requests)}"
            blocks.append({"type": "thinking", "thinking": reply["reasoning"], "signature": signature})
        if reply.get("content"):
            blocks.append({"type": "text", "text": reply["content"]})
        for call in calls_of(reply, "toolu_", len(self.requests)):
            blocks.append({"type": "tool_use", "id": call["id"], "name": call["name"], "input": call["arguments"]})
        return blocks


def _pieces(block: Body) -> tuple[Body, list[dict[str, Any]]]:
    if block["type"] == "text":
        middle = len(block["text"]) // 2
        halves = (block["text"][:middle], block["text"][middle:])
        return block | {"text": ""}, [{"type": "text_delta", "text": half} for half in halves if half]
    if block["type"] == "thinking":
        deltas = [
            {"type": "thinking_delta", "thinking": block["thinking"]},
            {"type": "signature_delta", "signature": block["signature"]},
        ]
        return block | {"thinking": "", "signature": ""}, deltas
    text = block["input"] if isinstance(block["input"], str) else json.dumps(block["input"])
    middle = len(text) // 2
    return block | {"input": {}}, [
        {"type": "input_json_delta", "partial_json": piece} for piece in (text[:middle], text[middle:])
    ]


def usage(reply: Body) -> dict[str, Any]:
    """100 tokens in, 20 out, nothing cached, unless the reply says otherwise."""
    nothing_cached = {"cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
    return {"input_tokens": 100, "output_tokens": 20} | nothing_cached | reply.get("usage", {})
