"""Git's configuration files, each answer compared with git's own."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentihooks.gitconfig import MAX_FILE_BYTES, MAX_INCLUDES, Setting, is_true, parse, read_config, read_text

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is the oracle")

TEXTS = {
    "empty": "",
    "value": "[core]\n\tbare = false\n",
    "no final newline": "[core]\nbare = false",
    "one line": "[core] bare = false",
    "name alone": "[core]\nbare\nautocrlf  \n",
    "empty value": "[core]\neditor =\n",
    "no blanks": "[core]\nbare=false\n",
    "case": "[CoRe]\nBaRe = False\n",
    "byte order mark": "\ufeff[core]\nbare = false\n",
    "crlf": '[core]\r\nbare = false\r\n[remote "origin"]\r\nurl = x\r\n',
    "comments": "# one\n; two\n[core] # three\n bare = false ; four\n editor = a#b\n",
    "comment characters in quotes": '[core]\neditor = "a # b" ; c\n',
    "quotes": '[core]\neditor = " a "\npager = x" y "z\n',
    "escapes": '[core]\neditor = a\\tb\\nc\\\\d\\"e\n',
    "escapes in quotes": '[core]\neditor = "a\\tb\\\\\\"c\\n"\n',
    "continuation": "[core]\neditor = a \\\n  b\\\nc\n",
    "continuation first": "[core]\neditor = \\\n   a\n",
    "continuation in quotes": '[core]\neditor = "a \\\n  b"\n',
    "continuation last": "[core]\neditor = a\\\n",
    "blanks inside": "[core]\neditor = a  b \n",
    "subsection": '[remote "Origin"]\nurl = x\n',
    "subsection escapes": '[remote "a\\"b\\\\c\\d"]\nurl = x\n',
    "subsection with dots and brackets": '[url "https://a.b/]"]\ninsteadOf = x:\n',
    "subsection empty": '[remote ""]\nurl = x\n',
    "subsection deprecated": "[remote.Origin]\nurl = x\n",
    "subsection both": '[remote.A "B"]\nurl = x\n',
    "section repeated": "[core]\nbare = true\n[user]\nname = x\n[core]\nbare = false\n",
    "values repeated": "[remote.origin]\nurl = a\nurl = b\n",
    "umlauts": '[remote "ö"]\nurl = ü漢😀\n',
    "undecodable": b'[remote "\xff"]\nurl = \xe9\n',
}

BAD = {
    "unclosed section": "[user",
    "blank before the name": "[ user]\nname = y",
    "section without quotes": "[user x]\nname = y",
    "unclosed subsection": '[user "x]\nname = y',
    "newline in a subsection": '[user "x\n"]\nname = y',
    "blank after a subsection": '[user "x" ]\nname = y',
    "name begins with a digit": "[user]\n1a = y",
    "underscore": "[user]\na_b = y",
    "unclosed quotes": '[user]\nname = "y',
    "newline in quotes": '[user]\nname = "y\nz"',
    "unknown escape": "[user]\nname = \\q",
    "comment after a name": "[user]\nname # y",
    "a colon for the equals sign": "[user]\nname : y",
    "binary": "\x01\x02\x7fELF",
}

# Where the repository is: <tmp>/work/Alpha/.git. Its branch is feature/one, its remote https://example.com/o/r.git.
CONDITIONS = {
    "gitdir:{work}/": True,
    "gitdir:{work}/Alpha/.git": True,
    "gitdir:{work}/Alpha": False,
    "gitdir:{work}/*/.git": True,
    "gitdir:{work}/*": False,
    "gitdir:{work}/**": True,
    "gitdir:{work}/Alph?/": True,
    "gitdir:{work}/[A-C]lpha/": True,
    "gitdir:{work}/[!A-C]lpha/": False,
    "gitdir:{work}/[^B]lpha/": True,
    "gitdir:{work}/[]A]lpha/": True,
    "gitdir:{work}/[z-a]lpha/": False,
    "gitdir:{work}/\\\\Alpha/": True,
    "gitdir:{work}/alpha/": False,
    "gitdir/i:{work}/alpha/": True,
    "gitdir:work/": True,
    "gitdir:ork/": False,
    "gitdir:work/**/.git": True,
    "gitdir:**/work/**": True,
    "gitdir:Alpha/.git": True,
    "gitdir:~/": False,
    "gitdir:./work/": True,
    "gitdir:./Alpha/": False,
    "gitdir:": True,
    "onbranch:feature/one": True,
    "onbranch:feature/": True,
    "onbranch:feature/*": True,
    "onbranch:*": False,
    "onbranch:**": True,
    "onbranch:Feature/one": False,
    "hasconfig:remote.*.url:https://example.com/**": True,
    "hasconfig:remote.*.url:https://example.com/*": False,
    "hasconfig:remote.*.url:https://example.com/o/r.git": True,
    "hasconfig:remote.*.url:**/example.com/**": True,
    "hasconfig:remote.*.url:https://example.org/**": False,
    "hasconfig:remote.origin.url:**": False,
    "unheard-of:x": False,
}


class Repository:
    """A repository with a remote and a branch, and a user's file `gitconfig` beside it."""

    def __init__(self, folder: Path) -> None:
        self.top = folder / "work/Alpha"
        self.user_file = folder / "gitconfig"
        self.user_file.touch()
        self.home = folder / "user"
        self.home.mkdir()
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": str(self.user_file),
        }
        git_dir = self.top / ".git"
        for name in ("objects", "refs"):
            (git_dir / name).mkdir(parents=True)
        (git_dir / "HEAD").write_text("ref: refs/heads/feature/one\n")
        self.file = git_dir / "config"
        self.file.write_text('[remote "origin"]\n\turl = https://example.com/o/r.git\n')

    def git(self) -> list[str]:
        """Return what git reads: for each setting its key, and on a second line its value if it has one."""
        command = ["git", "config", "--list", "-z"]
        done = subprocess.run(command, cwd=self.top, env=self.environ, capture_output=True, check=True)
        return done.stdout.decode("utf-8", "surrogateescape").split("\0")[:-1]

    def ours(self) -> list[str]:
        """Return what we read, in the same form."""
        git_dir = str(self.top / ".git")
        return listed(read_config(git_dir, git_dir, "feature/one", self.environ))

    def values(self, key: str) -> list[str]:
        """Return the values that we read for one key."""
        return [item.partition("\n")[2] for item in self.ours() if item.partition("\n")[0] == key]


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """Return a repository of its own."""
    return Repository(tmp_path)


