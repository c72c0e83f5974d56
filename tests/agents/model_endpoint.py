"""A model service on loopback that speaks real wire formats and says what a script tells it to say.

Formats: OpenAI chat completions and responses, Anthropic messages, Gemini generateContent; each whole or as a stream.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Call:
    """A tool call; ``raw`` is sent in place of the arguments' JSON."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    raw: str | None = None

    @property
    def text(self) -> str:
        return json.dumps(self.arguments) if self.raw is None else self.raw


@dataclass(frozen=True)
class Usage:
    """Tokens the service says it counted; cached and reasoning ones are parts of the other two."""

    input: int = 100
    cached: int = 0
    output: int = 20
    reasoning: int = 0


@dataclass(frozen=True)
class Step:
    """One answer of the service.

    Attributes:
        text, calls: what the model says.
        status, body, headers: an HTTP error instead.
        cut: the connection is closed in the middle of the body.
        delay: seconds before the answer.
        usage: tokens counted.
    """

    text: str = ""
    calls: tuple[Call, ...] = ()
    status: int = 200
    body: dict[str, Any] | None = None
    headers: tuple[tuple[str, str], ...] = ()
    cut: bool = False
    delay: float = 0.0
    usage: Usage = Usage()
    finish: str | None = None


Script = Callable[["Request"], Step]


@dataclass(frozen=True)
class Request:
    """What came in.

    Attributes:
        path, headers, body: as sent.
        number: of this request among those that were answered with a step, from 0.
        outputs: texts of all tool outputs in the conversation, in order.
        tools: names of the tools on offer.
    """

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    number: int

    @property
    def outputs(self) -> list[str]:
        return list(_outputs(self.body))

    @property
    def tools(self) -> list[str]:
        return list(_tools(self.body))


def say(text: str, **rest: Any) -> Step:
    return Step(text=text, **rest)


def call(tool: str, /, **arguments: Any) -> Step:
    return Step(calls=(Call(tool, arguments),))


class Endpoint:
    """The service, as a context manager.

    Args:
        script: steps in order, or a function of the request; past the end of a list the last step is repeated.
        own: tells which requests the script answers; all others get an empty "ok" (a CLI's own side questions).
    """

    def __init__(self, script: list[Step | Script] | Script, own: Callable[[Request], bool] = lambda r: True) -> None:
        self.requests: list[Request] = []
        self.others: list[Request] = []
        self._script, self._own = script, own
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"endpoint": self}))
        self._server.daemon_threads = True

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def url(self) -> str:
        """Base URL in OpenAI's manner."""
        return f"{self.origin}/v1"

    def __enter__(self) -> Endpoint:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> Step:
        with self._lock:
            request = Request(path, headers, body, len(self.requests))
            if not self._own(request):
                self.others.append(request)
                return say("ok")
            self.requests.append(request)
            script = self._script
            step = script[min(request.number, len(script) - 1)] if isinstance(script, list) else script
        return step if isinstance(step, Step) else step(request)


