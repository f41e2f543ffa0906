"""Loops over the keys of loaders, what a forward gives out of its graph, and objects that are named like a model."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint
from tests.static.programs.networks import NET

FIT = (
    NET
    + """
        def fit({LOADERS}, epochs):
            net = Net()
            optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
            for epoch in range(epochs):
                for {LOOP}:
                    {SWITCH}
                    total = 0.0
                    for batch in {LOADER}:
                        with {MODE}:
                            loss = nn.functional.mse_loss(net(batch["image"]), batch["y"]){MARK}
                        if {TEST}:
                            optimizer.zero_grad()
                            loss.backward()
                            optimizer.step()
                        total += loss.item()
                    print(phase, total)
            torch.save(net.state_dict(), "net.pt")
"""
)
SWITCH = "net.train(phase == 'train')"
MODE = 'torch.set_grad_enabled(phase == "train")'


def fit(loaders: str, loop: str, loader: str, switch: str, mark: str, test: str = 'phase == "train"') -> str:
    program = FIT.replace("{LOADERS}", loaders).replace("{LOOP}", loop).replace("{LOADER}", loader)
    program = program.replace("{SWITCH}", switch).replace("{TEST}", test)
    return program.replace("{MODE}", MODE).replace("{MARK}", mark)


@pytest.mark.parametrize(
    "loop", ["phase in loaders.keys()", "phase, loader in loaders.items()", "phase, loader in pairs"]
)
@pytest.mark.parametrize(("switch", "mark"), [(SWITCH, ""), ("print(phase)", "  # ML101")])
def test_a_loop_over_loaders_trains_with_one_of_them(lint: Lint, loop: str, switch: str, mark: str) -> None:
    program = fit("train, valid", loop, "loader" if "loader in" in loop else "loaders[phase]", switch, mark)
    made = 'loaders = {"train": train, "valid": valid}'
    if "pairs" in loop:
        made = 'pairs = [("train", train), ("valid", valid)]'
    lint(program.replace("net = Net()", f"net = Net(); {made}"))


TURNS = (
    NET
    + """
        def predict(a, b):
            net = Net()
            net.load_state_dict(torch.load("net.pt", weights_only=True))
            for phase, data in {DICT}.items():
                if {TEST}:
                    net.eval()
                with torch.no_grad():
                    for x in data:
                        print(net(x).argmax(1).tolist())