def listed(settings: Iterable[Setting]) -> list[str]:
    """Write settings as `git config --list -z` does."""
    return [
        ".".join([setting.section, *([setting.subsection] if setting.subsection else []), setting.name])
        + ("" if setting.value is None else f"\n{setting.value}")
        for setting in settings
    ]


def git_lists(path: Path) -> list[str]:
    """Return what git reads in one file, up to where it refuses to go on."""
    command = ["git", "config", "--file", str(path), "--no-includes", "--list", "-z"]
    done = subprocess.run(command, env={"PATH": os.environ["PATH"]}, capture_output=True, check=False)
    return done.stdout.decode("utf-8", "surrogateescape").split("\0")[:-1]


@needs_git
@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in TEXTS.items()])
def test_syntax(text: str | bytes, tmp_path: Path) -> None:
    """A file means what git says it means."""
    path = tmp_path / "config"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    # Git writes an empty subsection as two dots; nothing else tells `[remote ""]` from `[remote]`.
    assert [key.replace("..", ".") for key in git_lists(path)] == listed(parse(read_text(str(path))))


@needs_git
@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in BAD.items()])
def test_bad_lines(text: str, tmp_path: Path) -> None:
    """What stands before the first bad line counts, the rest does not: there git refuses to go on."""
    path = tmp_path / "config"
    path.write_text(f"[core]\nbare = true\n{text}\n[core]\nbare = false\n")
    assert ["core.bare\ntrue"] == git_lists(path)
    assert ["core.bare\ntrue"] == listed(parse(read_text(str(path))))


