"""`modellint trace`: options, exit statuses, configuration and messages."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run

pytestmark = pytest.mark.torch
pytest.importorskip("torch")

CLEAN = """
from torch import nn


def build():
    return nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5)).eval()
"""
DEFECT = """
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        return F.dropout(x, 0.5)


def build():
    return Net().eval()
"""
DEFECT_ROW = 8


@pytest.fixture
def models(project: Path) -> Path:
    (project / "clean.py").write_text(CLEAN)
    (project / "defect.py").write_text(DEFECT)
    return project


def test_a_clean_model_is_silent_and_leaves_with_zero(models: Path, run: Run) -> None:
    done = run("trace", "clean.py:build", "--input", "float32[2,8]")

    assert (done.status, done.err) == (0, "")
    assert done.out == "No findings in 1 model.\n"


def test_a_defect_is_shown_with_its_line_module_and_evidence(models: Path, run: Run) -> None:
    done = run("trace", "defect.py:build", "--input", "float32[2,8]")

    assert done.status == 1
    assert f"defect.py:{DEFECT_ROW}:16: error[ML601] active-dropout: dropout (p=0.5) is active" in done.out
    assert "return F.dropout(x, 0.5)" in done.out
    assert "p: 0.5" in done.out


def test_json_has_the_keys_of_a_runtime_finding(models: Path, run: Run) -> None:
    done = run("trace", "defect.py:build", "--input", "float32[2,8]", "--output-format", "json")

    (finding,) = json.loads(done.out)
    assert finding["code"] == "ML601"
    assert finding["filename"] == str(models / "defect.py")
    assert finding["location"] == {"row": DEFECT_ROW, "column": 16}
    assert finding["target"] == "defect.py:build"
    assert finding["module_path"] == ""
    assert finding["module_type"] == "defect.Net"
    assert finding["evidence"]["shape"] == [2, 8]


def test_a_target_may_be_a_module_of_a_package(models: Path, run: Run) -> None:
    (models / "zoo").mkdir()
    (models / "zoo" / "__init__.py").write_text("from .parts import Net\n")
    (models / "zoo" / "parts.py").write_text(DEFECT)

    done = run("trace", "zoo:Net", "--input", "float32[2,8]")
    relative = run("trace", "zoo/parts.py:build", "--input", "float32[2,8]", "-q")

    assert done.status == relative.status == 1
    assert f"zoo/parts.py:{DEFECT_ROW}" in done.out
    assert "put into eval mode" in done.err
    assert f"zoo/parts.py:{DEFECT_ROW}" in relative.out


def test_without_an_input_a_symbolic_graph_answers_and_a_fitting_spec_is_named(models: Path, run: Run) -> None:
    done = run("trace", "clean.py:build")

    assert done.status == 0
    assert "info[ML609]" in done.out
    assert "no input was given for forward(input)" in done.out
    assert "try --input float32[2,8]" in done.out


def test_the_models_of_the_configuration(models: Path, run: Run) -> None:
    (models / ".modellint.yaml").write_text(
        "models:\n"
        "  - {name: good, target: 'clean.py:build', inputs: ['float32[2,8]']}\n"
        "  - {name: bad, target: 'defect.py:build', inputs: ['float32[2,8]']}\n"
        "  - {name: pardoned, target: 'defect.py:build', inputs: ['float32[2,8]'], rules: [ML602]}\n"
    )

    done = run("trace", "--output-format", "json")

    assert [finding["code"] for finding in json.loads(done.out)] == ["ML601"]
    assert done.status == 1


def test_without_target_or_configuration_it_says_what_to_do(project: Path, run: Run) -> None:
    done = run("trace", "--isolated")

    assert done.status == 2
    assert "no target" in done.err


def test_comments_rules_and_exit_status_count_as_for_the_static_pass(models: Path, run: Run) -> None:
    arguments = ("trace", "defect.py:build", "--input", "float32[2,8]")
    assert run(*arguments, "--ignore", "ML601").status == 0
    assert run(*arguments, "--select", "ML602").status == 0
    assert run(*arguments, "--exit-zero").status == 0
    assert run(*arguments, "--fail-on", "error").status == 1

    text = DEFECT.replace("0.5)\n", "0.5)  # modellint: ignore[ML601] on purpose\n", 1)
    (models / "defect.py").write_text(text)
    assert run(*arguments).status == 0


@pytest.mark.parametrize(
    ("line", "target"),
    [
        pytest.param("F.dropout(x, 0.5)  # modellint: ignore[ML601]", "defect.py:build", id="it silences a finding"),
        pytest.param("x  # noqa: ML601", "defect.py:other", id="the line did not run"),
        pytest.param("F.relu(x)  # modellint: ignore[ML101]", "defect.py:build", id="a rule of the static pass"),
        pytest.param("F.relu(x)  # modellint: ignore", "defect.py:build", id="a comment for everybody"),
        pytest.param(
            "torch.zeros(2, 8).index_put((torch.zeros(2).long(),), x, accumulate=True)  # modellint: ignore[ML603]",
            "defect.py:build",
            id="needed on another device",
        ),
    ],
)
def test_a_comment_that_serves_or_may_serve_is_left_alone(line: str, target: str, models: Path, run: Run) -> None:
    text = DEFECT.replace("F.dropout(x, 0.5)", line).replace("import torch.nn", "import torch\nimport torch.nn")
    (models / "defect.py").write_text(text + "\n\ndef other():\n    return nn.Linear(8, 8).eval()\n")

    done = run("trace", target, "--input", "float32[2,8]", "--output-format", "json")

    assert [finding["code"] for finding in json.loads(done.out)] == []


def test_a_comment_for_the_runtime_pass_that_silences_nothing_is_found_by_it_alone(models: Path, run: Run) -> None:
    text = DEFECT.replace("F.dropout(x, 0.5)", "F.dropout(x, 0.5, self.training)  # modellint: ignore[ML601] old")
    (models / "defect.py").write_text(text)

    done = run("trace", "defect.py:build", "--input", "float32[2,8]", "--output-format", "json")

    assert [(d["code"], d["location"]["row"]) for d in json.loads(done.out)] == [("ML001", DEFECT_ROW)]
    assert json.loads(run("check", "defect.py", "--output-format", "json").out) == []


def test_the_same_finding_of_two_targets_is_told_once(models: Path, run: Run) -> None:
    done = run("trace", "defect.py:build", "defect.py:Net", "--input", "float32[2,8]", "--output-format", "json")

    assert len(json.loads(done.out)) == 1


def test_mode_and_method(models: Path, run: Run) -> None:
    (models / "other.py").write_text(
        "from torch import nn\n\n\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.drop = nn.Dropout(0.5)\n\n    def encode(self, x):\n        return self.drop(x)\n\n\n"
        "def build():\n    return Net()\n"
    )
    arguments = ("trace", "other.py:build", "--method", "encode", "--input", "float32[2,8]")

    assert run(*arguments).status == 1
    assert run(*arguments, "--mode", "eval").status == 0
    missing = run("trace", "other.py:build", "--method", "encod", "--input", "float32[2,8]")
    assert missing.status == 2
    assert "Net has no method 'encod'" in missing.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("clean.py",), "a target is 'package.module:name', 'path/file.py:name' or a file such as model.pt2"),
        (("missing.py:build",), "there is no file missing.py"),
        (("no_such_module:build",), "there is no module no_such_module"),
        (("clean.py:bild",), "clean has no 'bild'; there is build"),
        (("clean.py:nn",), "is a module, not a torch.nn.Module, a class or a factory"),
        (("defect.py:Net.forward",), "needs self and x"),
        (("clean.py:build", "--input", "float33[2]"), "unknown dtype 'float33'"),
        (("clean.py:build", "--input", "x=float32[2,8]"), "the inputs do not fit forward(input)"),
        (("clean.py:build", "--input", "float32[2,9]"), "mat1 and mat2 shapes cannot be multiplied (2x9 and 8x8)"),
        (("clean.py:build", "--input", "missing.pt"), "there is no file missing.pt"),
        (("clean.py:build", "--timeout", "0"), "--timeout"),
        (("clean.py:build", "--mode", "evil"), "--mode"),
    ],
)
def test_bad_input_is_one_line_and_exit_status_2(
    arguments: tuple[str, ...], message: str, models: Path, run: Run
) -> None:
    done = run("trace", *arguments)

    assert done.status == 2
    assert message in done.err
    assert done.err.count("\n") == 1
    assert "Traceback" not in done.err


def test_one_bad_target_does_not_keep_the_others_from_being_traced(models: Path, run: Run) -> None:
    done = run("trace", "nowhere.py:build", "defect.py:build", "--input", "float32[2,8]", "--output-format", "json")

    assert done.status == 2
    assert [finding["code"] for finding in json.loads(done.out)] == ["ML601"]


def test_tensors_from_a_file_with_more_in_it_than_tensors(models: Path, run: Run) -> None:
    import torch

    torch.save({"input": torch.ones(2, 8)}, models / "named.pt")
    torch.save((torch.ones(2, 8),), models / "tuple.pt")
    torch.save({"model": torch.nn.Linear(2, 2)}, models / "pickle.pt")

    assert run("trace", "clean.py:build", "--input", "named.pt").status == 0
    assert run("trace", "clean.py:build", "--input", "tuple.pt").status == 0
    refused = run("trace", "clean.py:build", "--input", "pickle.pt")
    assert refused.status == 2
    assert "weights_only=True" in refused.err


def test_without_torch_it_says_how_to_install_it(
    models: Path, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "torch.py").write_text("raise ModuleNotFoundError(\"No module named 'torch'\")\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "path"))

    done = run("trace", "clean.py:build", "--input", "float32[2,8]")

    assert done.status == 2
    assert (
        done.err
        == "modellint: torch cannot be imported: install it beside modellint (pip install 'modellint[trace]')\n"
    )


def test_what_was_done_on_the_users_behalf_is_said(models: Path, run: Run) -> None:
    (models / "lazy.py").write_text(
        "from torch import nn\n\n\ndef build():\n    return nn.Sequential(nn.LazyLinear(4), nn.ReLU()).eval()\n"
    )

    done = run("trace", "lazy.py:build", "--input", "float32[2,8]")
    quiet = run("trace", "lazy.py:build", "--input", "float32[2,8]", "--quiet")

    assert done.status == 0
    assert "1 lazy module got its shape from one forward before the trace" in done.err
    assert quiet.err == ""


def test_a_finding_in_a_library_names_the_users_own_line_too(models: Path, run: Run) -> None:
    package = models / "site-packages" / "blocks"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(DEFECT)
    (models / "mine.py").write_text(
        "import sys\n\nsys.path.append('site-packages')\nimport blocks\nfrom torch import nn\n\n\n"
        "class Mine(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.block = blocks.Net()\n\n    def forward(self, x):\n        return self.block(x)\n"
    )

    done = run("trace", "mine.py:Mine", "--input", "float32[2,8]", "--output-format", "json")

    (finding,) = json.loads(done.out)
    assert finding["filename"] == str(package / "__init__.py")
    assert finding["location"]["row"] == DEFECT_ROW
    assert finding["related"][0]["filename"] == str(models / "mine.py")
    assert finding["related"][0]["location"]["row"] == 14
    assert finding["module_path"] == "block"


def test_the_front_end_never_imports_torch(models: Path) -> None:
    code = (
        "import sys\nfrom modellint.cli import main\n"
        "try:\n    main(['trace', 'clean.py:build', '--input', 'float32[2,8]'])\nexcept SystemExit as end:\n"
        "    assert not end.code, end.code\nassert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=models)


def test_files_beside_the_target_do_not_shadow_the_standard_library(models: Path, run: Run) -> None:
    for name in ("random.py", "json.py", "pool.py", "torch.py", "types.py"):
        (models / name).write_text("raise RuntimeError('shadowed')\n")

    assert run("trace", "clean.py:build", "--input", "float32[2,8]").status == 0


def test_the_verdict_is_written_as_a_page_and_as_json(models: Path, run: Run) -> None:
    (models / "coupled.py").write_text(
        "from torch import nn\n\n\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.before, self.after = nn.Linear(8, 8), nn.Linear(8, 8)\n\n    def forward(self, x):\n"
        "        x = self.before(x)\n        return self.after(x / x.abs().amax())\n\n\n"
        "def build():\n    return Net().eval()\n"
    )

    done = run(
        *("trace", "coupled.py:build", "clean.py:build", "--input", "float32[2,8]", "--probe", "neighbours"),
        *("--report", "out.html", "--report", "out.json"),
    )

    assert done.status == 1
    coupled, clean = json.loads((models / "out.json").read_text())["models"]
    assert (coupled["verdict"], clean["verdict"]) == ("failed", "passed")
    (probe,) = coupled["probes"]
    assert probe["culprits"][0]["place"] == "coupled.py:11"
    assert [(layer["layer"], layer["verdict"]) for layer in probe["layers"]] == [
        ("before", "agrees"),
        ("(the model itself)", "culprit"),
        ("after", "inherits"),
    ]
    assert clean["environment"]["threads"] >= 1
    html = (models / "out.html").read_text()
    assert html.count("<svg") == 1
    assert "coupled.py:11" in html
    assert not list(models.glob(".out*"))


@pytest.mark.parametrize(("file", "words"), [("out.txt", "has to end in .html or .json"), ("no/out.html", "no folder")])
def test_a_verdict_that_cannot_be_written_is_refused_before_anything_runs(
    file: str, words: str, models: Path, run: Run
) -> None:
    done = run("trace", "clean.py:build", "--input", "float32[2,8]", "--report", file)

    assert done.status == 2
    assert words in done.err
    assert "Traceback" not in done.err
