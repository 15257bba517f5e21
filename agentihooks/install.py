"""
The engine's hooks in an agent's settings file: what an install and an uninstall change, and how it gets to the disk.

    settings file -> plan (hook_settings: text to text) -> apply: backup, temporary file, fsync, rename

A plan can be looked at first; making one writes nothing.
"""

from __future__ import annotations

import difflib
import json
import os
import shlex
import stat
import sys
import sysconfig
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import attrs

from agentihooks.errors import BadSettings
from agentihooks.files import fsync_directory
from agentihooks.home import user_directory
from agentihooks.hook_settings import PROGRAM, groups, installed, merge, remove
from agentihooks.plugins import BUNDLED, Plugins

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agentihooks.hook_settings import HookSettings, SettingsScope

BACKUP_SUFFIX = ".agentihooks-backup"


def settings_of(agent: str, environ: Mapping[str, str], scope: SettingsScope, folder: Path) -> HookSettings:
    """
    Return what an agent's plugin says of its settings file.

    Raises:
        PluginFault: Its plugin raised.
        ValueError: No plugin of this name has anything to install, or there is no settings file for this scope.
    """
    plugins = Plugins.bundled([agent]) if agent in BUNDLED else Plugins.installed(environ)
    if agent not in plugins.names("agentihooks_hook_settings"):
        known = ", ".join(Plugins.installed(environ).names("agentihooks_hook_settings"))
        raise ValueError(f"{agent!r} is no agent that hooks can be installed for; there are {known}")
    settings: HookSettings | None = plugins.of(
        agent, "agentihooks_hook_settings", environ=environ, scope=scope, folder=folder
    )
    if settings is None:
        raise plugins.faults[-1] if plugins.faults else ValueError(f"{agent} has no settings file for a {scope}")
    return settings


def find_program(environ: Mapping[str, str] = os.environ, started_as: str | None = None) -> tuple[str, ...]:
    """
    Return the words that run this installation from any folder, and still do after an upgrade.

    The first is a link into the environment from outside of it (pipx, uv and Homebrew make one, and their environments
    come and go); else the environment's own script; else its interpreter.

    Args:
        environ: Gives PATH and HOME.
        started_as: What the process was started as; by default `sys.argv[0]`.
    """
    script = Path(os.path.normpath(str(Path(started_as or sys.argv[0]).absolute())))
    candidates = (script, Path(str(sysconfig.get_path("scripts")), PROGRAM))
    own = next((path for path in candidates if path.name == PROGRAM and _is_program(path)), None)
    if own is None:
        # -P: without it, a folder `agentihooks` in whatever project an agent works on would be run instead.
        return sys.executable, "-P", "-m", PROGRAM
    for folder in (*environ.get("PATH", "").split(os.pathsep), str(user_directory(environ) / ".local" / "bin")):
        link = Path(folder, PROGRAM)
        if link.is_absolute() and not link.is_relative_to(sys.prefix) and _is_program(link) and link.samefile(own):
            return (str(link),)
    return (str(own),)


@attrs.frozen(kw_only=True)
class Plan:
    """
    A change to a settings file, thought out and not yet made. None stands for a file that does not exist.

    `said` is the change in words, which the file's path follows. The backup is that of the file before the first
    install; where there is none, there was no file.
    """

    settings: HookSettings
    agent: str
    said: str
    before: bytes | None
    after: bytes | None
    backup: Literal["make", "leave", "drop"] = "leave"

    @property
    def path(self) -> Path:
        """Where the settings file lies, or would."""
        return self.settings.path

    @property
    def backup_path(self) -> Path:
        """Where the backup lies, or would."""
        return self.path.with_name(self.path.name + BACKUP_SUFFIX)

    def diff(self) -> str:
        """Return the change as a unified diff, "" if there is none."""
        before, after = (_text(self.path, data).splitlines(keepends=True) for data in (self.before, self.after))
        old, new = ("/dev/null" if data is None else str(self.path) for data in (self.before, self.after))
        lines = difflib.unified_diff(before, after, old, new)
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)

    def report(self) -> Iterator[str]:
        """Yield what a person should know once the change is made, line by line."""
        yield f"{self.said} {self.path}"
        text = _text(self.path, self.after)
        if ours := installed(text, self.agent):
            command = str(next(iter(ours.values()))["hooks"][0]["command"])
            yield f"  events   {', '.join(ours)}"
            yield f"  command  {command}"
        if os.path.lexists(self.backup_path):
            yield f"  backup   {self.backup_path}"
        if ours:
            if not _is_plain_json(text):
                yield "warning: it has comments, a last comma or a byte order mark; the agent may ignore the whole file"
            if any("cache" in part.lower() for part in Path(shlex.split(command)[0]).parts):
                yield "warning: the command lies in a cache that may be emptied; install agentihooks, and do this again"
            if self.settings.note:
                yield self.settings.note
            yield "next: agentihooks doctor"

    def apply(self) -> None:
        """
        Make the change, whole or not at all; it is on the disk when this returns. A symbolic link stays one.

        Raises:
            BadSettings: The file is not what it was when the plan was made.
            OSError: It cannot be written, and is what it was.
        """
        if self.before != self.after:
            self._change(Path(os.path.realpath(self.path)))
        if self.backup == "drop":
            self.backup_path.unlink(missing_ok=True)

    def _change(self, target: Path) -> None:
        if _read(self.path) != self.before:
            raise BadSettings(str(self.path), "another program changed it just now; try again")
        if self.before is None:
            target.parent.mkdir(parents=True, exist_ok=True)
        else:
            with target.open("r+b"):
                pass  # a rename would replace even what may not be written
        if self.backup == "make":
            _set_aside(self.backup_path, self.before)
            if self.before is not None:
                _write(self.backup_path, self.before, like=target)
        if self.after is None:
            target.unlink()
            fsync_directory(target.parent)
        else:
            _write(target, self.after, like=target)


