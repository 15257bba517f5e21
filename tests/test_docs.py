"""What the documentation says is so, and what there is to say is said."""

from __future__ import annotations

import argparse
import ast
import builtins
import importlib
import json
import os
import pty
import re
import subprocess
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import pytest

from agentihooks import errors, hookspecs, settings
from agentihooks.cli import _parser
from agentihooks.codec import decode_transition
from agentihooks.errors import RefusalCode
from agentihooks.event import LABELS
from agentihooks.ids import transition_id
from agentihooks.plugins import BUNDLED
from agentihooks.transcript import SKIPS

from . import reference
from .pages import PAGES, ROOT, Bench, Page

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jsonschema import Draft202012Validator

README = Page(ROOT / "README.md")
CLI = Page(ROOT / "docs/reference/cli.md")
INDEX = Page(ROOT / "docs/index.md")
pages = [Page(path) for path in PAGES]

BUILTINS = {name for name, value in vars(builtins).items() if isinstance(value, type)}
ERRORS = {"AgentihooksError", *(name for name in BUILTINS if issubclass(getattr(builtins, name), BaseException))}


def rows(page: Page) -> dict[str, str]:
    """Return the rows of a page's tables, by each of the names that the first cell has in backticks."""
    lines = [line.split("|") for line in page.text.splitlines() if line.startswith("| ")]
    return {name: "|".join(cells[2:]) for cells in lines for name in re.findall(r"`([^`]+)`", cells[1])}


