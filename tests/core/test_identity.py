"""Which project a folder belongs to; in real repositories, with git as the oracle."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import structs

from agentihooks.identity import Identity, identify, project_of

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="makes real repositories")

ALPHA = "https://github.com/fixture/alpha.git"

# What names a project, and its id, project, repo, and the remote as it is recorded: None for as written.
REMOTES: dict[str, tuple[str, str, str, str | None]] = {
    "https://github.com/fixture/alpha.git": ("github.com/fixture/alpha", "alpha", "fixture/alpha", None),
    "https://github.com/fixture/alpha": ("github.com/fixture/alpha", "alpha", "fixture/alpha", None),
    "https://github.com/fixture/alpha/": ("github.com/fixture/alpha", "alpha", "fixture/alpha", None),
    "https://github.com/fixture/alpha.git/": ("github.com/fixture/alpha", "alpha", "fixture/alpha", None),
    "http://github.com//fixture/./alpha": ("github.com/fixture/alpha", "alpha", "fixture/alpha", None),
    "HTTPS://GitHub.com/Fixture/Alpha": ("github.com/fixture/alpha", "Alpha", "Fixture/Alpha", None),
    "https://www.github.com/fixture/alpha": ("github.com/fixture/alpha", "alpha", "fixture/alpha", None),
    "https://github.com./fixture/alpha": ("github.com/fixture/alpha", "alpha", "fixture/alpha", None),
    "ssh://git@github.com/fixture/alpha.git": ("github.com/fixture/alpha", "alpha", "fixture/alpha", None),
    "ssh://git@ssh.github.com:443/fixture/alpha": ("github.com/fixture/alpha", "alpha", "fixture/alpha", None),
    "git+ssh://git@github.com/fixture/alpha": ("github.com/fixture/alpha", "alpha", "fixture/alpha", None),
    "git://github.com/fixture/alpha": ("github.com/fixture/alpha", "alpha", "fixture/alpha", None),
    "git@github.com:fixture/alpha.git": ("github.com/fixture/alpha", "alpha", "fixture/alpha", None),
    "git@github.com:/fixture/alpha.git": ("github.com/fixture/alpha", "alpha", "fixture/alpha", None),
    "github.com:fixture/alpha": ("github.com/fixture/alpha", "alpha", "fixture/alpha", None),
    " git@github.com:fixture/alpha \n": (
        "github.com/fixture/alpha",
        "alpha",
        "fixture/alpha",
        "git@github.com:fixture/alpha",
    ),
    "https://github.com/fixture/alpha.wiki.git": (
        "github.com/fixture/alpha.wiki",
        "alpha.wiki",
        "fixture/alpha.wiki",
        None,
    ),
    "https://GitLab.com/Group/Sub/Alpha.git": ("gitlab.com/Group/Sub/Alpha", "Alpha", "Group/Sub/Alpha", None),
    "ssh://git@altssh.gitlab.com:443/a/b/c": ("gitlab.com/a/b/c", "c", "a/b/c", None),
    "ssh://git@altssh.bitbucket.org:443/a/b": ("bitbucket.org/a/b", "b", "a/b", None),
    "ssh://git@host.example:2222/o/r": ("host.example/o/r", "r", "o/r", None),
    "https://host.example:8443/o/r": ("host.example/o/r", "r", "o/r", None),
    "https://host.example:/o/r": ("host.example/o/r", "r", "o/r", None),
    "ssh://[::1]:22/o/r": ("[::1]/o/r", "r", "o/r", None),
    "git@[::1]:o/r": ("[::1]/o/r", "r", "o/r", None),
    "host:r": ("host/r", "r", "r", None),
    "h:o/r": ("h/o/r", "r", "o/r", None),
    "git@git.sr.ht:~user/r": ("git.sr.ht/~user/r", "r", "~user/r", None),
    "ssh://host/srv/r/.git": ("host/srv/r", "r", "srv/r", None),
    "https://münchen.example/ö/r": ("münchen.example/ö/r", "r", "ö/r", None),
    "https://host/a%20b/%C3%B6%2Fr": ("host/a b/ö/r", "r", "a b/ö/r", None),
    "https://host/100%/%zz": ("host/100%/%zz", "%zz", "100%/%zz", None),
    "https://host/o/%FF": ("host/o/\ufffd", "\ufffd", "o/\ufffd", None),
    "https://host/o/r%0A%1B[31m": ("host/o/r\ufffd\ufffd[31m", "r\ufffd\ufffd[31m", "o/r\ufffd\ufffd[31m", None),
    "https://host/o/r\x1b\u202e": (
        "host/o/r\ufffd\ufffd",
        "r\ufffd\ufffd",
        "o/r\ufffd\ufffd",
        "https://host/o/r\ufffd\ufffd",
    ),
    "https://user:token@host/o/r": ("host/o/r", "r", "o/r", "https://host/o/r"),
    "https://token@host:8443/o/r": ("host/o/r", "r", "o/r", "https://host:8443/o/r"),
    "https://user:t@k:n@host/o/r": ("host/o/r", "r", "o/r", "https://host/o/r"),
    "https://:token@host/o/r": ("host/o/r", "r", "o/r", "https://host/o/r"),
    "https://@host/o/r": ("host/o/r", "r", "o/r", "https://host/o/r"),
    "ftp://user:token@host/o/r": ("host/o/r", "r", "o/r", "ftp://host/o/r"),
    "git://token@host/o/r": ("host/o/r", "r", "o/r", "git://host/o/r"),
    "ssh://user:token@host:22/o/r": ("host/o/r", "r", "o/r", "ssh://user@host:22/o/r"),
    "ssh://user%3Atoken@host/o/r": ("host/o/r", "r", "o/r", "ssh://host/o/r"),
    "me@corp.example@host:o/r": ("host/o/r", "r", "o/r", "host:o/r"),
    "https://host/o/r.git?private_token=x#y": ("host/o/r", "r", "o/r", "https://host/o/r.git"),
    "git@host:o/r#main": ("host/o/r", "r", "o/r", "git@host:o/r"),
    "https://dev.azure.com/org/My%20P/_git/r": ("dev.azure.com/org/My P/r", "r", "org/My P/r", None),
    "https://org@dev.azure.com/org/p/_git/r": (
        "dev.azure.com/org/p/r",
        "r",
        "org/p/r",
        "https://dev.azure.com/org/p/_git/r",
    ),
    "https://dev.azure.com/org/_git/r": ("dev.azure.com/org/r/r", "r", "org/r/r", None),
    "git@ssh.dev.azure.com:v3/org/p/r": ("dev.azure.com/org/p/r", "r", "org/p/r", None),
    "org@vs-ssh.visualstudio.com:v3/org/p/r": ("dev.azure.com/org/p/r", "r", "org/p/r", None),
    "https://org.visualstudio.com/DefaultCollection/p/_git/r": ("dev.azure.com/org/p/r", "r", "org/p/r", None),
    "https://org.visualstudio.com/_git/r": ("dev.azure.com/org/r/r", "r", "org/r/r", None),
}

# What names none, and the remote as it is recorded.
NO_PROJECTS: dict[str, str | None] = {
    "": "",
    "/srv/git/alpha.git": None,
    "./alpha": None,
    "../alpha": None,
    "~/alpha": None,
    "alpha.git": None,
    "/srv/c#/what?": None,
    "file:///srv/git/alpha.git": None,
    "FILE://host/alpha": None,
    r"C:\work\alpha": None,
    "c:/work/alpha": None,
    r"\\server\share\alpha": None,
    "/srv/a:b": None,
    "/srv/alpha@2": "",
    "//user:token@host/o/r": "",
    "file://user:token@host/o/r": "",
    "https://": "",
    "https://host": "",
    "https://host/": "",
    "https:///o/r": "",
    "https://host/?a=b": "",
    "https://host/.git": None,
    "https://host/%2F": None,
    "https://host/o/../r": None,
    "https://host/%2e%2e/r": None,
    "https://-host/o/r": "",
    "https://ho st/o/r": "",
    "https://[::1/o/r": "",
    "ssh://git@github.com:o/r": "",
    "https://user:to/ken@host/o/r": "",
    "https://user:12/ken@host/o/r": "",
    "https://user:12#ken@host/o/r": "",
    "https://host/o/r?a=b@c": "",
    "user:token@host:o/r": "",
    "me@corp.example:token@host:o/r": "",
    "host:": "",
    "foo://host/o/r?token=x": "",
    "ext::ssh -p 22 host": "",
    "hg::https://user:token@host/o/r": "",
    "https://host/" + "r" * 4096: "",
}

FALLBACK = {"AGENTIHOOKS_PROJECT_ID": "local:notes"}


class Git:
    """Runs git in a folder of its own, which no configuration of this machine reaches."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.user_file = folder / "gitconfig"
        self.user_file.write_text('[protocol "file"] allow = always\n[init] defaultBranch = main\n')
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": str(self.user_file),
            "GIT_CEILING_DIRECTORIES": str(folder),
            **{f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
        }

    def __call__(self, *arguments: str | Path, at: Path | None = None) -> str:
        """Run git and return its output."""
        done = subprocess.run(
            ["git", *arguments], cwd=at or self.folder, env=self.environ, capture_output=True, check=True, text=True
        )
        return done.stdout.rstrip("\n")

    def repository(self, name: str = "alpha", origin: str = ALPHA) -> Path:
        """Make a repository with a commit on its branch main, and a remote unless *origin* is empty."""
        top = self.folder / name
        self("init", "-q", top)
        self("commit", "-q", "--allow-empty", "-m", "x", at=top)
        if origin:
            self("remote", "add", "origin", origin, at=top)
        return top

    def identify(self, folder: Path, **environ: str) -> Identity:
        """Identify *folder* as git's own environment has it."""
        identity = identify(folder, self.environ | environ)
        assert identity is not None
        return identity


