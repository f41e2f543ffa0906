"""`modellint framework`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from modellint.catalog import load_frameworks
from tests.cli.conftest import Run


def test_lists_every_library(run: Run) -> None:
    outcome = run("framework")
    assert outcome.status == 0
    assert [line.split("  ")[0] for line in outcome.out.splitlines()] == sorted(f.name for f in load_frameworks())


@pytest.mark.parametrize("name", ["peft", "PEFT"])
def test_explains_one(run: Run, name: str) -> None:
    lines = run("framework", name).out.splitlines()
    assert lines[0] == "peft"
    assert "    peft.get_peft_model" in lines
    assert "        where is_trainable is True: mode mixed" in lines


def test_finds_a_library_by_the_name_it_is_imported_by(run: Run) -> None:
    assert run("framework", "pytorch_lightning").out.startswith("lightning\n")


@pytest.mark.parametrize("name", [f.name for f in load_frameworks()])
def test_json_holds_what_the_yaml_says(run: Run, name: str) -> None:
    found = json.loads(run("framework", name, "--output-format", "json").out)
    item = next(f for f in load_frameworks() if f.name == name)
    assert (found["name"], found["roots"], found["about"]) == (item.name, list(item.roots), item.about)
    loaders = [call for entry in found["sections"].get("loaders", ()) for call in entry["names"]]
    assert loaders == [fact.call for fact in item.loaders]


def test_a_library_of_ones_own_is_among_them(run: Run, tmp_path: Path) -> None:
    (tmp_path / "zoo.yaml").write_text("name: zoo\nroots: [zoo]\nabout: Our model zoo.\n")
    (tmp_path / ".modellint.yaml").write_text("frameworks: [zoo.yaml]\n")
    assert run("framework", "zoo", "--config", str(tmp_path / ".modellint.yaml")).out.startswith(
        "zoo\nOur model zoo.\n"
    )


def test_a_misspelt_name_is_a_usage_error(run: Run) -> None:
    outcome = run("framework", "tim")
    assert outcome.status == 2
    assert outcome.err == "modellint: no library 'tim'; did you mean 'timm'?\n"
