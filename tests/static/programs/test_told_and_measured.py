"""What factories are told, what only measures, tests that are none, and graphs that a method cuts itself."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

FACTORY = """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self, norm="batch", rate=0.0):
                super().__init__()
                layers = [nn.Conv2d(3, 3, 3)]
                if norm == "batch":
                    layers.append(nn.BatchNorm2d(3))
                self.layers, self.dropout = nn.Sequential(*layers), nn.Dropout(rate)

            def forward(self, x):
                return self.dropout(self.layers(x))

        def build(norm="batch", rate=0.0):
            return Net(norm, rate)

        def predict(path, x, options):
            net = build({GIVEN})
            net.load_state_dict(torch.load(path, weights_only=True))
            with torch.no_grad():
                return net(x).argmax(1).tolist(){MARK}
"""
PICKED = """
        import torch
        from functools import partial
        from torch import nn

        def activation_of(kind):
            if kind == "tanh":
                return nn.Tanh
            return nn.ReLU

        def norm_of(kind="{DEFAULT}"):
            norm = nn.InstanceNorm2d
            if kind == "batch":
                norm = partial(nn.BatchNorm2d, affine=True)
            return norm

        class Net(nn.Module):
            def __init__(self, norm, act):
                super().__init__()
                self.layers = nn.Sequential(nn.Conv2d(3, 3, 3), norm(3), act())

            def forward(self, x):
                return self.layers(x)

        def predict(path, x):
            norm, act = norm_of({GIVEN}), activation_of("tanh")
            net = Net(norm, act)
            net.load_state_dict(torch.load(path, weights_only=True))
            with torch.no_grad():
                return net(x).argmax(1).tolist(){MARK}
"""


@pytest.mark.parametrize("given", ["'instance'", "'none', 0.0", "norm='instance'"])
def test_a_factory_that_is_told_to_leave_a_layer_out(lint: Lint, given: str) -> None:
    lint(FACTORY.format(GIVEN=given, MARK="  # ML101:info"), rules=["ML101"])


@pytest.mark.parametrize("given", ["", "'batch'", "'instance', 0.5", "rate=0.1"])
def test_a_factory_that_is_not(lint: Lint, given: str) -> None:
    lint(FACTORY.format(GIVEN=given, MARK="  # ML101:error"), rules=["ML101"])


@pytest.mark.parametrize(("default", "given"), [("batch", "'instance'"), ("instance", "")])
def test_a_norm_that_is_picked_without_a_mode(lint: Lint, default: str, given: str) -> None:
    lint(PICKED.format(DEFAULT=default, GIVEN=given, MARK="  # ML101:info"), rules=["ML101"])


@pytest.mark.parametrize(("default", "given"), [("batch", ""), ("instance", "'batch'"), ("instance", "kind='batch'")])
def test_a_norm_that_is_picked_with_a_mode(lint: Lint, default: str, given: str) -> None:
    lint(PICKED.format(DEFAULT=default, GIVEN=given, MARK="  # ML101:error"), rules=["ML101"])


SERVICE = """
        import clip

        class Service:
            def __init__(self):
                self.model, self.preprocess = clip.load("ViT-B/32")

            def query(self, text):
                with {CONTEXT}:
                    found = self.model.encode_text(clip.tokenize([text]))
                    found /= found.norm(dim=-1, keepdim=True)
                    return found.cpu().detach().numpy().astype("float32"){MARK}

        Service().query("a dog")
"""


@pytest.mark.parametrize("context", ["no_grads.inference()", "self.inference_mode()"])
def test_a_context_that_may_switch_autograd_off(lint: Lint, context: str) -> None:
    lint(SERVICE.format(CONTEXT=context, MARK=""), rules=["ML201"])


@pytest.mark.parametrize("context", ["INFERENCE_TIME.time()", "metrics.infer.timer()", "tracer.eval.span('encode')"])
def test_a_context_that_measures(lint: Lint, context: str) -> None:
    text = SERVICE.replace("encode_text(clip.tokenize([text]))", "encode_text(clip.tokenize([text]))  # ML201")
    lint(text.format(CONTEXT=context, MARK=""), rules=["ML201"])


ENGINE = """
        import torch

        def test_engine({PARAMETERS}):
            net = options.build()
            net.load_state_dict(torch.load(options.path, weights_only=True))
            net.eval()
            found = []
            for x in dataset:
                found.append(net(x).cpu().data.numpy().argmax(1)){MARK}
            {END}
            return found
