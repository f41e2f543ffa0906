"""try, finally, early returns, and the mode that is saved and restored."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

SILENT = {
    "restored in finally": """
        import torch

        def evaluate(model, loader):
            model.eval()
            try:
                with torch.no_grad():
                    for x, y in loader:
                        print((model(x).argmax(1) == y).sum().item())
            finally:
                model.train()

        def fit(model, loader, val_loader, optimizer, loss_fn):
            model.train()
            for x, y in loader:
                optimizer.zero_grad()
                loss_fn(model(x), y).backward()
                optimizer.step()
                evaluate(model, val_loader)
        """,
    "the mode saved and set again": """
        import torch

        def evaluate(model, loader):
            was_training = model.training
            model.eval()
            with torch.no_grad():
                hits = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
            model.train(was_training)
            return hits

        def fit(model, loader, val_loader, optimizer, loss_fn):
            model.train()
            for x, y in loader:
                optimizer.zero_grad()
                loss_fn(model(x), y).backward()
                optimizer.step()
                print(evaluate(model, val_loader))
        """,
    "train() if it was training": """
        import torch

        def evaluate(model, loader):
            training = model.training
            model.eval()
            with torch.no_grad():
                hits = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
            if training:
                model.train()
            return hits

        def fit(model, loader, val_loader, optimizer, loss_fn):
            model.train()
            for x, y in loader:
                optimizer.zero_grad()
                loss_fn(model(x), y).backward()
                optimizer.step()
                print(evaluate(model, val_loader))
        """,
    "the mode saved in an attribute": """
        import torch

        class Trainer:
            def evaluate(self, loader):
                self.was_training = self.model.training
                self.model.eval()
                with torch.no_grad():
                    for x, y in loader:
                        print((self.model(x).argmax(1) == y).sum().item())
                self.model.train(self.was_training)

            def fit(self, loader, val_loader):
                self.model.train()
                for x, y in loader:
                    self.optimizer.zero_grad()
                    self.loss_fn(self.model(x), y).backward()
                    self.optimizer.step()
                    self.evaluate(val_loader)
        """,
    "eval() before the try": """
        import torch
        from torchvision.models import resnet18

        def predict(path, x):
            net = resnet18()
            try:
                net.load_state_dict(torch.load(path, weights_only=True))
            except FileNotFoundError:
                print("no weights")
            net.eval()
            try:
                with torch.no_grad():
                    return net(x).argmax(-1).item()
            except RuntimeError:
                return None
        """,
    "a handler that gives up": """
        import torch
        from torchvision.models import resnet18

        def predict(path, x):
            try:
                net = resnet18()
                net.load_state_dict(torch.load(path, weights_only=True))
                net.eval()
            except OSError as error:
                raise SystemExit(str(error))
            with torch.no_grad():
                return net(x).argmax(-1).item()
        """,
    "out of memory: tried again in pieces": """
        import torch
        from torchvision.models import resnet18

        @torch.no_grad()
        def predict(x):
            net = resnet18(weights="DEFAULT").eval()
            try:
                out = net(x)
            except RuntimeError:
                out = torch.cat([net(part) for part in x.split(1)])
            return out.argmax(-1).tolist()
        """,
    "an early return of a ready model": """
        import torch
        from torchvision.models import resnet18

        _cache = {}

        def load(path):
            if path in _cache:
                return _cache[path]
            net = resnet18()
            net.load_state_dict(torch.load(path, weights_only=True))
            net.eval()
            _cache[path] = net
            return net

        @torch.no_grad()
        def predict(path, x):
            return load(path)(x).argmax(-1).item()
        """,
    "set_grad_enabled saved and restored": """
        import torch
        from torchvision.models import resnet18

        def predict(x):
            net = resnet18(weights="DEFAULT").eval()
            before = torch.is_grad_enabled()
            torch.set_grad_enabled(False)
            try:
                return net(x).argmax(-1).item()
            finally:
                torch.set_grad_enabled(before)
        """,
}

FOUND = {
    "train() in the function's middle": """
        import torch
        from torchvision.models import resnet18

        @torch.no_grad()
        def predict(x):
            net = resnet18(weights="DEFAULT").eval()
            try:
                print(net(x).argmax(-1))
            finally:
                net.train()
            print(net(x).argmax(-1))  # ML101
        """,
    "one return is not ready": """
        import torch
        from torchvision.models import resnet18

        def load(path, fast):
            net = resnet18()
            net.load_state_dict(torch.load(path, weights_only=True))
            return net

        @torch.no_grad()
        def predict(path, x):
            try:
                net = load(path, True)
            except OSError:
                return None
            return net(x).argmax(-1).item()  # ML101
        """,
    "restored too early": """
        import torch

        def evaluate(model, loader):
            model.eval()
            model.train()
            with torch.no_grad():
                for x, y in loader:
                    print((model(x).argmax(1) == y).sum().item())  # ML101
        """,
    "gradients on again too early": """
        import torch
        from torchvision.models import resnet18

        def predict(x):
            net = resnet18(weights="DEFAULT").eval()
            with torch.no_grad():
                x = x / 255
            return net(x).argmax(-1).item()  # ML201
        """,
    "the early return skips train()": """
        import torch

        def validate(model, loader, quick):
            model.eval()
            with torch.no_grad():
                for x, y in loader:
                    print((model(x).argmax(1) == y).sum().item())
                    if quick:
                        return
            model.train()

        def fit(model, loader, val_loader, optimizer, loss_fn):
            model.train()
            for x, y in loader:
                optimizer.zero_grad()
                loss_fn(model(x), y).backward()  # ML103
                optimizer.step()
                validate(model, val_loader, True)
        """,
}


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_silent(lint: Lint, code: str) -> None:
    lint(code)


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_found(lint: Lint, code: str) -> None:
    lint(code)