@needs_git
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.sampled_from('ab=[]"\\#;\n \tnt.-1'), max_size=25).map(lambda text: f"[s]\nx = {text}\n"))
def test_any_text(tmp_path: Path, text: str) -> None:
    """Whatever characters a file is made of, git and we read the same."""
    path = tmp_path / "config"
    path.write_text(text)

    def without_blanks(items: list[str]) -> list[str]:
        # Git before 2.45 writes each blank inside a value as a space.
        return ["".join(item.split()) for item in items]

    assert without_blanks(git_lists(path)) == without_blanks(listed(parse(text)))


@pytest.mark.parametrize("text", ["[" * 100_000, '"' * 100_001, "[a]\nb = " + "\\\n" * 100_000, "a\\" * 50_000])
def test_long_garbage(text: str) -> None:
    """Garbage ends the reading at once, however long it is."""
    assert [] == [setting for setting in parse(text) if setting.value]


@pytest.mark.parametrize("value", [None, "true", "Yes", "ON", "1", "+7", "-1", "010"])
def test_true(value: str | None) -> None:
    """These are git's words for true; a name alone is one."""
    assert is_true(value)


@pytest.mark.parametrize("value", ["", "false", "no", "off", "0", "00", "maybe", " true"])
def test_not_true(value: str) -> None:
    """Everything else is not."""
    assert not is_true(value)


def test_missing_file(tmp_path: Path) -> None:
    """A file that is not there is empty."""
    assert "" == read_text(str(tmp_path / "config"))


@pytest.mark.parametrize("path", ["", "a\0b", "\ud800", "/" + "x" * 5000])
def test_impossible_path(path: str) -> None:
    """A path that cannot be one is a missing file."""
    assert "" == read_text(path)


def test_folder_for_a_file(tmp_path: Path) -> None:
    """A folder is no file."""
    assert "" == read_text(str(tmp_path))


def test_pipe_for_a_file(tmp_path: Path) -> None:
    """A named pipe, which would keep a reader waiting for a writer, is no file."""
    os.mkfifo(tmp_path / "config")
    assert "" == read_text(str(tmp_path / "config"))


def test_link_to_itself(tmp_path: Path) -> None:
    """A symbolic link that leads in a circle is a missing file."""
    (tmp_path / "config").symlink_to("config")
    assert "" == read_text(str(tmp_path / "config"))


def test_nul(tmp_path: Path) -> None:
    """A file ends at its first NUL."""
    (tmp_path / "config").write_bytes(b"a\0b")
    assert "a" == read_text(str(tmp_path / "config"))


