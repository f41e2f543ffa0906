"""Models that the flow lost: between imports, callees, containers, records, constructors and files."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint
from tests.static.programs.networks import NET

NETWORKS = f"""{NET}
            @classmethod
            def restore(cls, path):
                net = cls()
                net.load_state_dict(torch.load(path, weights_only=True))
                return net

        class Ready(Net):
            @classmethod
            def restore(cls, path):
                return super().restore(path).eval()
"""

BRANCHES = """
        import torch

        def main(name, x):
            if name == "a":
                from networks import {FIRST} as Chosen
            else:
                from networks import {SECOND} as Chosen
            net = Chosen.restore("net.pt")
            with torch.no_grad():
                print(net(x).argmax(1).tolist()){MARK}
"""


@pytest.mark.parametrize(
    ("first", "second", "mark"),
    [("Ready", "Ready", ""), ("Net", "Ready", "  # ML101"), ("Ready", "Net", "  # ML101")],
)
def test_branches_import_different_classes_by_one_name(lint: Lint, first: str, second: str, mark: str) -> None:
    program = BRANCHES.format(FIRST=first, SECOND=second, MARK=mark)
    lint({"networks.py": NETWORKS, "app.py": program}, check=["app.py"], rules=["ML101"])


TWO_FUNCTIONS = """
        import torch

        def careful(x):
            from networks import Ready as Chosen
            with torch.no_grad():
                print(Chosen.restore("net.pt")(x).argmax(1).tolist())

        def careless(x):
            from networks import Net as Chosen
            with torch.no_grad():
                print(Chosen.restore("net.pt")(x).argmax(1).tolist())  # ML101

        def careful_again(x):
            from networks import Ready as Chosen

            def run():
                return Chosen.restore("net.pt")

            with torch.no_grad():
                print(run()(x).argmax(1).tolist())
"""


def test_an_import_belongs_to_its_function(lint: Lint) -> None:
    lint({"networks.py": NETWORKS, "app.py": TWO_FUNCTIONS}, check=["app.py"], rules=["ML101"])


SHADOWED = """
        import torch

        def restore(path):
            return None

        def main(x):
            from making import restore
            net = restore("net.pt")
            with torch.no_grad():
                print(net(x).argmax(1).tolist()){MARK}

        def other(x):
            net = restore("net.pt")
            with torch.no_grad():
                print(net(x).argmax(1).tolist())
"""
MAKING = """
        from networks import Net, Ready

        def restore(path):
            return {NAME}.restore(path)
"""


@pytest.mark.parametrize(("name", "mark"), [("Ready", ""), ("Net", "  # ML101")])
def test_an_import_of_a_function_comes_before_what_the_file_defines(lint: Lint, name: str, mark: str) -> None:
    files = {"networks.py": NETWORKS, "making.py": MAKING.format(NAME=name), "app.py": SHADOWED.format(MARK=mark)}
    lint(files, check=["app.py"], rules=["ML101"])


NAMED_BY_CLASS = """{NET}
        class Shelf:
            @staticmethod
            def build(path):
                net = Net()
                net.load_state_dict(torch.load(path, weights_only=True))
                return net{READY}

        class Library(Shelf):
            def fetch(self, path):
                return super().build(path)

        def get(path):
            return Shelf.build(path)

        def fetch(path):
            return Library().fetch(path)

        def main(x):
            with torch.no_grad():
                print(get("a.pt")(x).argmax(1).tolist()){MARK}

        def again(x):
            with torch.no_grad():
                print(fetch("a.pt")(x).argmax(1).tolist()){MARK}
"""


@pytest.mark.parametrize(("ready", "mark"), [(".eval()", ""), ("", "  # ML101")])
def test_functions_that_only_call_methods_by_their_class_are_run(lint: Lint, ready: str, mark: str) -> None:
    lint(NAMED_BY_CLASS.format(NET=NET, READY=ready, MARK=mark), rules=["ML101"])


KEPT_OBJECT = """{NET}
        class Job:
            def __init__(self):
                self.net = Net()

            def go(self, x):
                return self.net(x){MARK}

        class Desk:
            def __init__(self, path):
                self.job = Job()
                self.job.net.load_state_dict(torch.load(path, weights_only=True))
                {READY}

            def answer(self, x):
                return self.job.go(x).argmax(1).tolist()
