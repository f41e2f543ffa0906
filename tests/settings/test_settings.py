"""Configuration files: which one counts, what it says, and everything that is wrong with it at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from modellint.catalog import DocumentError, load_rules
from modellint.diagnostic import Confidence, Severity
from modellint.settings import SCHEMA, Overrides, Resolver, Settings, SettingsError


def write(root: Path, text: str, name: str = ".modellint.yaml") -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def settings(root: Path, **overrides: Any) -> Settings:
    return Resolver(Overrides(**overrides)).for_folder(root)


def complaints(root: Path, **overrides: Any) -> list[str]:
    with pytest.raises(DocumentError) as caught:
        settings(root, **overrides)
    return [str(problem).removeprefix(f"{root}/") for problem in caught.value.problems]


RULE = """\
code: {code}
name: {name}
family: local
severity: error
summary: Ours.
message: ours
what-it-does: x
why-is-this-bad: x
runs-on: python
detect: {{detector: missing-eval}}
examples:
  good: [{{title: fine, code: pass}}]
  bad: [{{title: wrong, code: "pass  # finding"}}]
"""


def test_the_shipped_schema_is_a_schema() -> None:
    from jsonschema import Draft202012Validator

    Draft202012Validator.check_schema(json.loads(SCHEMA.read_text("utf-8")))


class TestWhichFileCounts:
    def test_without_a_file_the_defaults_count(self, tmp_path: Path) -> None:
        found = settings(tmp_path)
        assert found.source is None
        assert set(found.rules) == {code for code, rule in load_rules().items() if rule.enabled}
        assert (found.min_confidence, found.fail_on) == (Confidence.LIKELY, Severity.WARNING)

    def test_the_nearest_counts_and_no_other(self, tmp_path: Path) -> None:
        write(tmp_path, "ignore: [ML101]")
        inner = write(tmp_path / "sub", "ignore: [ML102]")
        found = settings(tmp_path / "sub/deep")
        assert found.source == inner
        assert "ML101" in found.rules
        assert "ML102" not in found.rules

    def test_yaml_beats_toml_in_a_folder(self, tmp_path: Path) -> None:
        write(tmp_path, "[tool.modellint]\nignore = ['ML101']\n", "pyproject.toml")
        assert "ML101" not in settings(tmp_path).rules
        write(tmp_path, "ignore: [ML102]")
        assert "ML101" in settings(tmp_path).rules

    def test_a_pyproject_is_read_once_a_run(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = write(tmp_path, "[tool.modellint]\nignore = ['ML101']\n", "pyproject.toml")
        inner = write(tmp_path / "inner", "x = 1\n", "a.py")
        read, seen = Path.read_bytes, list[Path]()
        monkeypatch.setattr(Path, "read_bytes", lambda self: (seen.append(self), read(self))[1])
        resolver = Resolver()
        assert "ML101" not in resolver.for_folder(tmp_path).rules
        assert "ML101" not in resolver.for_folder(inner.parent).rules
        assert seen.count(path) == 1

    def test_a_pyproject_of_others_is_passed_by(self, tmp_path: Path) -> None:
        write(tmp_path, "ignore: [ML101]")
        write(tmp_path / "sub", "[tool.ruff]\n# not modellint\n", "pyproject.toml")
        write(tmp_path / "sub/broken", "this is no toml", "pyproject.toml")
        assert "ML101" not in settings(tmp_path / "sub").rules
        assert "ML101" not in settings(tmp_path / "sub/broken").rules

    def test_isolated_ignores_every_file(self, tmp_path: Path) -> None:
        write(tmp_path, "nonsense: true")
        assert settings(tmp_path, isolated=True).source is None

    def test_a_named_file_counts_everywhere(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        write(tmp_path / "project", "ignore: [ML101]")
        named = write(tmp_path / "ci", "exclude: [gen/*.py]", "ci.yaml")
        monkeypatch.chdir(tmp_path / "project")
        found = settings(tmp_path / "project", config=named)
        assert "ML101" in found.rules
        assert found.excludes(tmp_path / "project/gen/a.py"), "patterns count from where the user is"

    def test_an_empty_file_is_a_configuration(self, tmp_path: Path) -> None:
        assert settings(write(tmp_path, "# nothing yet\n").parent).source is not None


class TestWhatItSays:
    def test_the_command_line_beats_the_file(self, tmp_path: Path) -> None:
        write(tmp_path, "min-confidence: certain\nfail-on: error\nselect: [ML2]")
        assert settings(tmp_path).fail_on is Severity.ERROR
        found = settings(tmp_path, min_confidence=Confidence.POSSIBLE, fail_on=Severity.WARNING, select=("ML101",))
        assert (found.min_confidence, found.fail_on) == (Confidence.POSSIBLE, Severity.WARNING)
        assert set(found.rules) == {"ML002", "ML003", "ML101"} & set(load_rules())

    def test_severities(self, tmp_path: Path) -> None:
        write(tmp_path, "rules:\n  ML101: warning\n  missing-no-grad: {severity: info}\n  ML102: off\n  ML104: {}\n")
        rules = settings(tmp_path).rules
        assert rules["ML101"].severity is Severity.WARNING
        assert rules["ML201"].severity is Severity.INFO
        assert "ML102" not in rules
        assert rules["ML104"].severity is load_rules()["ML104"].severity

    def test_toml_says_the_same(self, tmp_path: Path) -> None:
        text = "[tool.modellint]\nignore = ['ML2']\n[tool.modellint.rules.ML101]\nseverity = 'off'\n"
        write(tmp_path, text, "pyproject.toml")
        rules = settings(tmp_path).rules
        assert {"ML101", "ML201"}.isdisjoint(rules)
        assert "ML102" in rules

    def test_per_file_ignores_and_exclude(self, tmp_path: Path) -> None:
        write(tmp_path, "per-file-ignores:\n  tests: [ML1]\n  'a/*.py': [missing-no-grad]\nexclude: [old, 'gen/**']\n")
        found = settings(tmp_path / "sub")
        assert found.ignored_in(tmp_path / "b.py") == frozenset()
        assert found.ignored_in(tmp_path / "a/b.py") == {"ML201"}
        assert "ML101" in found.ignored_in(tmp_path / "sub/tests/b.py")
        assert found.excludes(tmp_path / "sub/old/b.py")
        assert not found.excludes(tmp_path / "sub/gen/b.py")

    def test_the_strict_profile_turns_on_what_is_off(self, tmp_path: Path) -> None:
        write(tmp_path, RULE.format(code="TEAM001", name="ours-alone") + "enabled: false\n", "ours.yaml")
        write(tmp_path, "local-rules: [ours.yaml]\n")
        assert "TEAM001" not in settings(tmp_path).rules
        write(tmp_path, "local-rules: [ours.yaml]\nextends: strict\nignore: [ML1]\n")
        rules = settings(tmp_path).rules
        assert "TEAM001" in rules
        assert "ML101" not in rules

    def test_extends_is_beaten_by_the_file_itself(self, tmp_path: Path) -> None:
        write(
            tmp_path,
            "ignore: [ML101]\nmin-confidence: certain\nexclude: [a]\nrules: {ML102: off, ML104: info}",
            "base.yaml",
        )
        write(tmp_path / "sub", "extends: ../base.yaml\nmin-confidence: possible\nexclude: [b]\nrules: {ML102: info}")
        found = settings(tmp_path / "sub")
        assert "ML101" not in found.rules
        assert found.min_confidence is Confidence.POSSIBLE
        assert found.rules["ML102"].severity is Severity.INFO
        assert found.rules["ML104"].severity is Severity.INFO
        assert found.excludes(tmp_path / "a/x.py")
        assert found.excludes(tmp_path / "sub/b/x.py")

    @pytest.mark.parametrize("key", ["rules", "local-rules"])
    def test_rules_of_ones_own(self, tmp_path: Path, key: str) -> None:
        write(tmp_path, RULE.format(code="TEAM001", name="ours-alone"), "lint/ours.yaml")
        write(tmp_path, f"{key}: ['lint/*.yaml']\nignore: [ML1]\n")
        found = settings(tmp_path)
        assert "TEAM001" in found.rules
        assert "TEAM001" in found.catalogue

    def test_libraries_of_ones_own(self, tmp_path: Path) -> None:
        write(tmp_path, "name: zoo\nroots: [zoo]\nabout: Ours.\n", "zoo.yaml")
        write(tmp_path, "frameworks: [zoo.yaml]\n")
        assert "zoo" in [framework.name for framework in settings(tmp_path).frameworks]

    def test_models(self, tmp_path: Path) -> None:
        write(
            tmp_path,
            """\
