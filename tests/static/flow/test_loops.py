"""Loops: what one lap leaves is what the next one finds."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

SILENT = {
    "each epoch sets its own mode": """
        import torch

        def fit(model, loader, val_loader, optimizer, loss_fn):
            for epoch in range(10):
                model.train()
                for x, y in loader:
                    optimizer.zero_grad()
                    loss_fn(model(x), y).backward()
                    optimizer.step()
                model.eval()
                with torch.no_grad():
                    for x, y in val_loader:
                        print(loss_fn(model(x), y).item())
        """,
    "train() at the end of the lap": """
        import torch

        def fit(model, loader, val_loader, optimizer, loss_fn):
            model.train()
            for epoch in range(10):
                for x, y in loader:
                    optimizer.zero_grad()
                    loss_fn(model(x), y).backward()
                    optimizer.step()
                model.eval()
                with torch.no_grad():
                    for x, y in val_loader:
                        print(loss_fn(model(x), y).item())
                model.train()
        """,
    "evaluated every hundred steps": """
        import torch

        def fit(model, loader, val_loader, optimizer, loss_fn):
            for step, (x, y) in enumerate(loader):
                model.train()
                optimizer.zero_grad()
                loss_fn(model(x), y).backward()
                optimizer.step()
                if step % 100 == 0:
                    model.eval()
                    with torch.no_grad():
                        print(sum(loss_fn(model(a), b).item() for a, b in val_loader))
        """,
    "a while loop": """
        import torch
        from torchvision.models import resnet18

        def serve(queue):
            net = resnet18(weights="DEFAULT")
            net.eval()
            while True:
                x = queue.get()
                if x is None:
                    break
                with torch.no_grad():
                    queue.reply(net(x).argmax(-1).item())
        """,
    "eval() behind the loop that trains": """
        import torch
        from torchvision.models import resnet18

        def main(loader, x, loss_fn):
            net = resnet18()
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            for a, b in loader:
                optimizer.zero_grad()
                loss_fn(net(a), b).backward()
                optimizer.step()
            net.eval()
            with torch.no_grad():
                print(net(x).argmax(-1))
        """,
    "continue jumps over the evaluation": """
        import torch

        def fit(model, loader, val_loader, optimizer, loss_fn, epochs):
            for epoch in range(epochs):
                model.train()
                for x, y in loader:
                    optimizer.zero_grad()
                    loss_fn(model(x), y).backward()
                    optimizer.step()
                if epoch % 5:
                    continue
                model.eval()
                with torch.no_grad():
                    for x, y in val_loader:
                        print(loss_fn(model(x), y).item())
        """,
    "the last lap returns after the evaluation": """
        import torch

        def fit(model, loader, val_x, optimizer, loss_fn):
            model.train()
            for step, (x, y) in enumerate(loader):
                optimizer.zero_grad()
                loss_fn(model(x), y).backward()
                optimizer.step()
                if step == 1000:
                    model.eval()
                    with torch.no_grad():
                        print(model(val_x).argmax(-1))
                    return
        """,
    "two models in turn": """
        import torch

        def fit(models, loader, val_loader, optimizers, loss_fn):
            for model, optimizer in zip(models, optimizers):
                model.train()
                for x, y in loader:
                    optimizer.zero_grad()
                    loss_fn(model(x), y).backward()
                    optimizer.step()
                model.eval()
                with torch.no_grad():
                    for x, y in val_loader:
                        print((model(x).argmax(1) == y).sum().item())
        """,
    "k-fold: a new model each time": """
        import torch
        from torchvision.models import resnet18

        def cross_validate(folds, loss_fn):
            for train_loader, val_loader in folds:
                model = resnet18()
                optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
                for x, y in train_loader:
                    optimizer.zero_grad()
                    loss_fn(model(x), y).backward()
                    optimizer.step()
                model.eval()
                with torch.no_grad():
                    for x, y in val_loader:
                        print((model(x).argmax(1) == y).sum().item())
        """,
    "for and else": """
        import torch
        from torchvision.models import resnet18

        def search(batches):
            net = resnet18(weights="DEFAULT")
            net.eval()
            with torch.no_grad():
                for x in batches:
                    if net(x).argmax().item() == 3:
                        break
                else:
                    print(net(batches[0]).argmax())
        """,
}

FOUND = {
    "train() once, before the epochs": """
        import torch

        def fit(model, loader, val_loader, optimizer, loss_fn):
            model.train()
            for epoch in range(10):
                for x, y in loader:
                    optimizer.zero_grad()
                    loss_fn(model(x), y).backward()  # ML103
                    optimizer.step()
                model.eval()
                with torch.no_grad():
                    for x, y in val_loader:
                        print(loss_fn(model(x), y).item())
        """,
    "the second lap meets a model that trains again": """
        import torch
        from torchvision.models import resnet18

        def main(loader, val_loader, loss_fn, epochs):
            net = resnet18()
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            net.eval()
            for epoch in range(epochs):
                with torch.no_grad():
                    for x, y in val_loader:
                        print((net(x).argmax(1) == y).sum().item())  # ML101
                net.train()
                for x, y in loader:
                    optimizer.zero_grad()
                    loss_fn(net(x), y).backward()
                    optimizer.step()
        """,
    "evaluated every hundred steps, never back": """
        import torch

        def fit(model, loader, val_loader, optimizer, loss_fn):
            model.train()
            for step, (x, y) in enumerate(loader):
                optimizer.zero_grad()
                loss_fn(model(x), y).backward()  # ML103
                optimizer.step()
                if step % 100 == 0:
                    model.eval()
                    with torch.no_grad():
                        for a, b in val_loader:
                            print(loss_fn(model(a), b).item())
        """,
    "a while loop without eval()": """
        import torch
        from torchvision.models import resnet18

        def serve(queue):
            net = resnet18(weights="DEFAULT")
            while True:
                x = queue.get()
                with torch.no_grad():
                    queue.reply(net(x).argmax(-1).item())  # ML101
        """,
    "eval() only in the first lap": """
        import torch

        def fit(model, loader, val_loader, optimizer, loss_fn):
            for epoch in range(10):
                model.train()
                for x, y in loader:
                    optimizer.zero_grad()
                    loss_fn(model(x), y).backward()
                    optimizer.step()
                with torch.no_grad():
                    for x, y in val_loader:
                        print(loss_fn(model(x), y).item())  # ML101
                    model.eval()
        """,
    "the test after training": """
        import torch
        from torchvision.models import resnet18

        def main(loader, test_loader, loss_fn):
            net = resnet18()
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            for epoch in range(2):
                for x, y in loader:
                    optimizer.zero_grad()
                    loss_fn(net(x), y).backward()
                    optimizer.step()
            correct = 0
            with torch.no_grad():
                for x, y in test_loader:
                    correct += (net(x).argmax(1) == y).sum().item()  # ML101
            print(correct)
        """,
}


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_silent(lint: Lint, code: str) -> None:
    lint(code)


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_found(lint: Lint, code: str) -> None:
    lint(code)
