"""A warm run says what a cold one says, whatever happened in between."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from modellint.diagnostic import to_dict
from modellint.linting import check_paths
from modellint.linting import engine as engines
from modellint.linting.store import FOLDER
from modellint.settings import Overrides, Resolver

MODEL = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout()

    def forward(self, x):
        return self.drop(x)
"""
PREDICT = """\
import torch
from net import Net

def predict(path, x):
    net = Net()
    net.load_state_dict(torch.load(path, weights_only=True))
    with torch.no_grad():
        return net(x)
"""
CALM = "import json\n\nprint(json.dumps({}))\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    for name, text in (("net.py", MODEL), ("predict.py", PREDICT), ("calm.py", CALM)):
        (tmp_path / name).write_text(text)
    age(tmp_path)
    return tmp_path


def age(folder: Path) -> None:
    """Make the files and the folder old enough that their time of change is trusted."""
    for number, path in enumerate((folder, *sorted(folder.glob("*.*")))):
        if path == folder or path.is_file():
            os.utime(path, (time.time() - 1000 - number,) * 2)


def findings(project: Path, cache: bool = True, fixes: bool = False, **given: object) -> list[dict[str, object]]:
    resolver = Resolver(Overrides(**given))  # type: ignore[arg-type]
    reports = check_paths([project], resolver, cache=cache, fixes=fixes)
    return [to_dict(d) for report in reports for d in report.diagnostics]


def test_nothing_changed_nothing_is_checked(project: Path, checked: list[str]) -> None:
    cold = findings(project)
    assert [d["code"] for d in cold] == ["ML101"]
    checked.clear()
    assert findings(project) == cold
    assert checked == []


def test_fixes_come_out_as_they_went_in(project: Path, checked: list[str]) -> None:
    cold = findings(project, fixes=True)
    assert cold[0]["fix"]
    checked.clear()
    assert findings(project, fixes=True) == cold
    assert checked == []


def test_a_new_time_alone_changes_nothing(project: Path, checked: list[str]) -> None:
    cold = findings(project)
    (project / "net.py").touch()
    checked.clear()
    assert findings(project) == cold
    assert checked == []


def test_a_file_that_no_other_one_asks_for_is_checked_alone(project: Path, checked: list[str]) -> None:
    cold = findings(project)
    (project / "calm.py").write_text(CALM + "\nprint('more')\n")
    checked.clear()
    assert findings(project) == cold
    assert checked == ["calm.py"]


LIBRARY = {
    "lib/__init__.py": "from .parts import *\nfrom .build import build\n",
    "lib/parts.py": "from .base import Base\n\nclass Part(Base):\n    pass\n",
    "lib/base.py": """\
from torch import nn

class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout()

    def forward(self, x):
        return self.drop(x)
""",
    "lib/build.py": "from . import parts\n\ndef build():\n    return parts.Part()\n",
    "lib/aside.py": "import torch\n\ndef double(x):\n    return torch.add(x, x)\n",
    "use.py": """\
import torch
from lib import build

def answer(path, x):
    net = build()
    net.load_state_dict(torch.load(path, weights_only=True))
    with torch.no_grad():
        return net(x)
""",
    "helper.py": """\
import torch

def judge(net, x):
    with torch.no_grad():
        return net(x).argmax()
""",
    "other.py": """\
import torch
from torch import nn

def main(path, x):
    net = nn.Sequential(nn.Linear(4, 4), nn.Dropout())
    net.load_state_dict(torch.load(path, weights_only=True))
    net.eval()
    with torch.no_grad():
        return net(x).argmax()
""",
}


@pytest.fixture
def library(tmp_path: Path) -> Path:
    for name, text in {"pyproject.toml": "[project]\nname = 'x'\n", **LIBRARY}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    age(tmp_path)
    age(tmp_path / "lib")
    return tmp_path