ignore: [ML602]
models:
  - target: service.py:load
  - {name: big, target: "zoo:big", inputs: "float32[1,3]", mode: eval, method: encode, timeout: 2.5, rules: [ML602]}
  - {name: loose, target: "zoo:loose", inputs: [a, b], rules: {ML601: info, ML603: off, ML602: error}}
""",
        )
        plain, big, loose = settings(tmp_path).models
        assert (plain.name, plain.inputs, plain.mode, plain.base) == ("service.py:load", (), "as-is", tmp_path)
        assert "ML601" in plain.rules
        assert "ML602" not in plain.rules
        assert (big.name, big.inputs, big.method, big.timeout) == ("big", ("float32[1,3]",), "encode", 2.5)
        assert set(big.rules) == {"ML602"}
        assert loose.rules["ML601"].severity is Severity.INFO
        assert "ML603" not in loose.rules
        assert "ML602" in loose.rules


class TestWhatIsWrong:
    def test_every_error_at_once(self, tmp_path: Path) -> None:
        write(
            tmp_path,
            """\
selct: [ML1]
ignore: ML101
fail-on: info
min-confidence: [likely]
extends: strct
rules:
  ML101: {severity: eror}
  ML102: {severty: off}
models:
  - name: x
    target: nonsense
    inputs: 3