@pytest.fixture
def git(tmp_path: Path) -> Git:
    """Return git in an empty folder."""
    folder = tmp_path.resolve() / "git"
    folder.mkdir()
    return Git(folder)


@pytest.fixture
def alpha(git: Git) -> Path:
    """Return a repository."""
    return git.repository()


@pytest.fixture
def linked(git: Git, alpha: Path) -> Path:
    """Return a linked worktree of the repository, on the branch two."""
    folder = git.folder / "trees/two"
    git("worktree", "add", "-q", "-b", "two", folder, at=alpha)
    return folder


@pytest.mark.parametrize(("remote", "expected"), REMOTES.items())
def test_remotes(remote: str, expected: tuple[str, str, str, str | None]) -> None:
    """Every form of an address names one project, and is recorded without what is secret in it."""
    project_id, project, repo, clean = expected
    clean = remote if clean is None else clean
    assert Identity(project_id=project_id, project=project, repo=repo, remote=clean) == project_of(remote)


@pytest.mark.parametrize(("remote", "clean"), NO_PROJECTS.items())
def test_no_projects(remote: str, clean: str | None) -> None:
    """A path is no project, and neither is what cannot be told apart for certain."""
    assert Identity(remote=remote if clean is None else clean) == project_of(remote)


@given(
    st.sampled_from(["https://{}@github.com/o/r", "ssh://git:{}@github.com/o/r", "git:{}@github.com:o/r"]),
    st.text(st.sampled_from("/:@?#%[]\\ 1a.-~+\n"), max_size=6),
    st.text(st.sampled_from("/:@?#%[]\\ 1a.-~+\n"), max_size=6),
)
@example("https://{}@github.com/o/r", "u:12/", "")
@example("https://{}@github.com/o/r", "u:", "?@")
def test_credentials(form: str, before: str, after: str) -> None:
    """A password or token shows up in no field, however it is written."""
    identity = project_of(form.format(f"{before}s3cr3t{after}"))
    assert [] == [value for value in structs.astuple(identity) if "s3cr3t" in value]


