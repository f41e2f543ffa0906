"""What public code and programs of strangers showed: bases called by name, statistics, gradients, cells that show."""

from __future__ import annotations

import ast
from pathlib import Path

from modellint.sources import SourceFile, from_disk
from modellint.static.project.parsed_files import ParsedFiles
from tests.static.conftest import Lint


def test_a_constructor_called_by_its_class(lint: Lint) -> None:
    lint(
        """
        import torch
        from torchvision.models import resnet18

        class Ready:
            def __init__(self, path):
                self.model = resnet18()
                self.model.load_state_dict(torch.load(path, weights_only=True))
                self.model.eval()

        class Active:
            def __init__(self, path):
                self.model = resnet18()
                self.model.load_state_dict(torch.load(path, weights_only=True))

        class ReadyService(Ready):
            def __init__(self, path):
                Ready.__init__(self, path)

            @torch.no_grad()
            def predict(self, x):
                return self.model(x).argmax(1).tolist()

        class Service(Active):
            def __init__(self, *args, **kwargs):
                Active.__init__(self, *args, **kwargs)

            @torch.no_grad()
            def predict(self, x):
                return self.model(x).argmax(1).tolist()  # ML101
        """
    )


def test_statistics_that_a_caller_begins_anew(lint: Lint) -> None:
    lint(
        """
        import torch
        from torch import nn
        from torchvision.models import resnet18

        class Trainer:
            def __init__(self):
                self.model = resnet18(weights="DEFAULT")

            def forward(self, loader):
                return [self.model(x).argmax(1).tolist() for x, _ in loader]

            def validate(self, loader):
                self.model.eval()
                with torch.no_grad():
                    return self.forward(loader)

            def calibrate(self, loader):
                for layer in self.model.modules():
                    if isinstance(layer, nn.BatchNorm2d):
                        layer.reset_running_stats()
                self.model.train()
                with torch.no_grad():
                    return self.forward(loader)

            def score(self, loader):
                self.model.train()
                with torch.no_grad():
                    return self.forward(loader)  # ML101
        """
    )


def test_a_gradient_has_no_graph_unless_it_is_asked_for(lint: Lint) -> None:
    lint(
        """
        import torch
        from torchvision.models import resnet18

        def guided(latents, sampler, target):
            net = resnet18(weights="DEFAULT").eval()
            for step in sampler.steps:
                x = latents.detach().requires_grad_(True)
                score = net(x).log_softmax(1)[:, target].sum()
                latents = latents + torch.autograd.grad(score, x)[0]
                latents = sampler.step(latents, step).prev_sample
            return latents

        def penalised(net, xs, optimizer):
            total = 0
            for x in xs:
                net.train()
                x.requires_grad_(True)
                loss = torch.autograd.grad(net(x).sum(), x, create_graph=True)[0].norm()
                loss.backward()
                optimizer.step()
                total += loss  # ML204
            return total
        """
    )


def test_a_notebook_shows_the_last_statement_of_a_cell(tmp_path: Path) -> None:
    text = "net = build()\nnet.eval()\nfor x in xs:\n    net(x)\nnet.train()\n"
    module = ParsedFiles(tmp_path, from_disk, lambda: None).add(
        SourceFile(tmp_path / "a.ipynb", text, "notebook", (1, 3))
    )
    _, evaluated, loop, trained = module.body.body
    assert isinstance(loop, ast.For)

    shown = [statement for statement in (evaluated, loop.body[0], trained) if module.shows(statement)]
    assert shown == [evaluated, trained]
    module.cells = (1, 5)
    assert not module.shows(evaluated)
    module.cells = ()
    assert not module.shows(trained)


def test_a_text_has_no_graph(lint: Lint) -> None:
    lint(
        """
        import torch
        from torchvision.models import resnet18

        def fit(loader, optimizer):
            net = resnet18()
            net.train()
            line, total = "", 0
            for x, y in loader:
                loss = torch.nn.functional.cross_entropy(net(x), y)
                loss.backward()
                optimizer.step()
                line += "loss {:.3f}, ".format(loss)
                line = line + "loss %s" % loss
                total += loss  # ML204
            print(line, total)
        """
    )
