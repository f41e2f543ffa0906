"""`--deep`: base classes and factories that live in the environment's installed packages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from modellint.catalog import ActiveRule, load_frameworks, load_rules
from modellint.sources import read_source
from modellint.static import Analyzer
from tests.static.conftest import write

PACKAGE = {
    "deepzoo/__init__.py": """
        from .models import *
        from deepzoo.factory import build as make, load_for_inference
        """,
    "deepzoo/models.py": """
        from torch import nn

        class Base(nn.Module):
            def __init__(self):
                super().__init__()
                self.drop = nn.Dropout(0.5)

            def forward(self, x):
                return self.drop(x)

        class Worker:
            def run(self):
                return 1
        """,
    "deepzoo/factory.py": """
        import torch
        from deepzoo.models import Base

        def build(path):
            model = Base()
            model.load_state_dict(torch.load(path, weights_only=True))
            return model

        def load_for_inference(path):
            return build(path).eval()

        open("deepzoo_ran", "w").close()
        """,
}

SCRIPT = """
    import torch
    from deepzoo import Base, Worker, load_for_inference, make
    import deepzoo

    class Net(Base):
        def head(self, x):
            return self(x)

    class Job(Worker):
        def train(self, flag):
            return self

    def right(x):
        model = load_for_inference("a.pt")
        with torch.no_grad():
            return model(x).argmax(-1)

    def by_base(x):
        model = Net()
        model.load_state_dict(torch.load("a.pt", weights_only=True))
        with torch.no_grad():
            return model(x).argmax(-1)  # deep

    def by_factory(x):
        model = make("a.pt")
        with torch.no_grad():
            return model(x).argmax(-1)  # deep

    def by_module(x):
        model = deepzoo.factory.build("a.pt")
        with torch.no_grad():
            return model(x).argmax(-1)  # deep
    """


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install a package beside the project; return the project's folder."""
    write(tmp_path / "site", PACKAGE)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"), prepend=":")
    return tmp_path / "project"


def found(root: Path, deep: bool) -> list[int]:
    """Return the lines of the script on which ML101 is found."""
    [path] = write(root, {"app.py": SCRIPT})
    rules = {"ML101": ActiveRule.default(load_rules()["ML101"])}
    analyzer = Analyzer(rules, load_frameworks(), root, deep=deep)
    return [d.span.start.row for d in analyzer.check(read_source(path))]


def test_what_is_installed_stays_outside_without_it(installed: Path) -> None:
    assert found(installed, deep=False) == []


def test_bases_and_factories_are_followed(installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("astroid")
    monkeypatch.chdir(tmp_path)
    lines = found(installed, deep=True)
    text = (installed / "app.py").read_text("utf-8").splitlines()
    assert lines == [row for row, line in enumerate(text, 1) if line.endswith("# deep")]
    assert not (tmp_path / "deepzoo_ran").exists()


@pytest.mark.parametrize("deep", [False, True])
def test_astroid_is_loaded_only_when_asked(installed: Path, deep: bool) -> None:
    pytest.importorskip("astroid")
    [path] = write(installed, {"app.py": SCRIPT})
    code = (
        "import sys; from modellint.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "finally: print('astroid' in sys.modules, file=sys.stderr)"
    )
    arguments = ["check", "--isolated", "--no-cache", "--select", "ML101", *(["--deep"] if deep else []), str(path)]
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=120)
    assert done.stderr.split()[-1] == str(deep)
    assert done.returncode == int(deep)


def test_the_configuration_can_ask_for_it(installed: Path) -> None:
    pytest.importorskip("astroid")
    [path, _] = write(installed, {"app.py": SCRIPT, ".modellint.yaml": "deep: true\nselect: [ML101]\n"})
    run = [sys.executable, "-m", "modellint", "check", str(path)]
    assert subprocess.run(run, capture_output=True, timeout=120).returncode == 1


def test_a_name_that_nothing_defines_stays_outside(tmp_path: Path) -> None:
    pytest.importorskip("astroid")
    from modellint.static.project.deep import Deep

    deep = Deep({"torch"})
    for name in ("nosuchpackage.Net", "torch.nn.Module", "json.loads", ".relative.name", "plain", "deepzoo.missing"):
        assert deep.find(name) is None