""",
        )
        assert complaints(tmp_path) == [
            ".modellint.yaml:1: selct: unknown key; did you mean 'select'?",
            ".modellint.yaml:2: ignore: must be an array, not 'ML101'; write [ML101]",
            ".modellint.yaml:3: fail-on: 'info' is none of error, warning",
            ".modellint.yaml:4: min-confidence: ['likely'] is none of certain, likely, possible"
            "; did you mean 'likely'?",
            ".modellint.yaml:5: extends: 'strct' is neither a profile nor a file; did you mean 'strict'?",
            ".modellint.yaml:7: rules.ML101.severity: 'eror' is none of error, warning, info, off, False"
            "; did you mean 'error'?",
            ".modellint.yaml:8: rules.ML102.severty: unknown key; did you mean 'severity'?",
            ".modellint.yaml:11: models[0].target: 'nonsense' does not match : (package.module:name or"
            " path/file.py:name; name is a module instance, a class or a factory.)",
            ".modellint.yaml:12: models[0].inputs: must be a string or an array",
        ]

    def test_every_wrong_name_at_once(self, tmp_path: Path) -> None:
        write(
            tmp_path,
            """\
[tool.modellint]
select = ["ML1",
  "missing-evel"]
local-rules = ["gone/*.yaml"]
frameworks = ["gone.yaml"]
[tool.modellint.per-file-ignores]
"tests/*" = ["ML101", "MODE"]
[tool.modellint.rules]
ML101 = { options = { treshold = 1 } }
missing-evel = "off"
[[tool.modellint.models]]
target = "a:b"
rules = ["grph"]
[[tool.modellint.models]]
target = "a:b"
""",
            "pyproject.toml",
        )
        assert complaints(tmp_path) == [
            "pyproject.toml:3: select[1]: 'missing-evel' means no rule; did you mean 'missing-eval'?",
            "pyproject.toml:4: local-rules[0]: 'gone/*.yaml' is no file",
            "pyproject.toml:5: frameworks[0]: 'gone.yaml' is no file",
            "pyproject.toml:7: per-file-ignores.tests/*[1]: 'MODE' means no rule",
            "pyproject.toml:9: rules.ML101.options.treshold: ML101 has no option 'treshold'; it has none",
            "pyproject.toml:10: rules.missing-evel: 'missing-evel' is no rule; did you mean 'missing-eval'?",
            "pyproject.toml:13: models[0].rules[0]: 'grph' means no rule; did you mean 'graph'?",
            "pyproject.toml:15: models[1].target: 'a:b' is also the name of models[0]",
        ]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("select: [ML1\n", ".modellint.yaml:2: is not valid YAML"),
            ("a: 1\nselect: []\nselect: []\n", ".modellint.yaml:3: select: is given twice (first on line 2)"),
            ("on: 1\nselect: []\n", ".modellint.yaml:1: on: the key is no string: put it into quotes"),
            ("- ML101\n", ".modellint.yaml:1: must be an object, not ['ML101']"),
            ("ML101\n", ".modellint.yaml:1: must be an object, not 'ML101'"),
            ("extends: gone.yaml\n", ".modellint.yaml:1: extends: 'gone.yaml' is neither a profile nor a file"),
            ("extends: .modellint.yaml\n", ".modellint.yaml:1: extends: '.modellint.yaml' leads back to"),
        ],
    )  # fmt: skip
    def test_one_error(self, tmp_path: Path, text: str, message: str) -> None:
        write(tmp_path, text)
        assert [problem[: len(message)] for problem in complaints(tmp_path)] == [message]

    def test_a_circle_of_files(self, tmp_path: Path) -> None:
        write(tmp_path, "extends: other.yaml\n")
        write(tmp_path, "ignore: []\nextends: [strict, .modellint.yaml]\n", "other.yaml")
        assert complaints(tmp_path) == ["other.yaml:2: extends[1]: '.modellint.yaml' leads back to .modellint.yaml"]

    def test_errors_in_what_it_extends(self, tmp_path: Path) -> None:
        write(tmp_path, "extends: base.yaml\nslect: []\n")
        write(tmp_path, "ignore: [3]\n", "base.yaml")
        assert complaints(tmp_path) == [
            ".modellint.yaml:2: slect: unknown key; did you mean 'select'?",
            "base.yaml:1: ignore[0]: must be a string, not 3; put it into quotes",
        ]

    def test_a_named_file_that_is_not_there(self, tmp_path: Path) -> None:
        assert complaints(tmp_path, config=tmp_path / "gone.yaml") == [
            "gone.yaml:1: cannot be read: No such file or directory"
        ]

    def test_a_broken_pyproject_about_us(self, tmp_path: Path) -> None:
        write(tmp_path, "[tool.modellint]\nselect = [\n", "pyproject.toml")
        assert complaints(tmp_path) == ["pyproject.toml:3: is not valid TOML: Invalid value"]

    def test_a_rule_of_ones_own_that_takes_our_code(self, tmp_path: Path) -> None:
        write(tmp_path, RULE.format(code="ML101", name="ours-alone"), "ours.yaml")
        write(tmp_path, "local-rules: [ours.yaml]\n")
        (said,) = complaints(tmp_path)
        assert said.startswith("ours.yaml:1: code: ML101 is already used by ML101 in ")

    def test_a_code_that_begins_like_ours(self, tmp_path: Path) -> None:
        write(tmp_path, RULE.format(code="ML999", name="ours-alone"), "ours.yaml")
        write(tmp_path, "local-rules: [ours.yaml]\n")
        (said,) = complaints(tmp_path)
        assert said.startswith("ours.yaml:1: code: codes that begin with ML are modellint's own")

    def test_a_broken_rule_of_ones_own(self, tmp_path: Path) -> None:
        write(tmp_path, RULE.format(code="TEAM001", name="ours-alone") + "sumary: x\n", "ours.yaml")
        write(tmp_path, "local-rules: [ours.yaml]\n")
        assert complaints(tmp_path) == ["ours.yaml:14: sumary: unknown key; did you mean 'summary'?"]

    @pytest.mark.parametrize("option", ["select", "extend_select", "ignore"])
    def test_the_command_line_names_no_rule(self, tmp_path: Path, option: str) -> None:
        with pytest.raises(SettingsError, match=r"^--[a-z-]+: 'ML2o1' means no rule; did you mean 'ML201'\?$"):
            settings(tmp_path, **{option: ("ML2o1",)})


class TestOptions:
    """Options are checked against the rule's own defaults."""

    RULE = (
        RULE
        + "options:\n  limit: {{default: 3, about: x}}\n  share: {{default: 0.5, about: x}}\n"
        + "  wide: {{default: true, about: x}}\n"
    )

    @pytest.fixture
    def project(self, tmp_path: Path) -> Path:
        write(tmp_path, self.RULE.format(code="TEAM001", name="ours-alone"), "ours.yaml")
        return tmp_path

    def test_defaults_and_changes(self, project: Path) -> None:
        write(project, "local-rules: [ours.yaml]\nrules: {ours-alone: {options: {share: 1}}}")
        assert dict(settings(project).rules["TEAM001"].options) == {"limit": 3, "share": 1, "wide": True}

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ("limit: x", "rules.TEAM001.options.limit: must be an integer, not 'x'"),
            ("limit: true", "rules.TEAM001.options.limit: must be an integer, not True"),
            ("share: x", "rules.TEAM001.options.share: must be a number, not 'x'"),
            ("wide: 1", "rules.TEAM001.options.wide: must be true or false, not 1"),
            ("limt: 1", "rules.TEAM001.options.limt: TEAM001 has no option 'limt'; did you mean 'limit'?"),
        ],
    )
    def test_wrong_values(self, project: Path, options: str, message: str) -> None:
        write(project, f"local-rules: [ours.yaml]\nrules: {{TEAM001: {{options: {{{options}}}}}}}")
        assert complaints(project) == [f".modellint.yaml:2: {message}"]