"""


@pytest.mark.parametrize(("ready", "mark"), [("self.job.net.eval()", ""), ("pass", "  # ML101")])
def test_what_an_object_keeps_is_asked(lint: Lint, ready: str, mark: str) -> None:
    lint(KEPT_OBJECT.format(NET=NET, READY=ready, MARK=mark), rules=["ML101"])


RECORDS = """{NET}
        import attr
        import attrs
        from dataclasses import dataclass
        from pydantic import BaseModel

        {DECORATOR}
        class Start{BASE}:
            name: str
            {FIELD}

        {DECORATOR}
        class Predictor(Start):
            device: str = "cpu"

            @classmethod
            def from_path(cls, path):
                net = Net()
                net.load_state_dict(torch.load(path, weights_only=True))
                {READY}
                return cls(name="net", network=net)

            def predict(self, x):
                with torch.no_grad():
                    return self.network(x).argmax(1).tolist(){MARK}
"""


@pytest.mark.parametrize(
    ("decorator", "base", "field"),
    [
        ("@dataclass", "", "network: nn.Module"),
        ("@attr.s(auto_attribs=True)", "", "network: nn.Module"),
        ("@attrs.define", "", "network: nn.Module = None"),
        ("@attr.s", "", "network = attr.ib()"),
        ("", "(BaseModel)", "network: nn.Module"),
    ],
)
@pytest.mark.parametrize(("ready", "mark"), [("net.eval()", ""), ("pass", "  # ML101")])
def test_constructors_that_are_written_for_a_class(
    lint: Lint, decorator: str, base: str, field: str, ready: str, mark: str
) -> None:
    program = RECORDS.format(NET=NET, DECORATOR=decorator, BASE=base, FIELD=field, READY=ready, MARK=mark)
    lint(program, rules=["ML101"])


FILLED = """{NET}
        class Ensemble(nn.Module):
            def __init__(self, nets, net):
                super().__init__()
                {BODY}

            def forward(self, x):
                return torch.stack([net(x) for net in {PARTS}]).mean(0)

        def main(x, paths):
            ensemble = Ensemble([Net(), Net()], Net())
            ensemble.load_state_dict(torch.load("all.pt", weights_only=True))
            {READY}
            with torch.no_grad():
                print(ensemble(x).argmax(1).tolist()){MARK}
"""


@pytest.mark.parametrize(
    ("body", "parts"),
    [
        ("self.nets = nn.ModuleDict(); self.nets['a'] = net", "self.nets.values()"),
        ("self.nets = nn.ModuleDict({'a': net})", "self.nets.values()"),
        ("self.nets = nn.ModuleList(); self.nets.append(net)", "self.nets"),
        ("self.nets = nn.ModuleDict(); self.nets.add_module('a', net)", "self.nets.values()"),
        ("self.nets = nn.ModuleList()\n                for one in nets: self.nets.append(one)", "self.nets"),
    ],
)
@pytest.mark.parametrize(("ready", "mark"), [("ensemble.eval()", ""), ("pass", "  # ML101")])
def test_a_container_is_filled_with_what_is_given(lint: Lint, body: str, parts: str, ready: str, mark: str) -> None:
    lint(FILLED.format(NET=NET, BODY=body, PARTS=parts, READY=ready, MARK=mark), rules=["ML101"])


FILLED_LIST = """{NET}
        class Ensemble(nn.Module):
            def __init__(self, nets):
                super().__init__()
                self.nets = nn.ModuleList(nets)

            def forward(self, x):
                return torch.stack([net(x) for net in self.nets]).mean(0)

        def main(x, paths):
            nets = []
            for path in paths:
                {MADE}
                nets.append(net)
            ensemble = Ensemble(nets)
            ensemble.load_state_dict(torch.load("all.pt", weights_only=True))
            with torch.no_grad():
                print(ensemble(x).argmax(1).tolist()){MARK}
