"""Fixes of the rules about training mode: what they leave alone, and what they write."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from modellint.catalog import load_rules
from modellint.diagnostic import Confidence, Diagnostic, Severity, Span
from modellint.fixing import propose
from modellint.sources import SourceFile
from tests.fixing.conftest import Fixed


def same(fixed: Fixed, code: str, *rules: str, **beside: str) -> bool:
    return fixed(code, *rules, **beside) == dedent(code)


class TestEvalNotCalled:
    def test_the_missing_eval_is_not_inserted_as_well(self, fixed: Fixed) -> None:
        code = """
            import torch
            from torchvision.models import resnet18

            def predict(x):
                model = resnet18(weights="DEFAULT")
                model.eval
                with torch.no_grad():
                    return model(x).argmax(1)
            """
        assert fixed(code) == dedent(code).replace("model.eval\n", "model.eval()\n")

    def test_a_with_that_cannot_enter_it(self, fixed: Fixed) -> None:
        code = """
            import torch

            def predict(model, x):
                # inference
                with torch.no_grad(), model.eval():
                    y = model(x)
                with model.eval():
                    # again
                    return model(y).argmax(1)
            """
        assert fixed(code, "ML102") == dedent(
            """
            import torch

            def predict(model, x):
                # inference
                model.eval()
                with torch.no_grad():
                    y = model(x)
                model.eval()
                # again
                return model(y).argmax(1)
            """
        )


class TestFunctionalDropout:
    def test_a_plain_function_has_no_self(self, fixed: Fixed) -> None:
        code = """
            import torch.nn.functional as F

            def block(x):
                return F.dropout(x, 0.1)
            """
        assert same(fixed, code, "ML104")

    def test_stars_may_hold_the_argument(self, fixed: Fixed) -> None:
        code = """
            import torch.nn.functional as F
            from torch import nn

            class Block(nn.Module):
                def forward(self, x, *more):
                    return F.dropout(x, 0.1, *more)
            """
        assert same(fixed, code, "ML104")

    def test_each_form_and_layout(self, fixed: Fixed) -> None:
        code = """
            import torch.nn.functional as F
            from torch import nn

            class Block(nn.Module):
                def forward(self, x, q, k, v):
                    x = F.dropout(x, 0.1)
                    x = F.dropout(x, p=0.1, training=self.train)
                    x = F.dropout(
                        x,  # the input
                        0.2,  # the probability
                    )
                    x = F.dropout(
                        x
                    )
                    x = F.scaled_dot_product_attention(q, k, v, None, self.p)
                    return F.scaled_dot_product_attention(q, k, v, dropout_p=self.p if self.big else 0.1)
            """
        assert fixed(code, "ML104") == dedent(
            """
            import torch.nn.functional as F
            from torch import nn

            class Block(nn.Module):
                def forward(self, x, q, k, v):
                    x = F.dropout(x, 0.1, training=self.training)
                    x = F.dropout(x, p=0.1, training=self.training)
                    x = F.dropout(
                        x,  # the input
                        0.2,  # the probability
                        training=self.training,
                    )
                    x = F.dropout(
                        x,
                        training=self.training
                    )
                    x = F.scaled_dot_product_attention(q, k, v, None, self.p if self.training else 0.0)
                    return F.scaled_dot_product_attention(
                        q, k, v, dropout_p=(self.p if self.big else 0.1) if self.training else 0.0)
            """
        ).replace("(\n            q, k, v, dropout_p", "(q, k, v, dropout_p")

    def test_only_the_method_written_for_the_flag_is_safe(self, fixed: Fixed) -> None:
        code = """
            import torch.nn.functional as F
            from torch import nn

            class Block(nn.Module):
                def forward(self, x):
                    return F.dropout(x, 0.1) + F.dropout(x, 0.1, self.train)
            """
        assert fixed(code, "ML104", unsafe=False) == dedent(code).replace("self.train)", "self.training)")


class TestModuleBuiltInForward:
    def test_what_only_forward_knows(self, fixed: Fixed) -> None:
        code = """
            from torch import nn

            class Net(nn.Module):
                def forward(self, x, p):
                    x = nn.Dropout(p)(x)
                    for width in self.widths:
                        x = nn.Dropout(width)(x)
                    return nn.Dropout(self.later)(x)
            """
        assert same(fixed, code, "ML105")

    def test_layers_built_in_a_loop_are_not_one_layer(self, fixed: Fixed) -> None:
        code = """
            from torch import nn

            class Net(nn.Module):
                def forward(self, x):
                    for _ in range(3):
                        x = nn.Linear(4, 4)(x)
                    return x
            """
        assert same(fixed, code, "ML105")

    def test_the_constructor_itself_runs_it(self, fixed: Fixed) -> None:
        code = """
            import torch
            from torch import nn

            class Net(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.fc = nn.Linear(4, 4)
                    self.width = self(torch.zeros(1, 4)).shape[-1]

                def run(self, x):
                    return nn.Dropout(0.5)(self.fc(x))

                def forward(self, x):
                    return self.run(x)
            """
        assert same(fixed, code, "ML105")

    def test_it_is_built_behind_what_it_needs(self, fixed: Fixed) -> None:
        code = """
            from torch import nn

            class Net(nn.Module):
                def __init__(self, p):
                    super().__init__()
                    self.dropout = p  # a probability
                    self.apply(print)

                def forward(self, x):
                    x = nn.Dropout(self.dropout)(x)
                    drop = nn.Dropout(0.5)
                    return nn.Dropout(0.1)(drop(x))
            """
        assert fixed(code, "ML105") == dedent(
            """
            from torch import nn

            class Net(nn.Module):
                def __init__(self, p):
                    super().__init__()
                    self.dropout = p  # a probability
                    self.dropout_2 = nn.Dropout(self.dropout)
                    self.drop = nn.Dropout(0.5)
                    self.dropout_3 = nn.Dropout(0.1)
                    self.apply(print)

                def forward(self, x):
                    x = self.dropout_2(x)
                    drop = self.drop
                    return self.dropout_3(drop(x))
            """
        )

    def test_a_constructor_hands_on_what_a_base_wants(self, fixed: Fixed) -> None:
        code = """
            from torch import nn

            class Base(nn.Module):
                def __init__(self, width):
                    super().__init__()
                    self.fc = nn.Linear(width, 2)

            class Net(Base):
                size = 3

                # the forward
                def forward(self, x):
                    return nn.Dropout(0.5)(self.fc(x))
            """
        assert fixed(code, "ML105").endswith(
            dedent(
                """
                class Net(Base):
                    size = 3

                    # the forward
                    def __init__(self, *args, **kwargs):
                        super().__init__(*args, **kwargs)
                        self.dropout = nn.Dropout(0.5)

                    def forward(self, x):
                        return self.dropout(self.fc(x))
                """
            )
        )


class TestUnregisteredModules:
    def test_what_a_module_list_cannot_hold_or_do(self, fixed: Fixed) -> None:
        code = """
            from torch import nn

            class Net(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.pairs = [(nn.Linear(4, 4), nn.BatchNorm1d(4))]
                    self.heads = {3: nn.Linear(4, 4)}
                    self.named = {"a.b": nn.Linear(4, 4)}
                    self.sorted = [nn.Linear(4, 4), nn.Linear(4, 2)]
                    self.sorted.reverse()
                    self.chosen = {"a": nn.Linear(4, 4)}

                def forward(self, x, name):
                    return self.chosen.get(name, self.pairs[0][0])(x)
            """
        assert same(fixed, code, "ML106")

    def test_containers_in_containers_are_none_of_torch(self, fixed: Fixed) -> None:
        code = """
            from collections import namedtuple
            from torch import nn

            Pair = namedtuple("Pair", "layer norm")

            class Net(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.pairs = [Pair(nn.Linear(4, 4), nn.BatchNorm1d(4)) for _ in range(2)]
                    self.named = [dict(layer=nn.Linear(4, 4))]
            """
        assert same(fixed, code, "ML106")

    def test_a_dict_under_another_name_is_no_list(self, fixed: Fixed) -> None:
        code = """
            from torch import nn

            class Net(nn.Module):
                def __init__(self, names):
                    super().__init__()
                    heads = {}
                    for name in names:
                        heads[name] = nn.Linear(4, 2)
                    self.heads = heads
            """
        assert same(fixed, code, "ML106")

    def test_before_the_module_is_initialised_nothing_can_be_registered(self, fixed: Fixed) -> None:
        code = """
            from torch import nn

            class Net(nn.Module):
                def __init__(self):
                    self.layers = [nn.Linear(4, 4)]
                    super().__init__()
            """
        assert same(fixed, code, "ML106")

    def test_torch_is_spelled_as_the_file_does(self, fixed: Fixed) -> None:
        code = """
            import torch.nn as tnn

            class Net(tnn.Module):
                def __init__(self):
                    super().__init__()
                    self.layers = [tnn.Linear(4, 4)]
            """
        assert "tnn.ModuleList([tnn.Linear(4, 4)])" in fixed(code, "ML106")

    def test_what_the_attribute_is_made_of_changes_with_it(self, fixed: Fixed) -> None:
        code = """
            from torch import nn

            class Net(nn.Module):
                def __init__(self, names):
                    super().__init__()
                    self.heads = {}
                    for name in names:
                        self.heads[f"head_{name}"] = nn.Linear(4, 2)
                    layers = []
                    for _ in names:
                        layers.append(nn.Linear(4, 4))
                    self.layers = layers
            """
        new = fixed(code, "ML106")
        assert "self.heads = nn.ModuleDict()" in new
        assert "self.layers = nn.ModuleList(layers)" in new


class TestTrainOverride:
    def test_a_method_that_trains_is_another_thing(self, fixed: Fixed) -> None:
        code = """
            from torch import nn

            class Agent(nn.Module):
                def train(self):
                    for x in self.memory:
                        self(x).backward()
                        self.optimizer.step()
            """
        assert same(fixed, code, "ML107")

    def test_more_arguments_than_eval_gives(self, fixed: Fixed) -> None:
        code = """
            from torch import nn

            class Net(nn.Module):
                def train(self, mode, epoch):
                    super().train(mode)
                    return self
            """
        assert same(fixed, code, "ML107")

    def test_everything_is_missing(self, fixed: Fixed) -> None:
        code = '''
            from torch import nn

            class Net(nn.Module):
                def train(self) -> None:
                    """Freeze the norms."""
                    self.head.train()
                    if self.frozen:
                        return
                    self.norm.eval()
            '''
        assert fixed(code, "ML107") == dedent(
            '''
            from torch import nn

            class Net(nn.Module):
                def train(self, mode: bool = True):
                    """Freeze the norms."""
                    super().train(mode)
                    self.head.train(mode)
                    if self.frozen:
                        return self
                    self.norm.eval()
                    return self
            '''
        )

    def test_an_eval_of_the_parts_alone_calls_torchs_first(self, fixed: Fixed) -> None:
        code = """
            from torch import nn

            class Net(nn.Module):
                def eval(self):
                    self.body.eval()

                def forward(self, x):
                    return self.body(x)
            """
        assert fixed(code, "ML107", unsafe=False) == dedent(code)
        new = fixed(code, "ML107")
        assert "def eval(self):\n        super().eval()\n        self.body.eval()\n        return self\n" in new

    @pytest.mark.parametrize("call", ["super().eval()", "nn.Module.eval(self)", "self.train(False)"])
    def test_an_eval_that_ends_in_torchs_has_only_to_return(self, fixed: Fixed, call: str) -> None:
        code = f"""
            from torch import nn

            class Net(nn.Module):
                def eval(self):
                    {call}
                    self.head = None
            """
        new = fixed(code, "ML107", unsafe=False)
        assert f"        {call}\n        self.head = None\n        return self" in new

    @pytest.mark.parametrize(("name", "given", "passed"), [("eval", "self", ""), ("train", "self, mode=True", "mode")])
    def test_super_is_called(self, fixed: Fixed, name: str, given: str, passed: str) -> None:
        code = f"""
            from torch import nn

            class Net(nn.Module):
                def {name}({given}):
                    super.{name}({passed})
                    print("{name}")
            """
        new = fixed(code, "ML107", unsafe=False)
        assert f'        super().{name}({passed})\n        print("{name}")\n        return self' in new

    def test_a_new_argument_is_safe_and_another_mode_is_not(self, fixed: Fixed) -> None:
        code = """
            from torch import nn

            class Net(nn.Module):
                def train(self):
                    super(Net, self).train()

            class Other(nn.Module):
                def train(self, mode=True):
                    super().train()
                    return self
            """
        new = fixed(code, "ML107", unsafe=False)
        assert "def train(self, mode: bool = True):\n        super(Net, self).train(mode)\n        return self" in new
        assert "super().train()\n" in new


class TestMissingEval:
    def test_a_loop_that_trains_and_evaluates_without_train(self, fixed: Fixed) -> None:
        """eval() would stay for the next epoch: only a person can say where train() belongs."""
        code = """
            import torch

            def run(model, loader, val_loader, optimizer, loss_fn):
                model.train()
                for epoch in range(10):
                    for x, y in loader:
                        loss_fn(model(x), y).backward()
                        optimizer.step()
                    with torch.no_grad():
                        for x, y in val_loader:
                            print(loss_fn(model(x), y).item())
            """
        assert same(fixed, code, "ALL")

    @pytest.mark.parametrize(("method", "offered"), [("encode", True), ("forward", False)])
    def test_the_parts_of_a_model_are_left_alone(self, method: str, offered: bool) -> None:
        """Whoever trains the whole trains its parts; a service that has no forward is no part of anything."""
        text = dedent(
            f"""
            class Captioner(Base):
                def __init__(self):
                    self.encoder = make()

                def {method}(self, x):
                    return x

                def predict(self, x):
                    return self.encoder(x)
            """
        )
        row = text.split("\n").index("        return self.encoder(x)") + 1
        found = Diagnostic(
            code="ML101",
            name="missing-eval",
            severity=Severity.ERROR,
            confidence=Confidence.CERTAIN,
            message="",
            filename="/app.py",
            span=Span.of(row, 16, row, 16 + len("self.encoder(x)")),
            subject="self.encoder",
        )
        [proposed] = propose(SourceFile(Path("/app.py"), text), [found], load_rules())
        assert (proposed.fix is not None) == offered

    def test_not_in_the_loop_but_behind_the_loading(self, fixed: Fixed) -> None:
        code = """
            import torch
            from torchvision.models import resnet18

            def main(path, loader, device):
                model = resnet18()
                with open(path, "rb") as file:
                    model.load_state_dict(torch.load(file, weights_only=True))
                model = model.to(device)  # fast

                for x in loader:
                    # no graph
                    with torch.no_grad():
                        print(model(x).argmax(1))
            """
        new = fixed(code, "ML101")
        assert "model = model.to(device)  # fast\n    model.eval()\n\n    for x in loader:" in new

    def test_a_helper_made_it(self, fixed: Fixed) -> None:
        code = """
            import torch
            from helper import load

            def main(path, x):
                net = load(path)
                with torch.no_grad():
                    return net(x).argmax(1)
            """
        helper = """
            import torch
            from torchvision.models import resnet18

            def load(path):
                net = resnet18()
                net.load_state_dict(torch.load(path, weights_only=True))
                return net
            """
        assert "net = load(path)\n    net.eval()\n" in fixed(code, "ML101", helper=helper)

    def test_an_attribute_is_set_where_it_is_made(self, fixed: Fixed) -> None:
        code = """
            import torch
            from torchvision.models import resnet18

            class Service:
                def __init__(self, device):
                    self.device = device
                    self.model = resnet18(weights="DEFAULT").to(device)
                    self.names = []

                @torch.no_grad()
                def predict(self, x):
                    return self.model(x.to(self.device)).argmax(1)
            """
        assert "to(device)\n        self.model.eval()\n        self.names" in fixed(code, "ML101")

    def test_whoever_gave_the_model_trains_it_with_the_loss_of_this_class(self, fixed: Fixed) -> None:
        diffusion = """
            import torch
            from torch.nn.functional import mse_loss

            class Diffusion:
                def __init__(self, net):
                    self.net = net

                @torch.no_grad()
                def sample(self, x):
                    return self.net(x)

                def loss(self, x, noise):
                    return mse_loss(self.net(x + noise), noise)
            """
        training = """
            import torch
            from torch import nn
            from app import Diffusion

            def train(batches):
                net = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.1))
                diffusion = Diffusion(net)
                optimizer = torch.optim.Adam(net.parameters())
                for x, noise in batches:
                    optimizer.zero_grad()
                    diffusion.loss(x, noise).backward()
                    optimizer.step()
                return diffusion.sample(torch.randn(1, 8))
            """
        assert same(fixed, diffusion, "ML101", training=training)
        sampler = diffusion[: diffusion.index("    def loss")].rstrip() + "\n"
        sampling = """
            from torch import nn
            from app import Diffusion

            def sample(noise):
                return Diffusion(nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.1))).sample(noise)
            """
        new = dedent(sampler).replace("        return", "        self.net.eval()\n        return")
        assert fixed(sampler, "ML101", sampling=sampling, training="") == new  # whoever gave it may train it yet

    @pytest.mark.parametrize(
        "kept",
        [
            "self.net = net.to(device)",
            "self.net: nn.Module = net",
            "self.net, self.device = net, device",
            "self.net = net if net is not None else load()",
            "self.net = net or load()",
            "self.net = nn.DataParallel(net)",
            "self.net = options.net",
            "self.net = net\n        self.net.to(device)",
        ],
    )
    def test_what_a_constructor_is_given_is_readied_where_it_is_run(self, fixed: Fixed, kept: str) -> None:
        sampler = f"""
