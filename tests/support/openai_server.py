"""A strict OpenAI-compatible server on loopback: ``with OpenAIServer(["the answer"]) as server: server.url``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from support.model_server import Body, ModelServer, Reply, calls_of


class OpenAIServer(ModelServer):
    """Chat completions, streamed or not; see support.model_server for scripts."""

    dialect = "openai"
    base_path = "/v1"

    def authorised(self, headers: dict[str, str]) -> bool:
        return headers.get("authorization") == f"Bearer {self.key}" or headers.get("api-key") == self.key

    def serves(self, path: str) -> bool:
        return path.partition("?")[0].endswith("/chat/completions")

    def unsupported_reply(self, name: str) -> Reply:
        message = f"Unsupported parameter: '{name}' is not supported with this model."
        if name == "max_tokens":
            message += " Use 'max_completion_tokens' instead."
        return {"status": 400, "message": message, "param": name, "code": "unsupported_parameter"}

    def error(self, reply: Body) -> Body:
        kind = "server_error" if reply.get("status", 400) >= 500 else "invalid_request_error"
        return {
            "error": {
                "message": reply.get("message", "no"),
                "type": reply.get("error_type", kind),
                "param": reply.get("param"),
                "code": reply.get("code"),
            }
        }

    def whole(self, reply: Body, body: Body) -> Body:
        calls = self._calls(reply)
        message: dict[str, Any] = {"role": "assistant", "content": reply.get("content"), "refusal": None}
        if calls:
            message["tool_calls"] = calls
        if reply.get("reasoning"):
            message["reasoning_content"] = reply["reasoning"]
        choice = {"index": 0, "message": message, "finish_reason": self._finish(reply), "logprobs": None}
        return self._envelope("chat.completion", body) | {"choices": [choice], "usage": usage(reply)}

    def events(self, reply: Body, body: Body) -> Iterator[Body | str]:
        envelope = self._envelope("chat.completion.chunk", body)

        def chunk(delta: dict[str, Any], finish: str | None = None) -> Body:
            return envelope | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}]}

        yield chunk({"role": "assistant", "content": ""})
        if reply.get("reasoning"):
            yield chunk({"reasoning_content": reply["reasoning"]})
        content = reply.get("content") or ""
        for piece in (content[: len(content) // 2], content[len(content) // 2 :]):
            if piece:
                yield chunk({"content": piece})
        for index, call in enumerate(self._calls(reply)):
            arguments = call["function"]["arguments"]
            head = call | {"function": {"name": call["function"]["name"], "arguments": ""}}
            yield chunk({"tool_calls": [{"index": index} | head]})
            middle = len(arguments) // 2
            for piece in (arguments[:middle], arguments[middle:]):
                yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
        yield chunk({}, self._finish(reply))
        if body.get("stream_options", {}).get("include_usage"):
            yield envelope | {"choices": [], "usage": usage(reply)}
        yield "[DONE]"

    def _envelope(self, kind: str, body: Body) -> Body:
        return {"id": f"chatcmpl-{len(self.requests)}", "object": kind, "created": 1, "model": body.get("model")}

    def _finish(self, reply: Body) -> str:
        return reply.get("finish_reason") or ("tool_calls" if reply.get("calls") else "stop")

    def _calls(self, reply: Body) -> list[dict[str, Any]]:
        calls = []
        for call in calls_of(reply, "call_", len(self.requests)):
            arguments = call["arguments"]
            text = arguments if isinstance(arguments, str) else json.dumps(arguments)
            function = {"name": call["name"], "arguments": text}
            calls.append({"id": call["id"], "type": "function", "function": function})
        return calls


def usage(reply: Body) -> dict[str, Any]:
    """100 tokens in, 20 out, unless the reply says otherwise."""
    counts = {"prompt_tokens": 100, "completion_tokens": 20} | reply.get("usage", {})
    return {"total_tokens": counts["prompt_tokens"] + counts["completion_tokens"]} | counts