def plan_install(settings: HookSettings, agent: str, program: tuple[str, ...]) -> Plan:
    """
    Return what an install has to change.

    Raises:
        BadSettings: The file, or its backup, holds no settings as the agents know them.
        OSError: It cannot be read.
    """
    plan, text, original = _look(settings, agent)
    with _blaming(plan.path):
        after = merge(text, agent, groups(settings, agent, program), original)
    if after == text:
        return attrs.evolve(plan, said="nothing to do, everything is in")
    if installed(text, agent):
        return attrs.evolve(plan, said="brought up to date:", after=after.encode())
    return attrs.evolve(plan, said="installed in", after=after.encode(), backup="make")


def plan_uninstall(settings: HookSettings, agent: str) -> Plan:
    """
    Return what an uninstall has to change.

    Raises:
        BadSettings: The file, or its backup, holds no settings as the agents know them.
        OSError: It cannot be read.
    """
    plan, text, original = _look(settings, agent)
    has_backup = os.path.lexists(plan.backup_path)
    if not installed(text, agent):
        return attrs.evolve(plan, backup="drop" if has_backup and text == original else "leave")
    after = remove(text, agent, original)
    if not has_backup and after.strip() in ("", "{}"):
        if not plan.path.is_symlink():
            return attrs.evolve(plan, said="removed, as an install had made it:", after=None)
        after = "{}\n"
    said = "restored as it was:" if has_backup and after == original else "removed our hooks, and nothing else, from"
    return attrs.evolve(plan, said=said, after=after.encode(), backup="drop")


def _look(settings: HookSettings, agent: str) -> tuple[Plan, str, str]:
    """Return a plan that changes nothing, and the texts of the settings and of their backup, both of them readable."""
    before = _read(settings.path)
    plan = Plan(settings=settings, agent=agent, said="nothing of ours in", before=before, after=before)
    text, original = _text(plan.path, before), _text(plan.backup_path, _read(plan.backup_path))
    for each, content in ((plan.path, text), (plan.backup_path, original)):
        with _blaming(each):
            installed(content, agent)
    return plan, text, original


@contextmanager
def _blaming(path: Path) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise BadSettings(str(path), str(error)) from error


def _text(path: Path, data: bytes | None) -> str:
    with _blaming(path):
        return (data or b"").decode()


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        if path.is_symlink():
            raise BadSettings(str(path), f"is a symbolic link to nothing ({path.readlink()})") from None
        return None


def _is_plain_json(text: str) -> bool:
    """Whether an agent reads it: Claude Code 2.1.332 and Codex 0.171.0 pass over a file with more in it than JSON."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _set_aside(backup: Path, data: bytes | None) -> None:
    """Rename a backup with other contents than *data*: one that was left when somebody undid an install by hand."""
    if _read(backup) in (None, data):
        return
    number = 1
    while os.path.lexists(aside := backup.with_name(f"{backup.name}.{number}")):
        number += 1
    backup.rename(aside)


def _write(path: Path, data: bytes, *, like: Path) -> None:
    """Replace *path* in one step, with the mode and owner of *like*; if there is none, for its owner alone."""
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        # Of the folder, since nobody knows the temporary file.
        raise OSError(error.errno, error.strerror, str(path.parent)) from error
    try:
        with os.fdopen(descriptor, "wb") as file:
            with suppress(FileNotFoundError):
                was, now = like.stat(), os.fstat(descriptor)
                if (was.st_uid, was.st_gid) != (now.st_uid, now.st_gid):
                    os.fchown(descriptor, was.st_uid, was.st_gid)
                os.fchmod(descriptor, stat.S_IMODE(was.st_mode))
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink()
        raise
    fsync_directory(path.parent)