def test_huge_file(tmp_path: Path) -> None:
    """Of a huge file the first whole lines are read."""
    line = b"[a] b = cdefghij\n"
    (tmp_path / "config").write_bytes(line * (MAX_FILE_BYTES // len(line) + 10))
    assert MAX_FILE_BYTES // len(line) * len(line) == len(read_text(str(tmp_path / "config")))


@needs_git
def test_order(repository: Repository) -> None:
    """The system's file comes first, then the user's, the repository's, the worktree's, and the environment."""
    system = repository.user_file.with_name("system")
    system.write_text("[a] b = system\n")
    repository.user_file.write_text("[a] b = user\n")
    repository.file.write_text(
        "[core] repositoryFormatVersion = 0\n[extensions] worktreeConfig = true\n[a] b = repository\n"
    )
    repository.file.with_name("config.worktree").write_text("[a] b = worktree\n")
    variables = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "A.B", "GIT_CONFIG_VALUE_0": "variable"}
    repository.environ |= {"GIT_CONFIG_NOSYSTEM": "0", "GIT_CONFIG_SYSTEM": str(system)} | variables

    assert ["system", "user", "repository", "worktree", "variable"] == repository.values("a.b")
    assert repository.git() == repository.ours()


@needs_git
def test_no_system_file(repository: Repository) -> None:
    """GIT_CONFIG_NOSYSTEM switches the system's file off, wherever it is."""
    repository.environ["GIT_CONFIG_SYSTEM"] = str(repository.user_file)
    repository.user_file.write_text("[a] b = user\n")
    assert repository.git() == repository.ours()
    assert ["user"] == repository.values("a.b")


@needs_git
@pytest.mark.parametrize("xdg", [None, "", "elsewhere"])
def test_user_files(repository: Repository, xdg: str | None) -> None:
    """The user has two files, and XDG_CONFIG_HOME says where the first one is, unless it is empty."""
    del repository.environ["GIT_CONFIG_GLOBAL"]
    config_home = repository.home / (xdg or ".config")
    (config_home / "git").mkdir(parents=True)
    (config_home / "git/config").write_text("[a] b = xdg\n")
    (repository.home / ".gitconfig").write_text("[a] b = home\n")
    if xdg is not None:
        repository.environ["XDG_CONFIG_HOME"] = xdg and str(config_home)

    assert ["xdg", "home"] == repository.values("a.b")
    assert repository.git() == repository.ours()


@needs_git
def test_no_user_file(repository: Repository) -> None:
    """An empty GIT_CONFIG_GLOBAL switches the user's files off."""
    (repository.home / ".gitconfig").write_text("[a] b = home\n")
    repository.environ["GIT_CONFIG_GLOBAL"] = ""
    assert [] == repository.values("a.b")
    assert repository.git() == repository.ours()


def test_no_home(repository: Repository) -> None:
    """Without HOME there is no file of the user's, and no path that begins with `~`."""
    for name in ("HOME", "GIT_CONFIG_GLOBAL"):
        del repository.environ[name]
    repository.file.write_text("[a] b = 1\n[include] path = ~/more\n[a] b = 2\n")
    assert ["1", "2"] == repository.values("a.b")


@needs_git
@pytest.mark.parametrize("extension", ["", "[extensions] worktreeConfig = false\n"])
def test_no_worktree_file(repository: Repository, extension: str) -> None:
    """The worktree's file counts only where the repository says that it has one."""
    repository.file.write_text(f"[core] repositoryFormatVersion = 0\n{extension}[a] b = repository\n")
    repository.file.with_name("config.worktree").write_text("[a] b = worktree\n")
    assert ["repository"] == repository.values("a.b")
    assert repository.git() == repository.ours()


@pytest.mark.parametrize("count", ["", "x", "-1", "1e3", "99999999999", "\uff12"])
def test_bad_count(repository: Repository, count: str) -> None:
    """A GIT_CONFIG_COUNT that is no number counts nothing."""
    repository.environ |= {"GIT_CONFIG_COUNT": count, "GIT_CONFIG_KEY_0": "a.b", "GIT_CONFIG_VALUE_0": "c"}
    assert [] == repository.values("a.b")


@needs_git
@pytest.mark.parametrize("path", ["more", "./more", "{folder}/more", "~/more"])
def test_include(repository: Repository, path: str) -> None:
    """An included file is read where it is named: relative to the file that names it, absolute, or from HOME."""
    folder = repository.user_file.parent
    for place in (folder, repository.home):
        (place / "more").write_text("[a] b = included\n")
    repository.user_file.write_text(f"[a] b = 1\n[include] path = {path.format(folder=folder)}\n[a] b = 2\n")
    assert ["1", "included", "2"] == repository.values("a.b")
    assert repository.git() == repository.ours()


@needs_git
def test_include_of_another_user(repository: Repository) -> None:
    """`~user` is that user's home; one who does not exist has none."""
    repository.file.write_text("[include] path = ~root/no such file\n[a] b = 1\n[include]\npath\n")
    assert ["1"] == repository.values("a.b")


@needs_git
def test_include_home_itself(repository: Repository) -> None:
    """`~` alone is HOME, a folder, and nothing is read from it."""
    repository.file.write_text("[include] path = ~\n[a] b = 1\n")
    assert ["1"] == repository.values("a.b")


@needs_git
def test_include_from_an_included_file(repository: Repository) -> None:
    """An included file's own includes are relative to it."""
    folder = repository.user_file.parent / "deep"
    folder.mkdir()
    repository.user_file.write_text("[include] path = deep/one\n")
    (folder / "one").write_text("[include] path = two\n")
    (folder / "two").write_text("[a] b = two\n")
    assert ["two"] == repository.values("a.b")
    assert repository.git() == repository.ours()


@needs_git
@pytest.mark.parametrize("section", ["includes", "include.x", "includeIf"])
def test_no_include(repository: Repository, section: str) -> None:
    """Another section's path, or a condition that is missing, includes nothing."""
    (repository.user_file.parent / "more").write_text("[a] b = included\n")
    repository.user_file.write_text(f"[{section}] path = more\n")
    assert [] == repository.values("a.b")
    assert repository.git() == repository.ours()


@needs_git
def test_include_from_the_environment(repository: Repository) -> None:
    """A variable may include a file by its whole path."""
    more = repository.user_file.with_name("more")
    more.write_text("[a] b = included\n")
    variables = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "include.path", "GIT_CONFIG_VALUE_0": str(more)}
    repository.environ |= variables
    assert ["included"] == repository.values("a.b")
    assert repository.git() == repository.ours()