@given(st.text())
@example("\ud800:\x00")
def test_any_remote(remote: str) -> None:
    """Any text is answered, and no field of the answer holds a control character or cannot be written down."""
    text = "".join(structs.astuple(project_of(remote)))
    assert text == text.encode().decode()
    assert [] == [character for character in text if ord(character) < 32 or 127 <= ord(character) < 160]


@given(st.from_regex(r"[a-z]{1,5}/[A-Za-z0-9._-]{1,5}/[A-Za-z0-9_-]{1,5}", fullmatch=True))
def test_one_project_in_every_form(path: str) -> None:
    """A project's id does not depend on how one reaches it."""
    forms = [
        "https://git.example/{}",
        "https://u:p@GIT.example:8443/{}.git/",
        "ssh://git@git.example:22/{}",
        "git@git.example:{}.git",
    ]
    assert 1 == len({project_of(form.format(path)).project_id for form in forms})


@needs_git
def test_repository(git: Git, alpha: Path) -> None:
    """A repository's checkout is told by its origin; it has a branch, and is no worktree."""
    expected = Identity(
        project_id="github.com/fixture/alpha", project="alpha", repo="fixture/alpha", remote=ALPHA, branch="main"
    )
    assert expected == git.identify(alpha)
    assert git("remote", "get-url", "origin", at=alpha) == expected.remote
    assert git("rev-parse", "--abbrev-ref", "HEAD", at=alpha) == expected.branch


