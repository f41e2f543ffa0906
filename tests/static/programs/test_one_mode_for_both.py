"""A model that is trained and evaluated in the one mode that somebody left; and a mode set on the wrong thing."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.static.conftest import Lint

SILENT = {
    "fit whose evaluation switches there and back": """
        def evaluate(model, loader):
            model.eval()
            correct = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
            model.train()
            return correct

        def fit(model, train_loader, val_loader, optimizer, criterion):
            for epoch in range(3):
                for x, y in train_loader:
                    optimizer.zero_grad()
                    criterion(model(x), y).backward()
                    optimizer.step()
                print(evaluate(model, val_loader))
        """,
    "accuracy of the very batch that is trained on": """
        def fit(model, train_loader, optimizer, criterion):
            for x, y in train_loader:
                optimizer.zero_grad()
                out = model(x)
                criterion(out, y).backward()
                optimizer.step()
                print((out.argmax(1) == y).float().mean().item())
        """,
    "an evaluation function that trains nothing and knows no caller": """
        def evaluate(model, loader):
            return sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
        """,
    "targets of a student under no_grad, by a network that learns in the same turn": """
        import torch

        def learn(model, loader, optimizer):
            for state, reward in loader:
                with torch.no_grad():
                    target = reward + model(state).max(1).values
                loss = (model(state).max(1).values - target).pow(2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        """,
    "samples with dropout on purpose": """
        import torch

        def mc_dropout_predict(model, val_loader):
            with torch.no_grad():
                return [model(x).softmax(1) for x in val_loader]

        def fit(model, train_loader, val_loader, optimizer, criterion):
            for x, y in train_loader:
                optimizer.zero_grad()
                criterion(model(x), y).backward()
                optimizer.step()
            print(mc_dropout_predict(model, val_loader))
        """,
    "a file that trains, and evaluates with eval() in a function of its own": """
        def train(model, loader, optimizer, criterion):
            model.train()
            for x, y in loader:
                optimizer.zero_grad()
                criterion(model(x), y).backward()
                optimizer.step()

        def to_evaluation(model):
            return model.eval()

        def test(model, loader):
            return [model(x).argmax(1).tolist() for x, _ in loader]
        """,
    "a trainer whose method evaluate() is left to callers, with a method that switches": """
        class Trainer:
            def __init__(self, model, optimizer, criterion):
                self.model = model
                self.optimizer = optimizer
                self.criterion = criterion

            def set_eval(self):
                self.model.eval()

            def train_epoch(self, loader):
                self.model.train()
                for x, y in loader:
                    self.optimizer.zero_grad()
                    self.criterion(self.model(x), y).backward()
                    self.optimizer.step()

            def evaluate(self, loader):
                return sum((self.model(x).argmax(1) == y).sum().item() for x, y in loader)
        """,
    "the flag of every module, set one by one": """
        import torch
        from torch import nn

        net = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5))
        net.load_state_dict(torch.load("net.pt", weights_only=True))
        for part in net.modules():
            part.training = False
        with torch.no_grad():
            print(net(torch.rand(1, 3)).argmax(1))
        """,
    "the flag of a model that asks for nothing else": """
        import torch
        import torch.nn.functional as F
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(3, 3)

            def forward(self, x):
                return F.dropout(self.fc(x), training=self.training)

        net = Net()
        net.load_state_dict(torch.load("net.pt", weights_only=True))
        net.training = False
        with torch.no_grad():
            print(net(torch.rand(1, 3)).argmax(1))
        """,
}

FOUND = {
    "fit that trains and evaluates in the mode it was given": """
        def evaluate(model, loader):
            return sum((model(x).argmax(1) == y).sum().item() for x, y in loader)  # ML101, ML201

        def fit(model, train_loader, val_loader, optimizer, criterion):
            for epoch in range(3):
                for x, y in train_loader:
                    optimizer.zero_grad()
                    criterion(model(x), y).backward()
                    optimizer.step()
                print(evaluate(model, val_loader))
        """,
    "one function for both parts of the data, told apart by a word": """
        def run_epoch(model, loader, optimizer, criterion, stage):
            losses = []
            for x, y in loader:
                loss = criterion(model(x), y)
                if stage == "train":
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                losses.append(loss.item())
            return sum(losses) / len(losses)

        def main(model, train_loader, val_loader, optimizer, criterion):
            for epoch in range(3):
                print(run_epoch(model, train_loader, optimizer, criterion, "train"))
                print(run_epoch(model, val_loader, optimizer, criterion, "val"))  # ML101, ML201
        """,
    "features of held-out data between two epochs": """
        import torch

        def features(model, val_loader):
            with torch.no_grad():
                return [model(x).cpu().numpy() for x, _ in val_loader]  # ML101

        def main(model, train_loader, val_loader, optimizer, criterion):
            for epoch in range(3):
                for x, y in train_loader:
                    optimizer.zero_grad()
                    criterion(model(x), y).backward()
                    optimizer.step()
                print(features(model, val_loader))
        """,
    "a trainer that calls train() for training, and nothing for evaluation": """
        class Trainer:
            def __init__(self, model, optimizer, criterion):
                self.model = model
                self.optimizer = optimizer
                self.criterion = criterion

            def train_epoch(self, loader):
                self.model.train()
                for x, y in loader:
                    self.optimizer.zero_grad()
                    self.criterion(self.model(x), y).backward()
                    self.optimizer.step()

            def evaluate(self, loader):
                return sum((self.model(x).argmax(1) == y).sum().item() for x, y in loader)  # ML101
        """,
    "a file of two functions, of which the one that trains sets the mode": """
        def train(model, loader, optimizer, criterion):
            model.train()
            for x, y in loader:
                optimizer.zero_grad()
                criterion(model(x), y).backward()
                optimizer.step()

        def test(model, loader):
            return [model(x).argmax(1).tolist() for x, _ in loader]  # ML101, ML201
        """,
    "the flag of the whole alone, which its dropout never sees": """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(3, 3)
                self.drop = nn.Dropout(0.5)

            def forward(self, x):
                return self.drop(self.fc(x))

        net = Net()
        net.load_state_dict(torch.load("net.pt", weights_only=True))
        net.training = False
        with torch.no_grad():
            print(net(torch.rand(1, 3)).argmax(1))  # ML101
        """,
}


def _of_torch(text: str) -> str:
    return text if "import torch" in text else "import torch\n" + dedent(text)


@pytest.mark.parametrize("name", SILENT)
def test_the_mode_is_right_or_nobody_can_tell(lint: Lint, name: str) -> None:
    lint(_of_torch(SILENT[name]), rules=["ML101", "ML103"])


@pytest.mark.parametrize("name", FOUND)
def test_one_mode_is_wrong_for_one_of_the_two(lint: Lint, name: str) -> None:
    lint(_of_torch(FOUND[name]), rules=["ML101", "ML201"])


HELPER = """
    def evaluate(model, loader):
        return sum((model(x).argmax(1) == y).sum().item() for x, y in loader)  # ML101
    """
CALLERS = """
    import torch
    from helper import evaluate
    from torchvision.models import resnet18

    def compare(loader, optimizer, criterion):
        teacher = resnet18(weights="DEFAULT").eval()
        print(evaluate(teacher, loader))
        student = resnet18()
        student.train()
        for x, y in loader:
            optimizer.zero_grad()
            criterion(student(x), y).backward()
            optimizer.step()
        {switch}
        print(evaluate(student, loader)){mark}

    compare(LOADER, OPTIMIZER, CRITERION)
    """


def test_a_helper_all_of_whose_callers_are_right_is_silent(lint: Lint) -> None:
    caller = CALLERS.format(switch="student.eval()", mark="")
    lint({"helper.py": HELPER.replace("  # ML101", ""), "main.py": caller}, rules=["ML101"], check=["helper.py"])


def test_a_wrong_call_is_reported_where_it_stands(lint: Lint) -> None:
    caller = CALLERS.format(switch="pass", mark="  # ML101")
    lint({"helper.py": HELPER.replace("  # ML101", ""), "main.py": caller}, rules=["ML101"])


def test_a_wrong_call_in_a_file_that_nobody_checks_is_reported_at_the_forward(lint: Lint) -> None:
    caller = CALLERS.format(switch="pass", mark="")
    (found,) = lint({"helper.py": HELPER, "main.py": caller}, rules=["ML101"], check=["helper.py"])
    assert [place.filename.rsplit("/", 1)[-1] for place in found.related].count("main.py") >= 1


WRAPPED = """
    import torch
    from somewhere import build

    class Parallel(torch.nn.{base}):
        def forward(self, batch):
            return self.module(batch)

    class Trainer:
        def __init__(self, cfg, optimizer, criterion):
            self.model = Parallel(build(cfg))
            self.optimizer = optimizer
            self.criterion = criterion

        def train(self, loader, val_loader):
            self.model.train()
            for step, (x, y) in enumerate(loader):
                loss = self.criterion(self.model(x), y){mark}
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                if step % 100 == 0:
                    self.validate(val_loader)
                    {again}

        @torch.no_grad()
        def validate(self, loader):
            self.model.eval()
            return sum((self.model(x).argmax(1) == y).sum().item() for x, y in loader)
    """


def test_a_wrapped_model_that_is_put_back_does_not_leak(lint: Lint) -> None:
    lint(WRAPPED.format(base="DataParallel", mark="", again="self.model.train()"), rules=["ML103"])


def test_a_wrapped_model_out_of_sight_most_likely_depends_on_its_mode(lint: Lint) -> None:
    lint(WRAPPED.format(base="DataParallel", mark="  # ML103", again="pass"), rules=["ML103"])


NET = """
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.drop = nn.Dropout(0.1)

        def forward(self, x):
            return self.drop(x)
    """
FILLED_LATER = """
    import torch
    from net import Net

    class Inferencer:
        def __init__(self, path):
            self.path = path
            self.model = None

        def load_model(self):
            self.model = Net()
            self.model.load_state_dict(torch.load(self.path, weights_only=True))
            {ready}

        {other}

        def infer(self, image):
            with torch.no_grad():
                return self.model(image).argmax(1).cpu().numpy(){mark}
    """


@pytest.mark.parametrize(
    ("ready", "other"),
    [
        ("self.model.eval()", "pass"),
        ("pass", "def freeze(self): self.model.eval()"),
        ("pass", "def use(self, model): self.model = model"),
    ],
    ids=["it switches it", "another method switches it", "another method gives it, too"],
)
def test_what_a_method_loads_later_may_be_ready(lint: Lint, ready: str, other: str) -> None:
    lint({"net.py": NET, "app.py": FILLED_LATER.format(ready=ready, other=other, mark="")}, rules=["ML101"])


def test_what_one_method_loads_later_is_what_the_others_run(lint: Lint) -> None:
    app = FILLED_LATER.format(ready="self.model.cuda()", other="pass", mark="  # ML101")
    lint({"net.py": NET, "app.py": app}, rules=["ML101"])


PARTS = """
    import torch
    from net import Net

    def run(loaders, optimizer, criterion):
        model = Net()
        for epoch in range(3):
            model.train()
            for x, y in loaders["train"]:
                optimizer.zero_grad()
                criterion(model(x), y).backward()
                optimizer.step()
            total = 0
            for x, y in loaders["{part}"]:
                total += criterion(model(x), y).item(){mark}
            print(total)
    """


def test_a_second_pass_over_what_is_trained_on_is_no_evaluation(lint: Lint) -> None:
    lint({"net.py": NET, "app.py": PARTS.format(part="train", mark="")}, rules=["ML101", "ML201"])


def test_an_element_may_be_the_held_out_data(lint: Lint) -> None:
    lint({"net.py": NET, "app.py": PARTS.format(part="valid", mark="  # ML101, ML201")}, rules=["ML101", "ML201"])


ESTIMATOR = """
    import torch
    from torch import nn
    from elsewhere import Estimator

    class Regressor({base}):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.2), nn.Linear(3, 1))

        def forward(self, x):
            return self.net(x)

        def fit(self, x, y):
            optimizer = torch.optim.Adam(self.parameters())
            for _ in range(100):
                loss = ((self(x) - y) ** 2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            {fitted}

        def predict(self, x):
            with torch.no_grad():
                return self(x).numpy(){mark}

        def score(self, x, y):
            return ((self.predict(x) - y) ** 2).mean()
    """


@pytest.mark.parametrize(
    ("base", "fitted"),
    [("nn.Module", "self.eval()"), ("nn.Module", "self.set_mode(False)"), ("nn.Module, Estimator", "pass")],
    ids=["it switches behind training", "by a method out of sight", "a base out of sight may"],
)
def test_a_model_that_fits_itself_may_be_ready_to_predict(lint: Lint, base: str, fitted: str) -> None:
    lint(ESTIMATOR.format(base=base, fitted=fitted, mark=""), rules=["ML101"])


def test_a_model_that_fits_itself_and_minds_no_mode_predicts_as_it_trains(lint: Lint) -> None:
    lint(ESTIMATOR.format(base="nn.Module", fitted="return self", mark="  # ML101"), rules=["ML101"])