def test_relative_include_from_the_environment(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A variable has no relatives: what lies in the current folder is not included."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "more").write_text("[a] b = included\n")
    variables = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "include.path", "GIT_CONFIG_VALUE_0": "more"}
    repository.environ |= variables
    assert [] == repository.values("a.b")


def test_include_circle(repository: Repository) -> None:
    """A file that includes itself, and twice at that, is read a bounded number of times."""
    repository.file.write_text("[a] b = 1\n[include]\npath = config\npath = config\n")
    assert MAX_INCLUDES + 1 == len(repository.values("a.b"))


@needs_git
@pytest.mark.parametrize(("condition", "holds"), CONDITIONS.items())
def test_condition(repository: Repository, condition: str, *, holds: bool) -> None:
    """A conditional include is read if git reads it."""
    folder = repository.user_file.parent
    (folder / "more").write_text("[a] b = included\n")
    text = f'[includeIf "{condition.format(work=folder / "work")}"]\n\tpath = more\n'
    repository.user_file.write_text(text)
    assert repository.git() == repository.ours()
    assert holds == bool(repository.values("a.b"))


@needs_git
def test_condition_on_a_linked_home(repository: Repository) -> None:
    """In `gitdir:~/`, a HOME that is a symbolic link stands for the folder it leads to."""
    link = repository.home.with_name("link")
    link.symlink_to(repository.user_file.parent)
    repository.environ["HOME"] = str(link)
    (link / "more").write_text("[a] b = included\n")
    repository.user_file.write_text('[includeIf "gitdir:~/work/"] path = more\n')
    assert ["included"] == repository.values("a.b")
    assert repository.git() == repository.ours()


def test_condition_without_a_branch(repository: Repository) -> None:
    """Where no branch is checked out, no condition on one holds."""
    (repository.top / ".git/more").write_text("[a] b = included\n")
    repository.file.write_text('[includeIf "onbranch:**"] path = more\n')
    git_dir = str(repository.top / ".git")
    assert ["includeif.onbranch:**.path\nmore"] == listed(read_config(git_dir, git_dir, "", repository.environ))


def test_urls_included_for_a_url(repository: Repository) -> None:
    """A file that was included because of a remote's url brings no further one: git forbids it."""
    more = repository.user_file.with_name("more")
    more.write_text('[remote "more"]\nurl = x\n[a] b = included\n')
    repository.user_file.write_text('[includeIf "hasconfig:remote.*.url:https://example.com/**"] path = more\n')
    assert ["included"] == repository.values("a.b")
    assert [] == repository.values("remote.more.url")
