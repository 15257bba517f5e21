"""A settings file before and after an install, an uninstall, and everything that may go wrong with either."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from agentihooks import cli
from agentihooks.errors import BadSettings, PluginFault
from agentihooks.hook_settings import HookSettings, Subscription
from agentihooks.hookspecs import hookimpl
from agentihooks.install import Plan, find_program, plan_install, plan_uninstall, settings_of
from agentihooks.plugins import Plugins

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

OLD, NEW = ("/old/agentihooks",), ("/new/agentihooks",)
HAND_WRITTEN = b'{\n\t"model" : "opus", "env": {} }\n'
MADE = json.dumps(
    {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "/new/agentihooks hook claude", "timeout": 5}]}]}},
    indent=2,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of a settings file in a directory of its own."""
    path = tmp_path / "agent" / "settings.json"
    path.parent.mkdir()
    return path


@pytest.fixture
def backup(path: Path) -> Path:
    """Return the path of its backup."""
    return path.with_name("settings.json.agentihooks-backup")


def settings(path: Path, note: str = "") -> HookSettings:
    """Return settings that subscribe to one event."""
    return HookSettings(path=path, subscriptions=(Subscription("Stop", 5),), note=note)


def put_in(path: Path, program: tuple[str, ...] = NEW) -> Plan:
    """Install, and return what was done."""
    plan = plan_install(settings(path), "claude", program)
    plan.apply()
    return plan


def take_out(path: Path) -> Plan:
    """Uninstall, and return what was done."""
    plan = plan_uninstall(settings(path), "claude")
    plan.apply()
    return plan


def files(path: Path) -> dict[str, bytes]:
    """Return what lies in the settings file's directory."""
    return {file.name: file.read_bytes() for file in path.parent.iterdir()}


# The file and its backup


def test_a_missing_file_is_made(tmp_path: Path) -> None:
    """Without a file one is made, for its owner alone, with its directories and without a backup."""
    path = tmp_path / "new" / ".claude" / "settings.json"
    put_in(path)
    assert {"settings.json": MADE.encode() + b"\n"} == files(path)
    assert 0o600 == stat.S_IMODE(path.stat().st_mode)


def test_a_made_file_is_removed(path: Path) -> None:
    """A file that the install made is gone after the uninstall."""
    put_in(path)
    assert "removed, as an install had made it:" == take_out(path).said
    assert {} == files(path)


def test_a_made_file_that_holds_more_by_now_stays(path: Path) -> None:
    """A file that the install made stays if there is more in it by now, without hooks."""
    put_in(path)
    path.write_text(MADE.replace("{", '{\n  "model": "opus",', 1))
    assert "removed our hooks, and nothing else, from" == take_out(path).said
    assert {"settings.json": b'{\n  "model": "opus"\n}'} == files(path)


@pytest.mark.parametrize(
    "before", [HAND_WRITTEN, b"", b"\xef\xbb\xbf{}", b'{"hooks": {"Stop": []}}', b"{ /* mine */ }"]
)
def test_there_and_back(path: Path, backup: Path, before: bytes) -> None:
    """The backup is the file as it was, and after the uninstall the file is that again, and the backup gone."""
    path.write_bytes(before)
    put_in(path)
    assert before == backup.read_bytes()
    assert "restored as it was:" == take_out(path).said
    assert {"settings.json": before} == files(path)


def test_an_edit_outlives_the_uninstall(path: Path) -> None:
    """What somebody added since the install is still there after the uninstall, and the backup is not."""
    path.write_bytes(HAND_WRITTEN)
    put_in(path)
    path.write_bytes(path.read_bytes().replace(b'"opus"', b'"haiku"'))
    assert "removed our hooks, and nothing else, from" == take_out(path).said
    assert ["settings.json"] == list(files(path))
    assert {"model": "haiku", "env": {}} == json.loads(path.read_bytes())


def test_a_second_install_touches_nothing(path: Path) -> None:
    """When everything is in already, no file is written, and the report says so."""
    put_in(path)
    before = path.stat()
    assert "nothing to do, everything is in" == put_in(path).said
    assert (before.st_ino, before.st_mtime_ns) == (path.stat().st_ino, path.stat().st_mtime_ns)


