"""Programs of which one `eval()` was taken out, beside the same programs with it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.static.conftest import Lint

RULES = ["ML101", "ML201"]

NETWORK = """
    from torch import nn

    class Net(nn.Module):
        def __init__(self, classes=10, **options):
            super().__init__()
            self.drop = nn.Dropout(0.5)
            self.head = nn.Linear(8, classes)

        def forward(self, x):
            return self.head(self.drop(x))
    """

TRAINER = """
    import torch

    class Trainer:
        def __init__(self, model, optimizer):
            self.model, self.optimizer = model, optimizer
            self.model.train()

        def validate(self, batches):
            {switch}
            with torch.no_grad():
                for x, y in batches:
                    print((self.model(x).argmax(1) == y).float().mean().item()){mark}

    def build_trainer(model, optimizer=None):
        if optimizer is not None:
            print("training")
        return Trainer(model, optimizer)
    """

EVALUATION = """
    import torch
    from networks import Net
    from trainers import build_trainer

    def evaluate(batches):
        model = Net()
        model.load_state_dict(torch.load("net.pt", weights_only=True))
        trainer = build_trainer(model)
        trainer.validate(batches)
    """

PREDICTOR = """
    import torch

    class Predictor:
        def __init__(self, net):
            self.net = net
            {switch}

        def predict(self, image):
            with torch.no_grad():
                return self.net(image).argmax(1).tolist(){mark}
    """

TRANSLATOR = """
    import torch
    from torch import nn
    from networks import Net

    class Whole(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = Net(8), Net(8)

        def forward(self, x):
            return self.second(self.first(x))

    class Translator(nn.Module):
        def __init__(self, model):
            super().__init__()
            self.model = model
            {switch}

        def translate(self, x):
            with torch.no_grad():
                return self.model(x).argmax(1){mark}

    def load(path):
        model = Whole()
        model.load_state_dict(torch.load(path, weights_only=True))
        return model

    if __name__ == "__main__":
        translator = Translator(model=load("whole.pt"))
        for x in torch.rand(3, 1, 8):
            print(translator.translate(x))
    """

WRAPPED = """
    import torch
    from torch import nn
    import networks

    class Segmenter(nn.Module):
        def __init__(self, encoder, decoder):
            super().__init__()
            self.encoder, self.decoder = encoder, decoder

        def forward(self, x):
            return self.decoder(self.encoder(x))

    def build(kind):
        if kind == "net":
            return networks.__dict__["Net"](8)
        return networks.__dict__["Net"](9)

    def test(model, loader):
        {switch}
        with torch.no_grad():
            for x in loader:
                print(model(x).argmax(1)){mark}

    def main(loader, kind):
        test(Segmenter(build(kind), build(kind)), loader)
    """

EARLY_RETURN = """
    import torch
    from networks import Net

    def read(path):
        if not path:
            return None, None
        return decode(path), path

    def main(paths):
        model = Net()
        model.load_state_dict(torch.load("net.pt", weights_only=True))
        {switch}
        for path in paths:
            image, name = read(path)
            if image is None:
                continue
            with torch.no_grad():
                print(name, model(image).argmax()){mark}
    """

PICKED = """
    import argparse
    import torch
    import networks

    def validate(model, loader):
        with torch.no_grad():
            for x, y in loader:
                print((model(x).argmax(1) == y).float().mean().item())

    def main(loader):
        parser = argparse.ArgumentParser()
        parser.add_argument("--arch")
        model = networks.__dict__[parser.parse_args().arch](classes=3)
        {switch}
        validate(model, loader){mark}
        train(model, loader)
        validate(model.eval(), loader)

    def train(model, loader):
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
    """

UNWRAPPED = """
    import torch
    from networks import Net

    def load_model(model, path):
        if hasattr(model, "module"):
            model.module.load_state_dict(torch.load(path, weights_only=True), strict=True)
        else:
            model.load_state_dict(torch.load(path, weights_only=True), strict=True)
        return model

    model = load_model(Net(), "net.pt")
    {switch}
    with torch.no_grad():
        print(model(torch.rand(1, 8)).argmax()){mark}
    """

LEFT_TO_HEIRS = """
    import torch
    from networks import Net

    class Base:
        def __init__(self, loader):
            self.model = Net()
            self.loss = self.make_loss()
            self.loader = loader

        def make_loss(self):
            raise NotImplementedError

        def validate(self):
            {switch}
            with torch.no_grad():
                for x, y in self.loader:
                    print((self.model(x).argmax(1) == y).float().mean().item()){mark}

        def fit(self):
            optimizer = torch.optim.SGD(self.model.parameters(), 0.1)
            for x, y in self.loader:
                self.model.train()
                optimizer.zero_grad()
                self.loss(self.model(x), y).backward()
                optimizer.step()
            self.validate()
    """

MODEL_WITH_LOSS = """
    import torch
    from networks import Net

    class ModelWithLoss(torch.nn.Module):
        def __init__(self, model, loss):
            super().__init__()
            self.model, self.loss = model, loss

        def forward(self, x, y):
            output = self.model(x)
            return output, self.loss(output, y)

    class Runner:
        def __init__(self):
            self.model_with_loss = ModelWithLoss(Net(), torch.nn.CrossEntropyLoss())
            self.optimizer = torch.optim.SGD(self.model_with_loss.parameters(), 0.1)

        def run_epoch(self, phase, loader):
            model_with_loss = self.model_with_loss
            if phase == "train":
                model_with_loss.train()
            else:
                {switch}
                print(phase)
            for x, y in loader:
                output, loss = model_with_loss(x, y)
                if phase == "train":
                    self.optimizer.zero_grad()
                    loss.backward()
                    self.optimizer.step()
                else:
                    print(phase, output.argmax(1), loss.item())

        def fit(self, loader, valid_loader):
            self.run_epoch("train", loader)
            with torch.no_grad():
                self.run_epoch("val", valid_loader){mark}
    """

INITIALISED = """
    import torch
    from torch import nn

    class Pose(nn.Module):
        def __init__(self, heads):
            super().__init__()
            self.norm = nn.BatchNorm2d(3)
            for head in heads:
                self.__setattr__(head, nn.Conv2d(3, 3, 1))
            self.heads = heads

        def forward(self, x):
            return self.norm(x)

        def init_weights(self, path):
            for head in self.heads:
                for module in self.__getattr__(head).modules():
                    print(module)
            self.load_state_dict(torch.load(path, weights_only=True))

    def create(path):
        model = Pose(["a"])
        model.init_weights(path)
        return model

    class Detector:
        def __init__(self, path):
            self.model = create(path)
            self.model.eval()

        def detect(self, x):
            with torch.no_grad():
                return self.model(x).argmax(1)
    """

CALL_PREDICTOR = """
    import torch
    from networks import Net
    from factory import create_predictor

    net = Net()
    net.load_state_dict(torch.load("net.pt", weights_only=True))
    print(create_predictor(net).predict(torch.rand(1, 8)))
    """
FACTORY = "from predictors import Predictor\n\ndef create_predictor(net):\n    return Predictor(net)\n"
FOLDERS = """
    import torch
    import _init_paths
    from networks import Net

    model = Net()
    model.load_state_dict(torch.load("net.pt", weights_only=True))
    {switch}
    with torch.no_grad():
        print(model(torch.rand(1, 8)).argmax()){mark}
    """

OF_PARTS = """
    import torch
    from torch import nn
    from networks import Net

    def classify(batches):
        {build}
        model.load_state_dict(torch.load("net.pt", weights_only=True))
        {switch}
        for x, y in batches:
            with torch.no_grad():
                print({part}(x).argmax(1)){mark}
    """


def _of_parts(build: str, part: str) -> dict[str, str]:
    program = OF_PARTS.replace("{build}", build).replace("{part}", part)
    return {"networks.py": NETWORK, "main.py": program}


CONSTANT_INPUT = """
    import torch
    from networks import Net

    def classify(batches):
        model = Net()
        model.load_state_dict(torch.load("net.pt", weights_only=True))
        {switch}
        with torch.no_grad():
            for x, y in batches:
                print(model(x.requires_grad_({wanted}).clone()).argmax(1)){mark}
    """

SEVERAL: dict[str, tuple[str, dict[str, str]]] = {
    "a part of a bare module": (
        "model.eval()",
        _of_parts("model = nn.Module()\n        model.encoder = Net()", "model.encoder"),
    ),
    "a part that is added to a bare module": (
        "model.eval()",
        _of_parts("model = nn.Module()\n        model.add_module('encoder', Net())", "model.encoder"),
    ),
    "one module of a dictionary": (
        "model['teacher'].eval()",
        _of_parts("model = nn.ModuleDict({'student': Net(), 'teacher': Net()})", "model['teacher']"),
    ),
    "one module of a list": ("model[1].eval()", _of_parts("model = nn.ModuleList([Net(), Net()])", "model[1]")),
    "one of several modules, whichever it is": (
        "model.eval()",
        _of_parts("model = nn.ModuleList([Net() for _ in range(8)])", "model[len(batches) - 1]"),
    ),
    "an input that is told to be constant": (
        "model.eval()",
        {"networks.py": NETWORK, "main.py": CONSTANT_INPUT.replace("{wanted}", "False")},
    ),
    "a function makes the object whose method evaluates": (
        "self.model.eval()",
        {"networks.py": NETWORK, "trainers.py": TRAINER, "evaluation.py": EVALUATION},
    ),
    "a function of a third file makes the object": (
        "self.net.eval()",
        {"networks.py": NETWORK, "predictors.py": PREDICTOR, "factory.py": FACTORY, "demo.py": CALL_PREDICTOR},
    ),
    "a module keeps the model that it is given": ("self.model.eval()", {"networks.py": NETWORK, "main.py": TRANSLATOR}),
    "a module runs models picked from a file by name": ("model.eval()", {"networks.py": NETWORK, "test.py": WRAPPED}),
    "a function that returns nothing at first, and something later": (
        "model.eval()",
        {"networks.py": NETWORK, "main.py": EARLY_RETURN},
    ),
    "a name out of sight picks the model from a file": ("model.eval()", {"networks.py": NETWORK, "main.py": PICKED}),
    "weights for a model that may be wrapped": ("model.eval()", {"networks.py": NETWORK, "main.py": UNWRAPPED}),
    "the base class leaves a part to those who inherit": (
        "self.model.eval()",
        {"networks.py": NETWORK, "main.py": LEFT_TO_HEIRS},
    ),
    "a model with its loss": ("model_with_loss.eval()", {"networks.py": NETWORK, "main.py": MODEL_WITH_LOSS}),
    "the sources are in a folder that a script puts into its path": (
        "model.eval()",
        {"lib/networks.py": NETWORK, "tools/demo.py": FOLDERS, "tools/_init_paths.py": "import sys\n"},
    ),
}


def _filled(program: Mapping[str, str], switch: str, mark: str) -> dict[str, str]:
    return {path: text.replace("{switch}", switch).replace("{mark}", mark) for path, text in program.items()}


@pytest.mark.parametrize(("switch", "program"), SEVERAL.values(), ids=SEVERAL.keys())
def test_silent_with_it(lint: Lint, switch: str, program: Mapping[str, str]) -> None:
    lint(_filled(program, switch, ""), rules=RULES)


@pytest.mark.parametrize(("switch", "program"), SEVERAL.values(), ids=SEVERAL.keys())
def test_found_without_it(lint: Lint, switch: str, program: Mapping[str, str]) -> None:
    lint(_filled(program, "pass", "  # ML101"), rules=RULES)


def test_an_input_whose_gradient_nobody_can_ask_for(lint: Lint) -> None:
    program = {"networks.py": NETWORK, "main.py": CONSTANT_INPUT.replace("{wanted}", "True")}
    lint(_filled(program, "model.eval()", ""), rules=RULES)
    lint(_filled(program, "pass", "  # ML101"), rules=RULES)


def test_parts_without_weights_are_told_of_as_well(lint: Lint) -> None:
    program = _of_parts("model = nn.ModuleDict({'teacher': Net()})", "model['teacher']")
    main = program["main.py"].replace("with torch.no_grad()", "if True").replace("model.load_state_dict", "print")
    lint(_filled({**program, "main.py": main}, "pass", "  # ML101"), rules=RULES)


def test_parts_have_the_weights_of_the_whole(lint: Lint) -> None:
    program = _of_parts("model = nn.ModuleDict({'teacher': Net()})", "model['teacher']")
    program["main.py"] = program["main.py"].replace("with torch.no_grad()", "if True")
    lint(_filled(program, "pass", "  # ML101, ML201"), rules=RULES)


def test_weights_that_a_method_initialises_are_no_forward(lint: Lint) -> None:
    lint(INITIALISED, rules=RULES)


LOADING = """
    import random
    import torch

    def degrade(image, camera_model=None):
        if random.random() < 0.5 and camera_model is not None:
            camera_model.load_state_dict(torch.load("camera.pt", weights_only=True))
            with torch.no_grad():
                image, shown = camera_model.forward(image)
                print(shown.item())
        return image
    """

FROZEN = """
    import torch
    from networks import Net

    def main(loader, valid, kind):
        model = Net()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for epoch in range(9):
            if kind == "finetune":
                model.train()
            {otherwise}
            for x, y in loader:
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(model(x), y).backward()
                optimizer.step()
            model.eval()
            with torch.no_grad():
                for x, y in valid:
                    print((model(x).argmax(1) == y).float().mean().item())
    """


def test_a_function_whose_callers_give_it_no_model_is_silent(lint: Lint) -> None:
    caller = "from degradation import degrade\n\ndef load(image):\n    return degrade(image, camera_model=None)\n"
    lint({"degradation.py": LOADING.replace("camera_model=None", "camera_model"), "data.py": caller}, rules=RULES)


def test_the_same_function_without_any_caller_is_fine_where_the_model_is_an_option(lint: Lint) -> None:
    lint({"degradation.py": LOADING}, rules=RULES)


def test_the_same_function_without_any_caller_is_found_where_it_has_to_be_given_a_model(lint: Lint) -> None:
    given = LOADING.replace("camera_model=None", "camera_model")
    lint({"degradation.py": given.replace("forward(image)", "forward(image)  # ML101")}, rules=RULES)


def test_what_is_never_reached_leaves_no_mode(lint: Lint) -> None:
    program = FROZEN.replace(
        "{otherwise}", 'elif kind == "freeze":\n                pass\n            else:\n                assert False'
    )
    program = program.replace("pass\n", "model.eval()\n", 1)
    lint({"networks.py": NETWORK, "main.py": program}, rules=["ML103"])


def test_a_way_past_the_switch_leaves_its_mode(lint: Lint) -> None:
    trained = "torch.nn.functional.cross_entropy(model(x), y).backward()"
    program = FROZEN.replace("{otherwise}", "").replace(trained, f"{trained}  # ML103")
    lint({"networks.py": NETWORK, "main.py": program}, rules=["ML103"])


AVERAGED = """
    import torch
    from torch.optim import swa_utils
    from networks import Net

    def main(loader, valid):
        model = Net()
        average = swa_utils.AveragedModel(model)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward(){mark}
            optimizer.step()
            average.update_parameters(model)
            {name}.eval()
            with torch.no_grad():
                print({name}(x).argmax(1))
    """


def test_an_average_is_a_model_of_its_own(lint: Lint) -> None:
    lint({"networks.py": NETWORK, "main.py": AVERAGED.format(name="average", mark="")}, rules=["ML103"])


def test_the_model_itself_is_not(lint: Lint) -> None:
    program = AVERAGED.format(name="model", mark="  # ML103")
    lint({"networks.py": NETWORK, "main.py": program}, rules=["ML103"])
