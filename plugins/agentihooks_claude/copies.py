"""
Which entries of a file were read before: the first copy of an entry counts, every later one is passed over.

Client versions 2.0.76 to 2.1.12 repeat the last message when they resume a file that lacks its final newline, with
the same uuid and time but the folder and branch of the resuming process. To tell these costs no memory that grows
with the file: the ids of the last entries are kept, and only an entry older than those gone is looked up in the file.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import chain, islice
from typing import TYPE_CHECKING

import msgspec

from agentihooks.transcript import Lines, open_binary
from agentihooks_claude.entry import read

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator

# During a pass: about 15 MB, and enough for every entry of most files.
MAX_KEPT = 64 * 1024

# From pass to pass: some 70 bytes each in a cursor that is written at every stop. Of 178 013 timed lines none was more
# than 589 s older than a line above it (docs/reference/claude-transcripts), and few sessions write as many meanwhile.
MAX_CARRIED = 512

# Text from here on is no time ("Invalid Date"). Taken for one, it would make everything that follows look old.
NO_TIME = "21"


class Recent(msgspec.Struct, omit_defaults=True):
    """
    The ids of the last entries, and how far back they reach. JSON values.

    A copy repeats the time of its original, so an entry newer than every entry that was dropped here is a copy only
    if its id is still here. Times are compared as text: as long as a copy repeats the text, any order will do.
    """

    ids: dict[str, str] = msgspec.field(default_factory=dict)
    """Entries' ids -> their times as written, in file order."""
    floor: str = ""
    """The greatest time among the entries that were dropped; "" if none was."""

    def is_copy(self, entry_id: str, at: str, stored: Stored) -> bool:
        """Tell whether the entry with this id, not "", and time, "" for none, was read before; if not, it is now."""
        if entry_id in self.ids or (not self.floor < at < NO_TIME and self.floor and stored.holds(entry_id)):
            return True
        self.ids[entry_id] = at
        return False

    def limit(self, stored: Stored) -> None:
        """Drop the ids that are not recent any longer, if there are many; they are still told by *stored*."""
        if len(self.ids) > MAX_KEPT:
            kept = self.last(MAX_KEPT // 2)
            stored.add(self.ids.keys() - kept.ids.keys())
            self.ids, self.floor = kept.ids, kept.floor

    def last(self, count: int) -> Recent:
        """Return what remains if only the last *count* ids are kept."""
        entries, surplus = self.ids.items(), max(0, len(self.ids) - count)
        times = (at for _, at in islice(entries, surplus) if at < NO_TIME)
        return Recent(ids=dict(islice(entries, surplus, None)), floor=max(chain([self.floor], times)))


class Stored:
    """
    The ids that a file holds above the line being read, in a temporary database, but for the recent ones.

    Reads the file from its beginning when it is first asked, and is told of everything later. A file that is gone or
    has shrunk holds nothing, or less.

    Args:
        path: The transcript.
        position: Returns an offset at or shortly before the line being read; what lies between is recent.
    """

    def __init__(self, path: str, position: Callable[[], int]) -> None:
        self._path = path
        self._position = position
        self._database: sqlite3.Connection | None = None

    def holds(self, entry_id: str) -> bool:
        """Tell whether an entry with this id was read before it could become recent."""
        if self._database is None:
            import sqlite3

            # This name gives a file of its own, deleted on closing. Who reads may change threads meanwhile.
            self._database = sqlite3.connect("", check_same_thread=False)
            self._database.execute("CREATE TABLE ids (id TEXT PRIMARY KEY) WITHOUT ROWID")
            with suppress(OSError):
                self.add(self._read())
        return self._database.execute("SELECT 1 FROM ids WHERE id = ?", (entry_id,)).fetchone() is not None

    def add(self, entry_ids: Iterable[str]) -> None:
        """Take ids that are not recent any longer."""
        if self._database is not None:
            self._database.executemany("INSERT OR IGNORE INTO ids VALUES (?)", ((entry_id,) for entry_id in entry_ids))

    def close(self) -> None:
        """Drop the database."""
        if self._database is not None:
            self._database.close()

    def _read(self) -> Iterator[str]:
        end = self._position()
        with open_binary(self._path) as file:
            lines = Lines(file, cut=end)
            for line in lines:
                if lines.offset > end:
                    break
                yield from (entry.entry_id for entry in read(line))
