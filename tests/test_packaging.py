"""The distribution holds what it should, and says of itself what is so."""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

import agentihooks
from agentihooks.plugins import BUNDLED, BUNDLED_SINK, GROUP

ROOT = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PACKAGES = ["agentihooks", *BUNDLED.values()]


def modules() -> list[str]:
    """Return the names of all modules of the engine and the bundled plugins, but for the one that runs the command."""
    found = []
    for package in PACKAGES:
        home = importlib.import_module(package).__file__
        assert home is not None
        names = [path.relative_to(Path(home).parent).with_suffix("") for path in Path(home).parent.rglob("*.py")]
        found += [".".join([package, *name.parts]).removesuffix(".__init__") for name in names]
    return sorted(set(found) - {"agentihooks.__main__"})


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """Return the wheel, built from this folder without a network."""
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("hatchling is not installed: the wheel is not built here")
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    [path] = folder.glob("*.whl")
    return zipfile.ZipFile(path)


def test_the_bundled_table_is_that_of_the_entry_points() -> None:
    """The table that saves a hook the scan names the plugins that the distribution's entry points name."""
    assert PROJECT["project"]["entry-points"][GROUP] == BUNDLED


def test_the_bundled_sink_is_bundled() -> None:
    """The plugin that takes markers while an agent waits is one of the bundled ones."""
    assert BUNDLED_SINK in BUNDLED


def test_the_wheel_is_made_of_the_packages() -> None:
    """The wheel is told to hold the engine and each bundled plugin, and nothing else."""
    listed = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert PACKAGES == [PurePosixPath(path).name for path in listed]


def test_the_version_is_the_same_everywhere() -> None:
    """The package, the distribution and the newest heading of the changelog name one version."""
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    newest = changes.partition("\n## ")[2].split()[0]
    assert [PROJECT["project"]["version"]] * 2 == [agentihooks.__version__, newest]


def test_the_packages_say_that_they_are_typed() -> None:
    """Type checkers read the annotations of the engine as it is installed."""
    home = agentihooks.__file__
    assert home is not None
    assert Path(home).with_name("py.typed").exists()


@pytest.mark.parametrize("name", modules())
def test_modules_import(name: str) -> None:
    """Every module can be imported by itself, in a fresh interpreter."""
    if name == "agentihooks.otlp":
        pytest.importorskip("opentelemetry.sdk")
    done = subprocess.run([sys.executable, "-c", f"import {name}"], capture_output=True, text=True, check=False)
    assert (0, "", "") == (done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("name", agentihooks.__all__)
def test_public_names_load(name: str) -> None:
    """Every public name can be had from the package."""
    assert getattr(agentihooks, name).__name__ == name


def test_the_command_is_the_distribution_s() -> None:
    """The script that is installed calls a function that exists."""
    module, _, function = PROJECT["project"]["scripts"]["agentihooks"].partition(":")
    assert callable(getattr(importlib.import_module(module), function))


def test_the_wheel_holds_every_file_of_the_packages(wheel: zipfile.ZipFile) -> None:
    """The wheel has each file of the four packages, and no other but the distribution's own information."""
    packages = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    files = {
        path.relative_to((ROOT / package).parent).as_posix()
        for package in packages
        for path in (ROOT / package).rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    information = f"agentihooks-{agentihooks.__version__}.dist-info"
    assert files == {name for name in wheel.namelist() if not name.startswith(information)}
    assert "agentihooks/py.typed" in files


def test_the_wheel_has_the_licence_and_the_entry_points(wheel: zipfile.ZipFile) -> None:
    """The wheel brings the licence, the command, and an entry point for each bundled plugin."""
    information = f"agentihooks-{agentihooks.__version__}.dist-info"
    entries = wheel.read(f"{information}/entry_points.txt").decode()
    assert all(f"{name} = {module}" in entries for name, module in BUNDLED.items())
    assert "agentihooks = agentihooks.__main__:main" in entries
    assert f"{information}/licenses/LICENSE" in wheel.namelist()
