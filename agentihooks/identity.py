"""
Which project a folder belongs to, told from its git directory's own files.

No git process is started and nothing is written: a hook pays for a few small reads. The rules are those of
gitrepository-layout(5) for the files, of git-config(1) for the url, and of git-fetch(1), "GIT URLS", for its forms.
"""

# Paths are text where an agent waits: agentihooks/files.py

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from agentihooks.gitconfig import read_config, read_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from agentihooks.gitconfig import Setting

__all__ = ["Identity", "identify", "project_of"]

# A longer one is no address but garbage, and a scope's field holds 4096 characters.
_MAX_REMOTE = 2048

# C0, C1, line separators, and what turns the direction of writing; lone surrogates stand for undecodable bytes.
_UNPRINTABLE = r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"

# What git-check-ref-format(1) lets a branch be, so far as it matters: "refs/heads/.invalid" is what a reftable
# repository has in HEAD, and no branch.
_BRANCH = re.compile(r"ref:\s*refs/heads/((?!\.)[^\x00-\x20\x7f~^:?*\[\\]{1,1024})")
_HEAD = re.compile(r"ref:\s*refs/.*|[0-9a-f]{40}|[0-9a-f]{64}", re.DOTALL)

# No "@" may follow the authority: it would be the end of a password with a raw "/", "?" or "#" in it, whose beginning
# would then pass for a host, a port or a path.
_HOST = r"(?P<host>\[[0-9a-fA-F:.]+\]|\w[\w.-]*)"
_PATH = r"(?P<path>[^@?#]+)(?:[?#][^@]*)?"
_URL = re.compile(
    rf"(?P<scheme>(?i:https?|ssh|git|git\+ssh|ssh\+git|ftps?))://(?:(?P<userinfo>[^/?#]*)@)?{_HOST}(?::\d*)?/{_PATH}"
)
# [user@]host:path, but neither C:\path nor scheme://... nor helper::address.
_SCP = rf"(?P<scheme>)(?![a-zA-Z]:[/\\])(?:(?P<userinfo>[^/:]*)@)?{_HOST}:(?!//|:){_PATH}"
_LOCAL = r"(?:(?i:file)://|[a-zA-Z]:[/\\]|[^@:/]*/|[^@:/]*\Z)[^@]*"

_LOCAL_ID = r"local:([A-Za-z0-9._-]{1,128})"

# One server under several names: ssh over the https port, mostly.
_SAME_HOST = {
    "www.github.com": "github.com",
    "ssh.github.com": "github.com",
    "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
    "ssh.dev.azure.com": "dev.azure.com",
    "vs-ssh.visualstudio.com": "dev.azure.com",
}


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """
    What a folder belongs to; "" for what it does not have, or what cannot be told.

    `project_id` is `host/owner/repo`, or `local:<id>`. `repo` is the same without the host, nested groups kept, and
    `project` its last part, both in the case in which they are written. `remote` is the origin's url without
    credentials and query. `worktree` is a linked worktree's name, "" in the main checkout. `branch` is the one checked
    out now, "HEAD" if none is. No field holds a control character.
    """

    project_id: str = ""
    project: str = ""
    repo: str = ""
    worktree: str = ""
    remote: str = ""
    branch: str = ""


class _GitDir(NamedTuple):
    """A git directory: its real path, that of the directory it shares with its repository's worktrees, and its HEAD."""

    path: str
    common: str
    head: str


def identify(folder: str | os.PathLike[str], environ: Mapping[str, str] = os.environ) -> Identity | None:
    """
    Tell which project *folder* belongs to, and where in it the folder stands now.

    The folder decides: GIT_DIR and its like are ignored. The repository is looked for upwards, as git does, up to
    GIT_CEILING_DIRECTORIES but across file systems. Where no remote names a project, AGENTIHOOKS_PROJECT_ID may, as
    `local:<id>`.

    Args:
        folder: Any folder, also one inside a git directory.
        environ: Where AGENTIHOOKS_PROJECT_ID, HOME and git's own variables are looked up.

    Returns:
        The identity, or None if there is no such folder (any more): what it was cannot be told from today's disk.
        Never raises for what the disk holds: what cannot be read is not there.
    """
    if not os.path.isdir(folder):
        return None
    try:
        folder = os.path.realpath(folder, strict=True)
    except OSError:  # it is the current folder, and was deleted; or it went away just now
        return None
    ceilings = {os.path.realpath(path) for path in environ.get("GIT_CEILING_DIRECTORIES", "").split(os.pathsep) if path}
    git_dir = _find(folder, ceilings)
    if git_dir is None:
        return _or_local(Identity(), environ)
    branch = _branch(git_dir.head)
    settings = read_config(git_dir.path, git_dir.common, "" if branch == "HEAD" else branch, environ)
    return msgspec.structs.replace(
        _or_local(project_of(_origin(settings)), environ),
        # The name of git's own directory for it, not of the folder: the two differ only where git had to tell two
        # folders of one name apart, and this one is unique and stays when the worktree is moved.
        worktree="" if git_dir.path == git_dir.common else _printable(os.path.basename(git_dir.path)),
        branch=_printable(branch),
    )