def sections(page: Page) -> dict[str, str]:
    """Return what stands under each heading, up to the next one of any level."""
    _, *parts = re.split(r"^#+ +(.+)$", page.text, flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def sources() -> list[Path]:
    """Return the files of the engine and the bundled plugins."""
    homes = [importlib.import_module(name).__file__ for name in ("agentihooks", *BUNDLED.values())]
    return sorted(path for home in homes if home for path in Path(home).parent.rglob("*.py"))


def verbs(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yield the parser of each verb that has no verbs below it."""
    below = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    for action in below:
        for each in action.choices.values():
            yield from verbs(each)
    if not below:
        yield parser


def install_commands() -> list[str]:
    """Return the README's two commands that begin with nothing but Python: one shows an example, one runs the tests."""
    return [block.text for block in README.blocks() if block.text.startswith("python3 -m venv")]


def in_terminal(command: list[str], environ: dict[str, str]) -> str:
    """Return what a command prints on a terminal of 80 columns without colour."""
    ours, its = pty.openpty()
    with subprocess.Popen(command, env={**environ, "TERM": "dumb"}, stdout=its, stderr=its, cwd=ROOT) as process:
        os.close(its)
        said = b""
        # A terminal whose other end is closed reads as an error on Linux, as nothing on macOS.
        try:
            while part := os.read(ours, 65536):
                said += part
        except OSError:
            pass
        finally:
            os.close(ours)
    assert 0 == process.returncode
    return said.decode().replace("\r\n", "\n")


# Examples


@pytest.mark.parametrize("page", [page for page in pages if page.is_run], ids=str)
def test_examples_run(page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a page shows as run prints what the page says, from its first block to its last."""
    bench = Bench(tmp_path / "bench")
    monkeypatch.delenv("AGENTIHOOKS_HOME")
    monkeypatch.setenv("HOME", str(bench.user))
    monkeypatch.chdir(bench.work)
    wrong = [complaint for block in page.blocks() for complaint in bench.run(block)]
    assert [] == wrong, "\n".join(wrong)


def test_the_readme_shows_what_its_command_prints(tmp_path: Path) -> None:
    """On a terminal of 80 columns the README's first command prints what the README shows."""
    command = install_commands()[0].partition("pip install -q . &&\n")[2].replace(".venv/bin/", "")
    shown = next(block.text for block in README.blocks() if block.language == "console")
    environ = Bench(tmp_path / "bench").environ
    assert shown.strip() == in_terminal(["bash", "-c", command], environ).strip()


def test_the_readme_fits_a_screen() -> None:
    """Up to the two commands, no line of the README is longer than 80 columns, and they are not far down."""
    top = README.text.partition("\nYour own sessions")[0].splitlines()
    assert 80 >= max(map(len, top))
    assert 45 >= len(top)


def test_the_example_is_a_log() -> None:
    """The example's scope logs read without a fault, and their ids are those of their scopes."""
    for path in (ROOT / "examples/brain/session-scopes").iterdir():
        for sequence, line in enumerate(path.read_bytes().splitlines()):
            decoded = decode_transition(line, path.stem, sequence)
            assert decoded is not None
            transition = decoded[0]
            assert (sequence, transition.transition_id) == (
                transition.sequence,
                transition_id(path.stem, transition.at, transition.scope),
            )


def test_the_example_keeps_the_schema(line_schema: Draft202012Validator) -> None:
    """Each line of the example's scope logs is valid by the published schema."""
    for path in (ROOT / "examples/brain/session-scopes").iterdir():
        for line in path.read_text("utf-8").splitlines():
            line_schema.validate(json.loads(line))


# Links


@pytest.mark.parametrize("page", pages, ids=str)
def test_links_lead_somewhere(page: Page) -> None:
    """Each link within the repository leads to a file, and each anchor to a heading."""
    for link in page.links():
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        target = (page.path.parent / name).resolve() if name else page.path
        assert target.exists(), link
        if anchor:
            assert anchor in Page(target).anchors(), link


@pytest.mark.parametrize("path", sources(), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_code_names_pages_that_there_are(path: Path) -> None:
    """A page that a comment or docstring of the code refers to exists."""
    for name in re.findall(r"docs/[\w/-]+\w", path.read_text("utf-8")):
        assert (ROOT / f"{name}.md").exists(), name


def test_the_index_lists_every_page() -> None:
    """Every page under docs/ can be reached from the index."""
    linked = {(INDEX.path.parent / link.partition("#")[0]).resolve() for link in INDEX.links()}
    assert set() == {page.path for page in pages if page.path.is_relative_to(ROOT / "docs")} - {INDEX.path, *linked}


def test_the_tests_read_the_readme_command() -> None:
    """What runs on every change calls the README's command for the tests, word for word."""
    ci = ROOT / ".ci/run"
    if not ci.exists():
        pytest.skip("no .ci/run here: a source distribution has none")
    assert " ".join(install_commands()[1].split()) in " ".join(ci.read_text("utf-8").split())


# The reference


def test_plugin_hooks_are_documented() -> None:
    """The reference of the plugin hooks says what the code says, each hook under its exact signature."""
    text = reference.PAGE.read_text("utf-8")
    written, made = text.partition(reference.BEGIN)[0], reference.render()
    if os.environ.get("UPDATE_DOCS") == "1":
        reference.PAGE.write_text(written + made, "utf-8")
        text = reference.PAGE.read_text("utf-8")
    assert written + made == text
    assert {f"`{reference.signature(hook)}`" for hook in reference.hooks()} <= {*Page(reference.PAGE).headings()}


def test_all_plugin_hooks_are_functions_of_the_module() -> None:
    """The hooks that the reference lists are those that pluggy knows."""
    known = [name for name in vars(hookspecs) if name.startswith("agentihooks_")]
    assert known == [hook.name for hook in reference.hooks()]


@pytest.mark.parametrize("verb", list(verbs(_parser())), ids=lambda verb: verb.prog)
def test_verbs_are_documented(verb: argparse.ArgumentParser, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each verb has a heading, below it its usage as the command prints it, and a row for each option."""
    monkeypatch.setenv("COLUMNS", "1000")
    section = sections(CLI)[verb.prog.removeprefix("agentihooks ")]
    if verb.prog.endswith(" hook"):
        return  # it has no parser of its own
    usage = verb.format_usage().removeprefix("usage: ").replace(" [-h]", "").strip()
    assert f"`{usage}`" in section
    for action in verb._actions:
        for option in action.option_strings:
            assert option in ("-h", "--help", "--json") or re.search(rf"^\|.*`{option}\b.*\|", section, re.MULTILINE)


def test_no_verb_is_documented_that_there_is_not() -> None:
    """Each heading of the command's page that names a verb names one there is."""
    known = {verb.prog.removeprefix("agentihooks ") for verb in verbs(_parser())}
    documented = {name for name, text in sections(CLI).items() if text.lstrip().startswith("`agentihooks ")}
    assert known == documented - {"The command"}


def test_error_classes_are_documented() -> None:
    """Each class of error in the engine has a row, and no other class has."""
    defined = {
        node.name
        for path in Path(errors.__file__).parent.glob("*.py")
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.ClassDef)
        and any(isinstance(base, ast.Name) and base.id in ERRORS for base in node.bases)
    }
    documented = {name for name in rows(Page(ROOT / "docs/reference/errors.md")) if name[0].isupper()}
    assert defined == documented - BUILTINS


def test_public_errors_are_documented_where_they_are_drawn() -> None:
    """The tree at the top of the errors' module has each class in it."""
    names = [name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)]
    assert [] == [name for name in names if name not in (errors.__doc__ or "")]


@pytest.mark.parametrize("code", get_args(RefusalCode))
def test_refusal_codes_are_documented(code: str) -> None:
    """Each code of a refusal has a row in the reference, and an example."""
    assert code in rows(Page(ROOT / "docs/reference/errors.md"))
    assert code in Page(ROOT / "docs/how-to/read-a-refusal.md").text


def test_settings_are_documented() -> None:
    """The table of settings has every variable that the code reads, and no other."""
    read = {
        node.value
        for path in sources()
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and re.fullmatch(r"(?:[A-Z]+_)+(?:[A-Z0-9]+)?|HOME|PATH|USERPROFILE", node.value)
    }
    documented = {
        name.removesuffix("n") if name.endswith("_n") else name
        for name in rows(Page(ROOT / "docs/reference/settings.md"))
        if name.isupper() or name.endswith("_n")
    }
    assert read == documented


def test_settings_of_the_file_are_documented() -> None:
    """The first table has those that the settings file may hold, in the same order."""
    text = sections(Page(ROOT / "docs/reference/settings.md"))["In the environment, or in the file"]
    assert [*settings.NAMES] == re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)


def test_skips_are_documented() -> None:
    """Each reason for which something is passed over has a row."""
    text = sections(CLI)["What is passed over"]
    assert set(SKIPS) == set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE))


def test_labels_are_documented() -> None:
    """Each label of an attribution has a row in the description of the log."""
    assert set(LABELS) <= rows(Page(ROOT / "docs/reference/log-format.md")).keys()


def test_dependencies_are_documented() -> None:
    """Each distribution that the project depends on, for whatever, has its reason in the table."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    listed = [*project["dependencies"], *(each for extra in extras.values() for each in extra)]
    names = {match[0] for each in listed if (match := re.match(r"[\w.-]+", each))} - {"agentihooks"}
    text = Page(ROOT / "docs/reference/dependencies.md").text
    cells = [line.split("|")[1] for line in text.splitlines() if line.startswith("| ")]
    assert set() == names - {name.strip() for cell in cells for name in cell.split(",")}
