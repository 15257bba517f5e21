"""What leaves of a marker: both bodies and keys, word for word, and the lookup that the preceding one rests on."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from agentihooks.event import Attribution
from agentihooks.ids import marker_key
from agentihooks.model import SCOPE_FIELDS, Marker
from agentihooks.outgoing import Outgoing, Sender, attributed, preceding
from agentihooks.preceding import PrecedingLookup
from agentihooks.testing import CONFORMANCE_GRANT, at

if TYPE_CHECKING:
    from pathlib import Path

    from agentihooks.engine import Engine

SENDER = Sender(session_id="first", agent_name="eng-1", folder="/work/alpha/one")

ROW = {
    "session_id": "first",
    "project": "alpha",
    "repo": "fixture/alpha",
    "worktree": "",
    "cwd": "/work/alpha",
    "remote": "https://github.com/fixture/alpha",
    "project_id": "github.com/fixture/alpha",
    "started_at": at("09:00"),
}

IDENTITY = {name: ROW[name] for name in ("project", "repo", "worktree", "cwd", "remote", "project_id")}


def leave(engine: Engine, clock: str, **attrs: str) -> Outgoing:
    """Return a marker of the conformance history's session as it leaves."""
    marker = Marker(type="lesson", content="fsync the directory", attrs=attrs, at=at(clock))
    (attribution,) = engine.attribute("first", [{"at": marker.at, "attrs": attrs}], CONFORMANCE_GRANT)
    return attributed(marker, attribution, SENDER)


def write_rows(home: Path, *rows: Any) -> None:
    """Write the project of sessions, a row each; text is written as it is."""
    path = home / "brain" / "project-sessions.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))


def test_scoped(conformance: Engine) -> None:
    """A marker carries the scope of its own time, not what the model wrote of one."""
    outgoing = leave(conformance, "10:15", task="mine", branch="mine", repo="mine", topic="disks", source="doc")
    attrs = {
        "topic": "disks",
        "attribution": "scoped",
        "project_id": "github.com/fixture/alpha",
        "project": "alpha",
        "repo": "fixture/alpha",
        "worktree": "two",
        "cwd": "/work/alpha/two",
        "branch": "two",
        "swarm": "fixture",
        "task": "first",
        "task_revision": "1",
        "lane": "eng",
        "session_id": "first",
        "source": "doc",
    }
    expected = Outgoing(
        type="lesson",
        content="fsync the directory",
        attrs=attrs,
        idempotency_key="k2:c4bfa312665fb260a12d5b3a2c3def1038434f8f9a420ea3f7585273242de538",
        session_id="first",
        agent_name="eng-1",
        project="/work/alpha/one",
        at=at("10:15"),
    )
    assert expected == outgoing


def test_explicit(conformance: Engine) -> None:
    """A project that the marker names, and may name, is the one it carries; the rest is the scope's."""
    attrs = leave(conformance, "10:05", project_id="github.com/fixture/beta", repo="fixture/beta", task="mine").attrs
    assert ("explicit", "github.com/fixture/beta", "fixture/beta") == tuple(
        attrs[name] for name in ("attribution", "project_id", "repo")
    )
    assert ("first", "one") == (attrs["task"], attrs["worktree"])
    assert "project" not in attrs


def test_fleet(conformance: Engine) -> None:
    """What is for the whole fleet carries no scope at all."""
    attrs = leave(conformance, "10:05", share="fleet", task="mine").attrs
    assert {"share": "fleet", "attribution": "fleet", "session_id": "first", "source": "eng-1"} == attrs


def test_refused(conformance: Engine) -> None:
    """A project that the session may not name appears nowhere."""
    outgoing = leave(conformance, "10:05", project_id="github.com/fixture/secret", project="secret", repo="x/secret")
    assert {"attribution": "refused", "session_id": "first", "source": "eng-1"} == outgoing.attrs
    assert "secret" not in str(outgoing)


def test_unknown(conformance: Engine) -> None:
    """A marker from before the first transition carries no scope; what the model wrote does not stand in."""
    attrs = leave(conformance, "09:59", project="alpha", cwd="/work/alpha").attrs
    assert {"attribution": "unknown", "session_id": "first", "source": "eng-1"} == attrs


def test_two_tasks_are_two_markers(conformance: Engine) -> None:
    """The same words have a key for each task, and one key within a task."""
    keys = [leave(conformance, clock).idempotency_key for clock in ("10:05", "10:15", "10:25", "10:26")]
    assert [0, 0, 2, 2] == [keys.index(key) for key in keys]


def test_key_is_of_what_is_carried() -> None:
    """The key is of the session, not the subagent, and of the project and task that the body carries."""
    marker = Marker(type="signal", content="x", agent_id="a1")
    outgoing = attributed(marker, Attribution(attribution="explicit", fields={"project_id": "p", "task": "t"}), SENDER)
    assert marker_key("first", "signal", "p", "t", "x") == outgoing.idempotency_key


