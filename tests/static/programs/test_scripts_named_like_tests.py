"""Research code calls what evaluates a network `test_net.py`; test suites have files of that name, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from modellint.static.naming import is_test_file
from tests.static.conftest import Lint

NETWORK = """
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(x)
"""

SCRIPT = """
import torch
{imports}
from network import Net

{define}
    net = Net()
    net.load_state_dict(torch.load("net.pt", weights_only=True))
    with torch.no_grad():
        for x in torch.zeros(3, 1, 4):
            print(net(x).argmax(-1).tolist())  # {mark}

if __name__ == "__main__":
    {call}
"""

RUN = "def main():"


@pytest.mark.parametrize(
    ("file", "imports", "define", "call", "mark"),
    [
        ("test_net.py", "import pytest", RUN, "main()", "fine"),
        ("net_test.py", "import unittest", RUN, "main()", "fine"),
        ("test_net.py", "", "def test_net():", "test_net()", "fine"),
        ("test_net.py", "", "def test():", "test()", "fine"),
        ("tests/test_net.py", "import argparse", RUN, "main()", "fine"),
        ("test/test_net.py", "import argparse", "def test_net():", "test_net()", "fine"),
        ("test_net.py", "", RUN, "main()", "ML101"),
        ("net_test.py", "import argparse", "def test_net():", "test_net()", "ML101"),
        ("test_net.py", "import argparse", "def test():", "test()", "ML101"),
    ],
)
def test_a_script_or_a_test(file: str, imports: str, define: str, call: str, mark: str, lint: Lint) -> None:
    program = SCRIPT.format(imports=imports, define=define, call=call, mark=mark)
    folder = file.rpartition("/")[0]
    network = f"{folder}/network.py" if folder else "network.py"
    lint({file: program, network: NETWORK}, check=[file], rules=["ML101"])


HELPER = """
import torch

def evaluate(net, loader):
    hits = 0
    with torch.no_grad():
        for x, y in loader:
            hits += (net(x).argmax(-1) == y).sum().item()  # {mark}
    return hits
"""

CALLER = """
import argparse
import torch
from helper import evaluate
from network import Net

net = Net()
net.load_state_dict(torch.load("net.pt", weights_only=True))
{ready}
print(evaluate(net, torch.load("data.pt", weights_only=True)))
"""


@pytest.mark.parametrize(("ready", "mark"), [("net.eval()", "fine"), ("net.cuda()", "ML101")])
def test_what_such_a_script_leaves_a_helper_to_run(ready: str, mark: str, lint: Lint) -> None:
    files = {
        "network.py": NETWORK,
        "helper.py": HELPER.format(mark=mark),
        "test_net.py": CALLER.format(ready=ready),
    }
    lint(files, check=["helper.py"], rules=["ML101"])


TRANSLATOR = """
import torch
from managers import ModelManager
from tools import save_image, to_image

class Translator:
    def __init__(self, options):
        self.manager = ModelManager(options)
        self.net = None
        self._init_model()

    def _init_model(self):
        self.net = self.manager.build()
        self.net.eval()
    {more}
    def test(self, loader):
        for batch in loader:
            with {switch}:
                out = self.net(batch["image"])  # {mark}
            for key, value in out.items():
                save_image(key, to_image(value))
"""

FIT = """
    def fit(self, loader, optimizer):
        self.net.train()
        for batch in loader:
            optimizer.zero_grad()
            self.net(batch["image"])["loss"].backward()
            optimizer.step()
"""


@pytest.mark.parametrize(
    ("more", "switch", "mark"),
    [("", "torch.no_grad()", "fine"), (FIT, "open('log')", "fine"), ("", "open('log')", "ML201")],
    ids=["under no_grad", "the class trains it, too", "put into evaluation mode when it was made"],
)
def test_a_class_that_readies_its_model_when_it_is_made(more: str, switch: str, mark: str, lint: Lint) -> None:
    """Somebody else may switch the mode before `test` is called; what `test` is for does not change by that."""
    lint(TRANSLATOR.format(more=more, switch=switch, mark=mark), rules=["ML201"])


MEASURE = """
import torch
from torchvision.models import resnet18

def measure(net, loader, {keeper}):
    for x, y in loader:
        {keeper}.add_batch(y, net(x))  # {mark}

def main(loader, {keeper}):
    net = resnet18()
    net.load_state_dict(torch.load("net.pt", weights_only=True))
    net.eval()
    measure(net, loader, {keeper})
"""


HELD = """
import torch

class Wrapper:
    def set_training(self, training):
        for name in self.names:
            part = getattr(self, name)
            if isinstance(part, torch.nn.Module):
                part.eval()

    def predict(self, batches):
        finish = self.finish
        return [finish(batch).detach().cpu().numpy() for batch in batches]  # fine
"""


def test_an_attribute_that_a_loop_over_all_of_them_may_have_switched(lint: Lint) -> None:
    """What is called there may be any function."""
    lint(HELD, rules=["ML201"])


@pytest.mark.parametrize(("keeper", "mark"), [("replay", "fine"), ("metric", "ML201"), ("loss_meter", "ML201")])
def test_a_metric_is_told_by_what_it_is_called(keeper: str, mark: str, lint: Lint) -> None:
    lint(MEASURE.format(keeper=keeper, mark=mark), rules=["ML201"])


@pytest.mark.parametrize(("imports", "mark"), [("import pytest", "fine"), ("import argparse", "ML403")])
def test_loads_in_such_a_script_are_those_of_any_other(imports: str, mark: str, lint: Lint) -> None:
    program = f"import torch\n{imports}\n\nnet = torch.load('net.pt', weights_only=False)  # {mark}\n"
    lint({"test_net.py": program}, rules=["ML403"])


BARE = """
import torch
from network import Net
{define}
if {guard}:
    net = Net()
    net.load_state_dict(torch.load("net.pt", weights_only=True))
    with torch.no_grad():
        for x in torch.zeros(3, 1, 4):
            print(net(x).argmax(-1).tolist())  # {mark}
"""


@pytest.mark.parametrize(
    ("folder", "define", "guard", "mark"),
    [
        ("test", "def test_net(): pass", '__name__ == "__main__"', "fine"),
        ("test", "class Suite: pass", '__name__ == "__main__"', "fine"),
        ("test", "import pytest", '__name__ == "__main__"', "fine"),
        ("test", "", "True", "fine"),
        ("tests", "", '__name__ == "__main__"', "fine"),
        ("tests/test", "", '__name__ == "__main__"', "fine"),
        ("test", "", '__name__ == "__main__"', "ML101"),
    ],
)
def test_a_script_that_defines_nothing_is_one_in_a_folder_of_tests_as_well(
    folder: str, define: str, guard: str, mark: str, lint: Lint
) -> None:
    program = BARE.format(define=define, guard=guard, mark=mark)
    file = f"{folder}/net_test.py"
    lint({file: program, f"{folder}/network.py": NETWORK}, check=[file], rules=["ML101"])


@pytest.mark.parametrize(
    ("path", "belongs"),
    [
        ("package/image/encoding.py", False),
        ("package/contest/encoding.py", False),
        ("tests/encoding.py", True),
        ("tests/unit_tests/encoders/image/encoding.py", True),
        ("package/unit_tests/encoding.py", True),
    ],
)
def test_a_suite_is_told_by_its_folders(path: str, belongs: bool) -> None:
    assert is_test_file(Path("/home/someone/project", path)) is belongs
