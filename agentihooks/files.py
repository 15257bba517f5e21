"""
Small files of the engine's own: private to their owner, replaced whole or not at all.

Paths are text here and wherever a hook comes by: `pathlib` alone would take a fifth of a Stop's time.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from os import PathLike

    FilePath = str | PathLike[str]


def make_private_directory(path: FilePath) -> None:
    """
    Create *path* and its missing parents, each for its owner alone (0700). One that exists is left as it is.

    Raises:
        OSError: It cannot be made, for one because a parent is a link to nowhere.
    """
    try:
        try:
            os.mkdir(path, 0o700)
        except FileNotFoundError:
            parent = os.path.dirname(path)
            if parent == path or os.path.islink(parent):
                raise
            make_private_directory(parent)
            os.mkdir(path, 0o700)
    except FileExistsError:
        pass


def replace_file(path: FilePath, content: bytes) -> None:
    """
    Make *path* hold *content*, or, whatever happens meanwhile, what it held before. Creates its directory.

    Not fsynced: what is kept like this is a cache, and may be lost with the machine's power.

    Raises:
        OSError: It cannot be written.
    """
    make_private_directory(os.path.dirname(path))
    temporary = f"{path}.{os.getpid()}"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def fsync_directory(path: FilePath) -> None:
    """Make the names in a directory durable, not only what their files hold."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
