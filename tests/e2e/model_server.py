"""A model on loopback that plays scripts, for Claude Code (Anthropic Messages) and for Codex (OpenAI Responses)."""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any, Self

import attrs

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_PLACE = re.compile(r"Play script (\d+) from answer (\d+)\.")
_SUMMARY_WANTED = re.compile(r"create a (?:detailed|handoff) summary", re.IGNORECASE)
_SERIAL = count(1)


@attrs.frozen
class Call:
    """A call of one of the agent's tools, by its own name and with its own input; `bash` is the one that runs commands."""

    tool: str
    input: Mapping[str, Any]


@attrs.frozen(kw_only=True)
class Answer:
    """One answer of the model: text, then calls; without a call the turn ends. *tokens* is how much it says it has read."""

    text: str = ""
    calls: Sequence[Call] = ()
    tokens: int = 100


Step = Answer | Callable[[str], Answer]
"""An answer, or what makes one when it is asked for, out of what the last tool put out."""


def say(text: str) -> Answer:
    """Return an answer that ends the turn."""
    return Answer(text=text)


def call(tool: str, /, *, saying: str = "", **fields: Any) -> Answer:
    """Return an answer that calls a tool, perhaps *saying* something first."""
    return Answer(text=saying, calls=[Call(tool, fields)])


def bash(command: str, *, saying: str = "", tokens: int = 100) -> Answer:
    """Return an answer that runs a command."""
    return Answer(text=saying, calls=[Call("bash", {"command": command})], tokens=tokens)


@attrs.frozen(kw_only=True)
class Message:
    """What was said before, as a request tells it: by whom, in which words, and what a tool put out."""

    role: str
    text: str = ""
    output: str = ""


class ModelServer:
    """
    The server. `prompt` turns a script into the words that make an agent play it.

    Those words say where the script goes on, and so does the summary that an agent asks for when it compacts, after a
    quotation of all that was said. Nothing is remembered between requests, so retries, resumed sessions and subagents
    find their place by what they send.
    """

    def __init__(self) -> None:
        """Bind a free port of 127.0.0.1, in the calling thread's network."""
        self.strays: list[str] = []
        """What was asked of other servers. The agents take this one for their proxy; it lets nothing through."""
        self.faults: list[Exception] = []
        """What went wrong in a step."""
        self._scripts: list[Sequence[Step]] = []
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, self))
        self.url = f"http://127.0.0.1:{self._http.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    def prompt(self, *steps: Step) -> str:
        """Return the prompt to which the model gives these answers, one after the other."""
        self._scripts.append(steps)
        return _place(len(self._scripts) - 1, 0)

    def answer(self, conversation: Sequence[Message]) -> Answer:
        """Return the next answer in a conversation."""
        answers, later = 0, None
        for message in reversed(conversation):
            places = _PLACE.findall(message.text)
            if message.role == "assistant":
                answers += later != "assistant"
            elif places:
                script, start = map(int, places[-1])
                if any(_SUMMARY_WANTED.search(latest.text) for latest in conversation[-2:]):
                    said = [message.text for message in conversation if message.role == "assistant" and message.text]
                    return say("\n".join([*said, _place(script, start + answers)]))
                step = (*self._scripts[script], say("Nothing left to play."))[start + answers]
                outputs = [message.output for message in conversation if message.output]
                return step if isinstance(step, Answer) else step(outputs[-1] if outputs else "")
            later = message.role
        return say("Nothing to play.")


def _place(script: int, answer: int) -> str:
    return f"Play script {script} from answer {answer}."


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, model: ModelServer, *arguments: Any) -> None:
        self._model = model
        super().__init__(*arguments)

    def handle(self) -> None:
        with suppress(ConnectionError):  # whoever asked has been killed
            super().handle()

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        """Give the next answer."""
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path.partition("?")[0]
        if path not in _PROTOCOLS:
            self.do_GET()
            return
        body = json.loads(zstd.decompress(raw) if self.headers.get("Content-Encoding") == "zstd" else raw)
        read, write = _PROTOCOLS[path]
        try:
            events = [*write(self._model.answer(read(body)), body)]
        except Exception as fault:  # noqa: BLE001 - the test's, which raises it
            self._model.faults.append(fault)
            self.send_error(400)
        else:
            self._send("text/event-stream", "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events))

    def do_GET(self) -> None:
        """Say that there is nothing, of whatever was asked for."""
        if self.path.startswith("/"):
            self._send("application/json", '{"models": []}')
        else:
            self.do_CONNECT()

    def do_CONNECT(self) -> None:
        """Refuse the way to another server."""
        self._model.strays.append(f"{self.command} {self.path}")
        self.send_error(403)

    def _send(self, content_type: str, text: str) -> None:
        content = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if "text" in part)


