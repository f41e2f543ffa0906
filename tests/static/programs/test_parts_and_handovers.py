"""Models built of parts of others, models chosen by name, and functions that somebody else is given to call."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.static.conftest import Lint

RULES = ["ML101", "ML102", "ML103", "ML109", "ML201", "ML203", "ML204"]

FROZEN = """
        import torch
        from torch import nn

        class Backbone(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = {body}
                self.head = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
                self.other = {other}

            {train}

            def forward(self, x):
                {forward}

        def predict(path, x):
            net = Backbone()
            net.load_state_dict(torch.load(path, weights_only=True))
            net.train()
            {ready}
            with torch.no_grad():
                return net(x).argmax(-1).tolist()  # {mark}
        """
PARTS = {
    "body": "nn.Sequential(nn.Conv2d(3, 3, 3), nn.BatchNorm2d(3))",
    "other": "nn.Identity()",
    "train": "pass",
    "forward": "return self.other(self.head(self.body(x)))",
    "ready": "net.body.eval()",
    "mark": "",
}
OVERRIDDEN = """def train(self, mode=True):
                super().train(mode)
                self.body.eval()
                return self"""

SILENT: dict[str, str | Mapping[str, str]] = {
    "the one part with a mode in evaluation mode": FROZEN.format(**PARTS),
    "a part that train() keeps in evaluation mode": FROZEN.format(**(PARTS | {"train": OVERRIDDEN, "ready": "pass"})),
    "slices of a network in evaluation mode": """
        import torch
        from torch import nn
        from torchvision import models

        vgg = models.vgg16_bn(weights="DEFAULT").eval()
        slices = [
            nn.Sequential(*list(vgg.features)[:16]),
            nn.Sequential(*list(vgg.features.children())[:9]),
            nn.Sequential(*[vgg.features[i] for i in range(4)]),
            vgg.features[:16],
            nn.Sequential(vgg.features[0], vgg.features[1]),
            nn.Sequential(*list(vgg.features.children())[:9], nn.Flatten()),
        ]
        with torch.no_grad():
            for part in slices:
                print(part(torch.rand(1, 3, 64, 64)).mean().item())
        """,
    "an extractor whose source is switched later": """
        import torch
        from torch import nn
        from torchvision import models

        backbone = models.resnet50(weights="DEFAULT")
        extractor = nn.Sequential(*list(backbone.children())[:-1])
        backbone.eval()

        def embed(x):
            with torch.no_grad():
                return extractor(x).flatten(1)

        print(embed(torch.rand(1, 3, 224, 224)))
        """,
    "an extractor that is switched itself": """
        import torch
        from torch import nn
        from torchvision import models

        extractor = nn.Sequential(*list(models.resnet50(weights="DEFAULT").children())[:-1]).eval()
        with torch.no_grad():
            print(extractor(torch.rand(1, 3, 224, 224)).flatten(1).numpy())
        """,
    "an architecture chosen by name": """
        import argparse

        import torch
        import torchvision.models as models

        parser = argparse.ArgumentParser()
        parser.add_argument("--arch", default="resnet18")
        args = parser.parse_args()
        loss = getattr(torch.nn, args.loss)()
        net = getattr(models, args.arch)(weights="DEFAULT")
        optimizer = getattr(torch.optim, args.optimizer)(net.parameters())
        net = models.__dict__[args.arch](pretrained=True).eval()
        with torch.no_grad():
            print(net(torch.rand(1, 3, 224, 224)).argmax(1).item())
        """,
    "the base class readies the whole in its constructor": """
        import torch
        from torch import nn

        class Frozen(nn.Module):
            def __init__(self, net):
                super().__init__()
                self.net = net
                self.bn = nn.BatchNorm1d(3)
                self.eval()

            def forward(self, x):
                return self.bn(self.net(x))

        class Named(Frozen):
            def __init__(self, net, classes):
                super().__init__(net)
                self.classes = classes

        net = Named(nn.Linear(4, 3), ["a", "b", "c"])
        net.load_state_dict(torch.load("w.pt", weights_only=True))
        with torch.no_grad():
            print(net(torch.rand(1, 4)).argmax(1))
        torch.jit.trace(net, torch.rand(1, 4)).save("m.pt")
        """,
    "workers are given a model in evaluation mode": """
        import asyncio
        import threading
        from concurrent.futures import ThreadPoolExecutor

        import torch
        import torch.multiprocessing as mp
        from torchvision.models import resnet18

        net = resnet18(num_classes=3)
        net.load_state_dict(torch.load("w.pt", weights_only=True))
        net.eval()

        @torch.no_grad()
        def work(model, x):
            return model(x).argmax(1).item()

        def ranked(rank, model):
            return work(model, torch.rand(1, 3, 8, 8))

        async def main():
            loop = asyncio.get_running_loop()
            with ThreadPoolExecutor(4) as pool:
                print(await loop.run_in_executor(pool, work, net, torch.rand(1, 3, 8, 8)))
                print(pool.submit(work, net, torch.rand(1, 3, 8, 8)).result())
            print(await asyncio.to_thread(work, net, torch.rand(1, 3, 8, 8)))
            thread = threading.Thread(target=work, args=(net, torch.rand(1, 3, 8, 8)))
            thread.start()
            mp.spawn(ranked, args=(net,), nprocs=2)
        """,
    "the caller in this file switches autograd off around a helper of another": {
        "features.py": """
            import torch

            def extract(model, points):
                model.eval()
                return points, model(torch.as_tensor(points))
            """,
        "benchmark.py": """
            import torch
            from features import extract
            from torchvision.models import resnet18

            def run(model, batches):
                model.eval()
                rows = []
                for points in batches:
                    _, feats = extract(model, points)
                    rows.append(feats.detach().cpu().numpy())
                return rows

            if __name__ == "__main__":
                net = resnet18()
                net.load_state_dict(torch.load("w.pt", weights_only=True))
                with torch.no_grad():
                    print(run(net, [[1.0]]))
            """,
    },
}

FOUND: dict[str, str | Mapping[str, str]] = {
    "no part in evaluation mode": FROZEN.format(**(PARTS | {"ready": "pass", "mark": "ML101"})),
    "a part without a mode in evaluation mode": FROZEN.format(
        **(PARTS | {"ready": "net.head.eval()", "mark": "ML101"})
    ),
    "another part with a mode": FROZEN.format(**(PARTS | {"other": "nn.Dropout(0.1)", "mark": "ML101"})),
    "another part that holds one": FROZEN.format(
        **(PARTS | {"other": "nn.Sequential(*[nn.Dropout(0.1)])", "mark": "ML101"})
    ),
    "another part that a loop runs": FROZEN.format(
        **(
            PARTS
            | {
                "other": "nn.ModuleList([nn.Dropout(0.1), nn.Dropout(0.2)])",
                "forward": "return sum(layer(self.head(self.body(x))) for layer in self.other)",
                "mark": "ML101",
            }
        )
    ),
    "a forward that asks for the mode": FROZEN.format(
        **(
            PARTS
            | {
                "forward": "return self.head(nn.functional.dropout(self.body(x), 0.1, self.training))",
                "mark": "ML101",
            }
        )
    ),
    "a slice of a network nobody switched": """
        import torch
        from torch import nn
        from torchvision import models

        vgg = models.vgg16_bn(weights="DEFAULT")
        head = nn.Sequential(*list(vgg.features)[:16])
        with torch.no_grad():
            print(head(torch.rand(1, 3, 64, 64)).mean().item())  # ML101
        """,
    "a new dropout behind parts in evaluation mode": """
        import torch
        from torch import nn
        from torchvision import models

        base = models.resnet18(weights="DEFAULT").eval()
        net = nn.Sequential(*list(base.children())[:-1], nn.Flatten(), nn.Dropout(0.5), nn.Linear(512, 3))
        net.load_state_dict(torch.load("w.pt", weights_only=True))
        with torch.no_grad():
            print(net(torch.rand(1, 3, 64, 64)).argmax(1))  # ML101
        """,
    "an architecture chosen by name from the module's dictionary": """
        import torch
        import torchvision.models as models

        def main(args):
            net = models.__dict__[args.arch](pretrained=True)
            with torch.no_grad():
                print(net(torch.rand(1, 3, 224, 224)).argmax(1).item())  # ML101
        """,
    "an architecture chosen by name with getattr": """
        import torch
        import torchvision.models as models

        def main(args):
            net = getattr(models, args.arch)(weights="DEFAULT")
            with torch.no_grad():
                print(net(torch.rand(1, 3, 224, 224)).argmax(1).item())  # ML101
        """,
    "a process is given a model in training mode": """
        import torch
        import torch.multiprocessing as mp
        from torchvision.models import resnet18

        def worker(rank, model, paths, out):
            for path in paths:
                with torch.no_grad():
                    out.put(model(torch.load(path, weights_only=True)).argmax(1).item())  # ML101

        if __name__ == "__main__":
            net = resnet18(num_classes=4)
            net.load_state_dict(torch.load("r.pt", weights_only=True))
            process = mp.Process(target=worker, args=(0, net, ["a", "b"], mp.Queue()))
            process.start()
        """,
    "a pool of threads is given one": """
        from concurrent.futures import ThreadPoolExecutor

        import torch
        from torchvision.models import resnet18

        def work(model, path):
            with torch.no_grad():
                return model(torch.load(path, weights_only=True)).argmax(1).item()  # ML101

        def main(paths):
            net = resnet18(num_classes=3)
            net.load_state_dict(torch.load("w.pt", weights_only=True))
            with ThreadPoolExecutor(4) as pool:
                futures = [pool.submit(work, net, path) for path in paths]
                print([future.result() for future in futures])
        """,
    "so are the processes that are spawned, behind their rank": """
        import torch
        import torch.multiprocessing as mp
        from torchvision.models import resnet18

        def worker(rank, model, path):
            with torch.no_grad():
                print(rank, model(torch.load(path, weights_only=True)).argmax(1).item())  # ML101

        def main(path):
            net = resnet18(num_classes=4)
            net.load_state_dict(torch.load("r.pt", weights_only=True))
            mp.spawn(worker, args=(net, path), nprocs=2)
        """,
}

TWO_WRONG_CALLERS = {
    "base.py": """
        class Base:
            def validate(self, loader):
                self.model.eval()
                for x, y in loader:
                    self.meter.update(self.run(x).argmax(1), y)
        """,
    "energy.py": """
        import torch
        from base import Base
        from torchvision.models import resnet18

        class Trainer(Base):
            def __init__(self, meter):
                self.model, self.meter = resnet18(), meter
                self.optimizer = torch.optim.Adam(self.model.parameters())

            def predict(self, loader):
                self.model.eval()
                return [self.run(x).tolist() for x in loader]  # ML201

            def train(self, loader, valid, test):
                self.model.train()
                for x, y in loader:
                    loss = torch.nn.functional.cross_entropy(self.run(x), y)
                    self.optimizer.zero_grad()
                    loss.backward()
                    self.optimizer.step()
                self.validate(valid)
                print(self.predict(test))

            def run(self, x):
                return self.model(x)
        """,
}


@pytest.mark.parametrize("program", SILENT.values(), ids=SILENT.keys())
def test_silent(lint: Lint, program: str | Mapping[str, str]) -> None:
    lint(program, rules=RULES)


@pytest.mark.parametrize("program", FOUND.values(), ids=FOUND.keys())
def test_found(lint: Lint, program: str | Mapping[str, str]) -> None:
    lint(program, rules=RULES)


def test_a_caller_wrong_in_a_file_that_is_not_checked_hides_none_that_is_wrong_here(lint: Lint) -> None:
    lint(TWO_WRONG_CALLERS, check=["energy.py"], rules=["ML201"])


def test_a_caller_in_sight_tells_about_autograd_around_a_helper_out_of_the_checked_files(lint: Lint) -> None:
    name = "the caller in this file switches autograd off around a helper of another"
    lint(SILENT[name], check=["benchmark.py"], rules=RULES)