@pytest.mark.parametrize("name", SCOPE_FIELDS)
def test_every_scope_field_is_dropped(name: str) -> None:
    """Of a session with a log, no scope attribute of the model's leaves, whichever it is."""
    marker = Marker(type="lesson", content="x", attrs={name: "mine"})
    assert name not in attributed(marker, Attribution(attribution="unknown"), SENDER).attrs


def test_preceding() -> None:
    """Without a log, the lookup by session fills in what the marker leaves out, and no more."""
    marker = Marker(type="lesson", content="x", attrs={"project": "mine", "task": "t", "cwd": ""}, at=at("10:05"))
    outgoing = preceding(marker, IDENTITY, SENDER)
    attrs = {
        "project": "mine",
        "task": "t",
        "cwd": "",
        "repo": "fixture/alpha",
        "worktree": "",
        "remote": "https://github.com/fixture/alpha",
        "project_id": "github.com/fixture/alpha",
        "session_id": "first",
        "source": "eng-1",
    }
    expected = Outgoing(
        type="lesson",
        content="x",
        attrs=attrs,
        idempotency_key="1895e6dbd9d55cbd8f41df7e69886165",
        session_id="first",
        agent_name="eng-1",
        project="/work/alpha/one",
        at=at("10:05"),
    )
    assert expected == outgoing


@pytest.mark.parametrize(
    ("environ", "cwd", "expected"),
    [
        ({}, "", Sender(session_id="s")),
        ({"AGENTICORE_AGENT_NAME": "eng-1", "CLAUDE_PROJECT_DIR": "/p"}, "/c", SENDER),
        ({"AGENTICORE_AGENT_NAME": "", "CLAUDE_PROJECT_DIR": ""}, "/c", Sender(session_id="s", folder="/c")),
    ],
    ids=["nothing", "all", "empty"],
)
def test_sender(environ: dict[str, str], cwd: str, expected: Sender) -> None:
    """The environment names the agent and its folder; the payload's folder stands in."""
    if expected is SENDER:
        expected = Sender(session_id="s", agent_name="eng-1", folder="/p")
    assert expected == Sender.of("s", environ, cwd)


def test_last_row(home: Path) -> None:
    """The last row of a session counts; lines that cannot be read cost nothing but themselves."""
    write_rows(
        home, {**ROW, "project": "earlier"}, "{", '"text"', "[]", '{"session_id": []}', ROW, {**ROW, "session_id": "s2"}
    )
    assert IDENTITY == PrecedingLookup(str(home), {}).identity("first")


@pytest.mark.parametrize("project_id", [None, ""])
def test_row_without_project_id(home: Path, project_id: str | None) -> None:
    """A row without a project id reads as `unknown`, and every missing field as nothing."""
    write_rows(home, {"session_id": "first", "project": "alpha", "project_id": project_id})
    nothing = dict.fromkeys(("repo", "worktree", "cwd", "remote"), "")
    assert {"project": "alpha", "project_id": "unknown", **nothing} == PrecedingLookup(str(home), {}).identity("first")


def test_folder_stands_in(home: Path, tmp_path: Path) -> None:
    """Without a row, the identity of the first folder counts; a relative one is none."""
    folder = tmp_path / "alpha"
    subprocess.run(["git", "init", "-q", folder], check=True)
    subprocess.run(["git", "-C", folder, "remote", "add", "origin", ROW["remote"]], check=True)
    expected = {**IDENTITY, "cwd": str(folder)}
    assert expected == PrecedingLookup(str(home), {}).identity("first", "alpha", str(folder), "/")


@pytest.mark.parametrize("folders", [(), ("/gone",), ("",), (".",)])
def test_nothing_is_known(home: Path, folders: tuple[str, ...]) -> None:
    """Where there is neither a row nor a repository, nothing is filled in."""
    assert {} == PrecedingLookup(str(home), {}).identity("first", *folders)


def test_folder_without_repository(home: Path, tmp_path: Path) -> None:
    """A folder that is no repository fills in nothing: its name is not promoted to a project."""
    assert {} == PrecedingLookup(str(home), {}).identity("first", str(tmp_path))


def test_lookup_reads_once(home: Path, tmp_path: Path) -> None:
    """Rows and folders are read from disk once."""
    write_rows(home, ROW)
    lookup = PrecedingLookup(str(home), {"AGENTIHOOKS_PROJECT_ID": "local:one"})
    folder = lookup.identity("second", str(tmp_path))
    lookup.identity("first")
    (home / "brain" / "project-sessions.jsonl").unlink()
    tmp_path.rename(tmp_path.with_name("gone"))
    assert IDENTITY == lookup.identity("first")
    assert "local:one" == folder["project_id"] == lookup.identity("second", str(tmp_path))["project_id"]
