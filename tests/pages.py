"""
The documentation's pages: their headings, links and fenced blocks, and how what they show is run.

A comment in the line before a fence says what the fence is for. `<!-- run -->`: `console` commands behind `$ ` and
`pycon` sessions are run, and print what the page says, `...` standing for anything; `<!-- run, times vary -->`: but for
times, ages and the space around them. `<!-- file: NAME -->`: the block is that file. What has no comment is for the
eye. A page's blocks run in its order, in one folder, with one home.
"""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("integrations/**/*.md"), *ROOT.glob("examples/*.md")]
)

_FENCE = re.compile(r"(?:<!-- (?P<mark>.+?) -->\n)?^```(?P<language>\S*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#+ +(.+?)\s*$", re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[.\d]*(?:Z|[+]00:00)?|\b\d+[dhms](?: \d+[dhms])?\b")
_DISTRIBUTION = "Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"


@attrs.frozen
class Block:
    """A fenced block: the comment before it ("" for none), its language, its text, and the line it begins in."""

    mark: str
    language: str
    text: str
    line: int


@attrs.frozen
class Page:
    """One page, named by its path from the repository's root."""

    path: Path

    def __str__(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    @property
    def text(self) -> str:
        """The page as it is written."""
        return self.path.read_text("utf-8")

    def blocks(self) -> Iterator[Block]:
        """Yield the fenced blocks in their order."""
        text = self.text
        for found in _FENCE.finditer(text):
            yield Block(found["mark"] or "", found["language"], found["text"], text.count("\n", 0, found.start()) + 1)

    def headings(self) -> list[str]:
        """Return the headings as they are written."""
        return _HEADING.findall(_FENCE.sub("", self.text))

    def anchors(self) -> set[str]:
        """Return what a link to one of the headings ends with: lower case, spaces as hyphens, no other punctuation."""
        return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in self.headings()}

    def links(self) -> list[str]:
        """Return where the links lead, fenced blocks aside."""
        return _LINK.findall(_FENCE.sub("", self.text))

    @property
    def is_run(self) -> bool:
        """Whether any of the blocks is run."""
        return any(block.mark.startswith("run") for block in self.blocks())


class Bench:
    """
    A folder to run a page in, with a user's home beside it, and the command on the PATH.

    `examples/` is there, as in the repository. Plugins are found in the folder `site`, where `pip install .` would
    have put them.
    """

    def __init__(self, folder: Path) -> None:
        self.work, self.bin, self.site, self.user = (folder / name for name in ("work", "bin", "site", "user"))
        for each in (self.work, self.bin, self.site, self.user):
            each.mkdir(parents=True)
        shutil.copytree(ROOT / "examples", self.work / "examples")
        # -P as in an installed script: the folder it is run in is not searched.
        for name, words in (("agentihooks", "-P -m agentihooks"), ("python", "")):
            (self.bin / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
            (self.bin / name).chmod(0o755)
        paths = [str(self.site), str(self.work), *filter(None, [os.environ.get("PYTHONPATH")])]
        self.environ = {
            "HOME": str(self.user),
            "PATH": f"{self.bin}:{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join(paths),
            "LC_ALL": "C.UTF-8",
            **{f"GIT_{who}_{what}": "me@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
        }
        self._names: dict[str, object] = {}

    def run(self, block: Block) -> list[str]:
        """Do what a block asks for; return how it went wrong, nothing if it did not."""
        if block.mark.startswith("file: "):
            return self._save(self.work / block.mark.removeprefix("file: "), block.text)
        if not block.mark.startswith("run"):
            return []
        return self._doctest(block) if block.language == "pycon" else self._console(block)

    def _save(self, path: Path, text: str) -> list[str]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        if path.name == "pyproject.toml":
            project = tomllib.loads(text)["project"]
            information = self.site / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
            information.mkdir()
            (information / "METADATA").write_text(_DISTRIBUTION.format(**project))
            groups = project["entry-points"].items()
            entries = [f"[{group}]\n" + "\n".join(f"{n} = {m}" for n, m in points.items()) for group, points in groups]
            (information / "entry_points.txt").write_text("\n".join(entries) + "\n")
        return []

    def _doctest(self, block: Block) -> list[str]:
        said: list[str] = []
        test = doctest.DocTestParser().get_doctest(block.text, self._names, "page", None, block.line)
        runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS | doctest.REPORT_NDIFF)
        runner.run(test, out=said.append, clear_globs=False)
        self._names = test.globs
        return said

    def _console(self, block: Block) -> list[str]:
        wrong = []
        for chunk in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
            first, *rest = chunk.splitlines(keepends=True)
            more = [line for line in rest if line.startswith("> ")]
            command = first + "".join(line[2:] for line in more)
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=self.work,
                env=self.environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            expected, printed = ("".join(rest[len(more) :]).rstrip(), done.stdout.rstrip())
            options = doctest.ELLIPSIS
            if block.mark.endswith("times vary"):
                expected, printed = (_TIME.sub("TIME", text) for text in (expected, printed))
                options |= doctest.NORMALIZE_WHITESPACE
            if not doctest.OutputChecker().check_output(expected, printed, options):
                wrong.append(f"line {block.line}: {command}expected:\n{expected}\nprinted:\n{printed}")
        return wrong
