"""Methods by names of their own, context managers as decorators, and helpers of a library's hooks."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

NET = """
        import torch
        from contextlib import contextmanager
        from sklearn.metrics import roc_auc_score
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(8, 2)
                self.drop = nn.Dropout(0.1)

            def forward(self, x):
                return self.layer(self.drop(x))
"""

CALLED = (
    NET
    + """
            def __call__(self, x, train=True):
                out = {RUNS}  # ML101
                return out.mean() if train else out.argmax(1)

        def main(rows):
            net = Net()
            net.load_state_dict(torch.load("net.pt", weights_only=True))
            {READY}
            with torch.no_grad():
                print(net(rows, train=False))

        main(load())
"""
)

HELPER = (
    NET
    + """
            def rank(self, x):
                return self.drop(x)  # ML101

        class Corpus:
            def evaluate(self, model, rows):
                ranks = []
                for row in rows:
                    ranks.append(model.rank(row).argmax().item())
                print(sum(ranks) / len(ranks))

        def main(rows):
            net = Net()
            net.load_state_dict(torch.load("net.pt", weights_only=True))
            {READY}
            with torch.no_grad():
                Corpus().evaluate(net, rows)

        main(load())
"""
)

MANAGED = (
    NET
    + """
        @contextmanager
        def in_mode(model, mode):
            was = model.training
            try:
                yield model.train(mode)
            finally:
                model.train(was)

        def evaluating(model):
            return in_mode(model, False)

        def main(rows):
            net = Net()
            net.load_state_dict(torch.load("net.pt", weights_only=True))

            @torch.no_grad()
            @{MANAGER}
            def run():
                return net(rows).argmax(1)  # ML101

            print(run())

        main(load())
"""
)

METRIC = (
    NET
    + """
        def test(model, loader):
            labels, scores = [], []
            for x, y in loader:
                labels.append(y)
                scores.append(model(x))  # ML201
            return {METRIC}

        def main(loader, held_out):
            net = Net()
            optimizer = torch.optim.Adam(net.parameters())
            for _ in range(10):
                for x, y in loader:
                    net.train()
                    optimizer.zero_grad()
                    nn.functional.cross_entropy(net(x), y).backward()
                    optimizer.step()
                print(test(net, held_out))

        main(load(), load())
"""
)

HOOKS = """
        import lightning as L
        import torch
        from torchvision.utils import save_image

        class Experiment(L.LightningModule):
            def __init__(self, model):
                super().__init__()
                self.model = model

            def {HOOK}(self):
                self.sample_images()

            def sample_images(self):
                images = self.model.sample(16)  # ML201
                save_image(images.cpu().data, "samples.png")
"""

TEACHER = """
        import torch

        class Trainer:
            def train_epoch(self, backprop):
                self.model.train()
                for x, y in self.loader:
                    {FIRST}
                    loss = self.loss(self.model, x, y)
                    backprop(loss)
                    if self.step % 100 == 0:
                        with torch.no_grad():
                            shown = self.model(x)  # ML101
                        self.logger.add_image("shown", shown.argmax(1))
"""

LABELLED = (
    NET
    + """
        class Tagger(nn.Module):
            def __init__(self, labels: {TYPE} = None):
                super().__init__()
                self.net = Net()
                self.labels = labels

            def forward(self, x):
                with torch.no_grad():
                    return self.net(x)

            def tag(self, rows):
                self.eval()
                scores = self(rows)
                print(self.labels(scores).argmax(1))  # ML201
"""
)


RANKER = {
    "nets.py": (
        NET
        + """
            def {NAME}(self, x{GIVEN}):
                {SWITCH}
                    return {RUNS}  # ML101

        class Engine:
            def __init__(self):
                self.model = Net()
                self.optimizer = torch.optim.Adam(self.model.parameters())

            def train_epoch(self, loader, loss_fn):
                {READY}
                for x, y in loader:
                    self.optimizer.zero_grad()
                    loss_fn(self.model(x), y).backward()
                    self.optimizer.step()
"""
    ),
    "evaluation.py": """
        class Evaluation:
            def run(self, engine, rows, y, metric):
                return metric(engine.model.{ASKED}(rows), y)
""",
    "other.py": """
        class Other:
            def predict(self, x):
                self.net.eval()
                return self.net(x)

            def show(self, x):
                print(self.predict(x))
""",
    "main.py": """
        from evaluation import Evaluation
        from nets import Engine

        def main(loader, loss_fn, rows, y, metric):
            engine = Engine()
            for _ in range(10):
                engine.train_epoch(loader, loss_fn)
                print(Evaluation().run(engine, rows, y, metric))
