"""Names across files: every way to import leads to the same function."""

from __future__ import annotations

from pathlib import Path

import pytest

from modellint.static.project import ClassInfo, Project, Symbol
from tests.static.conftest import Lint

READY = """
import torch
from torchvision.models import resnet18

def load(path):
    net = resnet18()
    net.load_state_dict(torch.load(path, weights_only=True))
    net.eval()
    return net
"""
TRAINING = READY.replace("    net.eval()\n", "")
MAIN = """
import torch
{statement}

@torch.no_grad()
def predict(path, x):
    net = {call}(path)
    return net(x).argmax(-1).item(){mark}
"""
WAYS = {
    "a module beside": ({}, "zoo.py", "import zoo", "zoo.load"),
    "a name of a module beside": ({}, "zoo.py", "from zoo import load", "load"),
    "under another name": ({}, "zoo.py", "from zoo import load as get", "get"),
    "a module under another name": ({}, "zoo.py", "import zoo as models", "models.load"),
    "a module of a package": ({"pkg/__init__.py": ""}, "pkg/zoo.py", "from pkg.zoo import load", "load"),
    "the package's module as a name": ({"pkg/__init__.py": ""}, "pkg/zoo.py", "from pkg import zoo", "zoo.load"),
    "the whole dotted path": ({"pkg/__init__.py": ""}, "pkg/zoo.py", "import pkg.zoo", "pkg.zoo.load"),
    "through folders without a file of Python": (
        {},
        "tasks/speech/zoo.py",
        "from tasks.speech.zoo import load",
        "load",
    ),
    "re-exported by the package": (
        {"pkg/__init__.py": "from .zoo import load"},
        "pkg/zoo.py",
        "from pkg import load",
        "load",
    ),
    "re-exported twice under other names": (
        {"pkg/__init__.py": "from .inner import fetch as obtain", "pkg/inner.py": "from .zoo import load as fetch"},
        "pkg/zoo.py",
        "import pkg",
        "pkg.obtain",
    ),
    "imported by the package from itself": (
        {"pkg/__init__.py": "from pkg import zoo"},
        "pkg/zoo.py",
        "from pkg import zoo",
        "zoo.load",
    ),
    "a star": ({}, "zoo.py", "from zoo import *", "load"),
    "a star through the package": (
        {"pkg/__init__.py": "from .zoo import *\n__all__ = ['load']"},
        "pkg/zoo.py",
        "from pkg import *",
        "load",
    ),
    "a namespace package": ({}, "parts/zoo.py", "from parts.zoo import load", "load"),
    "a src layout": ({"src/pkg/__init__.py": ""}, "src/pkg/zoo.py", "from pkg.zoo import load", "load"),
    "an assignment": ({}, "zoo.py", "import zoo\n\nfetch = zoo.load", "fetch"),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_loader_that_calls_eval_is_found_by_every_import(
    lint: Lint, way: tuple[dict[str, str], str, str, str]
) -> None:
    others, place, statement, call = way
    lint({"app.py": MAIN.format(statement=statement, call=call, mark=""), place: READY, **others})


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_loader_that_does_not_is_found_as_well(lint: Lint, way: tuple[dict[str, str], str, str, str]) -> None:
    others, place, statement, call = way
    lint({"app.py": MAIN.format(statement=statement, call=call, mark="  # ML101"), place: TRAINING, **others})


RELATIVE = {
    "from the same package": ("from .zoo import load", "load", "pkg/zoo.py"),
    "the module itself": ("from . import zoo", "zoo.load", "pkg/zoo.py"),
    "from a package inside": ("from .parts.zoo import load", "load", "pkg/parts/zoo.py"),
    "from the package above": ("from ..zoo import load", "load", "zoo.py"),
    "lazily, in the function": ("", "load", "pkg/zoo.py"),
}


@pytest.mark.parametrize("mark", ["", "  # ML101"], ids=["ready", "in training mode"])
@pytest.mark.parametrize("way", RELATIVE.values(), ids=RELATIVE)
def test_relative_imports(lint: Lint, way: tuple[str, str, str], mark: str) -> None:
    statement, call, place = way
    text = MAIN.format(statement=statement, call=call, mark=mark)
    if not statement:
        text = text.replace("    net = load", "    from .zoo import load\n\n    net = load")
    loader = TRAINING if mark else READY
    packages = {"top/__init__.py": "", "top/pkg/__init__.py": "", "top/pkg/parts/__init__.py": ""}
    lint({**packages, "top/pkg/app.py": text, f"top/{place}": loader})


SILENT = {
    "two files import each other": {
        "a.py": """
            import torch
            import b
            from torchvision.models import resnet18

            def load():
                return b.ready(resnet18(weights="DEFAULT"))

            @torch.no_grad()
            def predict(x):
                return load()(x).argmax(-1).item()
            """,
        "b.py": """
            import a

            def ready(net):
                net.eval()
                return net

            def main(x):
                print(a.predict(x))
            """,
    },
    "two files name each other's names": {
        "a.py": """
            import torch
            import b

            load = b.load

            @torch.no_grad()
            def predict(x):
                return load()(x).argmax(-1).item()
            """,
        "b.py": "import a\n\nload = a.load\n",
    },
    "a file is called like the library that it imports": {
        "torch.py": """
            import torch
            from torchvision.models import resnet18

            no_grad = torch.no_grad

            @no_grad()
            def predict(x):
                net = resnet18(weights="DEFAULT")
                net.eval()
                return net(x).argmax(-1).item()
            """,
    },
    "an alias of a module": """
        import torch
        from torch import nn

        F = torch.nn.functional

        class Block(nn.Module):
            def forward(self, x):
                return F.dropout(x, 0.1, self.training)
        """,
    "a name that was imported and then defined": """
        import torch
        from torchvision.models import resnet18

        def resnet18(weights=None):
            from torchvision import models

            return models.resnet18(weights=weights).eval()

        @torch.no_grad()
        def predict(x):
            return resnet18("DEFAULT")(x).argmax(-1).item()
        """,
    "a model instance of another file": {
        "state.py": """
            from torchvision.models import resnet18

            net = resnet18(weights="DEFAULT")
            net.eval()
            """,
        "app.py": """
            import torch
            from state import net

            @torch.no_grad()
            def predict(x):
                return net(x).argmax(-1).item()
            """,
    },
    "a file that does not parse": {
        "zoo.py": "def load(:\n    print 'hello'\n",
        "app.py": """
            import torch
            from zoo import load

            @torch.no_grad()
            def predict(x):
                return load()(x).argmax(-1).item()
            """,
    },
    "a local module that hides a library": {
        "timm.py": """
            from torch import nn

            def create_model(name, pretrained=False):
                return nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.1)).eval()
            """,
        "app.py": """
            import timm
            import torch

            @torch.no_grad()
            def predict(x):
                return timm.create_model("net", pretrained=True)(x).argmax(-1).item()
            """,
    },
}

FOUND = {
    "an alias of a module": """
        import torch
        from torch import nn

        F = torch.nn.functional

        class Block(nn.Module):
            def forward(self, x):
                return F.dropout(x, 0.1)  # ML104
        """,
    "torch under another name": """
        import torch as th
        import torch.nn as tnn
        import torchvision.models as tvm

        class Block(tnn.Module):
            def __init__(self):
                super().__init__()
                self.layers = [tnn.Linear(4, 4)]  # ML106

        @th.no_grad()
        def predict(x):
            return tvm.resnet18(weights="DEFAULT")(x).argmax(-1).item()  # ML101
        """,
    "a model instance of another file": {
        "state.py": """
            from torchvision.models import resnet18

            net = resnet18(weights="DEFAULT")
            """,
        "app.py": """
            import torch
            from state import net

            @torch.no_grad()
            def predict(x):
                return net(x).argmax(-1).item()  # ML101
            """,
    },
    "torch through a module of the project": {
        "common.py": """
            import torch
            import torch.nn as nn
            import torch.nn.functional as F
            """,
        "app.py": """
            from common import *

            class Block(nn.Module):
                def forward(self, x):
                    return F.dropout(x, 0.1)  # ML104
            """,
    },
    "imported in a try": {
        "zoo.py": """
            from torchvision.models import resnet18

            def load():
                return resnet18(weights="DEFAULT")
            """,
        "app.py": """
            import torch

            try:
                from zoo import load
            except ImportError:
                load = None

            @torch.no_grad()
            def predict(x):
                return load()(x).argmax(-1).item()  # ML101
            """,
    },
}


@pytest.mark.parametrize("files", SILENT.values(), ids=SILENT)
def test_silent(lint: Lint, files: str | dict[str, str]) -> None:
    lint(files, check=["app.py", "a.py", "b.py"] if isinstance(files, dict) else None)


@pytest.mark.parametrize("files", FOUND.values(), ids=FOUND)
def test_found(lint: Lint, files: str | dict[str, str]) -> None:
    lint(files)


def test_a_package_offers_what_it_and_its_stars_define_each_once(tmp_path: Path) -> None:
    files = {
        "pkg/__init__.py": "from .zoo import *\nfrom .more import *\nimport torch\nfrom .tools import load as get",
        "pkg/zoo.py": "from .more import *\ndef small(): ...\ndef _hidden(): ...\nclass Net: ...\nx = len([])",
        "pkg/more.py": "def small(): ...\ndef large(): ...",
        "pkg/tools.py": "def load(): ...",
        "main.py": "import pkg",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    project = Project(tmp_path)
    main = project.files.module(tmp_path / "main.py")
    owner = main and project.lookup(main, "pkg")
    assert owner is not None
    offered = project.offered(owner, tmp_path / "main.py")
    assert next(offered).dotted == "pkg.get"
    assert tmp_path / "pkg/more.py" not in {module.path for module in project.files.loaded}
    homes = {symbol.dotted: symbol.target.module.path.name for symbol in offered}
    assert homes == {"pkg.small": "zoo.py", "pkg.Net": "zoo.py", "pkg.large": "more.py"}
    assert list(project.offered(Symbol("torch"), tmp_path / "main.py")) == []


def test_a_star_of_what_is_out_of_sight_hides_no_definition_of_a_later_one(tmp_path: Path) -> None:
    files = {
        "tools.py": "from math import *\nfrom main import *\nlimit = 3",
        "core.py": "class Model: ...\ndef limit(): ...",
        "main.py": "from tools import *\nfrom core import *",
        "own.py": "from math import *\nown = len([])",
        "alone.py": "from main import *",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    project = Project(tmp_path)
    for path in ("main.py", "alone.py", "tools.py"):
        module = project.files.module(tmp_path / path)
        assert module is not None
        model, unknown = project.lookup(module, "Model"), project.lookup(module, "sqrt")
        assert model is not None and isinstance(model.target, ClassInfo), path
        assert unknown == Symbol("math.sqrt"), path
    own = project.files.module(tmp_path / "own.py")
    assert own is not None and project.lookup(own, "own") is None
    main = project.files.module(tmp_path / "main.py")
    assert main is not None
    limit = project.lookup(main, "limit")
    assert limit is not None and limit.variable == "limit"  # the first star that gives it
