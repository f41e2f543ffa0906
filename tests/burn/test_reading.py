"""Files as they come: comments that silence, broken text, no tree-sitter."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from modellint.burn.crates import Crates, parse_version
from modellint.diagnostic import Severity
from modellint.linting import check_paths
from modellint.settings import Overrides, Resolver
from modellint.sources.suppressions import find_suppressions
from tests.burn.conftest import Lint

WRONG = """\
use burn::backend::{Autodiff, NdArray};

fn infer() {
    let model: Model<Autodiff<NdArray>> = Model::new().load_record(record);%s
    model.forward(x);
}
"""


def test_a_comment_silences_its_line(lint: Lint) -> None:
    lint({"src/lib.rs": WRONG % "  // modellint: ignore[ML501] measured on purpose"})


def test_a_comment_that_silences_nothing_is_reported(lint: Lint) -> None:
    lint({"src/lib.rs": "use burn::prelude::*;\nfn f() {}  // modellint: ignore[ML501] // ML001\n"})


def test_what_looks_like_a_comment_in_a_string_is_none() -> None:
    comment = "// modellint: ignore[ML501]"
    text = f'let a = "{comment}";\nlet b = r#"{comment}"#; // modellint: ignore[ML502]\n'
    found = find_suppressions(text, rust=True)
    assert [(s.row, [code.text for code in s.codes or ()]) for s in found] == [(2, ["ML502"])]
    assert text.split("\n")[1][found[0].column - 1 :].startswith("// modellint: ignore[ML502]")


def test_a_half_typed_program_is_checked_as_far_as_it_goes(lint: Lint, tmp_path: Path) -> None:
    path = tmp_path / "main.rs"
    path.write_text(WRONG % "  // ok" + "\nfn broken( {{{{\n" * 30)
    (report,) = check_paths([path], Resolver(Overrides(isolated=True)))
    codes = {d.code: d.severity for d in report.diagnostics}
    assert codes["ML002"] is Severity.INFO


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "main.rs"
    path.write_bytes(b"use burn::backend::Autodiff;\n// \xff\n")
    (report,) = check_paths([path], Resolver(Overrides(isolated=True)))
    (finding,) = report.diagnostics
    assert (finding.code, finding.span.start.row, finding.severity) == ("ML002", 2, Severity.ERROR)
    assert "not UTF-8" in finding.message


def test_columns_count_characters(tmp_path: Path) -> None:
    path = tmp_path / "main.rs"
    caller = 'fn infer() {\n    let s = "ééé"; infer2::<Autodiff<X>>();\n}\n'
    callee = "fn infer2<B>() { m.load_record(r).forward(x); }\n"
    path.write_text("use burn::backend::Autodiff;\n" + caller + callee)
    (report,) = check_paths([path], Resolver(Overrides(isolated=True)))
    (finding,) = report.diagnostics
    assert path.read_text().split("\n")[2][finding.span.start.column - 1 :].startswith("infer2")


def test_without_tree_sitter_a_named_file_is_an_error_and_a_walk_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from modellint.burn import syntax

    syntax._tools.cache_clear()
    monkeypatch.setitem(sys.modules, "tree_sitter_rust", None)
    for name in ("a.rs", "b.rs"):
        (tmp_path / name).write_text(WRONG % "")
    try:
        (named,) = check_paths([tmp_path / "a.rs"], Resolver(Overrides(isolated=True)))
        walked = list(check_paths([tmp_path], Resolver(Overrides(isolated=True))))
    finally:
        syntax._tools.cache_clear()
    assert "pip install 'modellint[burn]'" in named.errors[0]
    assert [error for report in walked for error in report.errors] == []
    assert len([note for report in walked for note in report.notes]) == 1


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("0.17", (0, 17, 0)),
        ("^0.17.1", (0, 17, 1)),
        ("=0.22.0-pre.2", (0, 22, 0)),
        (">=0.16, <0.18", (0, 16, 0)),
        ("*", None),
    ],
)
def test_versions(text: str, version: tuple[int, int, int] | None) -> None:
    assert parse_version(text) == version


def test_the_lock_file_beats_the_manifest_and_default_features_fuse(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/lib.rs").write_text("")
    manifest = tmp_path / "Cargo.toml"
    manifest.write_text(
        '[package]\nname = "a"\n[features]\ndefault = ["gpu"]\ngpu = ["burn/wgpu"]\n[dependencies]\nburn = "0.16"\n'
    )
    (tmp_path / "Cargo.lock").write_text('[[package]]\nname = "burn"\nversion = "0.17.1"\n')
    crate = Crates().of(tmp_path / "src/lib.rs")
    assert crate is not None and crate.burn is not None
    assert (crate.burn.version, crate.burn.has("fusion")) == ((0, 17, 1), True)


def test_a_broken_manifest_tells_nothing(lint: Lint) -> None:
    lint({"Cargo.toml": "[package", "src/lib.rs": WRONG % "  // ML501"})


def test_a_generated_file_of_fifty_thousand_lines_ends(tmp_path: Path) -> None:
    body = "".join(f"fn f{i}() {{ let x = a.swap_dims(1, 2); g(x); }}\n" for i in range(50_000))
    path = tmp_path / "big.rs"
    path.write_text("use burn::backend::Autodiff;\n" + body)
    (report,) = check_paths([path], Resolver(Overrides(isolated=True)))
    assert report.errors == () and report.diagnostics == ()
