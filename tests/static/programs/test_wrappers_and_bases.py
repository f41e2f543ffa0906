"""Networks that run what they got from elsewhere, and classes that leave `forward` to their heirs."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

SCRIPT = """
        import torch
        from torch import nn
        from settings import Config

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(3, 3)

            def forward(self, x):
                return self.layer(x)

        class Wrapped(nn.Module):
            def __init__(self, config, net=None):
                super().__init__()
                self.model = {PART}

            def forward(self, x):
                return self.model(x)

        def show(boxes):
            for box in boxes:
                print(box.item())

        config = Config()
        model = Wrapped(config{GIVEN})
        {BEFORE}
        {WITH}
            boxes = model(torch.load("image.pt", weights_only=True)){MARK}
            {AFTER}
"""


@pytest.mark.parametrize(
    ("part", "given", "before", "around", "after", "mark"),
    [
        ("Net()", "", "", "if True:", "show(boxes)", ""),  # nothing was loaded: it is tried out
        ("net", ", Net()", "", "if True:", "show(boxes)", ""),
        ("nn.ReLU()", "", "", "if True:", "show(boxes)", ""),
        ("config.model.deploy()", "", "", "with torch.no_grad():", "show(boxes)", ""),
        ("config.model.deploy()", "", "", "if True:", "boxes.sum().backward()", ""),
        ("config.model.deploy()", "", "", "if True:", "config.save(boxes)", ""),  # with its graph, to somebody unseen
        ("config.model.deploy()", "", "", "if True:", "len(boxes)", ""),
        (
            *("config.model.deploy()", "", "torch.optim.SGD(model.parameters(), 0.1).step()", "if True:"),
            *("show(boxes)", ""),  # in a script that trains
        ),
        ("config.model.deploy()", "", "", "if True:", "show(boxes)", "  # ML201"),
        ("config.model", "", "", "if True:", "show(boxes)", "  # ML201"),
        ("net", ", config.build()", "", "if True:", "show(boxes)", "  # ML201"),
    ],
)
def test_weights_of_a_wrapper_are_those_of_what_it_runs(
    lint: Lint, part: str, given: str, before: str, around: str, after: str, mark: str
) -> None:
    code = SCRIPT.replace("{PART}", part).replace("{GIVEN}", given).replace("{BEFORE}", before)
    lint(code.replace("{WITH}", around).replace("{AFTER}", after).replace("{MARK}", mark))


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("fn", "fn"),
        ("pool", "config.pool.make()"),
        ("model", "TABLE[config.name](3, 3)"),
        ("model", "self.make()"),
        ("model", 'getattr(nn, f"Conv{config.dim}d")(3, 3, 3)'),
        ("model", "getattr(nn, config.name)"),
    ],
)
def test_functions_and_new_layers_have_learned_nothing(lint: Lint, name: str, part: str) -> None:
    lint(
        f"""
        import torch
        from torch import nn
        from settings import Config, read

        TABLE = {{"linear": nn.Linear}}

        class Wrapped(nn.Module):
            def __init__(self, config, fn=None):
                super().__init__()
                self.{name} = {part}

            def make(self):
                return nn.Identity()

            def forward(self, x):
                return self.{name}(x)

        wrapped = Wrapped(Config(), torch.sin)
        print(wrapped(read("image.png")).mean().item())
    """
    )


TRAINER = """
        import torch
        from torch import nn

        class Base(nn.Module):
            def forward(self, x):
                {FORWARD}

        class Trainer:
            def __init__(self, model: Base, optimizer, loss):
                self.model, self.optimizer, self.loss = model, optimizer, loss

            def fit(self, loader, test, epochs):
                for epoch in range(epochs):
                    for x, y in loader:
                        self.optimizer.zero_grad()
                        self.loss(self.model(x), y).backward(){MARK}
                        self.optimizer.step()
                    if epoch % 10 == 0:
                        with torch.no_grad():
                            self.model.eval()
                            print(self.loss(self.model(test[0]), test[1]).item())
                            {AFTER}