def test_an_upgrade_keeps_the_backup(path: Path, backup: Path) -> None:
    """An install over an older one changes the path of the program, and leaves the backup of the first."""
    path.write_bytes(HAND_WRITTEN)
    put_in(path, OLD)
    assert "brought up to date:" == put_in(path).said
    assert HAND_WRITTEN == backup.read_bytes()
    assert "restored as it was:" == take_out(path).said
    assert {"settings.json": HAND_WRITTEN} == files(path)


def test_an_upgrade_of_a_made_file(path: Path) -> None:
    """A file that an older install made is still known as such after the next one."""
    put_in(path, OLD)
    put_in(path)
    take_out(path)
    assert {} == files(path)


def test_nothing_of_ours(path: Path) -> None:
    """An uninstall where there is nothing of ours does nothing, and says so."""
    path.write_bytes(HAND_WRITTEN)
    assert "nothing of ours in" == take_out(path).said
    assert {"settings.json": HAND_WRITTEN} == files(path)


def test_no_file_at_all(path: Path) -> None:
    """An uninstall without a file does nothing."""
    assert "nothing of ours in" == take_out(path).said
    assert {} == files(path)


@pytest.mark.parametrize("edited", [b"{}", None])
def test_a_left_over_backup_is_set_aside(path: Path, backup: Path, edited: bytes | None) -> None:
    """The backup of an install that was undone by hand is neither overwritten nor taken for the next one's."""
    backup.write_bytes(HAND_WRITTEN)
    backup.with_name(backup.name + ".1").write_bytes(b"older")
    if edited is not None:
        path.write_bytes(edited)
    put_in(path)
    assert HAND_WRITTEN == backup.with_name(backup.name + ".2").read_bytes()
    take_out(path)
    assert edited == (path.read_bytes() if path.exists() else None)


def test_a_left_over_backup_is_named(path: Path, backup: Path) -> None:
    """An uninstall that finds nothing of ours leaves another backup where it is, and names it."""
    path.write_bytes(b"{}")
    backup.write_bytes(HAND_WRITTEN)
    assert [f"nothing of ours in {path}", f"  backup   {backup}"] == list(take_out(path).report())


def test_after_a_crash_between_backup_and_file(path: Path, backup: Path) -> None:
    """A backup that was made before the install died serves the next install, or goes with an uninstall."""
    path.write_bytes(HAND_WRITTEN)
    backup.write_bytes(HAND_WRITTEN)
    put_in(path)
    assert {"settings.json", backup.name} == set(files(path))
    path.write_bytes(HAND_WRITTEN)
    take_out(path)
    assert {"settings.json": HAND_WRITTEN} == files(path)


# Links, modes and owners


def test_a_symbolic_link_stays_one(path: Path, tmp_path: Path, backup: Path) -> None:
    """The file that a link leads to is replaced, and the link is left; the backup lies beside the link."""
    target = tmp_path / "dotfiles" / "claude.json"
    target.parent.mkdir()
    target.write_bytes(HAND_WRITTEN)
    path.symlink_to("../dotfiles/claude.json")
    put_in(path)
    assert b"hook claude" in target.read_bytes()
    assert backup.exists()
    take_out(path)
    assert {"claude.json": HAND_WRITTEN} == files(target)
    assert "../dotfiles/claude.json" == str(path.readlink())


def test_a_link_is_not_left_dangling(path: Path, tmp_path: Path) -> None:
    """Where a link leads to a file with nothing but our hooks, and no backup, an empty object is left."""
    target = tmp_path / "claude.json"
    target.write_text(MADE)
    path.symlink_to(target)
    take_out(path)
    assert b"{}\n" == target.read_bytes()


def test_a_dangling_link(path: Path) -> None:
    """A link to nothing is an error, since nobody knows what was meant to be there."""
    path.symlink_to("gone.json")
    with pytest.raises(BadSettings) as caught:
        put_in(path)
    assert f"{path}: is a symbolic link to nothing (gone.json)" == str(caught.value)


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o660])
def test_the_mode_stays(path: Path, backup: Path, mode: int) -> None:
    """The file and its backup have the mode that the file had."""
    path.write_bytes(HAND_WRITTEN)
    path.chmod(mode)
    put_in(path)
    assert [mode, mode] == [stat.S_IMODE(file.stat().st_mode) for file in (path, backup)]


