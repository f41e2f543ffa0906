"""An engine that goes on while files are edited finds what a fresh one finds."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from modellint.catalog import ActiveRule, load_frameworks, load_rules
from modellint.diagnostic import Diagnostic
from modellint.sources import SourceFile
from modellint.static import Analyzer
from modellint.static.flow.engine import FileAnalysis
from modellint.static.project import FunctionInfo

HEAD = """\
import torch
from torch import nn
from zoo import build, tune

PATH = "x.pt"
shared = build(PATH)
shared.eval()
"""
FUNCTIONS = (
    """
def predict(path, loader):
    model = build(path)
    outputs = []
    with torch.no_grad():
        for batch in loader:
            outputs.append(model(batch).argmax(dim=1))
    return outputs
""",
    """
def helper(model, batch):
    return model(batch).argmax(dim=1)


def predict_all(batch):
    with torch.no_grad():
        return helper(build(PATH), batch)
""",
    """
@torch.no_grad()
def evaluate(batch):
    return shared(batch).argmax(dim=1)
""",
    """
class Runner:
    def __init__(self, path):
        self.model = build(path)

    def predict(self, batch):
        with torch.no_grad():
            return self.model(batch).argmax(dim=1)

    def restore(self, path):
        self.model.load_state_dict(torch.load(path, weights_only=True))
        self.model.eval()
""",
    """
class Quick(Runner):
    def predict(self, batch):
        self.model.eval()
        return super().predict(batch)
""",
    """
class Served:
    def __init__(self, model):
        self.model = model

    @torch.no_grad()
    def serve(self, batch):
        return self.model(batch).argmax(dim=1)
""",
    """
def open_served(path):
    model = build(path)
    return Served(model)
""",
    """
def train(loader):
    model = tune(build(PATH))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for batch, target in loader:
        loss = nn.functional.cross_entropy(model(batch), target)
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        print(model(batch).argmax())
""",
    """
cache = {}


def start():
    global net
    net = build(PATH)


def infer(batch):
    with torch.no_grad():
        return net(batch).argmax(dim=1), cache
""",
    """
def main():
    runner = Runner(PATH)
    print(runner.predict(torch.ones(1, 8)))
    evaluate(torch.ones(1, 8))


if __name__ == "__main__":
    main()
""",
)
ZOO = """\
import torch
from torch import nn

LAYERS = []


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout()
        self.last = nn.Linear(8, 2)

    def forward(self, x):
        return self.last(self.drop(x))


def build(path):
    model = Net()
    model.load_state_dict(torch.load(path, weights_only=True))
    return model


def tune(model):
    model.train()
    return model
"""
TYPED = (
    "# note\n",
    "x = 1\n",
    "shared.train()\n",
    "torch.set_grad_enabled(False)\n",
    "    model.eval()\n",
    "    shared.train()\n",
    "        self.model.eval()\n",
    "    return None\n",
    "@torch.no_grad()\n",
    "def unfinished(\n",
    "build = None\n",
    "\n\n",
)


@cache
def catalogue() -> tuple[dict[str, ActiveRule], Any]:
    return {code: ActiveRule.default(rule) for code, rule in load_rules().items() if rule.enabled}, load_frameworks()


class Editor:
    """A project on the disk, with the texts that an editor holds; `live` is the analyzer that goes on."""

    def __init__(self, folder: Path, texts: dict[str, str]) -> None:
        self.folder = folder
        self.texts = {folder / name: text for name, text in texts.items()}
        for path, text in self.texts.items():
            path.write_text(text)
        self.live = self.analyzer(edited=True)

    def analyzer(self, edited: bool = False) -> Analyzer:
        def read(path: Path) -> bytes:
            return self.texts[path].encode()

        return Analyzer(*catalogue(), self.folder, self.texts.__contains__, read=read, edited=edited)

    def type(self, name: str, text: str) -> None:
        self.texts[self.folder / name] = text
        self.live.changed(self.folder / name)

    def found(self, name: str, fresh: bool = False) -> list[Diagnostic]:
        path = self.folder / name
        return (self.analyzer() if fresh else self.live).check(SourceFile(path, self.texts[path]))


def edited(text: str, dice: random.Random) -> str:
    """Return a program after one more edit."""
    lines = text.splitlines(keepends=True)
    row = dice.randrange(len(lines))
    match dice.randrange(5):
        case 0:
            del lines[row]
        case 1:
            lines[row] = "# " + lines[row]
        case 2:
            lines.insert(row, lines[dice.randrange(len(lines))])
        case 3:
            lines[row] = lines[row].replace(*dice.choice([("model", "shared"), ("eval", "train"), ("path", "PATH")]))
        case _:
            lines.insert(row, dice.choice(TYPED))
    return "".join(lines)


def parses(text: str) -> bool:
    try:
        compile(text, "it", "exec")
    except (SyntaxError, ValueError):
        return False
    return True


@pytest.mark.parametrize("seed", range(8))
def test_what_goes_on_finds_what_a_fresh_engine_finds(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    parts = list(FUNCTIONS)
    dice.shuffle(parts)
    script = HEAD + "".join(parts)
    editor = Editor(tmp_path, {"predict.py": script, "zoo.py": ZOO})
    editor.found("predict.py")
    for _ in range(25):
        name = "zoo.py" if dice.random() < 0.1 else "predict.py"
        before = editor.texts[tmp_path / name]
        tries = (edited(before, dice) for _ in range(20))
        after = next((text for text in tries if parses(text) or dice.random() < 0.1), before)
        editor.type(name, script if dice.random() < 0.05 else after)
        if all(map(parses, editor.texts.values())):
            assert editor.found("predict.py") == editor.found("predict.py", fresh=True)


def runs(editor: Editor, text: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Type `text`; return the functions that were analysed because of it."""
    ran: list[str] = []
    original = FileAnalysis._run_root

    def noted(self: FileAnalysis, function: FunctionInfo, *rest: Any, **more: Any) -> None:
        ran.append(function.name)
        original(self, function, *rest, **more)

    with monkeypatch.context() as patch:
        patch.setattr(FileAnalysis, "_run_root", noted)
        editor.type("predict.py", text)
        editor.found("predict.py")
    assert editor.found("predict.py") == editor.found("predict.py", fresh=True)
    return ran