"""


@pytest.mark.parametrize(
    ("parameters", "end"),
    [
        ("options, dataset", "pass"),
        ("options=OPTIONS, dataset=DATA", "pass"),
        ("options, dataset, weights=None", "assert found"),
    ],
)
def test_a_test(lint: Lint, parameters: str, end: str) -> None:
    lint({"utils/test_engine.py": ENGINE.format(PARAMETERS=parameters, END=end, MARK="")}, rules=["ML201"])


def test_an_engine_that_is_called_like_a_test(lint: Lint) -> None:
    text = ENGINE.format(PARAMETERS="options, dataset, weights=None", END="pass", MARK="  # ML201")
    lint({"utils/test_engine.py": text}, rules=["ML201"])


SUMS = """
        import math
        import torch

        class Net(torch.nn.Module):
            def __init__(self, path):
                super().__init__()
                self.table = torch.load(path, weights_only=True)

            def forward(self, x):
                {WITH}
                    y = self.table[x]
                    return y

        net = Net("a.pth")
        total = 0
        for x in samples:
            total += {ADDED}{MARK}
            print(total)
"""


@pytest.mark.parametrize(
    ("context", "added"),
    [("with torch.no_grad():", "net(x)"), ("if self.training:", "math.log(net(x)[0])"), ("if x:", "math.exp(net(x))")],
)
def test_a_sum_of_what_has_no_graph(lint: Lint, context: str, added: str) -> None:
    lint(SUMS.format(WITH=context, ADDED=added, MARK=""), rules=["ML204"])


@pytest.mark.parametrize("context", ["with open(x):", "with torch.enable_grad():", "if self.training:"])
def test_a_sum_of_what_has_one(lint: Lint, context: str) -> None:
    lint(SUMS.format(WITH=context, ADDED="net(x)", MARK="  # ML204"), rules=["ML204"])


EDITED = """
        import torch

        def solve(model, x, y):
            delta = torch.zeros(8, requires_grad=True)
            optimizer = torch.optim.Adam({LEARNS}, lr=0.1)
            print(next(model.parameters()).device)
            for _ in range(20):
                optimizer.zero_grad()
                loss = model(x, prompt=delta).loss
                loss.backward()
                optimizer.step()
            return delta

        def evaluate(model, x):
            with torch.no_grad():
                return model(x).logits.argmax(-1).tolist(){MARK}

        def edit(model, x, y):
            delta = solve(model, x, y)
            print(evaluate(model, x))
            return delta
"""


def test_tensors_that_learn_beside_a_model(lint: Lint) -> None:
    lint(EDITED.format(LEARNS="[delta]", MARK=""), rules=["ML101"])


@pytest.mark.parametrize("learns", ["model.parameters()", "[*model.parameters(), delta]"])
def test_a_model_that_learns(lint: Lint, learns: str) -> None:
    lint(EDITED.format(LEARNS=learns, MARK="  # ML101:error"), rules=["ML101"])


LOADERS = """
        import torch
        from torch.utils.data import DataLoader

        if {ASKED}:
            val_loader = DataLoader(read(args.val_dataset), shuffle=False, drop_last=True){MARK}

        def validate(model):
            total = 0
            model.eval()
            for batch in val_loader:
                total += model(batch).sum().item()
            return total

        print(validate(model))
"""


def test_a_loader_of_one_part_of_the_work(lint: Lint) -> None:
    lint(LOADERS.format(ASKED="args.phase == 'train'", MARK=""), rules=["ML307"])


@pytest.mark.parametrize("asked", ["args.val_dataset is not None", "args.valid_set is not None", "True"])
def test_a_loader_where_there_are_such_data(lint: Lint, asked: str) -> None:
    lint(LOADERS.format(ASKED=asked, MARK="  # ML307"), rules=["ML307"])


BACKENDS = """
        import torch

        class Renderer:
            def __init__(self, kind, model):
                self.kind, self.model = kind, model
                self.model.eval()

            def classify(self, x):
                if self.kind {ASKED}:
                    return self.model(x)["output"].argmax().item(){MARK}
                with torch.no_grad():
                    return self.model(x).argmax().item()
"""


@pytest.mark.parametrize("asked", ["== 'tflite'", "in ('tensorflow', 'tflite')"])
def test_a_branch_for_another_framework(lint: Lint, asked: str) -> None:
    lint(BACKENDS.format(ASKED=asked, MARK=""), rules=["ML201"])


@pytest.mark.parametrize("asked", ["== 'large'", "!= 'tflite'", "in ('small', 'large')"])
def test_a_branch_for_something_else(lint: Lint, asked: str) -> None:
    lint(BACKENDS.format(ASKED=asked, MARK="  # ML201"), rules=["ML201"])