class TestProjectRoot:
    def test_packaging_metadata_marks_it(self, tmp_path: Path) -> None:
        write(tmp_path, "", "setup.py")
        write(tmp_path / "sub", "")
        assert Resolver().project_root(tmp_path / "sub/deep") == tmp_path

    def test_else_our_configuration(self, tmp_path: Path) -> None:
        write(tmp_path, "")
        assert Resolver().project_root(tmp_path / "sub") == tmp_path

    def test_else_the_working_directory(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        assert Resolver().project_root(tmp_path / "sub") == tmp_path

    def test_a_home_is_no_project(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.chdir(tmp_path)
        assert Resolver().project_root(tmp_path / "sub") == tmp_path / "sub"

    def test_else_a_folder_that_was_named(self, tmp_path: Path) -> None:
        assert (
            Resolver().project_root(tmp_path / "sub/deep", [tmp_path / "sub", tmp_path / "other"]) == tmp_path / "sub"
        )

    def test_what_is_above_the_packages_that_a_named_folder_lies_in(self, tmp_path: Path) -> None:
        named = [tmp_path / "sub/pkg/one", tmp_path / "sub/pkg/two"]
        for name in ("sub/pkg/__init__.py", "sub/pkg/one/__init__.py", "sub/pkg/two/__init__.py"):
            write(tmp_path, "", name)
        assert {Resolver().project_root(folder, named) for folder in named} == {tmp_path / "sub"}

    def test_a_named_package_that_lies_in_a_home(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOME", str(tmp_path))
        write(tmp_path, "", "pkg/__init__.py")
        assert Resolver().project_root(tmp_path / "pkg", [tmp_path / "pkg"]) == tmp_path / "pkg"

    def test_else_the_folder_above_its_packages(self, tmp_path: Path) -> None:
        for name in ("sub/pkg/__init__.py", "sub/pkg/inner/__init__.py"):
            write(tmp_path, "", name)
        assert Resolver().project_root(tmp_path / "sub/pkg/inner") == tmp_path / "sub"

    def test_else_the_folder(self, tmp_path: Path) -> None:
        assert Resolver().project_root(tmp_path / "sub") == tmp_path / "sub"