class _Handler(BaseHTTPRequestHandler):
    endpoint: Endpoint
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self._send(200, b"", "text/plain")

    def do_GET(self) -> None:
        self._send(200, json.dumps({"object": "list", "data": [], "models": []}).encode())

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            body = {}
        path = self.path.partition("?")[0]
        if path.endswith("/count_tokens") or path.endswith(":countTokens"):
            self._send(200, json.dumps({"input_tokens": 10, "totalTokens": 10}).encode())
            return
        wire = _wire(path)
        if wire is None:
            self._send(200, b"{}")
            return
        step = self.endpoint.answer(self.path, {k.lower(): v for k, v in self.headers.items()}, body)
        if step.delay:
            time.sleep(step.delay)
        if step.status != 200:
            fault = step.body or {"error": {"message": f"scripted {step.status}", "type": "scripted", "code": None}}
            self._send(step.status, json.dumps(fault).encode(), headers=step.headers)
            return
        stream = bool(body.get("stream")) or path.endswith(":streamGenerateContent")
        content = "".join(wire(step, body, True)) if stream else json.dumps(next(iter(wire(step, body, False))))
        self._send(200, content.encode(), "text/event-stream" if stream else "application/json", cut=step.cut)

    def _send(
        self,
        status: int,
        content: bytes,
        kind: str = "application/json",
        headers: tuple[tuple[str, str], ...] = (),
        cut: bool = False,
    ) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content[: len(content) // 2] if cut else content)
            self.wfile.flush()
        if cut:
            self.close_connection = True


def _wire(path: str) -> Callable[[Step, dict[str, Any], bool], Iterator[Any]] | None:
    if path.endswith("/chat/completions"):
        return _chat
    if path.endswith("/responses"):
        return _responses
    if path.endswith("/messages"):
        return _anthropic
    if path.endswith(("generateContent", ":streamGenerateContent")):
        return _gemini
    return None


def _event(data: dict[str, Any], name: str | None = None) -> str:
    return (f"event: {name}\n" if name else "") + f"data: {json.dumps(data)}\n\n"


_COUNT = iter(range(1, 1_000_000))


def _id(prefix: str) -> str:
    return f"{prefix}_{next(_COUNT):06d}"


# ---- OpenAI chat completions ---------------------------------------------------------------------------------


def _chat(step: Step, body: dict[str, Any], stream: bool) -> Iterator[Any]:
    calls = [
        {"id": _id("call"), "type": "function", "function": {"name": c.name, "arguments": c.text}} for c in step.calls
    ]
    finish = step.finish or ("tool_calls" if calls else "stop")
    usage = {
        "prompt_tokens": step.usage.input,
        "completion_tokens": step.usage.output,
        "total_tokens": step.usage.input + step.usage.output,
        "prompt_tokens_details": {"cached_tokens": step.usage.cached},
        "completion_tokens_details": {"reasoning_tokens": step.usage.reasoning},
    }
    base = {"id": _id("chatcmpl"), "created": int(time.time()), "model": body.get("model", "scripted")}
    if not stream:
        message = {"role": "assistant", "content": step.text or None, **({"tool_calls": calls} if calls else {})}
        choice = {"index": 0, "message": message, "finish_reason": finish}
        yield {**base, "object": "chat.completion", "choices": [choice], "usage": usage}
        return
    chunk = {**base, "object": "chat.completion.chunk"}
    delta: dict[str, Any] = {"role": "assistant", "content": step.text}
    if calls:
        delta["tool_calls"] = [{"index": index, **made} for index, made in enumerate(calls)]
    yield _event({**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    yield _event({**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    yield _event({**chunk, "choices": [], "usage": usage})
    yield "data: [DONE]\n\n"


# ---- OpenAI responses ----------------------------------------------------------------------------------------


def _responses(step: Step, body: dict[str, Any], stream: bool) -> Iterator[Any]:
    items: list[dict[str, Any]] = []
    if step.text:
        part = {"type": "output_text", "text": step.text, "annotations": []}
        items.append(
            {"type": "message", "id": _id("msg"), "role": "assistant", "status": "completed", "content": [part]}
        )
    for made in step.calls:
        space, _, name = made.name.rpartition("/")
        item = {"type": "function_call", "id": _id("fc"), "call_id": _id("call"), "status": "completed"}
        items.append({**item, "name": name, "arguments": made.text, **({"namespace": space} if space else {})})
    usage = {
        "input_tokens": step.usage.input,
        "input_tokens_details": {"cached_tokens": step.usage.cached},
        "output_tokens": step.usage.output,
        "output_tokens_details": {"reasoning_tokens": step.usage.reasoning},
        "total_tokens": step.usage.input + step.usage.output,
    }
    response: dict[str, Any] = {
        "id": _id("resp"),
        "object": "response",
        "created_at": int(time.time()),
        "model": body.get("model", "scripted"),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
    done = {**response, "status": "completed", "output": items, "usage": usage}
    if not stream:
        yield done
        return
    yield _event(
        {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}},
        "response.created",
    )
    for index, item in enumerate(items):
        for kind in ("response.output_item.added", "response.output_item.done"):
            yield _event({"type": kind, "output_index": index, "item": item}, kind)
    yield _event({"type": "response.completed", "response": done}, "response.completed")


# ---- Anthropic messages --------------------------------------------------------------------------------------


def _anthropic(step: Step, body: dict[str, Any], stream: bool) -> Iterator[Any]:
    blocks: list[dict[str, Any]] = [{"type": "text", "text": step.text}] if step.text else []
    blocks += [{"type": "tool_use", "id": _id("toolu"), "name": c.name, "input": c.arguments} for c in step.calls]
    counted = {
        "input_tokens": step.usage.input - step.usage.cached,
        "cache_read_input_tokens": step.usage.cached,
        "cache_creation_input_tokens": 0,
    }
    stop = step.finish or ("tool_use" if step.calls else "end_turn")
    message = {"id": _id("msg"), "type": "message", "role": "assistant", "model": body.get("model", "scripted")}
    if not stream:
        ended = {"stop_reason": stop, "stop_sequence": None, "usage": {**counted, "output_tokens": step.usage.output}}
        yield {**message, "content": blocks, **ended}
        return
    start = {**message, "content": [], "stop_reason": None, "stop_sequence": None}
    yield _event(
        {"type": "message_start", "message": {**start, "usage": {**counted, "output_tokens": 1}}}, "message_start"
    )
    for index, block in enumerate(blocks):
        if block["type"] == "text":
            empty, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            empty = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield _event({"type": "content_block_start", "index": index, "content_block": empty}, "content_block_start")
        yield _event({"type": "content_block_delta", "index": index, "delta": delta}, "content_block_delta")
        yield _event({"type": "content_block_stop", "index": index}, "content_block_stop")
    delta = {"stop_reason": stop, "stop_sequence": None}
    ended = {"type": "message_delta", "delta": delta, "usage": {**counted, "output_tokens": step.usage.output}}
    yield _event(ended, "message_delta")
    yield _event({"type": "message_stop"}, "message_stop")


# ---- Gemini --------------------------------------------------------------------------------------------------


def _gemini(step: Step, body: dict[str, Any], stream: bool) -> Iterator[Any]:
    parts: list[dict[str, Any]] = [{"text": step.text}] if step.text else []
    parts += [{"functionCall": {"name": c.name, "args": c.arguments}} for c in step.calls]
    answer = {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {
            "promptTokenCount": step.usage.input,
            "cachedContentTokenCount": step.usage.cached,
            "candidatesTokenCount": step.usage.output - step.usage.reasoning,
            "thoughtsTokenCount": step.usage.reasoning,
            "totalTokenCount": step.usage.input + step.usage.output,
        },
        "modelVersion": "scripted",
        "responseId": _id("resp"),
    }
    yield _event(answer) if stream else answer


# ---- reading requests ----------------------------------------------------------------------------------------


def _outputs(body: dict[str, Any]) -> Iterator[str]:
    for message in body.get("messages", []):
        if message["role"] == "tool":  # OpenAI chat
            yield _text(message["content"])
        elif isinstance(message["content"], list):  # Anthropic
            for block in message["content"]:
                if block.get("type") == "tool_result":
                    yield _text(block.get("content", ""))
    items = body.get("input", [])
    for item in items if isinstance(items, list) else []:  # OpenAI responses
        if item.get("type") == "function_call_output":
            yield _text(item["output"])
    for content in body.get("contents", []):  # Gemini
        for part in content.get("parts", []):
            if "functionResponse" in part:
                yield json.dumps(part["functionResponse"]["response"])


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return str(content)


def _tools(body: dict[str, Any]) -> Iterator[str]:
    for tool in body.get("tools") or []:
        if "functionDeclarations" in tool:
            yield from (made["name"] for made in tool["functionDeclarations"])
        elif "function" in tool:
            yield tool["function"]["name"]
        elif tool.get("type") == "namespace":
            yield from (f"{tool['name']}/{made['name']}" for made in tool["tools"])
        else:
            yield tool.get("name", tool.get("type", ""))