def test_the_owner_stays(path: Path, backup: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file and its backup are given to the owner and group that the file had."""
    given: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "fchown", lambda _, *owner: given.append(owner))
    status = os.fstat
    monkeypatch.setattr(os, "fstat", lambda descriptor: fake_owner(status(descriptor)))
    path.write_bytes(HAND_WRITTEN)
    put_in(path)
    assert [(path.stat().st_uid, path.stat().st_gid)] * 2 == given


def fake_owner(status: os.stat_result) -> os.stat_result:
    """Return the status of a file as another user's."""
    return os.stat_result((*status[:4], status.st_uid + 1, *status[5:10]))


# What goes wrong

BAD = {
    "not UTF-8": (b'{"a": "\xff"}', "'utf-8' codec can't decode byte 0xff in position 7: invalid start byte"),
    "not JSON": (b'{\n  "a": yes\n}', "Expecting value: line 2 column 8 (char 9)"),
    "not an object": (b"[]", "The settings are not an object: line 1 column 1 (char 0)"),
    "hooks not an object": (b'{"hooks": 1}', '"hooks" is not an object: line 1 column 11 (char 10)'),
    "event not an array": (b'{"hooks": {"Stop": 1}}', '"Stop" is not an array: line 1 column 20 (char 19)'),
}


@pytest.mark.parametrize(("before", "reason"), BAD.values(), ids=BAD)
def test_bad_settings(path: Path, before: bytes, reason: str) -> None:
    """Settings that cannot be edited safely are an error that names the file and the place, and stay as they are."""
    path.write_bytes(before)
    with pytest.raises(BadSettings) as caught:
        put_in(path)
    assert f"{path}: {reason}" == str(caught.value)
    assert {"settings.json": before} == files(path)


@pytest.mark.parametrize("act", [put_in, take_out])
def test_a_bad_backup(path: Path, backup: Path, act: Callable[[Path], Plan]) -> None:
    """A backup that is no JSON is an error that names it, and everything stays as it is."""
    put_in(path)
    backup.write_bytes(b"{")
    with pytest.raises(BadSettings, match=r"settings\.json\.agentihooks-backup: Expecting"):
        act(path)
    assert {"settings.json": MADE.encode() + b"\n", backup.name: b"{"} == files(path)


def test_a_directory_in_its_place(path: Path) -> None:
    """Something else than a file is what the system says it is."""
    path.mkdir()
    with pytest.raises(IsADirectoryError):
        put_in(path)


def test_a_change_after_the_plan(path: Path) -> None:
    """A file that another program wrote after the plan was made is not overwritten."""
    plan = plan_install(settings(path), "claude", NEW)
    path.write_bytes(HAND_WRITTEN)
    with pytest.raises(BadSettings, match="another program changed it just now; try again"):
        plan.apply()
    assert {"settings.json": HAND_WRITTEN} == files(path)


@pytest.mark.parametrize("error", [PermissionError(13, "Permission denied"), OSError(30, "Read-only file system")])
def test_a_directory_that_cannot_be_written(path: Path, monkeypatch: pytest.MonkeyPatch, error: OSError) -> None:
    """A directory that takes no file is named, and the settings stay as they are."""

    def refuse(**_: object) -> None:
        raise error

    path.write_bytes(HAND_WRITTEN)
    monkeypatch.setattr(tempfile, "mkstemp", refuse)
    with pytest.raises(type(error)) as caught:
        put_in(path)
    assert (str(path.parent), error.strerror) == (caught.value.filename, caught.value.strerror)
    assert {"settings.json": HAND_WRITTEN} == files(path)


def test_a_full_disk(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the disk is full, the settings stay as they are, and no temporary file is left."""

    def refuse(_: int) -> None:
        raise OSError(28, "No space left on device")

    path.write_bytes(HAND_WRITTEN)
    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match="No space left"):
        put_in(path)
    assert {"settings.json": HAND_WRITTEN} == files(path)


@pytest.fixture
def unprivileged() -> Iterator[Path]:
    """Return a directory of a user who is not root, and be that user."""
    with tempfile.TemporaryDirectory() as folder:
        if os.geteuid() == 0:
            os.chown(folder, 65534, 65534)
            os.seteuid(65534)
        try:
            yield Path(folder)
        finally:
            os.seteuid(os.getuid())


def test_a_file_that_is_not_ours_to_write(unprivileged: Path) -> None:
    """A file without the right to write it is not replaced, though the directory would allow that."""
    path = unprivileged / "settings.json"
    path.write_bytes(HAND_WRITTEN)
    path.chmod(0o400)
    with pytest.raises(PermissionError) as caught:
        put_in(path)
    assert str(path) == caught.value.filename
    assert {"settings.json": HAND_WRITTEN} == files(path)


# What is said


def test_report(path: Path) -> None:
    """The report tells the file, the events, the command, the backup, what a person has to do, and what comes next."""
    path.write_bytes(HAND_WRITTEN)
    plan = plan_install(settings(path, note="Trust it."), "claude", NEW)
    plan.apply()
    assert [
        f"installed in {path}",
        "  events   Stop",
        "  command  /new/agentihooks hook claude",
        f"  backup   {path}.agentihooks-backup",
        "Trust it.",
        "next: agentihooks doctor",
    ] == list(plan.report())


WARNED = {
    "comment": (b"{} // mine", NEW, "comments"),
    "byte order mark": (b"\xef\xbb\xbf{}", NEW, "comments"),
    "cache": (b"{}", ("/home/u/.cache/uv/x/bin/agentihooks",), "a cache"),
}


@pytest.mark.parametrize(("before", "program", "word"), WARNED.values(), ids=WARNED)
def test_warnings(path: Path, before: bytes, program: tuple[str, ...], word: str) -> None:
    """The report warns of a file that the agent will not read, and of a program that will not stay."""
    path.write_bytes(before)
    warnings = [line for line in put_in(path, program).report() if line.startswith("warning: ")]
    assert [True] == [word in warning for warning in warnings]


def test_diff(path: Path) -> None:
    """The diff shows the change as `diff -u` does, and makes none."""
    path.write_bytes(b"{}")
    lines = plan_install(settings(path), "claude", NEW).diff().splitlines()
    assert [f"--- {path}", f"+++ {path}", "@@ -1 +1,15 @@", "-{}", "\\ No newline at end of file", "+{"] == lines[:6]
    assert {"settings.json": b"{}"} == files(path)


def test_diff_of_a_file_that_comes_and_goes(path: Path) -> None:
    """A file that does not exist is /dev/null in a diff."""
    assert plan_install(settings(path), "claude", NEW).diff().startswith(f"--- /dev/null\n+++ {path}\n")
    put_in(path)
    assert plan_uninstall(settings(path), "claude").diff().startswith(f"--- {path}\n+++ /dev/null\n")


# The program


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the script of a virtual environment that this is run from."""
    script = tmp_path / "venvs" / "agentihooks" / "bin" / "agentihooks"
    script.parent.mkdir(parents=True)
    script.touch(mode=0o755)
    monkeypatch.setattr(sys, "prefix", str(script.parents[1]))
    return script


def test_the_script_of_the_environment(environment: Path) -> None:
    """Without a link to it, the environment's own script is the program; it is absolute, however it was started."""
    started_as = os.path.relpath(environment.parent / ".." / "bin" / "agentihooks")
    path = f"{environment.parent}:relative:"
    assert (str(environment),) == find_program({"PATH": path, "HOME": "/nowhere"}, started_as)


def test_a_link_into_the_environment_is_preferred(environment: Path, tmp_path: Path) -> None:
    """A link on PATH that leads into the environment outlives its upgrade, and is the program."""
    link = tmp_path / "bin" / "agentihooks"
    link.parent.mkdir()
    link.symlink_to(environment)
    path = f"{environment.parent}:{link.parent}"
    assert (str(link),) == find_program({"PATH": path, "HOME": "/nowhere"}, str(environment))


def test_a_link_in_the_users_directory(environment: Path, tmp_path: Path) -> None:
    """The directory where pipx and uv put links is looked into, even if PATH does not name it."""
    link = tmp_path / ".local" / "bin" / "agentihooks"
    link.parent.mkdir(parents=True)
    link.symlink_to(environment)
    assert (str(link),) == find_program({"HOME": str(tmp_path)}, str(environment))


def test_another_installation_is_not_taken(environment: Path, tmp_path: Path) -> None:
    """A program of the same name that leads elsewhere is another installation's."""
    other = tmp_path / "bin" / "agentihooks"
    other.parent.mkdir()
    other.touch(mode=0o755)
    assert (str(environment),) == find_program({"PATH": str(other.parent), "HOME": "/nowhere"}, str(environment))


def test_without_a_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a script the interpreter is the program, and does not look for modules in the project's folder."""
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path))
    (tmp_path / "agentihooks").mkdir()
    assert (sys.executable, "-P", "-m", "agentihooks") == find_program({}, "/repo/agentihooks/__main__.py")


