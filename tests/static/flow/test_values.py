"""Containers, tuples, aliases, wrappers, copies, rebuilt models: which model is it?"""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

SILENT = {
    "a dict of models": """
        import torch
        from torchvision.models import resnet18, resnet50

        def predict(x):
            nets = {"small": resnet18(weights="DEFAULT"), "large": resnet50(weights="DEFAULT")}
            for net in nets.values():
                net.eval()
            with torch.no_grad():
                print(nets["small"](x).argmax(-1))
        """,
    "a list by index": """
        import torch
        from torchvision.models import resnet18, resnet50

        def predict(x):
            nets = [resnet18(weights="DEFAULT"), resnet50(weights="DEFAULT")]
            nets[0].eval()
            with torch.no_grad():
                print(nets[0](x).argmax(-1))
        """,
    "a part of a list": """
        import torch
        from torchvision.models import resnet18, resnet50

        def predict(x):
            nets = [resnet18(weights="DEFAULT"), resnet50(weights="DEFAULT")]
            for net in nets[0:]:
                net.eval()
            with torch.no_grad():
                print(nets[1](x).argmax(-1))
        """,
    "a ModuleList": """
        import torch
        from torch import nn
        from torchvision.models import resnet18

        def predict(x):
            nets = nn.ModuleList([resnet18(weights="DEFAULT") for _ in range(3)])
            nets.eval()
            with torch.no_grad():
                print(torch.stack([net(x) for net in nets]).mean(0).argmax(-1))
        """,
    "a tuple returned": """
        import torch
        from torchvision.models import resnet18, resnet50

        def build():
            first = resnet18(weights="DEFAULT").eval()
            second = resnet50(weights="DEFAULT").eval()
            return first, second

        @torch.no_grad()
        def predict(x):
            a, b = build()
            return (a(x) + b(x)).argmax(-1).item()
        """,
    "a dict returned": """
        import torch
        from torchvision.models import resnet18

        def build():
            return {"net": resnet18(weights="DEFAULT").eval(), "size": 224}

        @torch.no_grad()
        def predict(x):
            parts = build()
            return parts["net"](x).argmax(-1).item()
        """,
    "enumerate and zip": """
        import torch
        from torchvision.models import resnet18

        def predict(weights, x):
            nets = [resnet18(weights="DEFAULT").eval() for _ in weights]
            total = 0
            with torch.no_grad():
                for i, (weight, net) in enumerate(zip(weights, nets)):
                    total = total + weight * net(x)
            return total.argmax(-1).item()
        """,
    "a namespace": """
        from types import SimpleNamespace

        import torch
        from torchvision.models import resnet18

        @torch.no_grad()
        def predict(x):
            bundle = SimpleNamespace(net=resnet18(weights="DEFAULT").eval())
            return bundle.net(x).argmax(-1).item()
        """,
    "a dataclass": """
        from dataclasses import dataclass

        import torch
        from torch import nn
        from torchvision.models import resnet18

        @dataclass
        class Bundle:
            net: nn.Module
            size: int

        def load():
            return Bundle(resnet18(weights="DEFAULT").eval(), 224)

        @torch.no_grad()
        def predict(x):
            return load().net(x).argmax(-1).item()
        """,
    "an alias sets the mode": """
        import torch
        from torchvision.models import resnet18

        class Service:
            def __init__(self):
                self.net = resnet18(weights="DEFAULT")
                net = self.net
                net.eval()

            @torch.no_grad()
            def predict(self, x):
                return self.net(x).argmax(-1).item()
        """,
    "the method kept in a variable": """
        import torch
        from torchvision.models import resnet18

        @torch.no_grad()
        def predict(x):
            net = resnet18(weights="DEFAULT")
            switch = net.eval
            switch()
            forward = net.forward
            return forward(x).argmax(-1).item()
        """,
    "getattr": """
        import torch
        from torchvision.models import resnet18

        @torch.no_grad()
        def predict(x):
            net = resnet18(weights="DEFAULT")
            getattr(net, "eval")()
            return net(x).argmax(-1).item()
        """,
    "eval() through the wrapper": """
        import torch
        from torch import nn
        from torchvision.models import resnet18

        @torch.no_grad()
        def predict(x):
            net = nn.DataParallel(resnet18(weights="DEFAULT")).cuda()
            net.eval()
            return net(x).argmax(-1).item()
        """,
    "eval() through the wrapper, forward through .module": """
        import torch
        from torch.nn.parallel import DistributedDataParallel as DDP
        from torchvision.models import resnet18

        @torch.no_grad()
        def predict(x, rank):
            net = DDP(resnet18(weights="DEFAULT").to(rank), device_ids=[rank])
            net.eval()
            return net.module(x).argmax(-1).item()
        """,
    "compiled behind eval()": """
        import torch
        from torchvision.models import resnet18

        net = torch.compile(resnet18(weights="DEFAULT").eval())
        with torch.no_grad():
            print(net(torch.ones(1, 3, 224, 224)).argmax())
        """,
    "compiled before eval()": """
        import torch
        from torchvision.models import resnet18

        net = resnet18(weights="DEFAULT")
        fast = torch.compile(net, mode="reduce-overhead")
        net.eval()
        with torch.no_grad():
            print(fast(torch.ones(1, 3, 224, 224)).argmax())
        """,
    "compiled as a statement": """
        import torch
        from torchvision.models import resnet18

        net = resnet18(weights="DEFAULT").eval()
        net.compile()
        with torch.no_grad():
            print(net(torch.ones(1, 3, 224, 224)).argmax())
        """,
    "a copy of a ready model": """
        import copy

        import torch
        from torchvision.models import resnet18

        @torch.no_grad()
        def predict(x):
            net = resnet18(weights="DEFAULT").eval()
            twin = copy.deepcopy(net)
            return twin(x).argmax(-1).item()
        """,
    "a chain of moves": """
        import torch
        from torchvision.models import resnet18

        @torch.no_grad()
        def predict(x):
            net = resnet18(weights="DEFAULT").to("cuda").half().eval().to(memory_format=torch.channels_last)
            return net(x).argmax(-1).item()
        """,
    "a headless model from the children": """
        import torch
        from torch import nn
        from torchvision.models import resnet18

        @torch.no_grad()
        def embed(x):
            net = resnet18(weights="DEFAULT")
            body = nn.Sequential(*list(net.children())[:-1]).eval()
            return body(x).flatten(1).cpu().numpy()
        """,
    "the head replaced, then eval": """
        import torch
        from torch import nn
        from torchvision.models import resnet18

        @torch.no_grad()
        def predict(path, x):
            net = resnet18()
            net.fc = nn.Linear(512, 10)
            net.load_state_dict(torch.load(path, weights_only=True))
            net.eval()
            return net(x).argmax(-1).item()
        """,
    "only the part in evaluation mode runs": """
        import torch
        from torchvision.models import resnet50

        @torch.no_grad()
        def embed(x):
            net = resnet50(weights="DEFAULT")
            body = net.layer1
            body.eval()
            return body(x).mean().item()
        """,
    "a loss is no model": """
        import torch
        from torch import nn
        from torchvision.models import resnet18

        @torch.no_grad()
        def evaluate(loader):
            net = resnet18(weights="DEFAULT").eval()
            criterion = nn.CrossEntropyLoss()
            print(sum(criterion(net(x), y).item() for x, y in loader))
        """,
    "a layer without modes": """
        import torch
        from torch import nn

        @torch.no_grad()
        def evaluate(x):
            pool = nn.AvgPool2d(2)
            print(pool(x).mean().item())
        """,
    "a conditional wrapper": """
        import torch
        from torch import nn
        from torchvision.models import resnet18

        @torch.no_grad()
        def predict(args, x):
            net = resnet18(weights="DEFAULT")
            if args.parallel:
                net = nn.DataParallel(net)
            net.eval()
            return net(x).argmax(-1).item()
        """,
    "unwrapped before use": """
        import torch
        from torch import nn
        from torchvision.models import resnet18

        @torch.no_grad()
        def predict(x):
            net = nn.DataParallel(resnet18(weights="DEFAULT"))
            net.eval()
            inner = net.module if hasattr(net, "module") else net
            return inner(x).argmax(-1).item()
        """,
    "swapped": """
        import torch
        from torchvision.models import resnet18, resnet50

        @torch.no_grad()
        def predict(x):
            a, b = resnet18(weights="DEFAULT").eval(), resnet50(weights="DEFAULT")
            a, b = b, a
            return b(x).argmax(-1).item()
        """,
    "a method kept, and a copy": """
        import copy

        import torch
        from torchvision.models import resnet18

        @torch.no_grad()
        def predict(x):
            a = resnet18(weights="DEFAULT")
            switch = a.eval
            switch()
            a.train()
            a = copy.deepcopy(a)
            a.eval()
            return a(x).argmax(-1).item()
        """,
    "the rest of a list": """
        import torch
        from torchvision.models import resnet18

        @torch.no_grad()
        def predict(x):
            a = resnet18(weights="DEFAULT")
            b = resnet18(weights="DEFAULT")
            first, *rest = [b, a]
            rest[0].eval()
            return a(x).argmax(-1).item()
        """,
    "an attribute of a class": """
        import torch
        from torchvision.models import resnet18

        class Holder:
            shared = None

        @torch.no_grad()
        def predict(x):
            a = resnet18(weights="DEFAULT")
            Holder.shared = a
            Holder.shared.eval()
            return a(x).argmax(-1).item()
        """,
}

