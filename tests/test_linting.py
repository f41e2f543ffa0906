"""The engine: what is parsed, what is silenced, and what happens to files that cannot be checked."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable
from pathlib import Path

import pytest

from modellint.diagnostic import Confidence, Diagnostic, Related, RuntimeDetails, Severity, Span
from modellint.diagnostic import Position as At
from modellint.linting import FileReport, check_paths, check_text, refine
from modellint.settings import Overrides, Resolver, Settings
from modellint.sources import SourceFile

PYTHON = ".".join(platform.python_version_tuple()[:2])
DEFECT = """\
import torch
from torchvision.models import resnet18

def predict(path, image):
    model = resnet18()
    model.load_state_dict(torch.load(path, weights_only=True))
    with torch.no_grad():
        return model(image).argmax(-1).item(){comment}
"""


def check(root: Path, *names: str, **overrides: object) -> list[FileReport]:
    paths = [root / name for name in names] or [root]
    return list(check_paths(paths, Resolver(Overrides(**overrides))))  # type: ignore[arg-type]


def places(reports: list[FileReport]) -> list[tuple[str, int]]:
    assert [error for report in reports for error in report.errors] == []
    return [(d.code, d.span.start.row) for report in reports for d in report.diagnostics]


def write(root: Path, text: str | bytes, name: str = "a.py") -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


class Stub:
    """A checker that says what it is told to and remembers what it was asked."""

    def __init__(self, answer: Callable[[SourceFile], list[Diagnostic]] = lambda source: []) -> None:
        self.answer = answer
        self.checked: list[str] = []
        self.roots: list[Path] = []

    def make(self, settings: Settings, root: Path, is_checked: Callable[[Path], bool]) -> Stub:
        self.roots.append(root)
        return self

    def check(self, source: SourceFile) -> list[Diagnostic]:
        self.checked.append(source.path.name)
        return self.answer(source)


def finding(
    source: SourceFile, row: int, code: str = "ML101", confidence: Confidence = Confidence.CERTAIN
) -> Diagnostic:
    name = {"ML101": "missing-eval", "ML201": "missing-no-grad"}[code]
    span = Span.of(row, 1, row, 5)
    return Diagnostic(code, name, Severity.ERROR, confidence, "wrong", str(source.path), span)


class TestWhatIsParsed:
    def test_a_file_without_a_trigger_word_is_not(self, tmp_path: Path) -> None:
        write(tmp_path, "frame.eval('a')\nthis is no Python", "pandas.py")
        write(tmp_path, "import math\n", "plain.py")
        write(tmp_path, "import torch\nmodel.eval()\n", "model.py")
        stub = Stub()
        list(check_paths([tmp_path], Resolver(), make_checker=stub.make))
        assert stub.checked == ["model.py"]

    def test_what_is_wrong_with_one_is_reported_where_it_is_called_from(self, tmp_path: Path) -> None:
        """A helper that never speaks of torch is not parsed for its own sake: nobody else would tell of it."""
        called = DEFECT.format(comment="").replace("model(image).argmax(-1).item()", "score(model, image)")
        write(tmp_path, called.replace("import torch\n", "import torch\nfrom helper import score\n", 1))
        write(tmp_path, "def score(net, image):\n    return net(image)\n", "helper.py")
        alone = check(tmp_path, "a.py")
        assert places(alone) == [("ML101", 9)]
        assert [d.filename for report in check(tmp_path) for d in report.diagnostics] == [str(tmp_path / "a.py")]

    def test_nothing_is_when_no_rule_runs(self, tmp_path: Path) -> None:
        write(tmp_path, "import torch\nmodel.eval()\n")
        stub = Stub()
        list(check_paths([tmp_path], Resolver(Overrides(ignore=("ALL", "ML002"))), make_checker=stub.make))
        assert stub.checked == []

    def test_one_checker_serves_a_project(self, tmp_path: Path) -> None:
        for name in ("setup.py", "a/setup.py"):
            write(tmp_path, "", name)
        for name in ("x.py", "b/y.py", "a/z.py"):
            write(tmp_path, "import torch\nmodel.eval()\n", name)
        stub = Stub()
        list(check_paths([tmp_path], Resolver(), make_checker=stub.make))
        assert sorted(stub.checked) == ["x.py", "y.py", "z.py"]
        assert sorted(stub.roots) == [tmp_path, tmp_path / "a"]

    def test_a_word_of_a_library_of_ones_own_counts(self, tmp_path: Path) -> None:
        write(tmp_path, "import zoo\nmodel.eval()\n")
        write(tmp_path, "name: zoo\nroots: [zoo]\nabout: Ours.\n", "zoo.yaml")
        write(tmp_path, "frameworks: [zoo.yaml]\n", ".modellint.yaml")
        stub = Stub()
        list(check_paths([tmp_path], Resolver(), make_checker=stub.make))
        assert stub.checked == ["a.py"]


class TestWhatIsHidden:
    def test_excluded_files(self, tmp_path: Path) -> None:
        path = write(tmp_path, DEFECT.format(comment=""))
        write(tmp_path, "exclude: [a.py]\n", ".modellint.yaml")
        assert places(check(tmp_path)) == []
        assert places(check(tmp_path, "a.py")) == [("ML101", 8)], "named on the command line"
        assert list(check_paths([path], Resolver(), force_exclude=True)) == []

    def test_per_file_ignores(self, tmp_path: Path) -> None:
        write(tmp_path, DEFECT.format(comment=""))
        write(tmp_path, "per-file-ignores: {'*.py': [ML1]}\n", ".modellint.yaml")
        assert places(check(tmp_path)) == []

    def test_unsure_findings(self, tmp_path: Path) -> None:
        write(tmp_path, DEFECT.format(comment=""))
        stub = Stub(lambda source: [finding(source, 1, confidence=Confidence.POSSIBLE)])
        assert places(list(check_paths([tmp_path], Resolver(), make_checker=stub.make))) == []
        asked = Resolver(Overrides(min_confidence=Confidence.POSSIBLE))
        assert places(list(check_paths([tmp_path], asked, make_checker=stub.make))) == [("ML101", 1)]

    def test_each_folder_has_its_own_settings(self, tmp_path: Path) -> None:
        for name in ("a/x.py", "b/x.py"):
            write(tmp_path, DEFECT.format(comment=""), name)
        write(tmp_path, "ignore: [ML101]\n", "a/.modellint.yaml")
        reports = check(tmp_path)
        assert [bool(report.diagnostics) for report in reports] == [False, True]


class TestSuppressions:
    @pytest.mark.parametrize(
        "comment",
        [
            "  # modellint: ignore[ML101]",
            "  # modellint: ignore[missing-eval] on purpose",
            "  # modellint: ignore",
            "  # noqa: ML101",
            "  # noqa: E501, ML101",
            "  # noqa",
            "\n# modellint: ignore-file[ML101]",
            "\n# modellint: ignore-file",
        ],
    )
    def test_silence(self, tmp_path: Path, comment: str) -> None:
        write(tmp_path, DEFECT.format(comment=comment))
        assert places(check(tmp_path)) == []

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("x = 1  # noqa: F401\n", id="another tool's"),
            pytest.param("x = 1  # noqa\n", id="anybody's"),
            pytest.param("x = 1  # noqa: ML999\n", id="perhaps another tool's"),
            pytest.param("x = 1  # modellint: ignore[ML603]\n", id="the runtime pass's"),
            pytest.param("x = 1  # modellint: ignore[ML101, ML001]\n", id="silenced itself"),
            pytest.param("x = '# modellint: ignore[ML101]'\n", id="a string"),
        ],
    )
    def test_are_not_unused(self, tmp_path: Path, text: str) -> None:
        write(tmp_path, text)
        write(tmp_path, "import torch\nmodel.eval()\n" + text, "b.py")
        assert places(check(tmp_path)) == []

    def test_of_rules_that_did_not_run_are_not_judged(self, tmp_path: Path) -> None:
        write(tmp_path, "x = 1  # modellint: ignore[ML101]\ny = 2  # modellint: ignore\n")
        assert places(check(tmp_path, select=("ML001", "ML2"))) == []
        assert places(check(tmp_path, ignore=("ML001",))) == []

    def test_in_a_file_that_does_not_parse_are_not_judged(self, tmp_path: Path) -> None:
        write(tmp_path, "import torch\nx = 1  # modellint: ignore[ML101]\nmodel.eval(\n")
        assert [code for code, _ in places(check(tmp_path))] == ["ML002"]

    @pytest.mark.parametrize(
        ("comment", "message", "fixed"),
        [
            ("# modellint: ignore[ML201]", "`# modellint: ignore[ML201]` silences nothing", "safe"),
            ("# noqa: ML201", "`# noqa: ML201` silences nothing", "safe"),
            ("# noqa: E501, ML201", "ML201 in `# noqa: E501, ML201` silences nothing", "safe"),
            (
                "# modellint: ignore[ML101, ML201]",
                "ML201 in `# modellint: ignore[ML101, ML201]` silences nothing",
                "safe",
            ),
            ("# modellint: ignore[ML2O4]", "'ML2O4' is no rule; did you mean 'ML204'?", None),
            ("# modellint: ignore[misssing-eval]", "'misssing-eval' is no rule; did you mean 'missing-eval'?", None),
            (
                "# modellint: ignore ML101",
                "`# modellint: ignore ML101` silences nothing: write `# modellint: ignore[CODE]`",
                None,
            ),
        ],
    )
    def test_that_do_nothing_are_reported(self, tmp_path: Path, comment: str, message: str, fixed: str | None) -> None:
        write(tmp_path, DEFECT.format(comment=f"  {comment}"))
        (report,) = check(tmp_path)
        (found,) = [d for d in report.diagnostics if d.code == "ML001"]
        assert found.message == message
        assert found.span.start == At(8, len("        return model(image).argmax(-1).item()  ") + 1)
        assert (found.fix.applicability.value if found.fix else None) == fixed

    def test_without_a_code_are_reported_with_an_unsafe_fix(self, tmp_path: Path) -> None:
        write(tmp_path, "import math  # modellint: ignore\n")
        ((found,),) = [report.diagnostics for report in check(tmp_path)]
        assert found.code == "ML001"
        assert found.fix is not None
        assert found.fix.applicability.value == "unsafe"

    def test_that_do_nothing_are_found_in_files_that_are_not_parsed(self, tmp_path: Path) -> None:
        write(tmp_path, "import math  # noqa: ML101\n")
        assert places(check(tmp_path)) == [("ML001", 1)]


class TestFilesThatCannotBeParsed:
    @pytest.mark.parametrize(
        ("data", "message", "place"),
        [
            (b"import torch\nprint 'x'\n", "Missing parentheses in call to 'print'", (2, 1)),
            (b"import torch\nf(async=True)\n", "invalid syntax", (2, 3)),
            (b"import torch\nx = (\n", "'(' was never closed", (2, 5)),
            ("import torch\nö = é ü\n".encode(), "invalid syntax", (2, 7)),
            (b"import torch\nx = '\xff'\n", "not UTF-8: byte 0xff", (2, 6)),
            (b"import torch\nx = '\0'\n", "a null byte", (2, 6)),
            (b"# coding: nonsense\nimport torch\n", "wrong encoding declaration: unknown encoding: nonsense", (1, 1)),
            (b"import torch\n" + b"(" * 5000, "too many nested parentheses", (2, 201)),
        ],
    )  # fmt: skip
    def test_are_a_finding(self, tmp_path: Path, data: bytes, message: str, place: tuple[int, int]) -> None:
        write(tmp_path, data)
        ((found,),) = [report.diagnostics for report in check(tmp_path)]
        assert (found.code, found.severity.value) == ("ML002", "error")
        assert found.message.startswith(f"cannot be parsed by Python {PYTHON}: {message}")
        assert (found.span.start.row, found.span.start.column) == place
        assert found.span.start < found.span.end

    def test_have_their_other_findings_where_an_older_python_reads_them(self, tmp_path: Path) -> None:
        write(tmp_path, "import torch\nprint 'x'\nmodel = torch.hub.load('a/b', 'c')\nmodel.eval\n", "old.py")
        write(tmp_path, "import torch\nfrom old import model\n\nmodel.train(False)\nprint(model(torch.ones(3)))\n")
        found = [d for report in check(tmp_path) for d in report.diagnostics]
        assert [(d.code, d.span.start.row) for d in found] == [("ML201", 5), ("ML002", 2), ("ML102", 4)]

    @pytest.mark.parametrize("code", ["-" * 100_000 + "1", "a" + ".b" * 100_000, "[" * 150 + "]" * 150])
    def test_nesting_without_end_is_no_crash(self, tmp_path: Path, code: str) -> None:
        write(tmp_path, f"import torch\nx = {code}\n")
        ((*found,),) = [report.diagnostics for report in check(tmp_path)]
        assert [d.code for d in found] in ([], ["ML002"])

    def test_are_a_finding_whatever_is_selected(self, tmp_path: Path) -> None:
        write(tmp_path, "import torch\nmodel.eval(\n")
        assert [code for code, _ in places(check(tmp_path, select=("ML101",)))] == ["ML002"]
        assert places(check(tmp_path, ignore=("ML002",))) == []

    def test_can_be_silenced(self, tmp_path: Path) -> None:
        write(tmp_path, "# modellint: ignore-file[ML002]\nimport torch\nprint 'x'\n")
        assert places(check(tmp_path)) == []

    def test_an_empty_file_is_fine(self, tmp_path: Path) -> None:
        write(tmp_path, b"")
        assert places(check(tmp_path)) == []

    def test_10_megabytes_are_fine(self, tmp_path: Path) -> None:
        write(tmp_path, "import torch\n" + "data = '" + "eval " * 2_000_000 + "'\n" + DEFECT.format(comment=""))
        assert places(check(tmp_path)) == [("ML101", 10)]


class TestTrouble:
    def test_named_paths_that_are_no_files_are_errors_and_the_rest_is_checked(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        write(tmp_path, DEFECT.format(comment=""))
        os.mkfifo(tmp_path / "pipe.py")
        (tmp_path / "link.py").symlink_to("nowhere")
        reports = check(tmp_path, "gone.py", "pipe.py", "link.py", "a.py")
        assert [report.errors for report in reports] == [
            ("gone.py: does not exist",),
            ("pipe.py: is not a regular file",),
            ("link.py: is a broken link",),
            (),
        ]
        assert len(reports[-1].diagnostics) == 1

    def test_on_a_walk_they_are_left_out_with_a_note(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe.py")
        (tmp_path / "link.py").symlink_to("nowhere")
        reports = check(tmp_path)
        assert [(report.errors, report.notes) for report in reports] == [
            ((), (f"{tmp_path}/link.py: is a broken link, left out",)),
            ((), (f"{tmp_path}/pipe.py: is not a regular file, left out",)),
        ]

    def test_a_file_that_cannot_be_read(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = write(tmp_path, DEFECT.format(comment=""))

        def refuse(self: Path) -> bytes:
            raise PermissionError(13, "Permission denied")

        resolver = Resolver()
        resolver.for_folder(tmp_path)
        monkeypatch.setattr(Path, "read_bytes", refuse)
        (named,) = check_paths([path], resolver)
        assert named.errors == (f"{path}: cannot be read: Permission denied",)
        (walked,) = check_paths([tmp_path], resolver)
        assert [d.message for d in walked.diagnostics] == [
            f"cannot be parsed by Python {PYTHON}: cannot be read: Permission denied"
        ]

    def test_a_crash_names_file_and_rule_and_costs_one_file(self, tmp_path: Path) -> None:
        from modellint.static.analyzer import RuleCrash

        def crash(source: SourceFile) -> list[Diagnostic]:
            if source.path.name == "b.py":
                return [finding(source, 1)]
            try:
                raise KeyError("oops")
            except KeyError as error:
                raise RuleCrash("ML101", source.path, error) from error

        for name in ("a.py", "b.py"):
            write(tmp_path, "import torch\nmodel.eval()\n", name)
        first, second = check_paths([tmp_path], Resolver(), make_checker=Stub(crash).make)
        (error,) = first.errors
        assert error.startswith(f"{tmp_path}/a.py: internal error in rule ML101: KeyError: 'oops' (test_linting.py:")
        assert "\n" not in error
        assert len(second.diagnostics) == 1

    def test_a_crash_outside_of_a_rule_is_told_too(self, tmp_path: Path) -> None:
        def crash(source: SourceFile) -> list[Diagnostic]:
            raise ZeroDivisionError("oops")

        write(tmp_path, "import torch\nmodel.eval()\n")
        (report,) = check_paths([tmp_path], Resolver(), make_checker=Stub(crash).make)
        assert report.errors[0].startswith(f"{tmp_path}/a.py: internal error: ZeroDivisionError: oops")

    def test_code_nested_too_deeply_for_a_rule_is_no_crash(self, tmp_path: Path) -> None:
        def crash(source: SourceFile) -> list[Diagnostic]:
            raise RecursionError("maximum recursion depth exceeded")

        write(tmp_path, "import torch\nmodel.eval()\n")
        reports = list(check_paths([tmp_path], Resolver(), make_checker=Stub(crash).make))
        assert places(reports) == [("ML002", 1)]


class TestNotebooks:
    CELLS = ("%matplotlib inline\nimport torch", "# nothing", DEFECT.format(comment=""))

    def write(self, root: Path, *cells: str) -> Path:
        listed = [{"cell_type": "markdown" if c.startswith("# Text") else "code", "source": c} for c in cells]
        return write(root, json.dumps({"cells": listed, "metadata": {}}), "a.ipynb")

    def test_findings_count_from_their_cell(self, tmp_path: Path) -> None:
        self.write(tmp_path, *self.CELLS)
        ((found,),) = [report.diagnostics for report in check(tmp_path)]
        assert (found.code, found.cell, found.span.start) == ("ML101", 3, At(8, 16))

    def test_cells_of_text_count(self, tmp_path: Path) -> None:
        self.write(tmp_path, "# Text", *self.CELLS[:2], "# Text\n", "print 'old'", "# Text", self.CELLS[2])
        ((broken, found),) = [report.diagnostics for report in check(tmp_path)]
        assert (broken.code, broken.cell, broken.span.start.row) == ("ML002", 5, 1)
        assert (found.code, found.cell, found.span.start) == ("ML101", 7, At(8, 16))

    def test_a_cell_that_does_not_parse_costs_only_itself(self, tmp_path: Path) -> None:
        self.write(tmp_path, "import torch", "print 'old'", *self.CELLS)
        ((broken, found),) = [report.diagnostics for report in check(tmp_path)]
        assert (broken.code, broken.cell, broken.span.start.row) == ("ML002", 2, 1)
        assert (found.code, found.cell) == ("ML101", 5)

    def test_a_notebook_of_another_python_is_one_finding(self, tmp_path: Path) -> None:
        self.write(tmp_path, "import torch", "print 'old'", "print 'older'", "exec 'model.eval()'")
        assert [(d.code, d.cell) for report in check(tmp_path) for d in report.diagnostics] == [("ML002", 2)]

    def test_related_places_and_fixes_do_so_too(self, tmp_path: Path) -> None:
        def answer(source: SourceFile) -> list[Diagnostic]:
            related = (Related(str(source.path), At(1, 3), "created here"), Related("/b.py", At(9, 1), "called"))
            base = finding(source, 3)
            return [Diagnostic(**{f: getattr(base, f) for f in base.__slots__} | {"related": related})]

        self.write(tmp_path, "# Text", "import torch", "# Text", "a.eval()\nb\nc  # modellint: ignore[ML201]")
        (report,) = check_paths([tmp_path], Resolver(), make_checker=Stub(answer).make)
        found, unused = report.diagnostics
        assert (found.cell, found.span.start.row) == (4, 2)
        assert found.related == (
            Related(found.filename, At(1, 3), "created here (cell 2)", 2),
            Related("/b.py", At(9, 1), "called"),
        )
        assert unused.fix is not None
        assert unused.fix.edits[0].span == Span.of(3, 2, 3, len("c  # modellint: ignore[ML201]") + 1)
        assert (unused.cell, unused.fix.edits[0].cell) == (4, 4)

    def test_a_notebook_that_is_none_is_a_finding(self, tmp_path: Path) -> None:
        write(tmp_path, '{"cells": [torch', "a.ipynb")
        assert places(check(tmp_path)) == [("ML002", 1)]


class TestText:
    def test_the_content_counts_and_not_the_file(self, tmp_path: Path) -> None:
        path = write(tmp_path, "import math\n")
        report = check_text(path, DEFECT.format(comment="").encode(), Resolver())
        assert [d.filename for d in report.diagnostics] == [str(path)]

    def test_the_file_need_not_exist(self, tmp_path: Path) -> None:
        write(tmp_path, "ignore: [ML101]\n", ".modellint.yaml")
        report = check_text(tmp_path / "new.py", DEFECT.format(comment="").encode(), Resolver())
        assert report.diagnostics == ()


class TestRuntimeFindings:
    def found(self, path: Path, row: int, confidence: Confidence = Confidence.CERTAIN) -> Diagnostic:
        return Diagnostic(
            "ML603", "nondeterministic-op", Severity.WARNING, confidence, "draws", str(path),
            Span.of(row, 1, row, 5), runtime=RuntimeDetails("a:b"),
        )  # fmt: skip

    def test_comments_ignores_and_confidence_count(self, tmp_path: Path) -> None:
        path = write(tmp_path, "a = 1  # modellint: ignore[ML603]\nb = 2\nc = 3\n")
        other = write(tmp_path, "a = 1\n", "other.py")
        write(tmp_path, "per-file-ignores: {other.py: [ML6]}\n", ".modellint.yaml")
        settings = Resolver().for_folder(tmp_path)
        unsure = self.found(path, 3, Confidence.POSSIBLE)
        shown = refine([self.found(path, 2), self.found(path, 1), unsure, self.found(other, 1)], settings)
        assert [(d.filename, d.span.start.row) for d in shown] == [(str(path), 2)]

    def test_a_file_that_is_gone_does_not_hide_its_findings(self, tmp_path: Path) -> None:
        settings = Resolver().for_folder(tmp_path)
        assert len(refine([self.found(tmp_path / "gone.py", 1)], settings)) == 1