@needs_git
def test_folder_inside(git: Git, alpha: Path) -> None:
    """Every folder of a checkout belongs to it."""
    folder = alpha / "a/b"
    folder.mkdir(parents=True)
    assert git.identify(alpha) == git.identify(folder)


@needs_git
@pytest.mark.parametrize("inside", [".git", ".git/hooks", ".git/refs/heads"])
def test_inside_the_git_directory(git: Git, alpha: Path, inside: str) -> None:
    """The git directory belongs to its repository."""
    assert git.identify(alpha) == git.identify(alpha / inside)


@needs_git
def test_linked_folder(git: Git, alpha: Path) -> None:
    """A symbolic link belongs to where it leads."""
    (git.folder / "link").symlink_to(alpha)
    assert git.identify(alpha) == git.identify(git.folder / "link")


@needs_git
def test_relative_folder(git: Git, alpha: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative folder, as text, starts from the current one."""
    monkeypatch.chdir(git.folder)
    assert git.identify(alpha) == identify("alpha", git.environ)


@needs_git
def test_process_environment(alpha: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless told otherwise, the environment is the process's own."""
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    identity = identify(alpha)
    assert identity is not None
    assert "github.com/fixture/alpha" == identity.project_id


@needs_git
def test_git_dir_is_ignored(git: Git, alpha: Path) -> None:
    """The folder decides, not GIT_DIR: an agent's git hook would set it for another repository."""
    beta = git.repository("beta", "https://github.com/fixture/beta")
    assert "beta" == git.identify(beta, GIT_DIR=str(alpha / ".git")).project


@needs_git
def test_nested_repository(git: Git, alpha: Path) -> None:
    """A repository inside another one is its own."""
    beta = git.repository("alpha/beta", "https://github.com/fixture/beta")
    assert "beta" == git.identify(beta).project


@needs_git
def test_bare_repository(git: Git, alpha: Path) -> None:
    """A bare repository is told by its own files; so is a folder inside."""
    bare = git.folder / "bare.git"
    git("clone", "-q", "--bare", alpha, bare)
    git("remote", "set-url", "origin", ALPHA, at=bare)
    assert git.identify(alpha) == git.identify(bare) == git.identify(bare / "refs")


@needs_git
def test_linked_worktree(git: Git, alpha: Path, linked: Path) -> None:
    """A linked worktree belongs to its repository, has its own name, and its own branch."""
    expected = structs.replace(git.identify(alpha), worktree="two", branch="two")
    assert expected == git.identify(linked)
    assert git("rev-parse", "--abbrev-ref", "HEAD", at=linked) == expected.branch


@needs_git
def test_inside_a_linked_worktree(git: Git, linked: Path) -> None:
    """A folder of a linked worktree, and its git directory, belong to it."""
    (linked / "a").mkdir()
    git_dir = Path(git("rev-parse", "--absolute-git-dir", at=linked))
    assert git.identify(linked) == git.identify(linked / "a") == git.identify(git_dir)


@needs_git
def test_worktrees_of_one_name(git: Git, alpha: Path, linked: Path) -> None:
    """Two worktrees whose folders have one name have two: those that git gave them."""
    other = git.folder / "others/two"
    git("worktree", "add", "-q", "-b", "three", other, at=alpha)
    assert ["two", "two1"] == [git.identify(folder).worktree for folder in (linked, other)]


@needs_git
def test_moved_worktree(git: Git, alpha: Path, linked: Path) -> None:
    """A worktree that is moved keeps its name."""
    moved = git.folder / "moved"
    git("worktree", "move", linked, moved, at=alpha)
    assert "two" == git.identify(moved).worktree


@needs_git
def test_worktree_of_a_bare_repository(git: Git, alpha: Path) -> None:
    """A worktree of a bare repository belongs to that repository."""
    bare, folder = git.folder / "bare.git", git.folder / "three"
    git("clone", "-q", "--bare", alpha, bare)
    git("remote", "set-url", "origin", ALPHA, at=bare)
    git("worktree", "add", "-q", "-b", "three", folder, at=bare)
    assert structs.replace(git.identify(alpha), worktree="three", branch="three") == git.identify(folder)


@needs_git
def test_worktree_inside_the_repository(git: Git, alpha: Path) -> None:
    """A worktree that lies inside the checkout is not taken for the checkout."""
    folder = alpha / ".claude/worktrees/three"
    git("worktree", "add", "-q", "-b", "three", folder, at=alpha)
    assert ("three", "three") == (git.identify(folder).worktree, git.identify(folder).branch)


@needs_git
def test_relative_git_file(git: Git, linked: Path) -> None:
    """A worktree's `.git` file may name its git directory from where it lies itself."""
    expected = git.identify(linked)
    (linked / ".git").write_text("gitdir: ../../alpha/.git/worktrees/two\n")
    assert expected == git.identify(linked)


@needs_git
@pytest.mark.parametrize(
    "text", ["gitdir: /gone/.git/worktrees/two\n", "gitdir: \n", "gitdir:", "", "garbage", "\0\xff"]
)
def test_lost_worktree(git: Git, alpha: Path, text: str) -> None:
    """A `.git` file that leads nowhere belongs to no repository known: above all not to the one around it."""
    folder = alpha / "lost"
    folder.mkdir()
    (folder / ".git").write_text(text)
    assert Identity() == git.identify(folder)


@needs_git
def test_pruned_worktree(git: Git, alpha: Path, linked: Path) -> None:
    """A worktree that git has forgotten is a folder of no project."""
    shutil.rmtree(alpha / ".git/worktrees")
    assert Identity() == git.identify(linked)


@needs_git
def test_submodule(git: Git, alpha: Path) -> None:
    """A submodule is a project of its own, and not a worktree."""
    beta = git.repository("beta", "")
    git("submodule", "--quiet", "add", beta, "parts/beta", at=alpha)
    part = alpha / "parts/beta"
    git("remote", "set-url", "origin", "git@github.com:fixture/beta", at=part)
    identity = git.identify(part)
    assert ("github.com/fixture/beta", "", "main") == (identity.project_id, identity.worktree, identity.branch)


@needs_git
def test_worktree_of_a_submodule(git: Git, alpha: Path) -> None:
    """A linked worktree of a submodule belongs to the submodule."""
    beta = git.repository("beta", "")
    git("submodule", "--quiet", "add", beta, "beta", at=alpha)
    git("remote", "set-url", "origin", "git@github.com:fixture/beta", at=alpha / "beta")
    folder = git.folder / "three"
    git("worktree", "add", "-q", "-b", "three", folder, at=alpha / "beta")
    identity = git.identify(folder)
    assert ("github.com/fixture/beta", "three", "three") == (identity.project_id, identity.worktree, identity.branch)


@needs_git
def test_separate_git_directory(git: Git, alpha: Path) -> None:
    """A checkout whose git directory lies elsewhere is still the main one."""
    expected = git.identify(alpha)
    git("init", "-q", "--separate-git-dir", git.folder / "elsewhere", alpha)
    assert expected == git.identify(alpha)


@needs_git
@pytest.mark.parametrize("branch", ["a/b/c", "féature/漢😀", "HEAD2", "a.b", "a@b", "-"])
def test_branch(git: Git, alpha: Path, branch: str) -> None:
    """A branch is named as git names it, slashes and all."""
    git("update-ref", f"refs/heads/{branch}", "HEAD", at=alpha)
    git("symbolic-ref", "HEAD", f"refs/heads/{branch}", at=alpha)
    assert branch == git.identify(alpha).branch
    assert git("symbolic-ref", "--short", "HEAD", at=alpha) == branch


@needs_git
def test_unborn_branch(git: Git) -> None:
    """A branch without a commit has its name already."""
    git("init", "-q", "-b", "trunk", "beta")
    assert "trunk" == git.identify(git.folder / "beta").branch


@needs_git
def test_packed_branch(git: Git, alpha: Path) -> None:
    """A branch in packed-refs is as good as any."""
    git("pack-refs", "--all", "--prune", at=alpha)
    assert not (alpha / ".git/refs/heads/main").exists()
    assert "main" == git.identify(alpha).branch


@needs_git
@pytest.mark.parametrize("where", ["alpha", "trees/two"])
def test_detached(git: Git, linked: Path, where: str) -> None:
    """Where a commit is checked out and no branch, it is "HEAD", as for git."""
    git("checkout", "-q", "--detach", at=git.folder / where)
    assert "HEAD" == git.identify(git.folder / where).branch
    assert "HEAD" == git("rev-parse", "--abbrev-ref", "HEAD", at=git.folder / where)


@needs_git
def test_sha256_detached(git: Git) -> None:
    """A repository with the longer ids has the same HEAD."""
    git("init", "-q", "--object-format", "sha256", "beta")
    beta = git.folder / "beta"
    git("commit", "-q", "--allow-empty", "-m", "x", at=beta)
    git("checkout", "-q", "--detach", at=beta)
    assert "HEAD" == git.identify(beta).branch


@needs_git
def test_symbolic_link_for_a_head(git: Git, alpha: Path) -> None:
    """HEAD may be a symbolic link to its branch, also to an unborn one."""
    git("config", "core.preferSymlinkRefs", "true", at=alpha)
    git("symbolic-ref", "HEAD", "refs/heads/unborn", at=alpha)
    assert (alpha / ".git/HEAD").is_symlink()
    assert "unborn" == git.identify(alpha).branch


@needs_git
@pytest.mark.parametrize(
    "head", ["ref: refs/heads/.invalid", "ref: refs/tags/v1", "ref: refs/heads/", "ref: refs/heads/a b"]
)
def test_no_branch(git: Git, alpha: Path, head: str) -> None:
    """Where HEAD names no branch, there is none: a reftable repository has `.invalid` there, which only git can read."""
    (alpha / ".git/HEAD").write_text(head + "\n")
    assert ("github.com/fixture/alpha", "") == (git.identify(alpha).project_id, git.identify(alpha).branch)


@needs_git
def test_undecodable_branch(git: Git, alpha: Path) -> None:
    """A branch that is not UTF-8 has a name that can be written down."""
    (alpha / ".git/HEAD").write_bytes(b"ref: refs/heads/f\xe9ature\n")
    assert "f\ufffdature" == git.identify(alpha).branch


@needs_git
@pytest.mark.parametrize("damage", ["HEAD", "objects", "refs"])
def test_no_repository_without(git: Git, alpha: Path, damage: str) -> None:
    """A git directory that lacks one of its parts is none, as for git; the repository around it counts."""
    beta = git.repository("alpha/beta", "https://github.com/fixture/beta")
    (beta / ".git" / damage).rename(beta / "away")
    assert git.identify(alpha) == git.identify(beta)
    assert str(alpha) == git("rev-parse", "--show-toplevel", at=beta)


@needs_git
@pytest.mark.parametrize("head", [b"", b"garbage\n", b"\xff\0\x01" * 99, b"0123abcd\n", b"ref: heads/main\n"])
def test_damaged_head(git: Git, alpha: Path, head: bytes) -> None:
    """Where HEAD is none, there is no repository, as for git."""
    (alpha / ".git/HEAD").write_bytes(head)
    assert Identity() == git.identify(alpha)


@needs_git
@pytest.mark.parametrize("link", ["HEAD", "../away"])
def test_head_that_leads_elsewhere(git: Git, alpha: Path, link: str) -> None:
    """A HEAD that is a symbolic link, but not to a branch, is none; nor is one that leads to itself."""
    (alpha / ".git/HEAD").unlink()
    (alpha / ".git/HEAD").symlink_to(link)
    assert Identity() == git.identify(alpha)


@needs_git
@pytest.mark.parametrize("text", [b"", b"\xff\xfe\0" * 99, b'[remote "origin"\nurl = x\n'])
def test_damaged_config(git: Git, alpha: Path, text: bytes) -> None:
    """A repository whose config cannot be read has a branch all the same."""
    (alpha / ".git/config").write_bytes(text)
    assert Identity(branch="main") == git.identify(alpha)


@needs_git
def test_folder_for_a_config(git: Git, alpha: Path) -> None:
    """A folder in the place of the config is a config that cannot be read."""
    (alpha / ".git/config").unlink()
    (alpha / ".git/config").mkdir()
    assert Identity(branch="main") == git.identify(alpha)


@needs_git
def test_circle_for_a_git_directory(git: Git) -> None:
    """A `.git` that is a symbolic link to itself is none."""
    (git.folder / "beta").mkdir()
    (git.folder / "beta/.git").symlink_to(".git")
    assert Identity() == git.identify(git.folder / "beta")


@needs_git
@pytest.mark.parametrize(
    "config",
    [
        '[url "https://github.com/"] insteadOf = gh:',
        '[url "https://github.com/fixture/"] insteadOf = gh:fixture/\n[url "https://wrong.example/"] insteadOf = gh:',
        '[url "https://wrong.example/"] insteadOf = gh:\n[url "https://github.com/fixture/"] insteadOf = gh:fixture/',
        '[url "https://github.com/"] insteadOf = gh:\n[url "https://wrong.example/"] insteadOf = gh:',
        '[url "https://github.com/"] insteadOf = gh:\n[url "https://wrong.example/"] pushInsteadOf = gh:',
        '[url "https://github.com/"]\ninsteadOf\ninsteadOf = x:\ninsteadOf = gh:',
    ],
)
def test_instead_of(git: Git, alpha: Path, config: str) -> None:
    """A url is the one that git would fetch from: the longest match is replaced, of equal ones the first."""
    git("remote", "set-url", "origin", "gh:fixture/alpha.git", at=alpha)
    git.user_file.write_text(config)
    assert ALPHA == git.identify(alpha).remote
    if "\ninsteadOf\n" not in config:  # an error for git
        assert ALPHA == git("remote", "get-url", "origin", at=alpha)


@needs_git
def test_instead_of_nothing(git: Git, alpha: Path) -> None:
    """An empty `insteadOf` begins every url."""
    git("remote", "set-url", "origin", "fixture/alpha.git", at=alpha)
    git.user_file.write_text('[url "https://github.com/"] insteadOf =\n')
    assert ALPHA == git.identify(alpha).remote
    assert ALPHA == git("remote", "get-url", "origin", at=alpha)


@needs_git
def test_instead_of_with_a_token(git: Git, alpha: Path) -> None:
    """A token that a rewrite brings in does not get out."""
    git.user_file.write_text('[url "https://x:s3cr3t@github.com/"] insteadOf = https://github.com/\n')
    assert "s3cr3t" in git("remote", "get-url", "origin", at=alpha)
    assert ALPHA == git.identify(alpha).remote


@needs_git
def test_conditional_instead_of(git: Git, alpha: Path) -> None:
    """A rewrite that is included for the repository's place counts there, and only there."""
    beta = git.repository("beta", "gh:fixture/beta")
    git("remote", "set-url", "origin", "gh:fixture/alpha.git", at=alpha)
    (git.folder / "more").write_text('[url "https://github.com/"] insteadOf = gh:\n')
    git.user_file.write_text(f'[includeIf "gitdir:{alpha}/"] path = more\n')
    assert [ALPHA, "gh:fixture/beta"] == [git.identify(top).remote for top in (alpha, beta)]
    assert [ALPHA, "gh:fixture/beta"] == [git("remote", "get-url", "origin", at=top) for top in (alpha, beta)]


@needs_git
def test_condition_on_a_linked_worktree(git: Git, linked: Path) -> None:
    """A linked worktree is where its own git directory is, and on its own branch."""
    git.user_file.write_text(
        '[includeIf "gitdir:alpha/.git/worktrees/"] path = a\n[includeIf "onbranch:two"] path = b\n'
    )
    (git.folder / "a").write_text('[url "gh:"] insteadOf = https://github.com/\n')
    (git.folder / "b").write_text('[url "https://one.example/"] insteadOf = https://github.com/fixture\n')
    assert "https://one.example//alpha.git" == git.identify(linked).remote
    assert "https://one.example//alpha.git" == git("remote", "get-url", "origin", at=linked)


@needs_git
def test_no_branch_no_condition(git: Git, alpha: Path) -> None:
    """A detached checkout is on no branch, also on none of the name HEAD."""
    git("checkout", "-q", "--detach", at=alpha)
    git.user_file.write_text('[includeIf "onbranch:HEAD"] path = more\n')
    (git.folder / "more").write_text('[url "gh:"] insteadOf = https://github.com/\n')
    assert ALPHA == git.identify(alpha).remote
    assert ALPHA == git("remote", "get-url", "origin", at=alpha)


@needs_git
def test_origin_of_a_worktree(git: Git, alpha: Path, linked: Path) -> None:
    """A worktree with a config of its own may rewrite its remote, for itself alone."""
    git("config", "extensions.worktreeConfig", "true", at=alpha)
    git("config", "--worktree", "url.https://mirror.example/.insteadOf", "https://github.com/", at=linked)
    assert "mirror.example/fixture/alpha" == git.identify(linked).project_id
    assert "https://mirror.example/fixture/alpha.git" == git("remote", "get-url", "origin", at=linked)
    assert ALPHA == git.identify(alpha).remote


@needs_git
def test_several_urls(git: Git, alpha: Path) -> None:
    """Of several urls the first one is fetched from."""
    git("remote", "set-url", "--add", "origin", "https://host/o/r", at=alpha)
    assert ALPHA == git.identify(alpha).remote
    assert ALPHA == git("remote", "get-url", "origin", at=alpha)


@needs_git
def test_cleared_urls(git: Git, alpha: Path) -> None:
    """An empty url clears those before it, since git 2.46."""
    with (alpha / ".git/config").open("a") as file:
        file.write('[remote "origin"]\nurl =\nurl = https://host/o/r\n')
    assert "https://host/o/r" == git.identify(alpha).remote


@needs_git
def test_origin_of_the_user(git: Git) -> None:
    """A user's own config may name the remote where the repository does not."""
    beta = git.repository("beta", "")
    git.user_file.write_text(f'[remote "origin"] url = {ALPHA}\n')
    assert ALPHA == git.identify(beta).remote
    assert ALPHA == git("ls-remote", "--get-url", "origin", at=beta)


@needs_git
@pytest.mark.parametrize("remote", ["upstream", "Origin"])
def test_other_remotes(git: Git, remote: str) -> None:
    """No other remote names the project."""
    beta = git.repository("beta", "")
    git("remote", "add", remote, ALPHA, at=beta)
    assert Identity(branch="main") == git.identify(beta)


@needs_git
def test_ceiling(git: Git, alpha: Path) -> None:
    """Above a ceiling no repository is looked for; the folder itself is never too high."""
    folder = alpha / "a/b"
    folder.mkdir(parents=True)
    ceilings = f"{os.pathsep}/nowhere{os.pathsep}{alpha}"
    assert Identity() == git.identify(folder, GIT_CEILING_DIRECTORIES=ceilings)
    assert "alpha" == git.identify(alpha, GIT_CEILING_DIRECTORIES=ceilings).project


@needs_git
def test_no_git_process(git: Git, alpha: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No process is started, and the repository is left as it was."""

    def state() -> list[tuple[Path, int]]:
        return sorted((path, path.stat().st_mtime_ns) for path in alpha.rglob("*"))

    before = state()
    for name in ("fork", "posix_spawn", "system"):
        monkeypatch.delattr(os, name)
    assert "alpha" == git.identify(alpha).project
    assert before == state()


def test_missing_folder(tmp_path: Path) -> None:
    """A folder that is gone has no identity: today's disk does not know what it was."""
    assert None is identify(tmp_path / "gone", FALLBACK)


@pytest.mark.parametrize("folder", ["", "a\0b", "\ud800", "/" + "x" * 5000])
def test_impossible_folder(folder: str) -> None:
    """What cannot be a folder's name is a missing folder."""
    assert None is identify(folder, {})


def test_file_for_a_folder(tmp_path: Path) -> None:
    """A file is no folder."""
    (tmp_path / "file").touch()
    assert None is identify(tmp_path / "file", {})


def test_current_folder_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A current folder that was deleted is a missing one."""
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert None is identify(".", {})


def test_no_repository(tmp_path: Path) -> None:
    """A folder without a repository is no project: its name is not promoted to one."""
    assert Identity() == identify(tmp_path, {})


def test_root() -> None:
    """The search ends at the root."""
    assert Identity() == identify("/", {})


def test_local_id(tmp_path: Path) -> None:
    """A folder without a repository may be given a project by the environment."""
    assert Identity(project_id="local:notes", project="notes") == identify(tmp_path, FALLBACK)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "local:",
        "notes",
        "github.com/fixture/alpha",
        "local:a/b",
        "local:a b",
        "local:é",
        "local:a\n",
        "local:" + "a" * 129,
    ],
)
def test_bad_local_id(tmp_path: Path, value: str) -> None:
    """A value of another form says nothing, and can claim no remote project."""
    assert Identity() == identify(tmp_path, {"AGENTIHOOKS_PROJECT_ID": value})


@needs_git
@pytest.mark.parametrize("origin", ["", "/srv/git/beta.git"])
def test_local_id_of_a_repository(git: Git, origin: str) -> None:
    """A repository without a remote that names a project may be given one too."""
    beta = git.repository("beta", origin)
    expected = Identity(project_id="local:notes", project="notes", remote=origin, branch="main")
    assert expected == git.identify(beta, **FALLBACK)


@needs_git
def test_remote_before_local_id(git: Git, alpha: Path) -> None:
    """What a remote says outranks the environment."""
    assert git.identify(alpha) == git.identify(alpha, **FALLBACK)
