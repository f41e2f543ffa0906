"""What is shipped: the wheel carries the catalogue and the schemas, and works outside the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import modellint

ROOT = Path(__file__).resolve().parent.parent
SHIPPED = {p.relative_to(ROOT).as_posix() for p in (ROOT / "rules").rglob("*.yaml")}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a wheel built from this checkout, without isolation: hatchling comes from the dev group."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    """Return the paths inside the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_no_file_outside_the_package_is_shipped(names: set[str]) -> None:
    metadata = f"modellint-{modellint.__version__}.dist-info/"
    assert not [name for name in names if not name.startswith(("modellint/", metadata))]
    assert not [name for name in names if "__pycache__" in name or name.endswith(".pyc")]


def test_every_rule_and_every_library_is_shipped(names: set[str]) -> None:
    assert SHIPPED
    assert {f"modellint/{path}" for path in SHIPPED} <= names


def test_every_data_file_of_the_package_is_shipped(names: set[str]) -> None:
    wanted = {p.relative_to(ROOT).as_posix() for p in (ROOT / "modellint").rglob("*.json")}
    assert wanted | {"modellint/py.typed"} <= names


def test_the_licence_is_shipped(names: set[str]) -> None:
    assert f"modellint-{modellint.__version__}.dist-info/licenses/LICENSE" in names


def test_the_wheel_works_outside_the_checkout(wheel: Path, tmp_path: Path) -> None:
    """The installed package finds the catalogue inside itself, not the one of the checkout."""
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    script = (
        "import modellint.catalog as c; rules = c.load_rules(); c.load_frameworks(); "
        "print(c.rules_folder()); print(len(rules))"
    )
    environment = {**os.environ, "PYTHONPATH": str(site)}
    result = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    folder, count = result.stdout.split()
    assert Path(folder) == site / "modellint" / "rules"
    assert int(count) == len([path for path in SHIPPED if not path.startswith("rules/frameworks/")])
