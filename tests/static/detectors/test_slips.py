"""Slips of the pen, sums that keep their graph, loads and exports: ML102, ML203, ML204, ML403, ML109, ML202."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

SILENT = {
    "eval handed on": """
        import atexit
        import torch

        def restore(model):
            atexit.register(model.eval)
            switch = model.eval
            return switch
        """,
    "no_grad kept and entered by hand": """
        import torch
        from torchvision.models import resnet18

        def predict(x):
            net = resnet18(weights="DEFAULT").eval()
            guard = torch.no_grad()
            guard.__enter__()
            out = net(x).argmax(-1).item()
            guard.__exit__(None, None, None)
            return out
        """,
    "no_grad returned": """
        import torch

        def guard(fast):
            return torch.inference_mode() if fast else torch.no_grad()
        """,
    "set_grad_enabled works as a statement": """
        import torch

        torch.set_grad_enabled(False)
        torch._C._set_grad_enabled(False)
        """,
    "numbers summed": """
        def fit(model, loader, optimizer, loss_fn):
            model.train()
            total = count = 0
            for x, y in loader:
                loss = loss_fn(model(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                total += float(loss)
                total += loss.detach()
                total += loss.data
                total += loss.cpu().item()
                count += len(x)
            print(total / count)
        """,
    "summed, then differentiated": """
        def step(model, views, optimizer, loss_fn):
            total = 0.0
            for x, y in views:
                total += loss_fn(model(x), y)
            optimizer.zero_grad()
            (total / len(views)).backward()
            optimizer.step()
            print(total.item())
        """,
    "regularisation added to the loss": """
        def fit(model, loader, optimizer, loss_fn):
            for x, y in loader:
                loss = loss_fn(model(x), y)
                for p in model.parameters():
                    loss += 1e-4 * p.pow(2).sum()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        """,
    "summed under no_grad": """
        import torch

        @torch.no_grad()
        def evaluate(model, loader, loss_fn):
            model.eval()
            total = 0.0
            for x, y in loader:
                total += loss_fn(model(x), y)
            return total / len(loader)
        """,
    "summed and returned to whoever differentiates": """
        def losses(model, views, loss_fn):
            total = 0.0
            for x, y in views:
                total += loss_fn(model(x), y)
            return total
        """,
    "loaded with weights_only": """
        import torch

        state = torch.load("a.pt", map_location="cpu", weights_only=True)
        """,
    "another library's load": """
        import json

        import torch
        from joblib import load

        a = load("a.joblib")
        b = json.load(open("b.json"))
        c = torch.jit.load("c.pt")
        """,
    "the project requires a torch that asks for weights only": {
        "pyproject.toml": '[project]\nname = "x"\nversion = "1"\ndependencies = ["torch>=2.6"]\n',
        "app.py": """
            import torch

            state = torch.load("a.pt")
            """,
    },
    "exported behind eval()": """
        import torch
        from torchvision.models import resnet18

        def export(path):
            net = resnet18(weights="DEFAULT").eval()
            torch.onnx.export(net, (torch.ones(1, 3, 224, 224),), path, dynamo=True)
            torch.jit.trace(net, torch.ones(1, 3, 224, 224)).save(path)
            torch.jit.script(net).save(path)
            torch.export.export(net, (torch.ones(1, 3, 224, 224),))
        """,
    "a function scripted": """
        import torch

        @torch.jit.script
        def double(x: torch.Tensor) -> torch.Tensor:
            return x * 2

        triple = torch.jit.trace(lambda x: x * 3, torch.ones(1))
        """,
    "another library's convert and export": """
        import coremltools as ct
        import torch
        from torchvision.models import resnet18

        net = resnet18(weights="DEFAULT").eval()
        traced = torch.jit.trace(net, torch.ones(1, 3, 224, 224))
        ct.convert(traced, inputs=[ct.TensorType(shape=(1, 3, 224, 224))]).save("a.mlpackage")
        """,
    "gradients switched by what is asked": """
        import torch

        def run(model, x, training):
            model.train(training)
            with torch.set_grad_enabled(training):
                return model(x).argmax(-1).item()
        """,
    "gradients for a penalty": """
        import torch

        def penalty(D, real, fake):
            mixed = (real + fake).detach().requires_grad_(True)
            grads = torch.autograd.grad(D(mixed).sum(), mixed, create_graph=True)[0]
            return ((grads.norm(2, 1) - 1) ** 2).mean()
        """,
    "gradients back on for one loss in a training step": """
        import torch

        @torch.no_grad()
        def step(model, x, y, optimizer, loss_fn):
            with torch.enable_grad():
                loss = loss_fn(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss.item()
        """,
    "eval of a data frame, mentioned": """
        import pandas as pd
        import torch

        frame = pd.DataFrame()
        frame.eval
        """,
    "results collected in a tuple": """
        def shapes(model, batch, unpack, flatten):
            model.eval()
            collected = ()
            for out in model(batch):
                collected += unpack(out)
            flat, spec = flatten(collected)
            return spec
        """,
    "results collected in a list": """
        import torch

        @torch.no_grad()
        def scores(model, batches):
            model.eval()
            outs = []
            for x in batches:
                outs += model(x).tolist()
            print(outs)
        """,
    "a name put together": """
        def describe(model, batches):
            model.eval()
            text = ""
            for x in batches:
                text += f"{model(x).shape} "
            print(text)
        """,
}

FOUND = {
    "eval without parentheses, on attributes too": """
        import torch

        class Service:
            def __init__(self, path):
                self.net = torch.jit.load(path)
                self.net.eval  # ML102
                self.net.to("cuda").eval  # ML102
        """,
    "no_grad as a statement, each kind": """
        import torch

        def predict(model, x):
            torch.no_grad()  # ML203
            torch.inference_mode()  # ML203
            return model(x)
        """,
    "no_grad as a statement by its name": """
        from torch import no_grad

        no_grad()  # ML203
        """,
    "with, without parentheses": """
        import torch

        def predict(model, x):
            with torch.inference_mode:  # ML203
                return model(x)
        """,
    "the running loss over epochs": """
        def fit(model, loader, optimizer, loss_fn):
            for epoch in range(10):
                total_loss = 0
                for x, y in loader:
                    optimizer.zero_grad()
                    loss = loss_fn(model(x), y)
                    loss.backward()
                    optimizer.step()
                    total_loss += loss * len(x)  # ML204
                print(epoch, total_loss / len(loader.dataset))
        """,
    "a load that unpickles anything": """
        import torch
        from torch import load

        a = torch.load("a.pt")  # ML403
        b = load("b.pt", map_location="cpu")  # ML403
        c = torch.load("c.pt", weights_only=False)  # ML403
        """,
    "weights_only=False, whatever is required": {
        "requirements.txt": "torch>=2.6\n",
        "app.py": """
            import torch

            state = torch.load("a.pt", weights_only=False)  # ML403
            """,
    },
    "an old torch is allowed": {
        "requirements.txt": "torch>=2.0\n",
        "app.py": """
            import torch

            state = torch.load("a.pt")  # ML403
            """,
    },
    "exported from training mode": """
        import torch
        from torchvision.models import resnet18

        def export(path):
            net = resnet18(weights="DEFAULT")
            net.train()
            exported = torch.export.export(net, (torch.ones(1, 3, 224, 224),))  # ML109
            torch.export.save(exported, path)
        """,
    "the running loss by assignment": """
        def fit(model, loader, optimizer, loss_fn):
            total = 0.0
            for x, y in loader:
                loss = loss_fn(model(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                total = total + loss  # ML204
            print(total / len(loader))
        """,
}


def checked(files: str | dict[str, str]) -> list[str] | None:
    return ["app.py"] if isinstance(files, dict) else None


@pytest.mark.parametrize("files", SILENT.values(), ids=SILENT)
def test_silent(lint: Lint, files: str | dict[str, str]) -> None:
    lint(files, check=checked(files))


@pytest.mark.parametrize("files", FOUND.values(), ids=FOUND)
def test_found(lint: Lint, files: str | dict[str, str]) -> None:
    lint(files, check=checked(files))