"""


@pytest.mark.parametrize(("made", "mark"), [("net = nn.Linear(8, 2)", ""), ("net = Net()", "  # ML101")])
def test_a_list_is_filled_in_a_loop(lint: Lint, made: str, mark: str) -> None:
    lint(FILLED_LIST.format(NET=NET, MADE=made, MARK=mark), rules=["ML101"])


WRAPPED = """{NET}
        class Whole(nn.Module):
            def __init__(self, inner):
                super().__init__()
                self.inner = inner

            def forward(self, x):
                return self.inner(x)

        def main(x):
            net = Whole({WRAPPER}(Net()))
            net.load_state_dict(torch.load("net.pt", weights_only=True))
            {READY}
            with torch.no_grad():
                print(net(x).argmax(1).tolist()){MARK}
"""


@pytest.mark.parametrize("wrapper", ["torch.jit.script", "torch.compile", "nn.DataParallel"])
@pytest.mark.parametrize(("ready", "mark"), [("net.eval()", ""), ("pass", "  # ML101")])
def test_what_is_given_is_wrapped_on_the_way(lint: Lint, wrapper: str, ready: str, mark: str) -> None:
    lint(WRAPPED.format(NET=NET, WRAPPER=wrapper, READY=ready, MARK=mark), rules=["ML101"])


FACTORIES = """{NET}
        class Predictor:
            def __init__(self, network):
                self.network = {KEPT}

            def predict(self, x):
                with torch.no_grad():
                    return self.network(x).argmax(1).tolist(){MARK}

        class Estimator:
            def predictor(self, path):
                {MADE}
                {READY}
                return Predictor(net)
"""


@pytest.mark.parametrize("kept", ["network", "nn.DataParallel(network)"])
@pytest.mark.parametrize(
    ("made", "ready", "mark"),
    [
        ("net = Net(); net.load_state_dict(torch.load(path, weights_only=True))", "net.eval()", ""),
        ("net = Net(); net.load_state_dict(torch.load(path, weights_only=True))", "pass", "  # ML101"),
        ("net = torch.load(path, weights_only=False)", "net.eval()", ""),
        ("net = torch.load(path, weights_only=False)", "pass", "  # ML101"),
    ],
)
def test_a_method_of_another_class_makes_the_object(lint: Lint, kept: str, made: str, ready: str, mark: str) -> None:
    lint(FACTORIES.format(NET=NET, KEPT=kept, MADE=made, READY=ready, MARK=mark), rules=["ML101"])


ANNOTATED = """{NET}
        class Judge:
            def __init__(self, unetr: {KIND}):
                self.unetr = unetr

            def evaluate(self, loader):
                self.unetr.eval()
                for x in loader:
                    print(self.unetr(x).argmax(1).tolist()){MARK}
"""


@pytest.mark.parametrize(("kind", "mark"), [("str", ""), ("nn.Module", "  # ML201"), ("Net", "  # ML201")])
def test_an_annotation_says_that_an_argument_is_a_network(lint: Lint, kind: str, mark: str) -> None:
    program = ANNOTATED.format(NET=NET, KIND=kind, MARK=mark)
    lint(program.replace("self.unetr.eval()", "pass") if kind == "str" else program, rules=["ML201"])


BY_NAME = """{NET}
        class Desk:
            def __init__(self, **kwargs):
                self.network = {TAKEN}

            def predict(self, x):
                with torch.no_grad():
                    return self.network(x).argmax(1).tolist(){MARK}

        def main(x):
            net = Net()
            net.load_state_dict(torch.load("net.pt", weights_only=True))
            {READY}
            other = Net().eval()
            print(Desk(network=net, other=other).predict(x))