@pytest.fixture
def editor(tmp_path: Path) -> Editor:
    script = HEAD + "".join(FUNCTIONS[n] for n in (0, 1, 2)) + FUNCTIONS[0].replace("predict", "predict_again")
    editor = Editor(tmp_path, {"predict.py": script, "zoo.py": ZOO})
    editor.found("predict.py")
    return editor


def test_only_the_function_that_was_edited_is_analysed_again(editor: Editor, monkeypatch: pytest.MonkeyPatch) -> None:
    script = editor.texts[editor.folder / "predict.py"]
    typed = script.replace("    outputs = []\n", "    outputs = []\n    model.eval()\n", 1)
    assert set(runs(editor, typed, monkeypatch)) <= {"predict"}


def test_a_new_line_above_moves_the_findings_of_what_is_not_analysed(
    editor: Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = editor.texts[editor.folder / "predict.py"]
    before = [d.span.start.row for d in editor.found("predict.py")]
    assert runs(editor, "# note\n\n" + script, monkeypatch) == []
    assert [d.span.start.row for d in editor.found("predict.py")] == [row + 2 for row in before]


def test_a_callee_that_was_edited_counts_for_its_callers(editor: Editor, monkeypatch: pytest.MonkeyPatch) -> None:
    script = editor.texts[editor.folder / "predict.py"]
    typed = script.replace("def helper(model, batch):\n", "def helper(model, batch):\n    model.eval()\n")
    assert "predict_all" in runs(editor, typed, monkeypatch)


def test_a_global_that_was_edited_counts_for_those_who_use_it(editor: Editor, monkeypatch: pytest.MonkeyPatch) -> None:
    script = editor.texts[editor.folder / "predict.py"]
    ran = runs(editor, script.replace("shared.eval()\n", "shared.train()\n"), monkeypatch)
    assert "evaluate" in ran
    assert "predict_again" not in ran


STAND_IN = """\
ready = True
from real import Net
class Net:
    def __call__(self, x):
        return x
"""
REAL = """\
from torch import nn

class Net(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Dropout())
"""
USER = """\
import torch
from zoo import Net

net = Net()
net.load_state_dict(torch.load("net.pt", weights_only=True))
with torch.no_grad():
    print(net(torch.zeros(1, 4)).argmax(1))
"""


def test_a_class_that_comes_to_stand_in_for_an_imported_one_gives_way_to_it(tmp_path: Path) -> None:
    head, body = STAND_IN.split("class", 1)
    branch = head + "if not ready:\n    class" + body.replace("\n    ", "\n        ")
    editor = Editor(tmp_path, {"predict.py": USER, "zoo.py": STAND_IN, "real.py": REAL})
    assert not any(d.code == "ML101" for d in editor.found("predict.py"))
    editor.type("zoo.py", branch)
    assert any(d.code == "ML101" for d in editor.found("predict.py"))
    assert editor.found("predict.py") == editor.found("predict.py", fresh=True)
