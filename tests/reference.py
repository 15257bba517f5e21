"""
The part of docs/reference/hookspecs.md that is made from the code: each plugin hook, and the values it deals in.

After a change to one of them, `UPDATE_DOCS=1 python -m pytest tests/test_docs.py` writes the page anew.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from typing import TYPE_CHECKING, Any

from agentihooks import hookspecs
from agentihooks.doctor import Finding
from agentihooks.hook_settings import HookSettings, Subscription
from agentihooks.model import HookEvent
from agentihooks.outgoing import Delivery, Outgoing
from agentihooks.transcript import Activity, Entry, Reader, TranscriptFile

from .pages import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = ROOT / "docs/reference/hookspecs.md"
BEGIN = "<!-- From here on this page is made from the code: see tests/reference.py. -->\n"

VALUES = (Reader, Entry, Activity, TranscriptFile, HookEvent, HookSettings, Subscription, Outgoing, Delivery, Finding)

_SECTION = re.compile(r"^(Args|Returns|Raises):$")


def hooks() -> list[ast.FunctionDef]:
    """Return the definitions of all plugin hooks, in the order of the module."""
    return [node for node in ast.parse(_source(hookspecs)).body if isinstance(node, ast.FunctionDef)]


def signature(hook: ast.FunctionDef) -> str:
    """Return a function's name, arguments and result as they are written."""
    return f"{hook.name}({ast.unparse(hook.args)})" + (f" -> {ast.unparse(hook.returns)}" if hook.returns else "")


def render() -> str:
    """Return the page's text from `BEGIN` on."""
    parts = [BEGIN, "## Hooks\n"]
    for hook in hooks():
        parts += [f"### `{signature(hook)}`\n", *_docstring(hook)]
    parts.append("## Values\n")
    for value in VALUES:
        parts += _value(value)
    return "\n".join(parts)


def _source(of: Any) -> str:
    return textwrap.dedent(inspect.getsource(of))


def _value(value: type) -> Iterator[str]:
    source = _source(value)
    definition = ast.parse(source).body[0]
    assert isinstance(definition, ast.ClassDef)
    yield f"### `{value.__module__}.{value.__name__}`\n"
    yield from _docstring(definition)
    fields = list(_fields(source, definition.body))
    if fields:
        yield "```python\n" + "\n".join(fields) + "\n```\n"
    for node in definition.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield f"`{signature(node)}`\n"
            yield from _docstring(node)


def _fields(source: str, body: list[ast.stmt]) -> Iterator[str]:
    """Yield a class's public fields as they are written, what is said below one as a comment above it."""
    for node, following in zip(body, [*body[1:], ast.Pass()], strict=True):
        if isinstance(node, ast.AnnAssign) and not ast.unparse(node.target).startswith("_"):
            if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
                yield f"# {following.value.value!s}"
            yield ast.get_source_segment(source, node) or ""


def _docstring(node: ast.FunctionDef | ast.ClassDef) -> Iterator[str]:
    """Yield a docstring as paragraphs and lists, one sentence a line."""
    heading = ""
    for text in (ast.get_docstring(node) or "").split("\n\n"):
        first, _, rest = text.partition("\n")
        found = _SECTION.match(first)
        heading = found[1] if found else heading
        paragraph = textwrap.dedent(rest) if found else text
        if heading == "Args":
            yield "Arguments:\n\n" + "\n".join(_items(paragraph)) + "\n"
        elif heading:
            yield f"{heading}: " + _sentences(paragraph) + "\n"
        else:
            yield _sentences(paragraph) + "\n"


def _items(text: str) -> Iterator[str]:
    for item in re.split(r"\n(?=\S)", text):
        name, _, what = item.partition(": ")
        yield f"- `{name}`: " + " ".join(what.split())


def _sentences(text: str) -> str:
    return re.sub(r"(?<=[.!?]) (?=[A-Z`])", "\n", " ".join(text.split()))