def test_the_package_can_be_run() -> None:
    """`python -m agentihooks` is the command."""
    command = [sys.executable, "-P", "-m", "agentihooks", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("agentihooks ")


# The plugin


def plugin(monkeypatch: pytest.MonkeyPatch, answer: Callable[[], HookSettings | None]) -> None:
    """Make a plugin `acme` that answers for its settings."""

    def agentihooks_hook_settings() -> HookSettings | None:
        return answer()

    module: Any = ModuleType("agentihooks_acme")
    module.agentihooks_hook_settings = hookimpl(agentihooks_hook_settings)
    monkeypatch.setattr(Plugins, "installed", lambda _: Plugins({"acme": module}))


def test_a_strangers_plugin(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    """Any plugin can say where its agent keeps hooks."""
    plugin(monkeypatch, lambda: settings(path))
    assert settings(path) == settings_of("acme", {}, "user", Path("/w"))


def test_a_plugin_without_such_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plugin may have no settings file for a project."""
    plugin(monkeypatch, lambda: None)
    with pytest.raises(ValueError, match="acme has no settings file for a project"):
        settings_of("acme", {}, "project", Path("/w"))


def test_a_plugin_that_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a plugin raises is said under its name."""
    plugin(monkeypatch, lambda: settings(Path(1)))  # type: ignore[arg-type] # that is the fault
    with pytest.raises(PluginFault, match="plugin acme: agentihooks_hook_settings raised TypeError"):
        settings_of("acme", {}, "user", Path("/w"))


# The command


def test_install_and_uninstall(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command installs, shows, and uninstalls in the file of the user's own agent."""
    path = tmp_path / "user" / ".claude" / "settings.json"
    assert 0 == cli.main(["install", "claude"])
    assert capsys.readouterr().out.startswith(f"installed in {path}\n")
    assert 0 == cli.main(["uninstall", "claude"])
    assert f"removed, as an install had made it: {path}\n" == capsys.readouterr().out


def test_dry_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A dry run prints a diff and writes nothing, in the project's file if that was asked for."""
    monkeypatch.chdir(tmp_path)
    assert 0 == cli.main(["install", "codex", "--scope", "project", "--dry-run"])
    assert f"+++ {tmp_path}/.codex/hooks.json\n" in capsys.readouterr().out
    assert [] == list(tmp_path.iterdir())


def test_dry_run_of_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """A dry run that would change nothing says so."""
    assert 0 == cli.main(["uninstall", "claude", "--dry-run"])
    assert "nothing to change\n" == capsys.readouterr().out


def test_bad_settings_exit_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Settings that cannot be edited exit 2, with one line."""
    path = tmp_path / "user" / ".codex" / "hooks.json"
    path.parent.mkdir(parents=True)
    path.write_text("[")
    assert 2 == cli.main(["install", "codex"])
    assert f"agentihooks: {path}: Expecting value: line 1 column 2 (char 1)\n" == capsys.readouterr().err


def test_an_unknown_agent_exits_2(capsys: pytest.CaptureFixture[str]) -> None:
    """An agent without a plugin exits 2, with one line."""
    for agent in ("nobody", "outbox"):
        assert 2 == cli.main(["install", agent])
        complaint = f"agentihooks: '{agent}' is no agent that hooks can be installed for; there are claude, codex\n"
        assert complaint == capsys.readouterr().err