def _read_messages(body: Mapping[str, Any]) -> list[Message]:
    """Read the conversation in a request to Anthropic Messages."""
    conversation = []
    for message in body["messages"]:
        content = message["content"]
        results = [] if isinstance(content, str) else [part for part in content if part["type"] == "tool_result"]
        output = "\n".join(_text(result.get("content", "")) for result in results)
        conversation.append(Message(role=message["role"], text=_text(content), output=output))
    return conversation


def _write_message(answer: Answer, body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the events of an answer in Anthropic Messages."""
    blocks: list[tuple[dict[str, Any], dict[str, Any]]] = []
    if answer.text:
        blocks.append(({"type": "text", "text": ""}, {"type": "text_delta", "text": answer.text}))
    for one in answer.calls:
        name = "Bash" if one.tool == "bash" else one.tool
        block = {"type": "tool_use", "id": f"toolu_{next(_SERIAL)}", "name": name, "input": {}}
        blocks.append((block, {"type": "input_json_delta", "partial_json": json.dumps(one.input)}))
    usage = {"input_tokens": answer.tokens, "output_tokens": 10}
    message = {"id": f"msg_{next(_SERIAL)}", "type": "message", "role": "assistant", "model": body["model"]}
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None, "usage": usage}}
    for index, (block, delta) in enumerate(blocks):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    reason = "tool_use" if answer.calls else "end_turn"
    yield {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}
    yield {"type": "message_stop"}


def _read_items(body: Mapping[str, Any]) -> list[Message]:
    """Read the conversation in a request to OpenAI Responses."""
    conversation = []
    for item in body["input"]:
        if item["type"] == "message":
            conversation.append(Message(role=item["role"], text=_text(item["content"])))
        elif item["type"].endswith("_output"):
            conversation.append(Message(role="tool", output=_text(item["output"])))
        else:
            conversation.append(Message(role="assistant"))
    return conversation


def _write_response(answer: Answer, body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the events of an answer in OpenAI Responses."""
    items: list[dict[str, Any]] = []
    if answer.text:
        content = [{"type": "output_text", "text": answer.text, "annotations": []}]
        items.append({"type": "message", "id": f"msg_{next(_SERIAL)}", "role": "assistant", "content": content})
    for one in answer.calls:
        name, fields = ("exec_command", {"cmd": one.input["command"]}) if one.tool == "bash" else (one.tool, one.input)
        function = {"name": name, "arguments": json.dumps(fields), **_namespace(name, body["tools"])}
        items.append(
            {"type": "function_call", "id": f"fc_{next(_SERIAL)}", "call_id": f"call_{next(_SERIAL)}", **function}
        )
    response = {"id": f"resp_{next(_SERIAL)}", "object": "response", "model": body["model"]}
    yield {"type": "response.created", "response": response}
    for index, item in enumerate(items):
        yield {"type": "response.output_item.added", "output_index": index, "item": {**item, "status": "in_progress"}}
        yield {"type": "response.output_item.done", "output_index": index, "item": {**item, "status": "completed"}}
    usage = {"input_tokens": answer.tokens, "output_tokens": 10, "total_tokens": answer.tokens + 10}
    yield {"type": "response.completed", "response": {**response, "output": items, "usage": usage}}


def _namespace(name: str, tools: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return what a call of *name* must say beside the name, where the tool on offer belongs to a namespace."""
    for tool in tools:
        if any(member["name"] == name for member in tool.get("tools", ())):
            return {"namespace": tool["name"]}
    return {}


_PROTOCOLS = {"/v1/messages": (_read_messages, _write_message), "/v1/responses": (_read_items, _write_response)}
