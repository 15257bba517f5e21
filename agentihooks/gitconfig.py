"""
Git's configuration, read from its files without starting git.

The rules are those of git-config(1), sections "Syntax", "Includes" and "Conditional includes", and where that page is
silent, of git's config.c. Nothing here raises over what a file holds: an unreadable file is an empty one, and where git
would stop with "bad config line", reading that file ends and what came before it counts.

Not known without git: a system file that git's build put elsewhere than in /etc (name it in GIT_CONFIG_SYSTEM), and
`git -c`. POSIX classes such as `[[:alpha:]]` are not understood in a condition's pattern, which then does not match.
"""

# Paths are text where an agent waits: agentihooks/files.py

from __future__ import annotations

import os
import re
import stat
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_FILE_BYTES = 1 << 20
"""What is read of a file. A repository with ten thousand tracked branches has a config of about this size."""

MAX_INCLUDES = 100
"""How many includes are followed. Git refuses to work at all when they nest ten deep; a bound on their number also
ends a file that includes itself twice."""

_ITEM = re.compile(
    r"""
    (?: \s | [#;][^\n]* )*+
    (?:
        \[ (?P<section> [-.a-z0-9]++ ) (?: [^\S\n]++ " (?P<subsection> (?: [^"\\\n] | \\[^\n] )*+ ) " )? \]
    |
        (?P<name> [a-z][-a-z0-9]*+ ) [ \t]*+
        (?:
            = (?: [^\S\n] | \\\n )*+
            (?P<value> (?: [^"\\\n#;] | \\[ntb"\\\n] | " (?: [^"\\\n] | \\[ntb"\\\n] )*+ " )*+ )
            (?: [#;][^\n]* )?
        )?
        (?= \n | \Z )
    )
    """,
    re.VERBOSE | re.ASCII | re.IGNORECASE,
)
_QUOTING = re.compile(r'\\(.)?|"', re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b", '"': '"', "\\": "\\"}

# Not compiled until a condition asks: few files have one. (?<![^/]) is "at the start or after a slash".
_GLOB = r"""(?xs)
      (?P<folders> (?<![^/]) \*\*+/ )
    | (?P<rest> (?<![^/]) \*\*+ \Z )
    | (?P<star> \*+ )
    | (?P<one> \? )
    | \[ (?P<set> [!^]? \]? [^]]* ) \]
    | \\? (?P<literal> . )
"""
_WILDCARDS = {"folders": "(?:.*/)?", "rest": ".*", "star": "[^/]*", "one": "[^/]"}


class Setting(NamedTuple):
    """
    One `name = value` of a configuration file.

    `section` and `name` are lower case; `subsection` is "" if there is none; `value` is None where the file has the
    name alone, which git reads as true.
    """

    section: str
    subsection: str
    name: str
    value: str | None


def read_text(path: str) -> str:
    """
    Return a small file's text up to the first NUL, or "" if there is no such regular file or it cannot be read.

    Undecodable bytes are kept as lone surrogates, so that a path read from the file still opens. A file longer than
    `MAX_FILE_BYTES` is cut after its last whole line within them.
    """
    try:
        # O_NONBLOCK: opening a FIFO that has no writer would hang the hook.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return ""
            data = file.read(MAX_FILE_BYTES)
    except (OSError, ValueError):  # ValueError: a path with a NUL or a lone surrogate
        return ""
    if len(data) == MAX_FILE_BYTES:
        data = data[: data.rfind(b"\n") + 1]
    return data.partition(b"\0")[0].decode("utf-8", "surrogateescape")


def parse(text: str) -> Iterator[Setting]:
    """Yield a configuration file's settings in file order, up to the first line that git would call bad."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    section = subsection = ""
    position = 0
    while item := _ITEM.match(text, position):
        position = item.end()
        if item["name"]:
            yield Setting(section, subsection, item["name"].lower(), _unquote(item["value"]))
        else:
            # [section.sub] is the deprecated spelling, compared in lower case; [a.b "c"] has the subsection "b.c".
            section, _, dotted = item["section"].lower().partition(".")
            quoted = re.sub(r"\\(.)", r"\1", item["subsection"] or "")
            subsection = f"{dotted}.{quoted}" if dotted and quoted else dotted or quoted


def is_true(value: str | None) -> bool:
    """Tell whether git reads *value* as true: yes, on, true, a number other than 0, or a name alone (None)."""
    return value is None or value.lower() in {"yes", "on", "true"} or bool(re.fullmatch(r"[-+]?0*[1-9]\d*", value))


def read_config(git_dir: str, common_dir: str, branch: str, environ: Mapping[str, str]) -> list[Setting]:
    """
    Return every setting that is in force for a repository, in the order in which git reads them.

    The order is: system, global, repository, worktree, GIT_CONFIG_COUNT. A later value overrides an earlier one
    where a setting has one value.

    Args:
        git_dir: Real path of the checkout's own git directory, which `gitdir:` conditions are about.
        common_dir: The git directory that holds `config`; differs from *git_dir* in a linked worktree.
        branch: The branch checked out, for `onbranch:` conditions; "" if none is.
        environ: HOME, XDG_CONFIG_HOME and git's GIT_CONFIG_* variables are looked up here.
    """
    reader = _Reader(git_dir, common_dir, branch, environ, ())
    settings = list(reader.settings())
    if reader.asked_for_urls:
        # The urls that decide may stand in files read after the question, so all files are read a second time.
        urls = tuple(setting.value for setting in settings if _is_remote_url(setting) and setting.value)
        settings = list(_Reader(git_dir, common_dir, branch, environ, urls).settings())
    return settings


def _unquote(raw: str | None) -> str | None:
    """Take a value's quotes, escapes and continuation lines away, and the blanks after it that no quotes hold."""
    if raw is None:
        return None
    raw = raw.rstrip(" \t\r\n")
    return _QUOTING.sub(lambda found: _ESCAPES.get(found[1], ""), raw) if "\\" in raw or '"' in raw else raw


def _is_remote_url(setting: Setting) -> bool:
    return setting.section == "remote" and setting.name == "url"


def _matches(prefix: str, pattern: str, text: str, flags: int = 0) -> bool:
    """Match *text* as git's wildmatch does with WM_PATHNAME, after a literal *prefix*."""
    # A final slash means everything below.
    pattern += "**" if pattern.endswith("/") else ""
    try:
        return bool(re.fullmatch(re.escape(prefix) + re.sub(_GLOB, _as_regex, pattern), text, flags | re.DOTALL))
    except re.error:  # a range such as [z-a]
        return False


def _as_regex(token: re.Match[str]) -> str:
    kind = token.lastgroup or ""
    if kind == "literal":
        return re.escape(token[kind])
    if kind == "set":
        negation = "^" if token[kind][:1] in {"!", "^"} else ""
        members = re.sub(r"[]\\^[&~|]", r"\\\g<0>", token[kind][len(negation) :])
        return f"(?!/)[{negation}{members}]"
    return _WILDCARDS[kind]


class _Reader:
    """One pass over all of a repository's configuration files; *remote_urls* answer its `hasconfig:` conditions."""

    def __init__(
        self, git_dir: str, common_dir: str, branch: str, environ: Mapping[str, str], remote_urls: tuple[str, ...]
    ) -> None:
        self.asked_for_urls = False
        self._git_dir = git_dir
        self._common_dir = common_dir
        self._branch = branch
        self._environ = environ
        self._home = environ.get("HOME", "")
        self._remote_urls = remote_urls
        self._includes_left = MAX_INCLUDES

    def settings(self) -> Iterator[Setting]:
        for path in self._user_files():
            yield from self._file(path)
        has_worktree_config = False
        for setting in self._file(os.path.join(self._common_dir, "config")):
            if setting[:3] == ("extensions", "", "worktreeconfig"):
                has_worktree_config = is_true(setting.value)
            yield setting
        if has_worktree_config:
            yield from self._file(os.path.join(self._git_dir, "config.worktree"))
        for setting in self._variables():
            yield setting
            yield from self._included(setting, "")

    def _user_files(self) -> Iterator[str]:
        environ = self._environ
        if not is_true(environ.get("GIT_CONFIG_NOSYSTEM", "")):
            yield environ.get("GIT_CONFIG_SYSTEM", "/etc/gitconfig")
        # Set but empty also replaces both files of the user: that is how one switches them off.
        if "GIT_CONFIG_GLOBAL" in environ:
            yield environ["GIT_CONFIG_GLOBAL"]
        elif self._home:
            yield os.path.join(environ.get("XDG_CONFIG_HOME") or self._home + "/.config", "git/config")
            yield self._home + "/.gitconfig"

    def _variables(self) -> Iterator[Setting]:
        """Yield what GIT_CONFIG_COUNT, GIT_CONFIG_KEY_0, GIT_CONFIG_VALUE_0 and so on hold."""
        count = self._environ.get("GIT_CONFIG_COUNT", "")
        for number in range(int(count) if re.fullmatch(r"[0-9]{1,4}", count) else 0):
            section, _, rest = self._environ.get(f"GIT_CONFIG_KEY_{number}", "").partition(".")
            subsection, _, name = rest.rpartition(".")
            value = self._environ.get(f"GIT_CONFIG_VALUE_{number}", "")
            yield Setting(section.lower(), subsection, name.lower(), value)

    def _file(self, path: str) -> Iterator[Setting]:
        for setting in parse(read_text(path)):
            yield setting
            yield from self._included(setting, path)

    def _included(self, setting: Setting, path: str) -> Iterator[Setting]:
        """Yield the settings of the file that *setting*, found in the file *path*, includes."""
        section, condition, name, value = setting
        if name != "path" or not value or not self._includes_left:
            return
        if not ((section == "include" and not condition) or (section == "includeif" and self._holds(condition, path))):
            return
        self._includes_left -= 1
        for included in self._file(self._resolve(value, path)):
            # Git forbids urls there: they could change the answer to the question that included them.
            if not (condition.startswith("hasconfig:") and _is_remote_url(included)):
                yield included

    def _resolve(self, value: str, path: str) -> str:
        """Return the file an include names: `~` expanded, relative to the file *path*; "" if there is no telling."""
        if value == "~" or value.startswith("~/"):
            return self._home and self._home + value[1:]
        value = os.path.expanduser(value)
        # Only a file has relatives: a variable of the environment does not.
        return os.path.join(os.path.dirname(path), value) if path or os.path.isabs(value) else ""

    def _holds(self, condition: str, path: str) -> bool:
        keyword, _, pattern = condition.partition(":")
        if keyword in {"gitdir", "gitdir/i"}:
            return self._is_git_dir(pattern, path, re.IGNORECASE if keyword.endswith("/i") else 0)
        if keyword == "onbranch":
            return bool(self._branch) and _matches("", pattern, self._branch)
        if keyword == "hasconfig" and pattern.startswith("remote.*.url:"):
            self.asked_for_urls = True
            return any(_matches("", pattern.removeprefix("remote.*.url:"), url) for url in self._remote_urls)
        return False

    def _is_git_dir(self, pattern: str, path: str, flags: int) -> bool:
        prefix = ""
        if pattern.startswith("~/"):
            prefix, pattern = os.path.realpath(self._home), pattern[1:]
        elif pattern.startswith("./"):
            prefix, pattern = os.path.dirname(os.path.realpath(path)), pattern[1:]
        elif not pattern.startswith("/"):
            pattern = "**/" + pattern
        return _matches(prefix, pattern, self._git_dir, flags)