import torch
from torch import nn

class Sampler:
    def __init__(self, net, options, device):
        {kept}

    @torch.no_grad()
    def sample(self, x):
        return self.net(x)
"""
        sampling = """
            from torch import nn
            from app import Sampler

            def sample(noise, options):
                net = options.net = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.1))
                return Sampler(net, options, "cuda").sample(noise)
            """
        new = sampler.replace("        return", "        self.net.eval()\n        return")
        assert fixed(sampler, "ML101", sampling=sampling) == new

    def test_a_global_is_set_where_it_is_made(self, fixed: Fixed) -> None:
        code = """
            import torch
            from torchvision.models import resnet18

            model = resnet18(weights="DEFAULT")

            def predict(x):
                with torch.no_grad():
                    return model(x).argmax(1)
            """
        assert 'resnet18(weights="DEFAULT")\nmodel.eval()\n' in fixed(code, "ML101")

    def test_a_closure_keeps_what_the_function_around_it_made(self, fixed: Fixed) -> None:
        code = """
            import torch
            from torchvision.models import resnet18

            def make_predictor(path, labels):
                net = resnet18()
                net.load_state_dict(torch.load(path, weights_only=True))

                def predict(x):
                    with torch.no_grad():
                        return labels[net(x).argmax(-1).item()]

                return predict

            def fit(batches, optimizer, x):
                net = resnet18()

                def preview():
                    with torch.no_grad():
                        return net(x).argmax(-1)

                for x, y in batches:
                    torch.nn.functional.cross_entropy(net(x), y).backward()
                    optimizer.step()
                    preview()
            """
        loaded = "    net.load_state_dict(torch.load(path, weights_only=True))\n"
        assert fixed(code, "ML101", "ML103") == dedent(code).replace(loaded, f"{loaded}    net.eval()\n")

    def test_a_model_without_a_name(self, fixed: Fixed) -> None:
        code = """
            import torch
            from torchvision.models import resnet18

            def predict(x):
                with torch.no_grad():
                    return resnet18(weights="DEFAULT")(x).argmax(1)
            """
        assert 'resnet18(weights="DEFAULT").eval()(x)' in fixed(code, "ML101")


class TestWhatAReviewerWouldSendBack:
    def test_what_needs_no_mode_gets_no_eval(self, fixed: Fixed) -> None:
        assert same(
            fixed,
            """
            import torch
            from torch import nn

            class Line(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.fc = nn.Linear(4, 2)

                def forward(self, x):
                    return self.fc(x)

            def main(x):
                net = Line()
                net.load_state_dict(torch.load("line.pt", weights_only=True))
                with torch.no_grad():
                    print(net(x).argmax(-1))
            """,
            "ML101",
        )

    def test_an_attack_keeps_its_gradients(self, fixed: Fixed) -> None:
        code = """
            import torch

            def robustness(model, loader, adversary):
                model.eval()
                hits = 0
                for x, y in loader:
                    out = model(x)
                    hits += (out.argmax(1) == y).sum().item()
                    x = adversary.perturb(x, y)
                return hits
            """
        assert fixed(code, "ML201") == dedent(code).replace(
            "        out = model(x)", "        with torch.no_grad():\n            out = model(x)"
        )

    def test_train_becomes_eval_where_it_stands_right_before(self, fixed: Fixed) -> None:
        code = """
            import torch

            @torch.no_grad()
            def test(model, loader):
                model.train()  # copied
                for x, y in loader:
                    print((model(x).argmax(1) == y).sum().item())
            """
        assert fixed(code, "ML101") == dedent(code).replace("model.train()", "model.eval()")
