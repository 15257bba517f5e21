"""Hooks in a settings text: what is put in, what is replaced, what is taken out, and what is left alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentihooks import jsonc
from agentihooks.hook_settings import Groups, HookSettings, Subscription, groups, installed, merge, remove

OLD, NEW = "/old/agentihooks hook claude", "/new/agentihooks hook claude"
OTHER = {"hooks": [{"type": "command", "command": "lint"}]}


def wanted(command: str = NEW, **matchers: str | None) -> Groups:
    """Return our groups for Stop, or for the events named, each with its matcher."""
    return {
        event: ({"matcher": matcher} if matcher else {}) | {"hooks": [handler(command)]}
        for event, matcher in (matchers or {"Stop": None}).items()
    }


def handler(command: str = NEW) -> dict[str, Any]:
    """Return a handler of ours."""
    return {"type": "command", "command": command, "timeout": 5}


def settings(**events: list[Any]) -> str:
    """Return a settings text with these hooks, as Claude Code writes it."""
    return json.dumps({"model": "opus", "hooks": events}, indent=2) + "\n"


def test_groups() -> None:
    """The handlers are one command line, quoted for a shell, with each event's timeout and matcher."""
    subscriptions = (Subscription("Stop", 30), Subscription("PostToolUse", 5, matcher="Bash"))
    asked = HookSettings(path=Path("/s.json"), subscriptions=subscriptions)
    command = "'/my bin/agentihooks' hook claude"
    assert {
        "Stop": {"hooks": [{"type": "command", "command": command, "timeout": 30}]},
        "PostToolUse": {"matcher": "Bash", "hooks": [{"type": "command", "command": command, "timeout": 5}]},
    } == groups(asked, "claude", ("/my bin/agentihooks",))


OURS = {
    "absolute": {"command": "/usr/bin/agentihooks hook claude"},
    "from PATH": {"command": "agentihooks hook claude"},
    "quoted": {"command": "'/my bin/agentihooks' hook claude"},
    "interpreter": {"command": "/usr/bin/python3 -P -m agentihooks hook claude"},
    "unsafe interpreter": {"command": "python -m agentihooks hook claude"},
    "arguments": {"command": "/usr/bin/agentihooks", "args": ["hook", "claude"]},
}

NOT_OURS = {
    "other agent": {"command": "/usr/bin/agentihooks hook codex"},
    "other program": {"command": "/usr/bin/agentihooks-mine hook claude"},
    "other verb": {"command": "agentihooks status claude"},
    "more than that": {"command": "agentihooks hook claude || true"},
    "another environment": {"command": "AGENTIHOOKS_HOME=/h agentihooks hook claude"},
    "no program": {"command": "hook claude"},
    "open quote": {"command": "agentihooks 'hook claude"},
    "no text": {"command": 1},
    "no command": {"type": "http"},
}


@pytest.mark.parametrize("form", OURS.values(), ids=OURS)
def test_ours(form: dict[str, Any]) -> None:
    """A handler is ours by its command, wherever the program lies."""
    assert {"Stop": {"hooks": [form]}} == installed(settings(Stop=[{"hooks": [form]}]), "claude")


@pytest.mark.parametrize("form", NOT_OURS.values(), ids=NOT_OURS)
def test_not_ours(form: dict[str, Any]) -> None:
    """A handler that does anything else is not ours, and stays."""
    text = settings(Stop=[{"hooks": [form]}])
    assert text == remove(text, "claude")


@pytest.mark.parametrize(
    "text",
    ["[]", "1", '{"hooks": []}', '{"hooks": {"Stop": {}}}', '{"hooks": {"Stop": [1, {"hooks": {}}, {"hooks": [[]]}]}}'],
)
def test_nothing_of_ours_in_another_shape(text: str) -> None:
    """What has not the shape of hooks holds none of ours."""
    assert ({}, text) == (installed(text, "claude"), remove(text, "claude"))


def test_into_nothing() -> None:
    """Settings that are empty become an object with our hooks, laid out as Claude Code lays it out."""
    assert json.dumps({"hooks": {"Stop": [wanted()["Stop"]]}}, indent=2) + "\n" == merge("", "claude", wanted())


def test_behind_others() -> None:
    """Our group comes behind the others of its event, whose places Codex remembers."""
    merged = merge(settings(Stop=[OTHER]), "claude", wanted())
    assert [OTHER, wanted()["Stop"]] == json.loads(merged)["hooks"]["Stop"]


def test_a_new_event() -> None:
    """An event that nobody listened to is added behind the others."""
    merged = merge(settings(PreToolUse=[OTHER]), "claude", wanted())
    assert ["PreToolUse", "Stop"] == list(json.loads(merged)["hooks"])


def test_an_older_path_is_replaced_in_place() -> None:
    """Our handler from another path is replaced where it stands, and nothing besides."""
    old = settings(Stop=[{"hooks": [handler(OLD)]}, OTHER])
    assert old.replace(OLD, NEW) == merge(old, "claude", wanted())