"""


@pytest.mark.parametrize("taken", ['kwargs["network"]', 'kwargs.get("network")', 'kwargs.pop("network")'])
@pytest.mark.parametrize(("ready", "mark"), [("net.eval()", ""), ("pass", "  # ML101")])
def test_arguments_by_name_are_a_dictionary(lint: Lint, taken: str, ready: str, mark: str) -> None:
    lint(BY_NAME.format(NET=NET, TAKEN=taken, READY=ready, MARK=mark), rules=["ML101"])


OVERRIDDEN = """{NET}
        class Base:
            def forward(self, x):
                raise NotImplementedError

            def train_step(self, x, y):
                loss = (self.forward(x) - y).abs().mean()
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()

            def evaluate(self, loader):
                with torch.no_grad():
                    return [(self.forward(x).argmax(1) == y).sum().item() for x, y in loader]{MARK}

        class Standard(Base):
            def __init__(self, net: Net, other: Net):
                self.net = net
                self.other = other
                self.optimizer = torch.optim.Adam(self.net.parameters())

            def train_step(self, x, y):
                self.net.train(True)
                super().train_step(x, y)

            def evaluate(self, loader):
                self.net.train(False)
                return super().evaluate(loader)

            def forward(self, x):
                return self.net(x)

        class Heir(Standard):
            def forward(self, x):
                return 2 * {RUN}(x)
"""


@pytest.mark.parametrize(("run", "mark"), [("self.net", ""), ("self.other", "  # ML101")])
def test_a_method_that_a_base_in_between_overrides_is_that_base_s(lint: Lint, run: str, mark: str) -> None:
    lint(OVERRIDDEN.format(NET=NET, RUN=run, MARK=mark), rules=["ML101"])


HANDED_OVER = {
    "loop.py": """
        import torch

        def evaluate(net, loader):
            with torch.no_grad():
                return sum((net(x).argmax(1) == y).sum().item() for x, y in loader){MARK}

        class Trainer:
            def __init__(self, net, loader, optimizer, evaluator):
                self.net, self.loader, self.optimizer, self.evaluator = net, loader, optimizer, evaluator

            def run(self, held_out):
                for epoch in range(3):
                    self.net.train()
                    for x, y in self.loader:
                        self.optimizer.zero_grad()
                        torch.nn.functional.cross_entropy(self.net(x), y).backward()
                        self.optimizer.step()
                    {READY}
                    print(self.evaluator(self.net, held_out))
""",
    "app.py": f"""{NET}
        from loop import Trainer, evaluate

        def main(loader, held_out):
            net = Net()
            optimizer = torch.optim.SGD(net.parameters(), 0.1)
            Trainer(net, loader, optimizer, evaluator=evaluate).run(held_out)
""",
}


@pytest.mark.parametrize(("ready", "mark"), [("self.net.eval()", ""), ("pass", "  # ML101")])
def test_a_function_is_handed_over_in_another_file(lint: Lint, ready: str, mark: str) -> None:
    loop = HANDED_OVER["loop.py"].replace("{READY}", ready).replace("{MARK}", mark)
    lint({"loop.py": loop, "app.py": HANDED_OVER["app.py"]}, rules=["ML101"])


@pytest.mark.parametrize(("ready", "mark"), [("net.eval()", ""), ("pass", "  # ML101")])
def test_callers_are_found_among_many_files(lint: Lint, ready: str, mark: str) -> None:
    files = {f"notes/part{number}.py": "# evaluate, as in checking: see checking.py\n" for number in range(15)}
    files["checking.py"] = f"""
        import torch

        def evaluate(net, loader):
            with torch.no_grad():
                return sum((net(x).argmax(1) == y).sum().item() for x, y in loader){mark}
"""
    files["app.py"] = f"""{NET}
        from checking import evaluate

        def main(loader):
            net = Net()
            net.load_state_dict(torch.load("net.pt", weights_only=True))
            {ready}
            print(evaluate(net, loader))
"""
    lint(files, check=["checking.py"], rules=["ML101"])


FITTED = """{NET}
        import pytorch_lightning as pl

        class Task(pl.LightningModule):
            def __init__(self, net):
                super().__init__()
                self.net = net

            def training_step(self, batch, index):
                return nn.functional.cross_entropy(self.net(batch[0]), batch[1])

        class Classifier:
            def __init__(self):
                self.net = Net()

            def fit(self, loader):
                pl.Trainer(max_epochs=3).fit({GIVEN}, loader)
                {READY}

            def predict(self, loader):
                return torch.cat([self.net(x).argmax(1).detach() for x in loader]).numpy(){MARK}