"""


@pytest.mark.parametrize(
    ("forward", "after", "mark"),
    [
        ("return x * 2", "pass", "  # ML103:info"),  # nothing in it depends on the mode
        ("raise NotImplementedError", "self.model.train()", ""),
        ("raise NotImplementedError", "pass", "  # ML103:warning"),  # heirs may have dropout
        ("...", "pass", "  # ML103:warning"),
    ],
)
def test_heirs_of_an_empty_class_may_depend_on_the_mode(lint: Lint, forward: str, after: str, mark: str) -> None:
    lint(TRAINER.replace("{FORWARD}", forward).replace("{AFTER}", after).replace("{MARK}", mark))


BESIDE_A_MIXIN = """
        import collections.abc

        import torch
        from torch import nn
        from hub import Hub, HubMixin

        class Reader({BASES}):
            def __init__(self):
                super().__init__()
                self.layer = nn.{LAYER}

            def forward(self, x):
                return {FORWARD}(x)

        def predict(path, x):
            reader = Reader()
            reader.load_state_dict(torch.load(path, weights_only=True))
            reader.train()
            with torch.no_grad():
                return reader(x).argmax(1).tolist(){MARK}
"""


@pytest.mark.parametrize(
    ("bases", "layer", "forward", "mark"),
    [
        ("nn.Module, HubMixin", "Linear(3, 2)", "self.layer", "  # ML101:info"),  # nothing in it depends on the mode
        ("nn.Module, collections.abc.Hashable", "Linear(3, 2)", "self.layer", "  # ML101:info"),
        ("nn.Module, HubMixin", "Dropout(0.5)", "self.layer", "  # ML101:error"),
        ("nn.Module, Hub", "Linear(3, 2)", "self.layer", "  # ML101:error"),  # which may have layers of its own
        ("HubMixin", "Linear(3, 2)", "self.layer", "  # ML101:error"),  # which must be a module itself
        ("HubMixin, nn.Module", "Linear(3, 2)", "super().forward", "  # ML101:error"),
    ],
)
def test_a_mixin_beside_a_module_brings_no_layers(lint: Lint, bases: str, layer: str, forward: str, mark: str) -> None:
    program = BESIDE_A_MIXIN.replace("{BASES}", bases).replace("{LAYER}", layer).replace("{FORWARD}", forward)
    lint(program.replace("{MARK}", mark))


MEMORY = """
        import torch
        from huggingface_hub import PyTorchModelHubMixin
        from torch import nn
        from transformers import AutoModelForCausalLM

        class Memory(nn.Module{BASES}):
            def __init__(self, model):
                super().__init__()
                self.model = model

            def forward(self, **batch):
                return self.model(**batch)

        def fit(loader, held_out):
            model = Memory({MODEL})
            optimizer = torch.optim.AdamW(model.parameters())
            model.train()
            for step, batch in enumerate(loader):
                optimizer.zero_grad()
                model(**batch).loss.backward(){MARK}
                optimizer.step()
                if step % 50 == 0:
                    model.eval()
                    with torch.no_grad():
                        print(model(**held_out).loss.item())
                    {AFTER}
"""
LANGUAGE_MODEL = 'AutoModelForCausalLM.from_pretrained("gpt2")'


@pytest.mark.parametrize(
    ("bases", "model", "after", "mark"),
    [
        ("", LANGUAGE_MODEL, "model.train()", ""),
        (", PyTorchModelHubMixin", LANGUAGE_MODEL, "model.train()", ""),
        (", PyTorchModelHubMixin", "nn.Linear(3, 2)", "pass", "  # ML103:info"),
        (", PyTorchModelHubMixin", LANGUAGE_MODEL, "pass", "  # ML103:warning"),
    ],
)
def test_what_a_wrapper_runs_tells_of_its_mode(lint: Lint, bases: str, model: str, after: str, mark: str) -> None:
    program = MEMORY.replace("{BASES}", bases).replace("{MODEL}", model)
    lint(program.replace("{AFTER}", after).replace("{MARK}", mark))
