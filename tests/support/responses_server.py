"""OpenAI's Responses API on loopback, strict by the SDK's own types and by the rule that calls have results."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
from pydantic import TypeAdapter, ValidationError

from support.model_server import Body, Reply, calls_of
from support.openai_server import OpenAIServer


class ResponsesServer(OpenAIServer):
    """Scripts as support.model_server has them; ``reasoning`` of a reply becomes an encrypted reasoning item."""

    def serves(self, path: str) -> bool:
        return path == "/v1/responses"

    def violations(self, body: Body) -> list[str]:
        wrong = []
        try:
            TypeAdapter(ResponseCreateParamsStreaming).validate_json(json.dumps(body), strict=True)
        except ValidationError as error:
            wrong.append(str(error))
        unknown = body.keys() - TypeAdapter(ResponseCreateParamsStreaming).json_schema()["properties"].keys()
        wrong += [f"Unknown parameter: '{name}'." for name in sorted(unknown)]
        calls = [item["call_id"] for item in body["input"] if item.get("type") == "function_call"]
        outputs = [item["call_id"] for item in body["input"] if item.get("type") == "function_call_output"]
        if calls != outputs:
            wrong.append(f"No tool output found for function calls: {calls} against {outputs}")
        return wrong

    def whole(self, reply: Body, body: Body) -> Body:
        cut = {"length": "max_output_tokens"}.get(reply.get("finish_reason", ""))
        return {
            "id": f"resp_{len(self.requests)}",
            "object": "response",
            "created_at": 1.0,
            "status": "incomplete" if cut else "completed",
            "error": None,
            "incomplete_details": {"reason": cut} if cut else None,
            "instructions": None,
            "metadata": {},
            "model": body["model"],
            "output": self._output(reply),
            "parallel_tool_calls": True,
            "temperature": None,
            "tool_choice": "auto",
            "tools": [],
            "top_p": None,
            "usage": usage(reply),
        }

    def events(self, reply: Body, body: Body) -> Iterator[Body | str]:
        whole = self.whole(reply, body)
        number = 0
        start: Body = whole | {"output": [], "status": "in_progress", "usage": None, "incomplete_details": None}
        yield {"type": "response.created", "sequence_number": number, "response": start}
        for index, item in enumerate(whole["output"]):
            if item["type"] == "message":
                text = item["content"][0]["text"]
                for piece in (text[: len(text) // 2], text[len(text) // 2 :]):
                    number += 1
                    yield {
                        "type": "response.output_text.delta",
                        "sequence_number": number,
                        "item_id": item["id"],
                        "output_index": index,
                        "content_index": 0,
                        "delta": piece,
                        "logprobs": [],
                    }
            number += 1
            yield {
                "type": "response.output_item.done",
                "sequence_number": number,
                "output_index": index,
                "item": item,
            }
        kind = "response.incomplete" if whole["incomplete_details"] else "response.completed"
        yield {"type": kind, "sequence_number": number + 1, "response": whole}

    def frame(self, event: Body | str) -> bytes:
        if isinstance(event, str):
            return event.encode()
        return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()

    def _output(self, reply: Body) -> list[dict[str, Any]]:
        number, items = len(self.requests), list[dict[str, Any]]()
        if reply.get("reasoning"):
            summary = [{"type": "summary_text", "text": reply["reasoning"]}]
            items.append({"type": "reasoning", "id": f"rs_{number}", "summary": summary, "encrypted_content": "sealed"})
        if reply.get("content"):
            content = [{"type": "output_text", "text": reply["content"], "annotations": [], "logprobs": []}]
            phase = "commentary" if reply.get("calls") else "final_answer"
            message = {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed"}
            items.append(message | {"content": content, "phase": phase})
        for call in calls_of(reply, "call_", number):
            arguments = call["arguments"] if isinstance(call["arguments"], str) else json.dumps(call["arguments"])
            item = {"type": "function_call", "id": f"fc_{call['id']}", "call_id": call["id"], "name": call["name"]}
            items.append(item | {"arguments": arguments, "status": "completed"})
        return items


def usage(reply: Reply) -> dict[str, Any]:
    """100 tokens in, of which 40 cached, 20 out, of which 5 reasoning."""
    return {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 40, "cache_write_tokens": 10},
        "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 5},
        "total_tokens": 120,
    } | reply.get("usage", {})
