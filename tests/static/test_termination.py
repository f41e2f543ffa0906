"""Whatever the code looks like, the analysis comes to an end, does not crash, and still finds what is there."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from modellint.diagnostic import Diagnostic
from modellint.sources import read_source
from tests.static.conftest import Lint, analyzer, write

DEFECT = """
import torch
from torchvision.models import resnet18

@torch.no_grad()
def predict(x):
    net = resnet18(weights="DEFAULT")
    return net(x).argmax(-1).item()  # ML101
"""
GENEROUS = 30.0  # seconds of this process, whatever else the machine does

RECURSION = {
    "what a function that calls itself makes of a configuration": """
        import torch
        from torchvision import transforms
        from torch.utils.data import DataLoader
        from torchvision.datasets import ImageFolder
        from torchvision.models import resnet18


        def instantiate(config):
            if isinstance(config, ListConfig):
                return ListConfig([instantiate(item) for item in config], flags={"objects": True})
            if isinstance(config, list):
                return [instantiate(item) for item in config]
            if isinstance(config, dict) and "_target_" in config:
                config = {key: instantiate(value) for key, value in config.items()}
                target = config.pop("_target_")
                target = instantiate(target)
                if isinstance(target, str):
                    name = target
                    target = locate(name)
                else:
                    name = target.__module__ + "." + target.__qualname__
                return target(**config)
            return config


        def locate(name):
            found = instantiate(import_object(name))
            return found if found is not None else instantiate(name)


        def training_data(args):
            cut = transforms.RandomResizedCrop(224)
            return ImageFolder("train", transform=transforms.Compose([cut, transforms.ToTensor()]))


        @torch.no_grad()
        def evaluate(config):
            net = resnet18(weights="DEFAULT")
            for x, _ in instantiate(config.dataloader.test):
                print(net(x).argmax(-1))  # ML101


        def main(args):
            config = LazyConfig.load(args.config)
            model = instantiate(config.model)
            model.eval()
            config.optimizer.params.model = model
            optimizer = instantiate(config.optimizer)
            loader = DataLoader(instantiate(config.dataloader.train), transform=instantiate(config.transform))
            evaluate(config)
            for x, y in loader:
                model(x).sum().backward()
                optimizer.step()


        main(parse())
        """,
    "a function that calls itself": """
        import torch
        from torchvision.models import resnet18

        def search(net, x, depth):
            if depth == 0:
                return net(x).argmax(-1).item()  # ML101
            return search(net, x, depth - 1)

        @torch.no_grad()
        def main(x):
            net = resnet18(weights="DEFAULT")
            print(search(net, x, 5))
        """,
    "a function that calls itself with a ready model": """
        import torch
        from torchvision.models import resnet18

        def search(net, x, depth):
            if depth == 0:
                return net(x).argmax(-1).item()
            return search(net, x, depth - 1)

        @torch.no_grad()
        def main(x):
            net = resnet18(weights="DEFAULT").eval()
            print(search(net, x, 5))
        """,
    "two functions that call each other": """
        import torch
        from torchvision.models import resnet18

        def even(net, n):
            net.eval()
            return net if n == 0 else odd(net, n - 1)

        def odd(net, n):
            return net if n == 0 else even(net, n - 1)

        @torch.no_grad()
        def main(x):
            net = even(resnet18(weights="DEFAULT"), 4)
            print(net(x).argmax(-1))
        """,
    "a method that calls itself on its children": """
        from torch import nn

        class Tree(nn.Module):
            def __init__(self, depth):
                super().__init__()
                self.left = Tree(depth - 1) if depth else nn.Identity()
                self.right = Tree(depth - 1) if depth else nn.Dropout(0.1)

            def forward(self, x):
                return self.left(x) + self.right(x)
        """,
    "a closure that calls itself": """
        import torch
        from torchvision.models import resnet18

        def main(x):
            net = resnet18(weights="DEFAULT").eval()

            def again(n):
                with torch.no_grad():
                    print(net(x).argmax(-1))
                return again(n - 1) if n else None

            again(3)
        """,
    "a lambda applied to itself": """
        import torch

        loop = lambda f: f(f)
        loop(loop)
        """,
    "a list that holds itself": """
        import torch
        from torchvision.models import resnet18

        nets = [resnet18(weights="DEFAULT").eval()]
        nets.append(nets)
        with torch.no_grad():
            print(nets[0](torch.ones(1, 3, 224, 224)).argmax())
        """,
    "an object that holds itself": """
        import torch
        from torch import nn

        class Node(nn.Module):
            def __init__(self):
                super().__init__()
                self.me = [self]
                self.parent = self
                self.next = self.parent.parent
        """,
    "a class that descends from itself": """
        import torch
        from torch import nn

        class A(B):
            def train(self, mode=True):
                return self

        class B(A):
            pass
        """,
    "a model grown in a loop": """
        import torch
        from torch import nn

        def build(depth):
            net = nn.Linear(4, 4)
            for _ in range(depth):
                net = nn.Sequential(net, nn.Dropout(0.1))
            return net.eval()

        @torch.no_grad()
        def predict(path, x):
            net = build(100)
            net.load_state_dict(torch.load(path, weights_only=True))
            return net(x).argmax(-1).item()
        """,
    "a deep copy of objects that hold each other": """
        import copy

        import torch
        from torchvision.models import resnet18

        class Node:
            def __init__(self, others):
                self.a = self.b = self.c = self.d = self.e = self.f = self.g = self.h = self.i = others
                self.net = resnet18(weights="DEFAULT")

        @torch.no_grad()
        def main(x):
            nodes = []
            for i in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9):
                nodes.append(Node(nodes))
            twin = copy.deepcopy(nodes)
            print(twin[3].net(x).argmax(-1).item())  # ML101
        """,
}

CYCLES = {
    "two files": {
        "a.py": "import torch\nfrom b import second\n\ndef first(net):\n    return second(net)\n",
        "b.py": "import torch\nfrom a import first\n\ndef second(net):\n    return first(net)\n",
    },
    "a name that leads nowhere": {"a.py": "from b import net\nnet.eval()\n", "b.py": "from a import net\n"},
    "stars": {"a.py": "from b import *\nnet.eval()\n", "b.py": "from a import *\nimport torch\n"},
    "a file that imports itself": {"a.py": "import torch\nfrom a import net\nimport a\na.net.eval()\n"},
    "a package and its module": {
        "pkg/__init__.py": "from .inner import load",
        "pkg/inner.py": """
            import torch
            from . import load as other
            from pkg import inner

            def load():
                return other()
            """,
    },
    "base classes": {
        "a.py": "from b import B\n\nclass A(B):\n    def train(self, mode=True):\n        return self\n",
        "b.py": "import torch\nfrom a import A\n\nclass B(A):\n    pass\n",
    },
}


def check(tmp_path: Path, text: str) -> list[Diagnostic]:
    """Return the findings of `text`, which must come within reason."""
    [path] = write(tmp_path, {"generated.py": text})
    start = time.process_time()
    found = analyzer(tmp_path, [path]).check(read_source(path))
    assert time.process_time() - start < GENEROUS
    return found


def rows(found: list[Diagnostic]) -> list[tuple[str, int]]:
    return [(d.code, d.span.start.row) for d in found]


def row_of(text: str, code: str) -> int:
    [row] = [row for row, line in enumerate(text.splitlines(), 1) if line.endswith(f"# {code}")]
    return row


@pytest.mark.parametrize("code", RECURSION.values(), ids=RECURSION)
def test_recursion(lint: Lint, code: str) -> None:
    lint(code)


@pytest.mark.parametrize("files", CYCLES.values(), ids=CYCLES)
def test_import_cycles(lint: Lint, files: dict[str, str]) -> None:
    lint({**files, "app.py": DEFECT})


def test_300_branches_inside_each_other(tmp_path: Path) -> None:
    # Python's own parser allows 100 indented blocks, an elif chain and conditional expressions go deeper
    chain = "".join(f"    elif n == {n}:\n        net.eval()\n" for n in range(300))
    text = f"{DEFECT}\ndef choose(net, n):\n    if n < 0:\n        pass\n{chain}    return net\n"

    assert ("ML101", row_of(text, "ML101")) in rows(check(tmp_path, text))


def test_90_blocks_inside_each_other(tmp_path: Path) -> None:
    nested = "".join(f"{'    ' * (n + 1)}if flags[{n}]:\n" for n in range(90)) + "    " * 91 + "net.eval()\n"
    text = f"{DEFECT}\ndef choose(net, flags):\n{nested}    return net\n"

    assert ("ML101", row_of(text, "ML101")) in rows(check(tmp_path, text))


def test_300_conditions_one_after_the_other(tmp_path: Path) -> None:
    branches = "".join(
        f"    if flags.f{n}:\n        net.eval()\n    if flags.f{n}:\n        net(x)\n" for n in range(300)
    )
    text = f"{DEFECT}\ndef run(net, flags, x):\n{branches}"

    assert ("ML101", row_of(text, "ML101")) in rows(check(tmp_path, text))


def test_loops_inside_each_other(tmp_path: Path) -> None:
    nested = "".join(f"{'    ' * (n + 1)}for i{n} in range(9):\n" for n in range(15))
    text = f"{DEFECT}\ndef run(net, x):\n{nested}{'    ' * 16}net.train() if i0 else net.eval()\n"

    assert rows(check(tmp_path, text)) == [("ML101", row_of(text, "ML101"))]


def test_phases_inside_each_other(tmp_path: Path) -> None:
    nested = "".join(f"{'    ' * (n + 1)}for p{n} in ['train', 'val', 'test']:\n" for n in range(10))
    text = f"{DEFECT}\ndef run(net, x):\n{nested}{'    ' * 11}net.train(p0 == 'train')\n"

    assert rows(check(tmp_path, text)) == [("ML101", row_of(text, "ML101"))]


def test_functions_that_all_call_one_another(tmp_path: Path) -> None:
    count = 11  # ways through them without coming back: some ten million
    names = [f"f{n}" for n in range(count)]
    calls = {name: "".join(f"    {other}(x)\n" for other in names if other != name) for name in names}
    helpers = "".join(f"def {name}(x):\n{body}\n" for name, body in calls.items())
    text = f"{DEFECT}\n{helpers}def main(options):\n    print(f0(options), predict(options))\n\nmain(load())\n"

    assert rows(check(tmp_path, text)) == [("ML101", row_of(text, "ML101"))]


def test_functions_that_call_the_next_one_twice(tmp_path: Path) -> None:
    calls = "".join(f"def f{n}(net, x):\n    f{n + 1}(net, x)\n    return f{n + 1}(net, x)\n\n" for n in range(40))
    text = f"{DEFECT}\n{calls}def f40(net, x):\n    return net.eval()(x)\n\nf0(resnet18(), 1)\n"

    assert ("ML101", row_of(text, "ML101")) in rows(check(tmp_path, text))


@pytest.mark.parametrize("part", ["[{}]", ".part{}"])
def test_a_value_that_is_perhaps_a_part_of_what_it_was_24_times(tmp_path: Path, part: str) -> None:
    step = "    if x{0} is None:\n        x = x{0}\n"
    steps = "".join(step.format(part.format(n)) for n in range(24))
    text = f"{DEFECT}\ndef cut(read):\n    net = resnet18().eval()\n    x = read.data\n{steps}    return net(x)\n"

    assert rows(check(tmp_path, text)) == [("ML101", row_of(text, "ML101"))]


@pytest.mark.parametrize(
    "expression",
    [
        "(" * 90 + "x" + ")" * 90,
        "x" + " + x" * 3_000,
        "x" + ".to(y)" * 1_000,
        "x" + "[0]" * 1_000,
        "x" + " if x else x" * 200,
        "not " * 500 + "x",
        "lambda: " * 80 + "net(x)",
        "[" * 80 + "net(x)" + "]" * 80,
        "f(" * 80 + "net(x)" + ")" * 80,
        "'" + "x" * 1_000_000 + "'",
        "{" + ", ".join(f"'k{n}': net" for n in range(5_000)) + "}",
    ],
    ids=lambda expression: expression[:14],
)
def test_deep_expressions(tmp_path: Path, expression: str) -> None:
    text = f"{DEFECT}\ndef run(net, x, y, f):\n    value = {expression}\n    return value\n"

    assert rows(check(tmp_path, text)) == [("ML101", row_of(text, "ML101"))]


@pytest.mark.slow
def test_a_generated_file_of_50_000_lines(tmp_path: Path) -> None:
    layer = "    x = conv_{0}(x)\n    x = relu(x) * {0}\n    y_{0} = x + y_0\n"
    body = "".join(layer.format(n) for n in range(15_000))
    table = "TABLE = {\n" + "".join(f"    'w{n}': [{n}, 'name', None],\n" for n in range(5_000)) + "}\n"
    text = f"{DEFECT}\n{table}\ndef graph(x, y_0, relu):\n{body}    return x\n"

    assert len(text.splitlines()) > 50_000
    assert rows(check(tmp_path, text)) == [("ML101", row_of(text, "ML101"))]


def test_a_list_of_100_000_words(tmp_path: Path) -> None:
    words = "".join(f"    'word{n}',\n" for n in range(100_000))
    text = f"{DEFECT}\nWORDS = [\n{words}]\nLOWER = [word.lower() for word in WORDS] + ['a' + word for word in WORDS]\n"

    assert rows(check(tmp_path, text)) == [("ML101", row_of(text, "ML101"))]


@pytest.mark.slow
def test_a_generated_file_of_2_000_classes(tmp_path: Path) -> None:
    block = """
class Block{0}(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.inner = Block{1}() if {0} else nn.Dropout(0.1)

    def forward(self, x):
        return self.inner(self.fc(x))
"""
    blocks = "".join(block.format(n, max(n - 1, 0)) for n in range(2_000))
    text = f"{DEFECT}\nfrom torch import nn\n{blocks}"

    assert rows(check(tmp_path, text)) == [("ML101", row_of(text, "ML101"))]