"""
)


@pytest.mark.parametrize(
    ("keys", "test"),
    [
        ("{0: a, 1: b}", "phase == 0"),  # keys that are no texts
        ("{False: a, True: b}", "not phase"),
        ("{'a': a, 'b': b}", "phase == 'a'"),  # keys that name no phases: other code may know more of them
        ("{'train': a, 'b': b}", "phase == 'train'"),
        ("{'train': a, 'val': b}", "phase == 'train'"),
    ],
)
def test_other_keys_are_not_told_apart(lint: Lint, keys: str, test: str) -> None:
    lint(TURNS.replace("{DICT}", keys).replace("{TEST}", test))


SUMS = """
        import torch
        from torch import nn

        class Critic(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(3, 2)

            def forward(self, x, optimizer):
                optimizer.zero_grad()
                loss = self.layer(x).sum()
                loss.backward(retain_graph=True)
                optimizer.step()
                {GIVES}

            def item(self, loss):
                return loss

        def fit(loader):
            model = Critic()
            optimizer = torch.optim.Adam(model.parameters())
            model.train(True)
            total = 0
            for x in loader:
                out = model(x, optimizer)
                total += out{PICKED}{MARK}
            print(total / len(loader))
"""


@pytest.mark.parametrize(
    ("gives", "picked", "mark"),
    [
        ('return {"loss": loss.to("cpu").item(), "n": 1}', '["loss"]', ""),
        ("return loss.detach(), len(x)", "[0]", ""),
        ("return float(loss)", "", ""),
        ("return [loss.detach().cpu()]", "[0]", ""),
        ("return loss.detach().mul(self.layer.weight)", "", "  # ML204"),
        ("return self.item(loss)", "", "  # ML204"),
        ('return {"loss": loss, "n": 1}', '["loss"]', "  # ML204"),
        ("return loss", "", "  # ML204"),
        ("return loss.float()", "", "  # ML204"),
    ],
)
def test_numbers_that_a_forward_gives_keep_no_graph(lint: Lint, gives: str, picked: str, mark: str) -> None:
    program = SUMS.replace("{GIVES}", gives).replace("{PICKED}", picked).replace("{MARK}", mark)
    lint(program, rules=["ML204"])


NAMED = """
        import torch
        {IMPORT}

        def predict_all(net, x, n):
            with torch.no_grad():
                return [net(x) for _ in numbers(n)]

        def numbers(n):
            generator = {MADE}
            generator.eval()
            return generator.{ASKED}(n).tolist()

        print(numbers(3)){MARK}
"""


@pytest.mark.parametrize(
    ("imported", "made", "asked", "mark"),
    [
        ("import numpy as np", "np.random.SeedSequence(3)", "generate_state", ""),
        ("import numpy as np", "np.random.default_rng(3)", "sample", ""),
        ("import cv2", 'cv2.dnn.readNet("net.onnx")', "predict", ""),
        ("from sklearn.svm import SVC", "SVC()", "predict", ""),
        ("import zoo", "zoo.load_model('generator', pretrained=True)", "sample", "  # ML201"),
        ("import numpy as np; import zoo", "np.random.choice(zoo.load_models())", "sample", "  # ML201"),
    ],
)
def test_what_numpy_and_estimators_make_is_no_module(
    lint: Lint, imported: str, made: str, asked: str, mark: str
) -> None:
    program = NAMED.replace("{IMPORT}", imported).replace("{MADE}", made).replace("{ASKED}", asked)
    lint(program.replace("{MARK}", mark))


READER = """
        from functools import partial

        import torch
        from tools import put
        from torch import nn

        class Reader(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer, self.dropout = nn.Linear(3, 3), nn.Dropout(0.5)
                self.{PREPARE} = partial(put, "cpu")

            def forward(self, x):
                return self.dropout(self.layer(x))

            @torch.no_grad()
            def sample(self, x):
                x = self.{PREPARE}(x)
                return self(x).argmax(-1){MARK}

        if __name__ == "__main__":
            reader = Reader()
            reader.load_state_dict(torch.load("reader.pt", weights_only=True))
            print(reader.sample(torch.zeros(3)).tolist())
"""


@pytest.mark.parametrize(
    ("prepare", "mark"),
    [
        ("prepare_mode", ""),  # it may have called eval()
        ("prepare", ""),
        ("prepare_variant", ""),
        ("prepare_feature_extractor", ""),
        ("prepare_vars", "  # ML101"),
        ("prepare_decoder_features", "  # ML101"),
    ],
)
def test_what_prepares_variables_sets_no_mode(lint: Lint, prepare: str, mark: str) -> None:
    lint(READER.replace("{PREPARE}", prepare).replace("{MARK}", mark))


GENERIC = (
    NET
    + """
        from typing import Generic, TypeVar

        T = TypeVar("T")

        class Checkpoint(Generic[T]):
            def __init__(self, path):
                self.path = path

            def load(self, model: T) -> tuple[T, float]:
                model.load_state_dict(torch.load(self.path, weights_only=True))
                return model{READY}, 1.0

        def main(x):
            checkpoint = Checkpoint{TYPES}("net.pt")
            net, score = checkpoint.load(Net())
            with torch.no_grad():
                print(score, net(x).argmax(1).tolist()){MARK}

        main(torch.zeros(3))
"""
)


@pytest.mark.parametrize("types", ["", "[Net]", "['Net']"])
@pytest.mark.parametrize(("ready", "mark"), [(".eval()", ""), ("", "  # ML101")])
def test_a_generic_class_is_told_its_types(lint: Lint, types: str, ready: str, mark: str) -> None:
    lint(GENERIC.replace("{READY}", ready).replace("{TYPES}", types).replace("{MARK}", mark))


def test_a_class_that_gives_items_of_its_own_is_not_told_types(lint: Lint) -> None:
    item = "def __class_getitem__(cls, name):\n                return Ready(name)\n\n            def __init__"
    program = GENERIC.replace("(Generic[T])", "").replace("def __init__(self, path)", f"{item}(self, path)")
    lint(program.replace("{READY}", "").replace("{TYPES}", "[Net]").replace("{MARK}", ""))
