"""Programs like those in which public repositories had a defect that nobody had read: right ones first."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.static.conftest import Lint

_RULES = ["ML101", "ML103", "ML201", "ML305"]

_REGISTRY = """
    import torch

    MODELS = {}

    def register(builder):
        MODELS[builder.__name__] = builder
        return builder

    def main(name, path, image):
        model = PICK
        model.load_state_dict(torch.load(path, weights_only=True))
        READY
        with torch.no_grad():
            print(model(image).argmax().item())MARK
    """


def _picked(pick: str, ready: str = "", mark: str = "  # ML101") -> str:
    return _REGISTRY.replace("PICK", pick).replace("READY", ready or "print(path)").replace("MARK", mark)


_CHECKPOINT = """
    import torch

    def main(path, image):
        checkpoint = torch.load(path, weights_only=False)
        model = checkpoint["model"]
        READY
        with torch.no_grad():
            print(model(image).argmax().item())MARK
    """

_HANDLER = {
    "base.py": """
        import torch

        class BaseHandler:
            def __init__(self):
                self.model = None

            def initialize(self, folder):
                self.model = torch.jit.load(f"{folder}/model.pt")
                self.model.eval()

            def close(self):
                self.model = None
        """,
    "handler.py": """
        import torch
        from base import BaseHandler

        class Classifier(BaseHandler):
            def inference(self, data):
                SWITCH
                    return self.model(data).topk(5)[1].tolist()MARK
        """,
}


def _handler(switch: str, mark: str) -> dict[str, str]:
    return {**_HANDLER, "handler.py": _HANDLER["handler.py"].replace("SWITCH", switch).replace("MARK", mark)}


_LOOP = """
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc, self.drop = nn.Linear(3, 3), nn.Dropout(0.5)

        def forward(self, x):
            return self.drop(self.fc(x))

    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    BEFORE
    for epoch in range(9):
        for i, (x, y) in enumerate(train_loader):
            net.train()
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
        BODY
    """


def _looped(body: str, before: str = "") -> str:
    lines = "\n        ".join(body.splitlines())
    return _LOOP.replace("BEFORE", before or "print(net)").replace("BODY", lines)


_PHASES = """
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc, self.drop = nn.Linear(3, 3), nn.Dropout(0.5)

        def forward(self, x):
            return self.drop(self.fc(x))

    def fit(model, loaders, optimizer, criterion):
        for epoch in range(9):
            for phase in ("train", PHASE):
                total = 0
                SWITCH
                for x, y in loaders[phase]:
                    with torch.set_grad_enabled(phase == "train"):
                        loss = criterion(model(x), y)MARK
                    if phase == "train":
                        optimizer.zero_grad()
                        loss.backward()
                        optimizer.step()
                    total += loss.item()
                print(phase, total)

    fit(Net(), *make())
    """


def _phases(phase: str, switch: str, mark: str) -> str:
    return _PHASES.replace("PHASE", f'"{phase}"').replace("SWITCH", switch).replace("MARK", mark)


_SCRIPT = """
    import torch
    from detector import Detector
    from boxes import to_boxes

    model = Detector(80)
    model.load_state_dict(torch.load("weights.pt", weights_only=True))
    model.eval()
    image = torch.ones(1, 3, 352, 352)
    SWITCH
        preds = model(image)MARK
    for box in to_boxes(preds):
        draw(box)
    """
_DETECTOR = """
    from torch import nn

    class Detector(nn.Module):
        def __init__(self, classes):
            super().__init__()
            self.conv, self.bn = nn.Conv2d(3, classes, 3), nn.BatchNorm2d(classes)

        def forward(self, x):
            return self.bn(self.conv(x))
    """
_BOXES = """
    def to_boxes(preds):
        found = []
        for level in preds:
            found.append(level.view(-1))
        return build(found)
    """


def _script(name: str, switch: str, mark: str) -> dict[str, str]:
    text = _SCRIPT.replace("SWITCH", switch).replace("MARK", mark)
    return {name: text, "detector.py": _DETECTOR, "boxes.py": _BOXES}


_SEQUENCE = """
    import torch
    from torch import nn

    class Forecaster(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn, self.drop = nn.LSTM(3, 3), nn.Dropout(0.5)
            self.optimizer = torch.optim.SGD(self.rnn.parameters(), 0.1)
            self.data = make()

        def train(self):
            self.run_epoch()

        def run_epoch(self):
            x, y = self.data
            loss = nn.functional.mse_loss(self(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

        def forward(self, x):
            return self.drop(self.rnn(x)[0])

    model = Forecaster()
    for part in model.children():
        part.eval()
    model.train()
    with torch.no_grad():
        print(model(make()[0]).argmax(1))
    """


_FORECAST = """
    import torch
    from torch import nn
    from layers import build

    class Forecaster:
        def __init__(self):
            self.rnn = build(3)
            self.optimizer = torch.optim.SGD(self.rnn.parameters(), 0.1)

        def train(self, x, y):
            loss = nn.functional.mse_loss(self.rnn(x)[0], y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

        def NAME(self, x):
            SWITCH
                return self.rnn(x)[0].cpu().data.numpy()MARK

    def main(x, y):
        model = Forecaster()
        model.train(x, y)
        print(model.NAME(x))

    main(*make())
    """


def _forecast(name: str, switch: str, mark: str) -> str:
    return _FORECAST.replace("NAME", name).replace("SWITCH", switch).replace("MARK", mark)


_LAST = """
    import torch

    def validate(model, loader):
        model.eval()
        with torch.no_grad():
            return sum(model(x).argmax(1).eq(y).sum().item() for x, y in loader)

    def fit(model, loader, held_out, optimizer, criterion):
        for epoch in range(9):
            model.train()
            for i, (x, y) in enumerate(loader):
                loss = criterion(model(x), y)MARK
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                if CONDITION:
                    print(validate(model, held_out))
    """

_SPLIT = """
    import torch
    from torch.utils.data import DataLoader, Subset, random_split
    from torchvision import transforms
    from torchvision.datasets import ImageFolder

    augmented = transforms.Compose([transforms.RandomHorizontalFlip(), transforms.ToTensor()])
    plain = transforms.Compose([transforms.Resize(256), transforms.ToTensor()])
    for_training = ImageFolder("images", transform=augmented)
    for_validation = ImageFolder("images", transform=plain)
    count = len(for_training)
    train_part, valid_part = random_split(range(count), [count - count // 5, count // 5])
    train_loader = DataLoader(Subset(for_training, list(train_part)), shuffle=True)
    valid_loader = DataLoader(Subset(KEPT, list(valid_part)))MARK
    model = torch.jit.load("model.pt").eval()
    with torch.no_grad():
        for x, _ in valid_loader:
            print(model(x).argmax(1).tolist())
    """

_TWO = """
    import torch

    def train(model, loader, optimizer, criterion):
        model.train()
        for x, y in loader:
            with torch.set_grad_enabled(True):
                loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    def test(model, loader):
        return [model(x).argmax(1).tolist() for x, _ in loader]MARK
    MORE
    """

_TABLE = {
    "models.py": """
        import open_clip

        def by_clip(name):
            model, _, preprocess = open_clip.create_model_and_transforms(name, pretrained="openai")
            return model.eval() if READY else model, preprocess

        LOADERS = {"clip": by_clip, "other": by_clip}

        def load(kind, name):
            assert kind in LOADERS
            load_func = LOADERS[kind]
            return load_func(name)
        """,
    "metric.py": """
        import torch

        def accuracy(model, loader):
            with torch.no_grad():
                for images, y in loader:
                    print(model.encode_image(images).argmax(1).eq(y).sum().item())MARK
        """,
    "run.py": """
        import metric
        from models import load

        def main(args):
            model, preprocess = load(args.kind, args.name)
            metric.accuracy(model, make(preprocess))
        """,
}


def _table(ready: str, mark: str) -> dict[str, str]:
    return {name: text.replace("READY", ready).replace("MARK", mark) for name, text in _TABLE.items()}


_STARTED = """
    import torch
    IMPORT

    def evaluate(model, loader):
        model.eval()
        for x, y in loader:
            print(model(x).argmax(1).eq(y).sum().item())MARK

    def main(rank, model, loader):
        evaluate(model, loader)

    START
    """


def _started(imported: str, start: str, mark: str) -> str:
    return _STARTED.replace("IMPORT", imported).replace("START", start).replace("MARK", mark)


SILENT: Mapping[str, str | Mapping[str, str]] = {
    "a class picked from a registry, and readied": _picked("MODELS[name](10)", "model.eval()", ""),
    "a model that a name is evaluated to, and readied": _picked("eval(name)(10)", "model = model.eval()", ""),
    "a model picked by a name that was built before": _picked("MODELS[name]", "prepare(model)", ""),
    "a whole model from a checkpoint, readied": _CHECKPOINT.replace("READY", "model.eval()").replace("MARK", ""),
    "the weights of a checkpoint": """
        import torch
        from torchvision.models import resnet18

        def main(path, image):
            checkpoint = torch.load(path, weights_only=False)
            state = checkpoint["model"]
            model = resnet18()
            model.load_state_dict(state)
            model.eval()
            with torch.no_grad():
                print(model(image).argmax().item(), checkpoint["epoch"], checkpoint["names"][0])
        """,
    "a handler whose base loads the model, under no_grad": _handler("with torch.no_grad():", ""),
    "a loader out of a table that readies the model": _table("True", ""),
    "a function that code out of sight runs": _started("import runs", "runs.register(stage=main)", ""),
    "a batch of the training data": _looped("batch = next(iter(train_loader))[0]\nprint(net(batch).argmax(1))"),
    "a batch of held-out data before anything was trained": _looped(
        "print(epoch)", "x, _ = next(iter(test_loader))\n    print(net(x).argmax(1))"
    ),
    "a batch of held-out data, in evaluation mode": _looped(
        "x, _ = next(iter(test_loader))\nnet.eval()\nwith torch.no_grad():\n    print(net(x).argmax(1))"
    ),
    "a variable that a loop fills anew": _looped(
        "x, _ = next(iter(test_loader))\nfor x, _ in train_loader:\n    print(net(x).argmax(1))"
    ),
    "a loop over phases that sets the mode": _phases("val", 'model.train(phase == "train")', ""),
    "a script that evaluates, under no_grad": _script("test.py", "with torch.no_grad():", ""),
    "a script of no known purpose": _script("show.py", "if True:", ""),
    "a method called train that trains is no switch": _SEQUENCE,
    "a forecast under no_grad": _forecast("test", "with torch.no_grad():", ""),
    "a forecast of no known purpose, with its graph": _forecast("roll", "if True:", "")
    .replace("main(*make())", "")
    .replace(".cpu().data.numpy()", ".cpu()"),
    "an evaluation in the last turn": _LAST.replace("CONDITION", "i == len(loader) - 1").replace("MARK", ""),
    "an evaluation when all turns are done": _LAST.replace("CONDITION", "i + 1 == len(loader)").replace("MARK", ""),
    "two views of the same images, split by index": _SPLIT.replace("KEPT", "for_validation").replace("MARK", ""),
    "a file in which others switch gradients": _TWO.replace("MARK", "  # ML101").replace(
        "MORE", "\n    def run(model, loader):\n        with torch.no_grad():\n            return ask(model, loader)"
    ),
}

FOUND: Mapping[str, str | Mapping[str, str]] = {
    "a class picked from a registry": _picked("MODELS[name](10)"),
    "a class that a name is evaluated to": _picked("eval(name)(10)"),
    "a class among the globals": _picked("globals()[name]()"),
    "a whole model from a checkpoint": _CHECKPOINT.replace("READY", "print(path)").replace("MARK", "  # ML101"),
    "a handler whose base loads the model": _handler("if data is not None:", "  # ML201"),
    "a loader out of a table": _table("False", "  # ML101"),
    "a function that each process runs": _started("import torch.multiprocessing as mp", "mp.spawn(main)", "  # ML201"),
    "a function that a command line runs": _started("import fire", "fire.Fire(main)", "  # ML201"),
    "a batch of held-out data": _looped("x, _ = next(iter(test_loader))\nprint(net(x).argmax(1))  # ML101, ML201"),
    "a batch of held-out data, by a variable": _looped(
        "batches = iter(val_loader)\nbatch = batches.next()\nx = batch[0]\nprint(net(x).argmax(1))  # ML101, ML201"
    ),
    "a numbered batch of held-out data": _looped(
        "_, batch = next(enumerate(test_loader))\nx, y = batch\nx = x.view(-1)\nprint(net(x).argmax(1))  # ML101, ML201"
    ),
    "a loop over phases that sets no mode": _phases("val", "print(phase)", "  # ML101"),
    "a loop over phases that trains in both": _phases("test", "model.train()", "  # ML101"),
    "a script that evaluates, with its graph": _script("test.py", "if True:", "  # ML201"),
    "a forecast with its graph": _forecast("test", "if True:", "  # ML201"),
    "a forecast of no known purpose": _forecast("roll", "if True:", "  # ML201").replace("main(*make())", ""),
    "a forecast of no known purpose in a script that is seen whole": _forecast("roll", "if True:", "  # ML201"),
    "an evaluation in other turns": _LAST.replace("CONDITION", "i == 100").replace("MARK", "  # ML103"),
    "two splits of the same images": _SPLIT.replace("KEPT", "for_training").replace("MARK", "  # ML305"),
    "a file that switches neither for its evaluation": _TWO.replace("MARK", "  # ML101, ML201").replace("MORE", ""),
}


@pytest.mark.parametrize("name", SILENT)
def test_right(lint: Lint, name: str) -> None:
    lint(SILENT[name], rules=_RULES)


@pytest.mark.parametrize("name", FOUND)
def test_wrong(lint: Lint, name: str) -> None:
    lint(FOUND[name], rules=_RULES)