def project_of(remote: str) -> Identity:
    """
    Tell the project from a remote's url, whatever its form: https, ssh, git, or `user@host:path`.

    The id is the same for all forms of one address: host in lower case (github.com: the whole id, as its names ignore
    case), no port, user, query, fragment, `.git` or final slash, and percent-encoding decoded. A local path has no
    host, and so no project.

    Args:
        remote: The url, after `insteadOf`; anything else is answered too.

    Returns:
        An identity with `project_id`, `project`, `repo` and `remote`, and nothing else. `remote` keeps an ssh url's
        user name; it is "" for what may hold credentials in a place where they cannot be told from the rest.
    """
    remote = _printable(remote.strip())
    if len(remote) > _MAX_REMOTE:
        return Identity()
    found = _URL.fullmatch(remote) or re.fullmatch(_SCP, remote)
    if not found:
        return Identity(remote=remote if re.fullmatch(_LOCAL, remote) else "")
    scheme = found["scheme"] and f"{found['scheme']}://"
    user = (found["userinfo"] or "").partition(":")[0]
    # Before https a user name alone may be a token; and one that is not spelt like a name may be anything.
    has_name = (not scheme or "ssh" in scheme.lower()) and re.fullmatch(r"[\w.+-]+", user)
    clean = scheme + (f"{user}@" if has_name else "") + remote[found.start("host") : found.end("path")]

    host = found["host"].lower().rstrip(".")
    path = _printable(_percent_decoded(found["path"])).strip("/").removesuffix(".git")
    host, parts = _canonical(host, [part for part in path.split("/") if part not in {"", "."}])
    if not parts or ".." in parts:
        return Identity(remote=clean)
    repo = "/".join(parts)
    project_id = f"{host}/{repo}"
    return Identity(
        project_id=project_id.lower() if host == "github.com" else project_id,
        project=parts[-1],
        repo=repo,
        remote=clean,
    )


def _find(folder: str, ceilings: Collection[str]) -> _GitDir | None:
    """Return the git directory that *folder* (a real path) lies under, or None if it has none or that is gone."""
    while True:
        dot_git = os.path.join(folder, ".git")
        if os.path.isfile(dot_git):
            target = read_text(dot_git).rstrip("\r\n")
            # It may lead nowhere: a worktree was pruned, its repository moved. Going on upwards would then take
            # whatever repository lies around the folder for the folder's own.
            return _open(os.path.join(folder, target[8:])) if target.startswith("gitdir: ") else None
        if found := _open(dot_git) or _open(folder):
            return found
        parent = os.path.dirname(folder)
        if parent == folder or parent in ceilings:
            return None
        folder = parent


def _open(path: str) -> _GitDir | None:
    """Return *path* as a git directory, or None if it is none: it needs HEAD, objects and refs, as for git itself."""
    head_file = os.path.join(path, "HEAD")
    try:
        head = f"ref: {os.readlink(head_file)}"  # core.preferSymlinkRefs makes HEAD a link
    except OSError:
        head = read_text(head_file).rstrip()
    if not _HEAD.fullmatch(head):
        return None
    path = os.path.realpath(path)
    shared = read_text(os.path.join(path, "commondir")).rstrip("\r\n")
    common = os.path.realpath(os.path.join(path, shared)) if shared else path
    has_all = all(os.path.isdir(os.path.join(common, name)) for name in ("objects", "refs"))
    return _GitDir(path, common, head) if has_all else None


def _branch(head: str) -> str:
    """Return the branch that HEAD's text names: "HEAD" if it is a commit, "" if only git can tell (reftable)."""
    if found := _BRANCH.fullmatch(head):
        return found[1]
    return "" if head.startswith("ref:") else "HEAD"


def _origin(settings: Iterable[Setting]) -> str:
    """Return the url that git would fetch `origin` from, or ""."""
    urls: list[str] = []
    rewrites: list[tuple[str, str]] = []
    for section, subsection, name, value in settings:
        if (section, subsection, name) == ("remote", "origin", "url"):
            # An empty url clears those before it.
            urls = [*urls, value] if value else []
        elif (section, name) == ("url", "insteadof") and value is not None:
            rewrites.append((value, subsection))
    if not urls:
        return ""
    # Several urls are for pushing; fetching takes the first.
    url = urls[0]
    old, new = max(
        (pair for pair in rewrites if url.startswith(pair[0])), key=lambda pair: len(pair[0]), default=("", "")
    )
    return new + url.removeprefix(old)


def _or_local(identity: Identity, environ: Mapping[str, str]) -> Identity:
    """Name the project as the environment says, where *identity* has none; a value of another form says nothing."""
    named = environ.get("AGENTIHOOKS_PROJECT_ID", "")
    found = re.fullmatch(_LOCAL_ID, named) if named and not identity.project_id else None
    if found is None:
        return identity
    return msgspec.structs.replace(identity, project_id=found[0], project=found[1])


def _canonical(host: str, parts: list[str]) -> tuple[str, list[str]]:
    """
    Give a repository that has several addresses one of them.

    Azure DevOps has org/project/_git/repo over https (org/_git/repo if project and repo have one name), v3/org/project/
    repo over ssh, and the same under org.visualstudio.com: all become dev.azure.com/org/project/repo.
    """
    host = _SAME_HOST.get(host, host)
    organisation = host.removesuffix(".visualstudio.com")
    if organisation != host:
        host, parts = "dev.azure.com", [organisation, *parts]
    if host == "dev.azure.com":
        parts = [part for part in parts if part != "DefaultCollection"]
        if parts[:1] == ["v3"]:
            parts = parts[1:]
        if parts[1:2] == ["_git"]:
            parts = [parts[0], *parts[2:3], *parts[2:]]
        parts = [part for part in parts if part != "_git"]
    return host, parts


def _percent_decoded(text: str) -> str:
    # urllib.parse does this too, but its import would nearly double what this module costs a hook.
    coded = text.encode("utf-8", "replace")
    return re.sub(rb"%([0-9A-Fa-f]{2})", lambda found: bytes.fromhex(found[1].decode()), coded).decode(
        "utf-8", "replace"
    )


def _printable(text: str) -> str:
    return text if text.isprintable() else re.sub(_UNPRINTABLE, "\N{REPLACEMENT CHARACTER}", text)