"""


@pytest.mark.parametrize("given", ["self.net", "Task(self.net)"])
@pytest.mark.parametrize(("ready", "mark"), [("self.net.eval()", ""), ("pass", "  # ML101")])
def test_a_trainer_fits_what_another_method_runs(lint: Lint, given: str, ready: str, mark: str) -> None:
    lint(FITTED.format(NET=NET, GIVEN=given, READY=ready, MARK=mark), rules=["ML101"])


STATISTICS = """
        import torch
        from torch import nn

        def check_bn(net):
            found = []
            net.apply(lambda m: found.append(m) if isinstance(m, nn.BatchNorm2d) else None)
            return bool(found)

        def update(net, loader):
            if not {ASKED}:
                return
            {WAS}
            net.train()
            for x in loader:
                net(x)
            {BACK}

        def main(loader, held_out):
            net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.{LAYER}, nn.Flatten(), nn.Linear(8, 2))
            net.load_state_dict(torch.load("net.pt", weights_only=True))
            net.eval()
            update(net, loader)
            return [net(x).softmax(1).detach().cpu().numpy() for x in held_out]{MARK}
"""


@pytest.mark.parametrize(
    ("asked", "was", "back", "layer", "mark"),
    [
        ("check_bn(net)", "was = net.training", "net.train(was)", "BatchNorm2d(8)", ""),
        ("check_bn(net)", "pass", "net.eval()", "BatchNorm2d(8)", ""),
        ("loader", "pass", "pass", "BatchNorm2d(8)", ""),
        ("check_bn(net)", "pass", "pass", "Dropout(0.1)", ""),
        ("check_bn(net)", "pass", "pass", "BatchNorm2d(8)", "  # ML101"),
    ],
)
def test_statistics_are_updated_where_there_are_batch_norms(
    lint: Lint, asked: str, was: str, back: str, layer: str, mark: str
) -> None:
    lint(STATISTICS.format(ASKED=asked, WAS=was, BACK=back, LAYER=layer, MARK=mark), rules=["ML101"])


EXPLAINED = """{NET}
        from captum.attr import IntegratedGradients

        def main(x, target):
            net = Net()
            net.load_state_dict(torch.load("net.pt", weights_only=True))
            {READY}
            explained = IntegratedGradients(net)
            print(explained.attribute(x, target=target)){MARK}
"""


@pytest.mark.parametrize(("ready", "mark"), [("net.eval()", ""), ("pass", "  # ML101")])
def test_attributions_are_of_the_mode_that_the_model_is_in(lint: Lint, ready: str, mark: str) -> None:
    lint(EXPLAINED.format(NET=NET, READY=ready, MARK=mark), rules=["ML101", "ML201"])


PLACES = """{NET}
        def main(net, loader, optimizer):
            total = 0
            for x, y in loader:
                out = net(x)
                nn.functional.cross_entropy(out, y).backward()
                optimizer.step()
                {FOUND}
                total += found{MARK}
            print(total)
"""


@pytest.mark.parametrize(
    ("found", "mark"),
    [
        ("found = torch.topk(out, 5)[1].sum()", ""),
        ("found = out.topk(5)[1].sum()", ""),
        ("_, found = torch.max(out, 1)", ""),
        ("[_, found] = out.max(1)", ""),
        ("best = torch.sort(out, 1); found = best.indices.sum()", ""),
        ("with torch.no_grad(): found = (out - y).abs().mean()", ""),
        ("found, _ = out.max(1)", "  # ML204"),
        ("found = (out - y).abs().mean()", "  # ML204"),
    ],
)
def test_places_have_no_graph_and_nothing_has_one_under_no_grad(lint: Lint, found: str, mark: str) -> None:
    lint(PLACES.format(NET=NET, FOUND=found, MARK=mark), rules=["ML204"])


CALIBRATED = """
        import torch
        from tools import convert, insert_observers

        def quantize(model, {DATA}):
            model.eval()
            insert_observers(model)
            for batch in {DATA}:
                model(batch.cuda()){MARK}
            return convert(model)
"""


@pytest.mark.parametrize(("data", "mark"), [("batches", ""), ("cali_data", "  # ML201")])
def test_data_to_calibrate_with(lint: Lint, data: str, mark: str) -> None:
    lint(CALIBRATED.format(DATA=data, MARK=mark), rules=["ML201"])