""",
}

ASKED = {
    "NAME": "predict",
    "ASKED": "predict",
    "GIVEN": "",
    "SWITCH": "with torch.no_grad():",
    "RUNS": "self.forward(x)",
    "READY": "self.model.train()",
}


def unmarked(text: str) -> str:
    """Return a program of which nothing may be reported."""
    return text.replace("  # ML101", "").replace("  # ML201", "")


@pytest.mark.parametrize("runs", ["super().__call__(x)", "self.forward(x)"])
@pytest.mark.parametrize("ready", ["net.eval()", "net.train()"])
def test_a_network_with_a_call_of_its_own(runs: str, ready: str, lint: Lint) -> None:
    program = CALLED.replace("{RUNS}", runs).replace("{READY}", ready)
    lint(program if ready == "net.train()" else unmarked(program), rules=["ML101"])


@pytest.mark.parametrize("ready", ["net.eval()", "print(net)"])
def test_a_helper_asks_a_network_by_a_name_of_its_own(ready: str, lint: Lint) -> None:
    program = HELPER.replace("{READY}", ready)
    lint(unmarked(program) if ready == "net.eval()" else program, rules=["ML101"])


@pytest.mark.parametrize(
    ("manager", "readies"),
    [("in_mode(net, False)", True), ("evaluating(net)", True), ("in_mode(net, True)", False)],
)
def test_a_context_manager_as_a_decorator(manager: str, readies: bool, lint: Lint) -> None:
    program = MANAGED.replace("{MANAGER}", manager)
    lint(unmarked(program) if readies else program, rules=["ML101"])


@pytest.mark.parametrize(
    ("metric", "told"), [("roc_auc_score(labels, scores)", True), ("(labels, len(scores))", False)]
)
def test_a_metric_of_what_was_collected(metric: str, told: bool, lint: Lint) -> None:
    program = METRIC.replace("{METRIC}", metric)
    lint(program if told else unmarked(program), rules=["ML201"])


@pytest.mark.parametrize(
    ("hook", "told"), [("on_validation_end", False), ("on_test_start", False), ("show", True), ("on_fit_end", True)]
)
def test_what_a_hook_of_lightning_calls(hook: str, told: bool, lint: Lint) -> None:
    program = HOOKS.replace("{HOOK}", hook)
    lint(program if told else unmarked(program), rules=["ML201"])


@pytest.mark.parametrize(("first", "trains"), [("self.optimizer.zero_grad()", True), ("self.progress.update()", False)])
def test_samples_in_a_loop_that_trains_by_a_function_it_is_given(first: str, trains: bool, lint: Lint) -> None:
    program = TEACHER.replace("{FIRST}", first)
    lint(unmarked(program) if trains else program, rules=["ML101"])


@pytest.mark.parametrize(("given", "told"), [("str | list[str]", False), ("int", False), ("nn.Module", True)])
def test_an_attribute_that_holds_texts_is_no_part(given: str, told: bool, lint: Lint) -> None:
    program = LABELLED.replace("{TYPE}", given)
    lint(program if told else unmarked(program), rules=["ML201"])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({}, True),
        ({"NAME": "generate", "ASKED": "generate"}, False),
        ({"ASKED": "rank"}, False),
        ({"SWITCH": "if len(x):"}, False),
        ({"GIVEN": ", net", "RUNS": "net(x)"}, False),
        ({"READY": "print(len(loader))"}, False),
    ],
    ids=["asked", "by another name", "asked by nobody", "under autograd", "another one", "trained as it comes"],
)
def test_a_network_that_predicts_by_a_method_of_its_own(change: dict[str, str], told: bool, lint: Lint) -> None:
    files = dict(RANKER)
    for name, value in {**ASKED, **change}.items():
        files = {file: text.replace(f"{{{name}}}", value) for file, text in files.items()}
    lint(files if told else {file: unmarked(text) for file, text in files.items()}, check=["nets.py"], rules=["ML101"])


ANNOTATED = (
    NET
    + """
            def sample(self, x):
                {READY}
                with torch.no_grad():
                    return self.forward(x)
{HEIR}
        class Trainer:
            def __init__(self, net: Net, optimizer):
                self.net = net
                self.optimizer = optimizer

            def fit(self, loader, loss_fn):
                self.net.train()
                for step, (x, y) in enumerate(loader):
                    self.optimizer.zero_grad()
                    loss_fn(self.net(x), y).backward()  # ML103
                    self.optimizer.step()
                    if step % 100 == 0:
                        print(self.net.sample(x).argmax(1))
"""
)
HEIR = """
        class Deep(Net):
            def sample(self, x):
                return super().sample(x)
"""


@pytest.mark.parametrize(
    ("ready", "heir", "told"),
    [("self.eval()", "", True), ("print(x)", "", False), ("self.eval()", HEIR, False)],
    ids=["its method leaves eval() on", "its method switches nothing", "another class may be given"],
)
def test_a_constructor_is_given_a_network_by_its_annotation(ready: str, heir: str, told: bool, lint: Lint) -> None:
    program = ANNOTATED.replace("{READY}", ready).replace("{HEIR}", heir)
    lint(program if told else program.replace("  # ML103", ""), rules=["ML103"])