def test_others_in_our_group_stay() -> None:
    """A handler that somebody put into our group outlives ours."""
    text = settings(Stop=[{"hooks": [handler(), *OTHER["hooks"]]}])
    assert settings(Stop=[OTHER]) == remove(text, "claude")


def test_duplicates_go() -> None:
    """Of two handlers of ours at one event, the second goes."""
    text = settings(Stop=[{"hooks": [handler(OLD)]}, {"hooks": [handler()]}])
    assert [wanted()["Stop"]] == json.loads(merge(text, "claude", wanted()))["hooks"]["Stop"]


def test_another_matcher() -> None:
    """A group of ours with a matcher that is no longer wanted goes, and the wanted one comes."""
    text = settings(PostToolUse=[{"matcher": "Bash", "hooks": [handler()]}])
    merged = merge(text, "claude", wanted(PostToolUse="Bash|Exit"))
    assert [{"matcher": "Bash|Exit", "hooks": [handler()]}] == json.loads(merged)["hooks"]["PostToolUse"]


@pytest.mark.parametrize("matcher", [None, "", "*"])
def test_matchers_for_all(matcher: str | None) -> None:
    """All ways to write a matcher for everything are one."""
    text = settings(Stop=[{"matcher": matcher, "hooks": [handler()]}])
    assert text == merge(text, "claude", wanted())


def test_an_event_no_longer_wanted() -> None:
    """An event that an earlier version subscribed to is taken out, with what it left empty."""
    text = settings(Stop=[wanted()["Stop"]], SessionEnd=[wanted()["Stop"]])
    assert settings(Stop=[wanted()["Stop"]]) == merge(text, "claude", wanted())


def test_remove_without_a_backup() -> None:
    """Without the original, whatever held nothing but our hooks goes with them."""
    text = merge('{\n  "model": "opus"\n}\n', "claude", wanted(Stop=None, SessionEnd=None))
    assert '{\n  "model": "opus"\n}\n' == remove(text, "claude")


@pytest.mark.parametrize("original", ['{"hooks": {}}', '{"hooks": {"Stop": []}}', '{"hooks": {"Stop": [], "A": []}}'])
def test_what_the_original_had_stays(original: str) -> None:
    """An empty event or object of hooks that was there before the install is there afterwards, whoever edited since."""
    edited = merge(original, "claude", wanted()).replace("{", '{"model": "opus",', 1)
    assert {"model": "opus", **json.loads(original)} == json.loads(remove(edited, "claude", original))


def test_an_unedited_text_becomes_the_original() -> None:
    """If nothing but the install happened, the original is back to the character."""
    original = '{"hooks" : {"Stop":[ ] }}  '
    assert original == remove(merge(original, "claude", wanted()), "claude", original)


def test_an_original_with_our_hooks() -> None:
    """A backup that holds our hooks itself does not bring them back."""
    text = merge("", "claude", wanted())
    assert {} == installed(remove(text, "claude", text), "claude")


def test_a_comment_keeps_its_place() -> None:
    """An event with a comment in it stays, since the comment is not ours."""
    text = merge('{"hooks": {"Stop": [ /* mine */ ]}}', "claude", wanted())
    assert {"hooks": {"Stop": []}} == jsonc.parse(remove(text, "claude")).plain()
    assert "/* mine */" in remove(text, "claude")


def test_of_an_event_given_twice_the_last_counts() -> None:
    """Of an event that stands there twice the last counts, as for the agents."""
    merged = merge('{"hooks": {"Stop": 1, "Stop": []}}', "claude", wanted())
    assert {"Stop": wanted()["Stop"]} == installed(merged, "claude")


WRONG = {
    "not JSON": ('{"hooks": ', "Expecting value: line 1 column 11"),
    "not an object": ("[]", "The settings are not an object: line 1 column 1"),
    "hooks not an object": ('{\n  "hooks": []\n}', '"hooks" is not an object: line 2 column 12'),
    "hooks null": ('{"hooks": null}', '"hooks" is not an object: line 1 column 11'),
    "event not an array": ('{"hooks": {\n"Stop": {}}}', '"Stop" is not an array: line 2 column 9'),
}


@pytest.mark.parametrize(("text", "reason"), WRONG.values(), ids=WRONG)
def test_wrong_settings(text: str, reason: str) -> None:
    """Settings that cannot take our hooks are an error that gives line and column."""
    with pytest.raises(json.JSONDecodeError) as caught:
        merge(text, "claude", wanted())
    assert str(caught.value).startswith(reason + " (char")


def test_others_events_need_no_shape() -> None:
    """An event that we do not touch may hold anything."""
    assert {"Odd": 1, "Stop": [wanted()["Stop"]]} == json.loads(merge('{"hooks": {"Odd": 1}}', "claude", wanted()))[
        "hooks"
    ]