NO_DROPOUT = LIBRARY["lib/base.py"].replace("nn.Dropout()", "nn.ReLU()")
WITH_EVAL = LIBRARY["use.py"].replace("    with", "    net.eval()\n    with")
BUILDS_OTHERS = "from torch import nn\n\ndef build():\n    return nn.Sequential(nn.Linear(4, 4)).eval()\n"
CALLER = """\
import torch
from torch import nn
from helper import judge

def main(path, x):
    net = nn.Sequential(nn.Linear(4, 4), nn.Dropout())
    net.load_state_dict(torch.load(path, weights_only=True))
    return judge(net, x)
"""
EDITS = {
    "nothing that others read": ("lib/aside.py", LIBRARY["lib/aside.py"] + "\nprint(double)\n", ["aside.py"]),
    "a comment at the end of what others read": ("lib/base.py", LIBRARY["lib/base.py"] + "\n# a note\n", ["base.py"]),
    "the file with the finding": ("use.py", WITH_EVAL, ["use.py"]),
    "a base class of a class of a factory": ("lib/base.py", NO_DROPOUT, None),
    "a factory behind an import in the package": ("lib/build.py", BUILDS_OTHERS, None),
    "a new caller of a helper": ("other.py", CALLER, None),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_costs_the_files_that_read_what_changed(library: Path, checked: list[str], name: str) -> None:
    path, text, wanted = EDITS[name]
    before = findings(library)
    (library / path).write_text(text)
    checked.clear()
    after = findings(library)
    assert "other.py" not in checked or path == "other.py"
    assert wanted is None or checked == wanted
    assert after == findings(library, cache=False)
    assert (after != before) is (name not in ("nothing that others read", "a comment at the end of what others read"))


def test_one_edit_after_another(library: Path) -> None:
    findings(library)
    for path, text, _ in EDITS.values():
        (library / path).write_text(text)
        assert findings(library) == findings(library, cache=False)
    for path, text in LIBRARY.items():
        (library / path).write_text(text)
        assert findings(library) == findings(library, cache=False)


HUB = {
    "lib/__init__.py": "from .data import loader\nfrom .sgd import SGD\n",
    "lib/data.py": """\
from torch.utils.data import DataLoader

def loader(data, shuffle):
    return DataLoader(data, batch_size=4, shuffle=shuffle)
""",
    "lib/sgd.py": "import torch\n\nclass SGD(torch.optim.SGD):\n    def step(self):\n        return super().step()\n",
    "train.py": """\
import lib
from torch import nn

def main(data, wanted):
    net = nn.Linear(4, 4)
    optimizer = lib.SGD(net.parameters(), 0.1)
    for x in lib.loader(data, wanted):
        optimizer.zero_grad()
        net(x).sum().backward()
        optimizer.step()
""",
    "predict.py": """\
import lib
import torch
from torch import nn

def main(path, data):
    net = nn.Linear(4, 4)
    net.load_state_dict(torch.load(path, weights_only=True))
    net.eval()
    found = []
    with torch.no_grad():
        for x in lib.loader(data, True):
            found.append(net(x).argmax(1))
    return torch.cat(found)
""",
}


def test_values_followed_elsewhere_and_a_package_that_hands_on_both_cost_nothing(
    tmp_path: Path, checked: list[str]
) -> None:
    for name, text in {"pyproject.toml": "[project]\nname = 'x'\n", **HUB}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    age(tmp_path)
    age(tmp_path / "lib")
    before = findings(tmp_path)
    assert [f["code"] for f in before] == ["ML306"]
    (tmp_path / "lib/sgd.py").write_text(HUB["lib/sgd.py"].replace("return", "done ="))
    checked.clear()
    assert findings(tmp_path) == before
    assert {"sgd.py", "train.py"} <= set(checked)
    assert not {"predict.py", "__init__.py"} & set(checked)
    (tmp_path / "lib/data.py").write_text(HUB["lib/data.py"].replace("=shuffle", "=False"))
    assert findings(tmp_path) == findings(tmp_path, cache=False) == []
    (tmp_path / "lib/__init__.py").write_text("from .sgd import SGD\n")
    (tmp_path / "lib/data.py").write_text(HUB["lib/data.py"])
    assert findings(tmp_path) == findings(tmp_path, cache=False)


def test_the_same_size_in_the_same_moment_is_seen(project: Path) -> None:
    status = (project / "predict.py").stat()
    now = time.time_ns()
    os.utime(project / "predict.py", ns=(now, now))
    assert findings(project)
    (project / "predict.py").write_text(PREDICT.replace("net(x)", "len(x)"))
    os.utime(project / "predict.py", ns=(now, now))
    assert (project / "predict.py").stat().st_size == status.st_size
    assert findings(project) == findings(project, cache=False) == []


CHANGES = {
    "an imported class": lambda p: (p / "net.py").write_text(MODEL.replace("nn.Dropout()", "nn.ReLU()")),
    "the file itself": lambda p: (p / "predict.py").write_text(PREDICT.replace("    with", "    net.eval()\n    with")),
    "a module that is gone": lambda p: (p / "net.py").unlink(),
    "a package in the place of a module": lambda p: ((p / "net").mkdir(), (p / "net/__init__.py").write_text("")),
    "a caller that did not exist": lambda p: (p / "calm.py").write_text("from predict import predict\npredict('a', 1)"),
    "a notebook": lambda p: (p / "a.ipynb").write_text(json.dumps({"cells": [], "metadata": {}})),
    "another file": lambda p: (p / "another.py").write_text("import torch\nfrom predict import predict\n"),
    "a syntax error": lambda p: (p / "predict.py").write_text(PREDICT + "("),
    "a configuration": lambda p: (p / ".modellint.yaml").write_text("ignore: [ML101]\n"),
    "a comment": lambda p: (p / "predict.py").write_text(PREDICT.replace("net(x)", "net(x)  # noqa: ML101")),
}  # fmt: skip


def notebook(*cells: str) -> str:
    kinds = {True: "markdown", False: "code"}
    return json.dumps({"cells": [{"cell_type": kinds[c.startswith("#")], "source": c} for c in cells], "metadata": {}})


def test_places_in_notebooks_stay_in_their_cells(project: Path, checked: list[str]) -> None:
    """A cell of text more leaves the code as it is, and changes the number of every cell behind it."""
    (project / "helper.py").write_text(
        "import torch\n\ndef predict(net, x):\n    with torch.no_grad():\n        return net(x).argmax(1)\n"
    )
    cells = (
        "import torch\nfrom net import Net\nfrom helper import predict",
        "def run(x):\n    net = Net()\n    net.load_state_dict(torch.load('a'))\n    net.train()\n    predict(net, x)",
    )
    for told, written in ((2, cells), (3, ("# Title", *cells)), (4, ("# Title", cells[0], "# Text", cells[1]))):
        (project / "a.ipynb").write_text(notebook(*written))
        age(project)
        cold = findings(project)
        assert cold == findings(project, cache=False)
        places = [place for d in cold if str(d["filename"]).endswith("helper.py") for place in d["related"]]  # type: ignore[attr-defined]
        assert {place["cell"] for place in places} == {told}
        assert all(place["message"].endswith(f"(cell {told})") for place in places)
        checked.clear()
        assert findings(project) == cold
        assert checked == []


@pytest.mark.parametrize("name", CHANGES)
def test_a_warm_run_sees_what_a_cold_one_sees(project: Path, name: str) -> None:
    before = findings(project)
    CHANGES[name](project)
    assert findings(project) == findings(project, cache=False)
    assert findings(project) == findings(project, cache=False)
    if name in ("an imported class", "the file itself", "a syntax error", "a configuration", "a comment"):
        assert findings(project) != before  # else the test would show nothing


@pytest.mark.parametrize("moment", [1, 3])
@pytest.mark.parametrize("name", CHANGES)
def test_what_changes_while_a_run_goes_on_is_not_missed(
    project: Path, name: str, moment: int, checked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the first of three files, or after the last: by then all was read, and nothing is written yet."""
    check = engines.Engine.check

    def overtaken(self: engines.Engine, *given: object) -> engines.FileReport:
        report = check(self, *given)  # type: ignore[arg-type]
        if len(checked) == moment:
            CHANGES[name](project)
        return report

    with monkeypatch.context() as patch:
        patch.setattr(engines.Engine, "check", overtaken)
        findings(project)
    assert len(checked) == 3
    assert findings(project) == findings(project, cache=False)


RUN = """\
import torch
from helpers import predict

def run(net, x):
    with torch.no_grad():
        return net(x)
"""
MEANWHILE = {
    "a caller in a new file": "serve.py",
    "a caller in a new folder": "deploy/serve.py",
    "a module that is imported": "helpers.py",
}


@pytest.mark.parametrize("name", MEANWHILE)
def test_what_comes_while_a_run_on_one_file_goes_on_is_not_missed(
    project: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = project / "run.py"
    path.write_text(RUN)
    age(project)

    def found(cache: bool = True) -> list[dict[str, object]]:
        reports = check_paths([path], Resolver(Overrides()), cache=cache)
        return [to_dict(d) for report in reports for d in report.diagnostics]

    def overtaken(self: engines.Engine, *given: object) -> engines.FileReport:
        report = check(self, *given)  # type: ignore[arg-type]
        new = project / MEANWHILE[name]
        new.parent.mkdir(exist_ok=True)
        new.write_text(PREDICT.replace("from net", "from run import run\nfrom net").replace("net(x)", "run(net, x)"))
        return report

    check = engines.Engine.check
    with monkeypatch.context() as patch:
        patch.setattr(engines.Engine, "check", overtaken)
        assert found() == []
    assert found() == found(cache=False) != []


def test_a_declared_version_counts(project: Path) -> None:
    text = PREDICT.replace(", weights_only=True", "").replace("    with", "    net.eval()\n    with")
    (project / "predict.py").write_text(text)
    assert [d["code"] for d in findings(project)] == ["ML403"]
    (project / "pyproject.toml").write_text("[project]\nname = 'x'\ndependencies = ['torch>=2.6']\n")
    engines_forget()
    assert findings(project) == []


OLD = """\
import torch
from torch.autograd import Variable
from net import Net

def predict(path, x):
    net = Net()
    net.load_state_dict(torch.load(path, weights_only=True))
    net.eval()
    print(net(Variable(x, volatile=True)).max(1)[1].tolist())
"""


@pytest.mark.parametrize("before", ["", "Written in PyTorch.\n"])
def test_what_a_readme_says_counts(project: Path, checked: list[str], before: str) -> None:
    (project / "predict.py").write_text(OLD)
    if before:
        (project / "README.md").write_text(before)
        age(project)
    assert [d["code"] for d in findings(project)] == ["ML201"]
    checked.clear()
    (project / "README.md").write_text("It runs with PyTorch 0.3.1.\n")
    engines_forget()
    assert findings(project) == []
    assert checked == ["predict.py"] or not before  # a file more costs all


def engines_forget() -> None:
    """Drop what a process keeps for its lifetime: the next run is another one."""
    from modellint.static import requirements

    requirements._declared.cache_clear()
    requirements._said.cache_clear()


def test_settings_have_records_of_their_own(project: Path) -> None:
    assert findings(project)
    assert findings(project, select=("ML2",)) == []
    assert findings(project)


def test_damage_means_a_cold_run(project: Path, checked: list[str]) -> None:
    cold = findings(project)
    (record,) = (project / FOLDER).glob("*.json")
    sound = record.read_bytes()
    data = json.loads(sound)
    data["findings"] = []
    for content in (b"", sound[:100], b"[]", b"{}", b"\xff", json.dumps(data).encode()):
        record.write_bytes(content)
        checked.clear()
        assert findings(project) == cold
        assert len(checked) == 3


def test_the_folder_is_nobody_elses_business(project: Path) -> None:
    findings(project)
    folder = project / FOLDER
    assert (folder / ".gitignore").read_text().splitlines()[-1] == "*"
    assert (folder / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55")
    assert not [path for path in folder.iterdir() if path.name.startswith(".") and path.name != ".gitignore"]


def test_without_the_cache_nothing_is_written(project: Path) -> None:
    findings(project, cache=False)
    assert not (project / FOLDER).exists()


def test_a_place_that_is_taken_is_done_without(project: Path) -> None:
    (project / FOLDER).write_text("a file where the folder should be")
    assert findings(project) == findings(project, cache=False)


def test_a_file_whose_name_is_no_text_may_change(project: Path) -> None:
    odd = Path(os.fsdecode(bytes(project) + b"/a\xff.py"))
    odd.write_text(PREDICT)
    assert len(findings(project)) == 2
    odd.write_text(PREDICT.replace("    with", "    net.eval()\n    with"))
    assert findings(project) == findings(project, cache=False)
