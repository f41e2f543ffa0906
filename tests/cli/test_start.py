"""What a plain run costs before it looks at a file: what is imported, and what is read again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from modellint.cli._plain import CHOICES, DEFAULTS, FLAGS, LISTS, parse
from modellint.cli.check import check
from tests.cli.conftest import DEFECT, Run

HEAVY = ("click", "yaml", "jsonschema", "libcst", "astroid", "rich", "asyncio", "torch", "tree_sitter", "pygls")
PROBE = (
    "import sys; from modellint.cli import main\n"
    "try: main(sys.argv[1:])\n"
    "finally: print(*sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
)


def imported(folder: Path, cache: Path, *arguments: str) -> tuple[int, set[str]]:
    env = {**os.environ, "XDG_CACHE_HOME": str(cache), "LOCALAPPDATA": str(cache), "HOME": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *arguments], cwd=folder, env=env, capture_output=True, text=True, check=False
    )
    return done.returncode, set(done.stderr.split())


@pytest.mark.parametrize("arguments", [["defect.py"], ["-q", "--no-cache", "--select", "ML1,ML2", "defect.py"], ["."]])
def test_a_plain_run_imports_nothing_that_it_does_not_need(tmp_path: Path, arguments: list[str]) -> None:
    folder, cache = tmp_path / "project", tmp_path / "cache"
    folder.mkdir()
    (folder / "defect.py").write_text(DEFECT)
    status, _ = imported(folder, cache, "check", *arguments)  # compiles the catalogue
    again, names = imported(folder, cache, "check", *arguments)
    assert (status, again) == (1, 1)
    assert not names & set(HEAVY)


@pytest.mark.parametrize(
    ("name", "text"),
    [(".modellint.yaml", "ignore: [ML101]\n"), ("pyproject.toml", "[tool.modellint]\nignore = ['ML101']\n")],
)
def test_a_configuration_is_read_and_judged_once(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / "defect.py").write_text(DEFECT)
    (tmp_path / name).write_text(text)
    status, names = imported(tmp_path, tmp_path / "cache", "check", "defect.py")
    assert {"yaml", "jsonschema"} <= names  # the catalogue is made, too
    again, names = imported(tmp_path, tmp_path / "cache", "check", "defect.py")
    assert again == status
    assert not names & {*HEAVY, "tomllib"}
    (tmp_path / name).write_text(text.replace("ML101", "ML102"))  # the same size, in the same moment
    changed, names = imported(tmp_path, tmp_path / "cache", "check", "defect.py")
    assert (changed, "jsonschema" in names) == (1, True)


def test_a_configuration_that_is_wrong_is_told_each_time(tmp_path: Path) -> None:
    (tmp_path / "clean.py").write_text("x = 1\n")
    (tmp_path / ".modellint.yaml").write_text("ignore: 5\n")
    runs = [imported(tmp_path, tmp_path / "cache", "check", "clean.py") for _ in range(2)]
    assert [status for status, _ in runs] == [2, 2]
    assert all("ignore:" in names for _, names in runs)


def test_a_damaged_or_foreign_catalogue_in_the_cache_is_made_again(tmp_path: Path) -> None:
    (tmp_path / "defect.py").write_text(DEFECT)
    cache = tmp_path / "cache"
    first = imported(tmp_path, cache, "check", "defect.py")
    stores = sorted(cache.rglob("*.json"))
    assert len(stores) == 2
    sound = [store.read_bytes() for store in stores]
    for content in (
        b"",
        b"\xff\xfe",
        b"[]",
        b'{"stamp": 1}',
        sound[0][: len(sound[0]) // 2],
        b'{"stamp": [], "entries": []}',
    ):
        for store in stores:
            store.write_bytes(content)
        assert imported(tmp_path, cache, "check", "defect.py")[0] == first[0] == 1
        assert [store.read_bytes() for store in stores] == sound


def test_a_cache_folder_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "defect.py").write_text(DEFECT)
    (tmp_path / "taken").write_text("a file where the folder should be")
    status, _ = imported(tmp_path, tmp_path / "taken", "check", "defect.py")
    assert status == 1


def test_plain_options_are_those_of_the_command() -> None:
    declared = {p.name: p for p in check.params if isinstance(p, click.Option)}
    with check.make_context("check", ["here.py"]) as context:
        given = {name: value for name, value in context.params.items() if name != "paths"}
    assert given == DEFAULTS
    assert all(declared[name].is_flag for name in FLAGS)
    assert all(declared[name].multiple for name in LISTS)
    for name, choices in CHOICES.items():
        kind = declared[name].type
        assert isinstance(kind, click.Choice)
        assert tuple(kind.choices) == choices


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "a.py", "b"],
        ["check", "-q", "--isolated", "--no-cache", "--exit-zero", "--statistics", "--force-exclude"],
        ["check", "--select=ML1,ML2", "--select", "ML101", "--ignore", "mode", "--output-format", "json", "x.py"],
        ["check", "--fail-on=error", "--min-confidence", "possible"],
        ["check", "--jobs=2"],
        ["check", "--jobs", "16", "x.py"],
    ],
)
def test_plain_arguments_mean_what_they_mean_to_click(arguments: list[str]) -> None:
    plain = parse(arguments)
    with check.make_context("check", arguments[1:]) as context:
        params = dict(context.params)
        assert plain == (params.pop("paths"), params)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["rule"],
        ["check", "--fix"],
        ["check", "--no-such"],
        ["check", "--select"],
        ["check", "--select="],
        ["check", "-"],
        ["check", "--quiet=1"],
        ["check", "--jobs", "0"],
        ["check", "--jobs=two"],
        ["check", "--output-format", "yaml"],
        ["check", "--fail-on", "info"],
        ["check", "--help"],
        ["check", "--", "a.py"],
        ["check", "-qq"],
        ["check", "--config", "x.toml"],
    ],
)
def test_everything_else_is_left_to_click(arguments: list[str]) -> None:
    assert parse(arguments) is None


def test_an_unknown_option_is_told_by_click(run: Run) -> None:
    outcome = run("check", "--no-such")
    assert outcome.status == 2
    assert "No such option" in outcome.err