FOUND = {
    "one of a dict": """
        import torch
        from torchvision.models import resnet18, resnet50

        def predict(x):
            nets = {"small": resnet18(weights="DEFAULT"), "large": resnet50(weights="DEFAULT")}
            nets["small"].eval()
            with torch.no_grad():
                print(nets["small"](x).argmax(-1))
                print(nets["large"](x).argmax(-1))  # ML101
        """,
    "the second of a tuple": """
        import torch
        from torchvision.models import resnet18, resnet50

        def build():
            return resnet18(weights="DEFAULT").eval(), resnet50(weights="DEFAULT")

        @torch.no_grad()
        def predict(x):
            a, b = build()
            print(a(x).argmax(-1).item())
            print(b(x).argmax(-1).item())  # ML101
        """,
    "a dict returned in training mode": """
        import torch
        from torchvision.models import resnet18

        def build():
            return {"net": resnet18(weights="DEFAULT"), "size": 224}

        @torch.no_grad()
        def predict(x):
            parts = build()
            return parts["net"](x).argmax(-1).item()  # ML101
        """,
    "swapped": """
        import torch
        from torchvision.models import resnet18, resnet50

        @torch.no_grad()
        def predict(x):
            a, b = resnet18(weights="DEFAULT").eval(), resnet50(weights="DEFAULT")
            a, b = b, a
            return a(x).argmax(-1).item()  # ML101
        """,
    "the wrapper in training mode": """
        import torch
        from torch import nn
        from torchvision.models import resnet18

        @torch.no_grad()
        def predict(x):
            net = nn.DataParallel(resnet18(weights="DEFAULT")).cuda()
            return net(x).argmax(-1).item()  # ML101
        """,
    "compiled in training mode": """
        import torch
        from torchvision.models import resnet18

        net = torch.compile(resnet18(weights="DEFAULT"))
        with torch.no_grad():
            print(net(torch.ones(1, 3, 224, 224)).argmax())  # ML101
        """,
    "a copy made before eval()": """
        import copy

        import torch
        from torchvision.models import resnet18

        @torch.no_grad()
        def predict(x):
            net = resnet18(weights="DEFAULT")
            twin = copy.deepcopy(net)
            net.eval()
            return twin(x).argmax(-1).item()  # ML101
        """,
    "a new Sequential around ready parts": """
        import torch
        from torch import nn
        from torchvision.models import resnet18

        @torch.no_grad()
        def predict(x):
            net = resnet18(weights="DEFAULT").eval()
            whole = nn.Sequential(net, nn.Dropout(0.5))
            return whole(x).argmax(-1).item()  # ML101
        """,
    "built again in every call": """
        import torch
        from torchvision.models import resnet18

        class Service:
            def __init__(self, path):
                self.path = path
                self.reload()
                self.net.eval()

            def reload(self):
                self.net = resnet18()
                self.net.load_state_dict(torch.load(self.path, weights_only=True))

            @torch.no_grad()
            def predict(self, x):
                self.reload()
                return self.net(x).argmax(-1).item()  # ML101
        """,
    "train(True) by a variable": """
        import torch
        from torchvision.models import resnet18

        @torch.no_grad()
        def predict(x):
            net = resnet18(weights="DEFAULT").eval()
            mode = True
            net.train(mode)
            return net(x).argmax(-1).item()  # ML101
        """,
    "an attribute of another object": """
        import torch
        from torchvision.models import resnet18

        class Box:
            pass

        @torch.no_grad()
        def predict(x):
            box = Box()
            box.net = resnet18(weights="DEFAULT")
            return box.net(x).argmax(-1).item()  # ML101
        """,
    "a dataclass that holds it": """
        from dataclasses import dataclass

        import torch
        from torch import nn
        from torchvision.models import resnet18

        @dataclass
        class Bundle:
            net: nn.Module
            size: int

        @torch.no_grad()
        def predict(x):
            bundle = Bundle(resnet18(weights="DEFAULT"), 224)
            return bundle.net(x).argmax(-1).item()  # ML101
        """,
    "the head replaced behind eval()": """
        import torch
        from torch import nn
        from torchvision.models import resnet18

        @torch.no_grad()
        def predict(path, x):
            net = resnet18()
            net.eval()
            net.fc = nn.Sequential(nn.Dropout(0.5), nn.Linear(512, 10))
            net.load_state_dict(torch.load(path, weights_only=True))
            return net(x).argmax(-1).item()  # ML101
        """,
    "a ModuleList in training mode": """
        import torch
        from torch import nn
        from torchvision.models import resnet18

        def predict(x):
            nets = nn.ModuleList([resnet18(weights="DEFAULT") for _ in range(3)])
            with torch.no_grad():
                print(torch.stack([net(x) for net in nets]).mean(0).argmax(-1))  # ML101
        """,
    "a namespace": """
        from types import SimpleNamespace

        import torch
        from torchvision.models import resnet18

        @torch.no_grad()
        def predict(x):
            a = resnet18(weights="DEFAULT")
            a.eval()
            box = SimpleNamespace(net=a)
            box.net.train()
            return a(x).argmax(-1).item()  # ML101
        """,
    "the last of a list that has grown": """
        import torch
        from torchvision.models import resnet18

        @torch.no_grad()
        def predict(x):
            a = resnet18(weights="DEFAULT")
            b = resnet18(weights="DEFAULT")
            bag = [a]
            bag.append(b)
            bag[-1].eval()
            return a(x).argmax(-1).item()  # ML101
        """,
    "a method kept, and a copy in evaluation mode": """
        import copy

        import torch
        from torchvision.models import resnet18

        @torch.no_grad()
        def predict(x):
            a = resnet18(weights="DEFAULT")
            switch = a.eval
            switch()
            a.train()
            twin = copy.deepcopy(a)
            twin.eval()
            return a(x).argmax(-1).item()  # ML101
        """,
}


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_silent(lint: Lint, code: str) -> None:
    lint(code)


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_found(lint: Lint, code: str) -> None:
    lint(code)
