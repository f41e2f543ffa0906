"""Output formats, on findings made by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from modellint.diagnostic import (
    Applicability,
    Confidence,
    Diagnostic,
    Edit,
    Fix,
    Position,
    Related,
    RuntimeDetails,
    Severity,
    Span,
)
from modellint.report import Report, formats, render
from modellint.sources import SourceFile

TEXT = "import torch\n\tö = '𐍈'; model(x)\nlast(\n    model(x),\n)\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def finding(folder: Path, span: Span | None = None, **changes: object) -> Diagnostic:
    made = Diagnostic(
        code="ML101",
        name="missing-eval",
        severity=Severity.ERROR,
        confidence=Confidence.CERTAIN,
        message="`model` runs in training mode",
        filename=str(folder / "a.py"),
        span=span or Span.of(2, 11, 2, 19),
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def report(folder: Path, *diagnostics: Diagnostic, **changes: object) -> Report:
    source = SourceFile(folder / "a.py", TEXT)
    made = Report(diagnostics, [str(folder / "a.py"), str(folder / "b.py")], {str(source.path): source})
    for name, value in changes.items():
        setattr(made, name, value)
    return made


def text(name: str, made: Report) -> str:
    return "".join(render(name, made))


def test_text_comes_first() -> None:
    assert formats()[0] == "text"
    assert {"json", "lsp", "github", "sarif"} < set(formats())
    assert not [name for name in formats() if name.startswith("_")]


def test_a_new_module_is_a_new_format(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import modellint.report as package

    (folder / "count.py").write_text("def render(report):\n    yield f'{len(report.diagnostics)}'\n")
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(folder)])
    formats.cache_clear()
    try:
        assert "count" in formats()
        assert text("count", report(folder, finding(folder))) == "1"
    finally:
        formats.cache_clear()


class TestText:
    def test_clean(self, folder: Path) -> None:
        assert text("text", report(folder)) == "No findings in 2 files.\n"
        assert text("text", report(folder, quiet=True)) == ""
        assert text("text", report(folder, checked=[])) == "", "nothing was looked at"
        assert text("text", report(folder, unit="model", checked=["a:b"])) == "No findings in 1 model.\n"

    def test_a_finding_with_all_there_is(self, folder: Path) -> None:
        related = (Related(str(folder / "b.py"), Position(3, 4), "created here"),)
        fix = Fix(Applicability.UNSAFE, "Insert `model.eval()`", ())
        assert text("text", report(folder, finding(folder, related=related, fix=fix))) == (
            "a.py:2:11: error[ML101] missing-eval: `model` runs in training mode\n"
            " 2 |     ö = '𐍈'; model(x)\n"
            "   |              ^^^^^^^^\n"
            "   = b.py:3:4: created here\n"
            "   = fix: Insert `model.eval()` (unsafe fix)\n"
            "\n"
            "Found 1 error in 1 file (2 files checked).\n"
        )

    def test_a_finding_over_several_rows(self, folder: Path) -> None:
        assert text("text", report(folder, finding(folder, Span.of(3, 1, 5, 2)))).splitlines()[1:-2] == [
            " 3 | last(",
            "   | ^^^^^",
            " 4 |     model(x),",
            "   |     ^^^^^^^^^",
            " 5 | )",
            "   | ^",
        ]

    def test_a_long_finding_is_cut(self, folder: Path) -> None:
        rows = "".join(f"row{number}\n" for number in range(20))
        made = report(folder, finding(folder, Span.of(1, 1, 20, 3)))
        made.sources = {str(folder / "a.py"): SourceFile(folder / "a.py", rows)}
        shown = text("text", made)
        assert "row3" in shown
        assert "row4" not in shown
        assert " ... |" in shown

    def test_a_long_row_is_cut_around_the_finding(self, folder: Path) -> None:
        row = "x" * 1_000_000 + "model(x)" + "y" * 1000
        made = report(folder, finding(folder, Span.of(1, 1_000_001, 1, 1_000_009)))
        made.sources = {str(folder / "a.py"): SourceFile(folder / "a.py", row)}
        _, line, mark, *_ = text("text", made).splitlines()
        assert len(line) < 150
        assert line.index("model(x)") == mark.index("^^^^^^^^")

    def test_wide_characters_move_the_mark(self, folder: Path) -> None:
        made = report(folder, finding(folder, Span.of(1, 6, 1, 11)))
        made.sources = {str(folder / "a.py"): SourceFile(folder / "a.py", "'模型' model(x)\n")}
        assert text("text", made).splitlines()[2] == "   | " + " " * 7 + "^^^^^"

    def test_without_the_file_the_finding_is_still_shown(self, folder: Path) -> None:
        made = report(folder, finding(folder, filename=str(folder / "gone.py")))
        assert text("text", made).splitlines()[0].startswith("gone.py:2:11: error[ML101]")

    def test_files_elsewhere_are_shown_with_their_whole_path(self, folder: Path) -> None:
        assert text("text", report(folder, finding(folder, filename="/gone/a.py"))).startswith("/gone/a.py:2:11")

    def test_a_notebook_names_the_cell(self, folder: Path) -> None:
        made = report(folder, finding(folder, Span.of(1, 1, 1, 6), cell=4))
        source = SourceFile(folder / "a.py", "a\nb\nmodel(x)\n", "notebook", (1, 3), (2, 4))
        made.sources = {str(folder / "a.py"): source}
        shown = text("text", made)
        assert shown.startswith("a.py:cell 4:1:1: error[ML101]")
        assert " 1 | model(x)\n   | ^^^^^\n" in shown

    def test_nothing_reaches_the_terminal_that_moves_its_cursor(self, folder: Path) -> None:
        made = report(folder, finding(folder, Span.of(1, 1, 1, 3), message="a\x1b[2Jb\nc"))
        made.sources = {str(folder / "a.py"): SourceFile(folder / "a.py", "x = '\x1b]0;title\x07'\n")}
        shown = text("text", made)
        assert "\x1b" not in shown
        assert "\x07" not in shown
        assert shown.splitlines()[0].endswith("a\N{REPLACEMENT CHARACTER}[2Jb c")

    def test_colour_is_there_when_asked_for(self, folder: Path) -> None:
        assert "\x1b[1;31merror[ML101]\x1b[0m" in text("text", report(folder, finding(folder), color=True))
        assert "\x1b" not in text("text", report(folder, finding(folder)))

    def test_the_summary_counts(self, folder: Path) -> None:
        severities = [Severity.ERROR, Severity.ERROR, Severity.WARNING, Severity.INFO]
        made = report(folder, *(finding(folder, severity=severity) for severity in severities))
        made.diagnostics = [*made.diagnostics, finding(folder, filename=str(folder / "b.py"))]
        assert text("text", made).splitlines()[-1] == (
            "Found 3 errors, 1 warning and 1 info in 2 files (2 files checked)."
        )

    def test_a_runtime_finding_says_where_in_the_model(self, folder: Path) -> None:
        details = RuntimeDetails(
            "zoo:net", "encoder.0", "Dropout", "aten.dropout", {"p": 0.1, "modules": list("abcdefg")}
        )
        made = report(folder, finding(folder, runtime=details), checked=["zoo:net"], unit="model")
        assert text("text", made).splitlines()[3:] == [
            "   = in zoo:net, module encoder.0 (Dropout), aten.dropout",
            "   = p: 0.1; modules: a, b, c, d, e, ... (7)",
            "",
            "Found 1 error in 1 file (1 model checked).",
        ]

    def test_what_another_finding_explains_is_folded_under_it(self, folder: Path) -> None:
        cause = finding(folder, code="ML601", name="active-dropout", runtime=RuntimeDetails("zoo:net"))
        effect = finding(
            folder,
            code="ML701",
            name="repeat-mismatch",
            message="differs",
            runtime=RuntimeDetails("zoo:net", explained_by=("ML601",)),
        )
        elsewhere = replace(effect, runtime=RuntimeDetails("zoo:other", explained_by=("ML601",)))
        heads = [line for line in text("text", report(folder, effect, cause, elsewhere)).splitlines() if "[ML" in line]
        assert [line.split("[")[1][:5] for line in heads] == ["ML601", "ML701"]
        assert "   = explains ML701 repeat-mismatch: differs" in text("text", report(folder, effect, cause))


class TestJson:
    def test_clean(self, folder: Path) -> None:
        assert text("json", report(folder)) == "[]\n"

    def test_the_keys_of_the_agreement(self, folder: Path) -> None:
        fix = Fix(Applicability.SAFE, "Call it", (Edit(Span.of(2, 19, 2, 19), "()"),))
        related = (Related("/b.py", Position(3, 4), "created here"),)
        first, second = json.loads(
            text("json", report(folder, finding(folder, fix=fix, related=related), finding(folder, cell=3)))
        )
        assert first == {
            "code": "ML101",
            "name": "missing-eval",
            "severity": "error",
            "confidence": "certain",
            "message": "`model` runs in training mode",
            "filename": str(folder / "a.py"),
            "location": {"row": 2, "column": 11},
            "end_location": {"row": 2, "column": 19},
            "cell": None,
            "fix": {
                "applicability": "safe",
                "message": "Call it",
                "edits": [
                    {
                        "location": {"row": 2, "column": 19},
                        "end_location": {"row": 2, "column": 19},
                        "content": "()",
                    }
                ],
            },
            "related": [{"filename": "/b.py", "location": {"row": 3, "column": 4}, "message": "created here"}],
            "url": None,
        }
        assert second["cell"] == 3

    def test_a_runtime_finding_has_more(self, folder: Path) -> None:
        details = RuntimeDetails("zoo:net", "encoder", evidence={"path": Path("/x")}, explained_by=("ML601",))
        (found,) = json.loads(text("json", report(folder, finding(folder, runtime=details))))
        assert (found["target"], found["module_path"], found["explained_by"]) == ("zoo:net", "encoder", ["ML601"])
        assert found["evidence"] == {"path": "/x"}


class TestLsp:
    def lines(self, made: Report) -> list[dict[str, object]]:
        return [json.loads(line) for line in text("lsp", made).splitlines()]

    def test_a_clean_file_clears_what_an_editor_shows(self, folder: Path) -> None:
        uris = [(folder / name).as_uri() for name in ("a.py", "b.py")]
        assert self.lines(report(folder)) == [{"uri": uri, "diagnostics": []} for uri in uris]

    def test_positions_count_utf_16_from_zero(self, folder: Path) -> None:
        first, _ = self.lines(
            report(folder, finding(folder, related=(Related(str(folder / "a.py"), Position(2, 11), "x"),)))
        )
        (found,) = first["diagnostics"]  # type: ignore[misc]
        place = {"line": 1, "character": 11}  # one more than the column says: 𐍈 takes two units
        assert found["range"] == {"start": place, "end": {"line": 1, "character": 19}}
        assert found["relatedInformation"][0]["location"]["range"] == {"start": place, "end": place}
        assert (found["severity"], found["code"], found["source"]) == (1, "ML101", "modellint")

    def test_fixes_travel_along(self, folder: Path) -> None:
        fix = Fix(Applicability.SAFE, "Call it", (Edit(Span.of(2, 19, 2, 19), "()"),))
        first, _ = self.lines(report(folder, finding(folder, fix=fix)))
        place = {"line": 1, "character": 19}
        assert first["diagnostics"][0]["data"]["fix"] == {  # type: ignore[index]
            "applicability": "safe",
            "title": "Call it",
            "edits": [{"range": {"start": place, "end": place}, "newText": "()"}],
        }

    def test_a_model_clears_nothing(self, folder: Path) -> None:
        assert self.lines(report(folder, checked=["zoo:net"], unit="model")) == []

    def test_a_name_that_needs_quoting(self, folder: Path) -> None:
        made = report(folder, checked=[str(folder / "ä b#.py")])
        assert self.lines(made)[0]["uri"] == folder.as_uri() + "/%C3%A4%20b%23.py"


class TestGithub:
    def test_clean(self, folder: Path) -> None:
        assert text("github", report(folder)) == ""

    def test_a_finding(self, folder: Path) -> None:
        assert text("github", report(folder, finding(folder))) == (
            "::error title=modellint (ML101),file=a.py,line=2,col=11,endLine=2,endColumn=19"
            "::a.py:2:11: ML101 `model` runs in training mode\n"
        )

    def test_levels_and_long_spans(self, folder: Path) -> None:
        made = report(
            folder,
            finding(folder, Span.of(3, 1, 5, 2), severity=Severity.WARNING),
            finding(folder, severity=Severity.INFO),
        )
        first, second = text("github", made).splitlines()
        assert first.startswith("::warning title=modellint (ML101),file=a.py,line=3,col=1,endLine=5::")
        assert second.startswith("::notice ")

    def test_escapes(self, folder: Path) -> None:
        odd = finding(folder, filename=str(folder / "a,b:c%.py"), message="100% ::wrong\nsecond, row")
        assert text("github", report(folder, odd)) == (
            "::error title=modellint (ML101),file=a%2Cb%3Ac%25.py,line=2,col=11,endLine=2,endColumn=19"
            "::a,b:c%25.py:2:11: ML101 100%25 ::wrong%0Asecond, row\n"
        )

    def test_a_row_of_a_cell_is_no_row_of_the_file(self, folder: Path) -> None:
        assert text("github", report(folder, finding(folder, cell=3))) == (
            "::error title=modellint (ML101),file=a.py::a.py:cell 3:2:11: ML101 `model` runs in training mode\n"
        )


class TestSarif:
    def test_clean(self, folder: Path) -> None:
        (run,) = json.loads(text("sarif", report(folder)))["runs"]
        assert (run["results"], run["tool"]["driver"]["rules"]) == ([], [])

    def test_a_finding_with_its_story(self, folder: Path) -> None:
        story = (Related(str(folder / "b c.py"), Position(3, 5), "created here"),)
        first = finding(folder, related=story, url="https://example.org/ML101")
        log = json.loads(text("sarif", report(folder, first, replace(first, code="ML201", severity=Severity.INFO))))
        assert log["version"] == "2.1.0"
        (run,) = log["runs"]
        one, two = run["results"]
        assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["ML101", "ML201"]
        assert (one["ruleIndex"], one["level"], two["ruleIndex"], two["level"]) == (0, "error", 1, "note")
        place = one["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "a.py"
        assert place["region"] == {"startLine": 2, "startColumn": 11, "endLine": 2, "endColumn": 19}
        related = one["relatedLocations"][0]
        assert related["physicalLocation"]["artifactLocation"]["uri"] == "b%20c.py"
        assert related["message"] == {"text": "created here"}

    def test_a_row_of_a_cell_is_no_row_of_the_file(self, folder: Path) -> None:
        (result,) = json.loads(text("sarif", report(folder, finding(folder, cell=3))))["runs"][0]["results"]
        assert "region" not in result["locations"][0]["physicalLocation"]
        assert result["message"]["text"].startswith("cell 3, row 2: ")


def test_a_text_that_is_not_at_hand_is_read(folder: Path) -> None:
    (folder / "a.py").write_text("first\nmodel(x)\n")
    made = Report([], [])
    assert made.line(str(folder / "a.py"), 2) == "model(x)"
    assert made.line(str(folder / "a.py"), 9) == ""
    assert made.line(str(folder / "gone.py"), 1) == ""
