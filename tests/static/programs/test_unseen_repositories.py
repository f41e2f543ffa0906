"""Programs like those of repositories that nobody had read: what was right in them, and wrong beside it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.static.conftest import Lint

_RULES = ["ML101", "ML103", "ML108", "ML109", "ML201", "ML204"]

_TRANSLATION = {
    "models.py": """
        from torch import nn

        class UNetGenerator(nn.Module):
            def __init__(self):
                super().__init__()
                self.down = nn.Conv2d(3, 8, 4, 2, 1)
                self.up = nn.Sequential(nn.ConvTranspose2d(8, 3, 4, 2, 1), nn.InstanceNorm2d(3), nn.Dropout(0.5))

            def forward(self, x):
                return self.up(self.down(x))

        class PatchDiscriminator(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.Sequential(nn.Conv2d(6, 8, 4, 2, 1), nn.BatchNorm2d(8))

            def forward(self, a, b):
                return self.layers(torch.cat((a, b), 1))
        """,
    "train.py": """
        import torch
        from models import PatchDiscriminator, UNetGenerator
        from torchvision.utils import save_image

        generator, discriminator = UNetGenerator(), PatchDiscriminator()
        generator.load_state_dict(torch.load("g.pt", weights_only=True))

        @torch.no_grad()
        def sample_images(val_loader, step):
            real = next(iter(val_loader))
            save_image(generator(real), f"{step}.png")

        def main(loader, val_loader, optimizer, criterion):
            for step, (a, b) in enumerate(loader):
                optimizer.zero_grad()
                fake = generator(a)
                loss = criterion(discriminator(fake, a))
                loss.backward()
                optimizer.step()
                sample_images(val_loader, step)

        main(*make())
        """,
}

_LABELLER = {
    "labels.py": """
        import torch
        from net import Segmenter

        class Labeller:
            def __init__(self, path):
                self.net = Segmenter()
                self.net.load_state_dict(torch.load(path, weights_only=True))
                self.net.eval()

            def predict(self, image):
                return self.net(image).argmax(1).tolist()

        class Trainer:
            def __init__(self, loader):
                self.labeller = Labeller("l.pt")
                self.loader = loader

            def collect(self, model):
                with torch.no_grad():
                    return model.samples(self.loader, self.labeller.predict)
        """,
    "net.py": """
        from torch import nn

        class Segmenter(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv2d(3, 8, 3)

            def forward(self, x):
                return self.conv(x)
        """,
}

_RUNNER = {
    "captioner.py": """
        import torch
        from encoder import Encoder

        class Captioner:
            def __init__(self, path):
                self.encoder = Encoder()
                self.encoder.load_state_dict(torch.load(path, weights_only=True))
                self.encoder.eval()

            def predict_captions(self, images):
                return self.encoder(images).argmax(-1).tolist()
        """,
    "encoder.py": _LABELLER["net.py"].replace("Segmenter", "Encoder"),
    "task.py": """
        class Task:
            def valid_step(self, model, batch):
                return model.predict_captions(batch["image"])

            def evaluation(self, model, loader):
                return [self.valid_step(model, batch) for batch in loader]
        """,
    "runner.py": """
        import torch

        class Runner:
            @torch.no_grad()
            def eval_epoch(self, loader):
                return self.task.evaluation(self.model, loader)
        """,
}

_VALIDATED = """
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8))

        def forward(self, x):
            return self.layers(x)

    def validation_loss(net, val_loader, criterion):
        # COMMENT
        with torch.no_grad():
            total = 0
            for x, y in val_loader:
                out = net(x)MARK
                total += criterion(out, y).item()
        print(total)

    def main(loader, val_loader, criterion):
        net = Net()
        net.train()
        optimizer = torch.optim.SGD(net.parameters())
        for x, y in loader:
            loss = criterion(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        validation_loss(net, val_loader, criterion)
    """

_METRIC = """
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.drop = nn.Dropout(0.5)
            self.fc = nn.Linear(8, 2)

        def forward(self, x):
            return self.fc(self.drop(x))

    class Metric:
        def __init__(self, path, is_train):
            self.is_train = is_train
            self.net = Net()
            if CONDITION:
                self.net.eval()
            if self.is_train:
                self.optimizer = torch.optim.Adam(self.net.parameters())

        def distance(self, x):
            with torch.no_grad():
                return self.net(x).sum().item()

        def step(self, x, y):
            loss = nn.functional.mse_loss(self.net(x), y)MARK
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
    """

_EXPORTED = """
    import torch
    from torch import nn
    from zoo import build

    class Plain(nn.Module):
        def __init__(self, net):
            super().__init__()
            self.net = net
            self.last = LAST

        def forward(self, x):
            return self.last(self.net({"image": x})["mask"])

    def main(path):
        net = build(path)
        model = Plain(net)
        traced = torch.jit.trace(model, torch.rand(1, 3, 8, 8))MARK
        torch.jit.save(traced, path)
    """

_STYLE = """
    import torch
    from torch import nn
    from ops import FusedActivation

    class Generator(nn.Module):
        def __init__(self):
            super().__init__()
            layers = []
            for _ in range(8):
                layers += [nn.Linear(512, 512), LAYER]
            self.style = nn.Sequential(*layers)
            self.last = nn.Conv2d(512, 3, 1)

        def mean_style(self, count):
            return self.style(torch.randn(count, 512)).mean(0, keepdim=True)MARK

        def forward(self, x):
            return self.last(self.style(x))

    def main(path):
        generator = Generator()
        generator.load_state_dict(torch.load(path, weights_only=True))
        with torch.no_grad():
            style = generator.mean_style(4096)
        print(style.tolist())
    """

_FRAMEWORK = """
    import torch
    from torch import nn, optim
    from tqdm import tqdm

    class Framework(nn.Module):
        def __init__(self, epochs, train_path, val_path):
            self.epochs = epochs
            self.train_loader, self.val_loader = Loader(train_path), Loader(val_path)

        def train_model(self, metric="acc"):
            best = 0
            for epoch in range(self.epochs):
                self.train()
                avg_loss = AverageMeter()
                avg_acc = AverageMeter()
                bar = tqdm(self.train_loader)
                for step, data in enumerate(bar):
                    if torch.cuda.is_available():
                        pass
                    label = data[0]
                    args = data[1:]
                    logits = self.parallel(*args)
                result = self.eval_model(self.val_loader)MARK
                print("{} current / best: {} / {}".format(metric, result[metric], best))
                if result[metric] > best:
                    best = result[metric]
            print("best %s: %f" % (metric, best))

        def eval_model(self, loader):
            self.eval()
            avg_acc = AverageMeter()
            with CONTEXT:
                bar = tqdm(loader)
                for step, data in enumerate(bar):
                    if torch.cuda.is_available():
                        for i in range(len(data)):
                            try:
                                data[i] = data[i].cuda()
                            except Exception:
                                pass
                    label = data[0]
                    args = data[1:]
                    logits = self.parallel(*args)
                    score, pred = logits.max(-1)
    """

_SPREAD = """
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(1, 20), nn.Dropout(0.05), nn.Linear(20, 1))

        def forward(self, x):
            return self.layers(x)

    net = Net()
    net.load_state_dict(torch.load("n.pt", weights_only=True))
    x = torch.linspace(-3, 3, 200)
    net.train()
    drawn = []
    with torch.no_grad():
        for t in range(100):
            y = net(x.view(-1, 1)).squeeze()MARK
            drawn.append(y.tolist())
            AFTER
    print(drawn)
    """

_NOISY = """
    import torch
    from torch import nn
    from zoo import build

    net = build().eval()
    net.load_state_dict(torch.load("n.pt", weights_only=True))
    dropout = nn.Dropout(0.5)
    with torch.no_grad():
        for images in test_loader:
            noisy = dropout(GIVEN) * imagesMARK
            print(net(noisy).argmax(1).tolist())
    """

_BY_HAND = """
    import torch

    class Perceptron:
        def __init__(self):
            self.weight = torch.zeros(8, 2)

        def forward(self, x):
            return torch.sigmoid(x @ self.weight)

        def backward(self, x, a, y):
            return x.t() @ (a - y)

    def train(model, loader, rate):
        costs = []
        for x, y in loader:
            a = model.forward(x)
            grad = model.backward(GIVEN)
            model.weight -= rate * grad
            cost = loss(y, a)
            costs.append(cost)MARK
        return costs

    print(train(Perceptron(), load(), 0.1))
    """

_HEAD = """
    import torch
    from torch import nn
    from torch.nn import functional as F
    from zoo import encoder

    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = encoder()
            self.head = nn.Sequential(nn.Dropout(0.1), nn.Linear(8, 2))

        def train_head(self):
            BODY

        def forward(self, x):
            return self.head(self.encoder(x))

    def train(net, loader, optimizer):
        net.train_head()
        for x, y in loader:
            optimizer.zero_grad()
            loss = F.nll_loss(net(x), y)MARK
            loss.backward()
            optimizer.step()

    def evaluate(net, loader):
        net.eval()
        with torch.no_grad():
            return [net(x).argmax(-1).tolist() for x, y in loader]

    def main(loader, test_loader):
        net = Classifier()
        optimizer = torch.optim.Adam(net.parameters())
        for epoch in range(9):
            train(net, loader, optimizer)
            print(evaluate(net, test_loader))
    """

_TARGETS = """
    import torch
    from torch import nn

    def NAME(batch, net, target_net, gamma):
        states, actions, rewards, following = batch
        values = net(states).gather(1, actions.unsqueeze(-1)).squeeze(-1)
        with torch.no_grad():
            best = target_net(following).max(1)[0]MARK
            print(best.argmax().item())
        return nn.MSELoss()(values, best * gamma + rewards)
    """

_CODES = {
    "render.py": """
        import torch

        class Renderer:
            def __init__(self, model):
                self.generator = model.generator_test
                self.generator.eval()

            def render(self, shape):
                z = self.generator.sample_z(shape)MARK
                print(z.tolist())
        """,
    "generator.py": """
        import torch
        from torch import nn

        class Generator(nn.Module):
            def __init__(self):
                super().__init__()
                self.mapping = nn.Linear(8, 8)

            def sample_z(self, shape):
                z = torch.randn(*shape)
                return BODY

            def forward(self, z):
                return self.mapping(z)
        """,
}

SILENT: dict[str, str | Mapping[str, str]] = {
    "image translation samples by its dropout": _TRANSLATION,
    "a method that is given away under no_grad": _LABELLER,
    "a task asks the model, and a runner the task under no_grad": _RUNNER,
    "validation in training mode, as a comment says": _VALIDATED.replace(
        "COMMENT", "Don't switch to eval mode because we want to get losses"
    ).replace("MARK", ""),
    "validation in training mode, of a model that nobody in sight gives": _VALIDATED.replace(
        "COMMENT", "Don't switch to eval mode because we want to get losses"
    )
    .replace("MARK", "")
    .replace("validation_loss(net, val_loader, criterion)\n    ", "pass\n    "),
    "a metric that an option trains, in evaluation mode without it": _METRIC.replace(
        "CONDITION", "not self.is_train"
    ).replace("MARK", ""),
    "a thin layer around a network out of sight is traced": _EXPORTED.replace("LAST", "nn.Sigmoid()").replace(
        "MARK", ""
    ),
    "a part of a network of which nothing tells that it depends on the mode": _STYLE.replace(
        "LAYER", "FusedActivation(512)"
    ).replace("MARK", ""),
    "an evaluation under no_grad that is not looked into": _FRAMEWORK.replace("CONTEXT", "torch.no_grad()").replace(
        "MARK", ""
    ),
    "predictions drawn in training mode to see how they spread": _SPREAD.replace("AFTER", "").replace("MARK", ""),
    "dropout that makes a mask of ones": _NOISY.replace("GIVEN", "torch.ones(images.shape)").replace("MARK", ""),
    "gradients computed by hand": _BY_HAND.replace("GIVEN", "x, a, y").replace("MARK", ""),
    "a method for training that puts a part into training mode": _HEAD.replace("BODY", "self.head.train()").replace(
        "MARK", ""
    ),
    "a layer that explores by its noise": """
        import torch
        from torch import nn

        class NoisyLinear(nn.Linear):
            def forward(self, x):
                return x @ (self.weight + torch.randn(self.weight.shape)).t()
        """,
    "a method that draws numbers and runs no layer": {
        "render.py": _CODES["render.py"].replace("MARK", ""),
        "generator.py": _CODES["generator.py"].replace("BODY", "z * 0.7"),
    },
    "an ablation that replaces what a branch computes by noise": """
        import torch
        from torch import nn

        class Router(nn.Module):
            def __init__(self, source):
                super().__init__()
                self.source = source
                self.fc = nn.Linear(8, 2)

            def forward(self, hidden):
                if "latent" in self.source:
                    latent = hidden
                else:
                    latent = torch.randn(hidden.shape).to(hidden)
                return self.fc(latent)
        """,
}

FOUND: dict[str, str | Mapping[str, str]] = {
    "image translation with batch norm": _TRANSLATION
    | {
        "models.py": _TRANSLATION["models.py"].replace("InstanceNorm2d(3)", "BatchNorm2d(3)"),
        "train.py": _TRANSLATION["train.py"].replace('f"{step}.png")', 'f"{step}.png")  # ML101'),
    },
    "a generator without a discriminator": _TRANSLATION
    | {
        "models.py": _TRANSLATION["models.py"].replace("PatchDiscriminator", "PatchEncoder"),
        "train.py": _TRANSLATION["train.py"]
        .replace("PatchDiscriminator", "PatchEncoder")
        .replace('f"{step}.png")', 'f"{step}.png")  # ML101'),
    },
    "a method that is called, not given away": _LABELLER
    | {
        "labels.py": _LABELLER["labels.py"]
        .replace("self.labeller.predict)", "self.labeller)")
        .replace("tolist()", "tolist()  # ML201")
    },
    "a runner that leaves gradients on": _RUNNER
    | {
        "runner.py": _RUNNER["runner.py"].replace("@torch.no_grad()", "@timed"),
        "captioner.py": _RUNNER["captioner.py"].replace("tolist()", "tolist()  # ML201"),
    },
    "validation in training mode, as no comment says": _VALIDATED.replace(
        "COMMENT", "the loss in eval mode, without dropout"
    ).replace("MARK", "  # ML101"),
    "a metric in evaluation mode that trains": _METRIC.replace("CONDITION", "path").replace("MARK", "  # ML103"),
    "a layer with dropout around a network out of sight is traced": _EXPORTED.replace(
        "LAST", "nn.Dropout(0.1)"
    ).replace("MARK", "  # ML109"),
    "a part of a network with dropout": _STYLE.replace("LAYER", "nn.Dropout(0.1)").replace("MARK", "  # ML101"),
    "an evaluation under no switch that is not looked into": _FRAMEWORK.replace("CONTEXT", "timer()").replace(
        "MARK", "  # ML201"
    ),
    "predictions in training mode, each from the last": _SPREAD.replace("AFTER", "x = y").replace("MARK", "  # ML101"),
    "dropout that is given the images": _NOISY.replace("GIVEN", "images").replace("MARK", "  # ML101"),
    "a method for training that puts nothing into training mode": _HEAD.replace(
        "BODY", "self.encoder.requires_grad_(False)"
    ).replace("MARK", "  # ML103"),
    "a layer with noise": """
        import torch
        from torch import nn

        class WideLinear(nn.Linear):
            def forward(self, x):
                return x @ (self.weight + torch.randn(self.weight.shape)).t()  # ML108
        """,
    "a method that draws numbers and maps them": {
        "render.py": _CODES["render.py"].replace("MARK", "  # ML201"),
        "generator.py": _CODES["generator.py"].replace("BODY", "self.mapping(z)"),
    },
    "noise that an option adds": """
        import torch
        from torch import nn

        class Router(nn.Module):
            def __init__(self, noisy):
                super().__init__()
                self.noisy = noisy
                self.fc = nn.Linear(8, 2)

            def forward(self, hidden):
                if self.noisy:
                    latent = hidden + torch.randn(hidden.shape)  # ML108
                else:
                    latent = hidden
                return self.fc(latent)
        """,
}


@pytest.mark.parametrize(("name", "mark"), [("q_loss", ""), ("evaluate_values", "  # ML101")])
def test_the_target_of_a_loss_is_no_prediction(lint: Lint, name: str, mark: str) -> None:
    program = _TARGETS.replace("NAME", name).replace("MARK", mark)
    lint(program, rules=["ML101"], possible=True)


@pytest.mark.parametrize("name", SILENT)
def test_right(lint: Lint, name: str) -> None:
    lint(SILENT[name], rules=_RULES)


@pytest.mark.parametrize("name", FOUND)
def test_wrong(lint: Lint, name: str) -> None:
    lint(FOUND[name], rules=_RULES)
