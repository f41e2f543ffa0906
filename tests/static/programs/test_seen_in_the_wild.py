"""Shapes that five public repositories were wrongly reported for, and their neighbours that are wrong."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

SILENT = {
    "the frozen half of a module inside its own forward": """
        import torch
        from torch import nn

        class Features(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv1d(1, 8, 3)
                self.drop = nn.Dropout(0.1)

            def forward(self, x):
                return self.drop(self.conv(x))

        class Speech(nn.Module):
            def __init__(self, mult):
                super().__init__()
                self.mult = mult
                self.extractor = Features()
                self.head = nn.Linear(8, 8)

            def forward_features(self, x):
                if self.mult > 0:
                    return self.extractor(x)
                with torch.no_grad():
                    return self.extractor(x)

            def forward(self, x):
                return self.head(self.forward_features(x))

            def extract_features(self, x):
                return self.forward(x)
        """,
    "accuracies beside the loss, out of the model's own forward": """
        def fit(model, loader, optimizer):
            word_acc, topo_acc, hits = 0, 0, 0
            for batch in loader:
                model.zero_grad()
                loss, wacc, tacc, num_correct = model(batch)
                loss.backward()
                optimizer.step()
                word_acc += wacc
                topo_acc += tacc
                hits += num_correct
            print(word_acc, topo_acc, hits)
        """,
    "a count that a step returns": """
        def step(batch, model, optimizer, loss_fn, accuracy):
            out = model(batch.x)
            loss = loss_fn(out, batch.y)
            num_correct = accuracy(out, batch.y) * batch.y.size(0)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss.detach(), num_correct

        def fit(model, loader, optimizer, loss_fn, accuracy):
            model.train()
            total_loss, total_correct = 0, 0
            for batch in loader:
                loss, num_correct = step(batch, model, optimizer, loss_fn, accuracy)
                total_loss += loss
                total_correct += num_correct
            print(total_loss, total_correct)
        """,
    "a sum inside a forward": """
        from torch import nn

        class Decoder(nn.Module):
            def __init__(self):
                super().__init__()
                self.embed = nn.Embedding(10, 8)
                self.layers = nn.ModuleList([nn.LSTMCell(8, 8) for _ in range(3)])

            def extract_features(self, tokens, hiddens, cells):
                x = self.embed(tokens)
                for i, rnn in enumerate(self.layers):
                    h, c = rnn(x, (hiddens[i], cells[i]))
                    x = h
                    x = x + hiddens[i]
                return x

            def forward(self, tokens, hiddens, cells):
                x = self.extract_features(tokens, hiddens, cells)
                return x.argmax(-1).tolist()
        """,
    "where a slice begins": """
        class Agent:
            def answer(self, batch):
                docs, turns = self.model.encoder(batch)
                offset, found = 0, []
                for count in turns:
                    found.append(docs[offset : offset + count])
                    offset += count
                return found
        """,
    "metrics of the batch that was just trained on": """
        import torch

        class Task:
            def train_step(self, sample, model, criterion, optimizer):
                model.train()
                loss = criterion(model(sample["x"]), sample["y"])
                optimizer.backward(loss)
                self.log_metrics(sample, model)
                return loss

            def log_metrics(self, sample, model):
                with torch.no_grad():
                    print(model(sample["x"]).argmax(-1).tolist())
        """,
    "a target network put into training mode on purpose": """
        import torch
        import torch.nn.functional as F
        from diffusers import UNet2DConditionModel

        def main(loader, optimizer):
            unet = UNet2DConditionModel.from_pretrained("a")
            target_unet = UNet2DConditionModel.from_pretrained("a")
            target_unet.train()
            target_unet.requires_grad_(False)
            unet.train()
            for x, t, c in loader:
                predicted = unet(x, t, c).sample
                with torch.no_grad():
                    target = target_unet(x, t, c).sample
                loss = F.mse_loss(predicted, target)
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
        """,
    "two copies compared in a test": {
        "tests/test_offload.py": """
            import torch
            from torch import nn

            def test_offloading():
                model = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.1))
                reference = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.1))
                reference.load_state_dict(model.state_dict(), strict=True)
                with torch.no_grad():
                    assert reference(torch.ones(1, 3)).shape == model(torch.ones(1, 3)).shape
            """,
    },
    "a filter bank whose window is a function of torch": """
        import torch
        from torch import nn

        class STFT(nn.Module):
            def __init__(self, n_fft=400, window_fn=torch.hamming_window):
                super().__init__()
                self.n_fft = n_fft
                self.window = window_fn(n_fft)

            def forward(self, x):
                return torch.stft(x, self.n_fft, window=self.window, return_complex=True)

        def evaluate(loader):
            compute_stft = STFT()
            with torch.no_grad():
                return [compute_stft(x).abs().tolist() for x in loader]
        """,
    "an encoder that is given its activation": """
        import torch
        from torch import nn

        class Encoder(nn.Module):
            def __init__(self, act_fn):
                super().__init__()
                self.lin = nn.Linear(8, 8)
                self.act_fn = act_fn

            def forward(self, x):
                return self.act_fn(self.lin(x))

        def evaluate(loader):
            encoder = Encoder(nn.ReLU())
            with torch.no_grad():
                return [encoder(x).abs().tolist() for x in loader]
        """,
    "one of a table of evaluations": """
        import torch
        from helpers import load_models

        @torch.no_grad()
        def teacher_force(model, loader):
            return [model(x).argmax(-1).tolist() for x in loader]

        def main(args, loader):
            models = load_models(args.path)
            for model in models:
                model.cuda().eval()
            evaluations = {"teacher_force": teacher_force}
            print(evaluations[args.kind](models[0], loader))
        """,
    "another library's objects in a method, the base's constructor called by its name": """
        import torch
        from sklearn.linear_model import LogisticRegression
        from torch import nn

        class Walks(nn.Module):
            def __init__(self, n):
                nn.Module.__init__(self)
                self.embedding = nn.Embedding(n, 8)

            def forward(self, x):
                return self.embedding(x)

            @torch.no_grad()
            def evaluate(self, x, y):
                x = self.forward(x)
                return LogisticRegression(max_iter=150).fit(x.numpy(), y).score(x.numpy(), y)

        def main(x, y):
            walks = Walks(100)
            walks.train()
            print(walks.evaluate(x, y))
        """,
    "eval() in the agent's base class": {
        "base.py": """
            import torch

            class Base:
                def __init__(self):
                    self.model = self.build_model()

                def build_model(self):
                    raise NotImplementedError

                def eval_step(self, batch):
                    self.model.eval()
                    with torch.no_grad():
                        return self.generate(batch)

                def generate(self, batch):
                    return self.model(batch).argmax(-1).tolist()
            """,
        "agent.py": """
            import torch
            from torch import nn

            from base import Base

            class Net(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.drop = nn.Dropout(0.1)
                    self.head = nn.Linear(8, 8)

                def forward(self, x):
                    return self.head(self.drop(x))

            class Agent(Base):
                def build_model(self):
                    return Net()

                def rank(self, batch):
                    with torch.no_grad():
                        return self.model(batch).argmax(-1).tolist()
            """,
    },
    "a switch that only works in training mode, thrown away at once": """
        import torch
        from torch import nn

        class ConditionDropout(nn.Module):
            def __init__(self, p):
                super().__init__()
                self.p = p

            def forward(self, conditions):
                return [] if self.training and self.p == 1.0 else conditions

        @torch.no_grad()
        def generate(lm, conditions):
            nothing = ConditionDropout(p=1.0)(conditions)
            return lm.step(nothing, conditions)
        """,
    "a stage handed to what runs it under no_grad": """
        import torch
        from solverlib import BaseSolver

        class Solver(BaseSolver):
            def run_epoch(self):
                self.run_stage("train", self.train)
                with torch.no_grad():
                    self.run_stage("valid", self.valid)

            def train(self):
                return self.common("train")

            def valid(self):
                return self.common("valid")

            def common(self, split):
                self.model.train(self.is_training)
                for x, y in self.loaders[split]:
                    loss = self.loss(self.model(x), y)
                    if self.is_training:
                        loss.backward()
                    print(loss.item())
        """,
    "a model made from a configuration, whose method switches autograd off itself": {
        "net.py": """
            import torch
            from torch import nn

            class Latent(nn.Module):
                @torch.no_grad()
                def encode_first_stage(self, x):
                    return self.first(x)
            """,
        "app.py": """
            import torch
            from confighelper import instantiate

            def main(config, image):
                model = instantiate(config)
                model.load_state_dict(torch.load("a.pt", weights_only=True))
                model.eval()
                latent = model.encode_first_stage(image)
                print(latent.argmax(-1).tolist())
            """,
    },
    "codes for callers who may train on them": """
        import codeclib
        from torch import nn

        class Codec(nn.Module):
            def __init__(self, kind):
                super().__init__()
                self.model = codeclib.load_model(kind)
                self.model.eval()

            def forward(self, x):
                raise NotImplementedError

            def encode(self, x):
                return self.model.encode(x)[1]

            def decode(self, codes):
                return self.model.decode(codes)
        """,
}

FOUND = {
    "the running loss that a step returns with its graph": """
        def step(batch, model, optimizer, loss_fn):
            loss = loss_fn(model(batch.x), batch.y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss, len(batch.y)

        def fit(model, loader, optimizer, loss_fn):
            model.train()
            total, count = 0, 0
            for batch in loader:
                loss, size = step(batch, model, optimizer, loss_fn)
                total += loss  # ML204
                count += size
            print(total / count)
        """,
    "a teacher that nobody put into any mode": """
        import timm
        import torch
        import torch.nn.functional as F

        def main(student, loader, optimizer):
            teacher = timm.create_model("resnet50", pretrained=True)
            student.train()
            for x in loader:
                with torch.no_grad():
                    target = teacher(x)  # ML101
                loss = F.mse_loss(student(x), target)
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
        """,
    "a model made from a configuration, whose method records": {
        "net.py": """
            from torch import nn

            class Latent(nn.Module):
                def encode_first_stage(self, x):
                    return self.first(x)
            """,
        "app.py": """
            import torch
            from confighelper import instantiate

            def main(config, image):
                model = instantiate(config)
                model.load_state_dict(torch.load("a.pt", weights_only=True))
                model.eval()
                latent = model.encode_first_stage(image)  # ML201
                print(latent.argmax(-1).tolist())
            """,
    },
    "built, filled and run at once": """
        import torch
        from torchvision.models import resnet18

        @torch.no_grad()
        def predict(x):
            return resnet18(weights="DEFAULT")(x).argmax(-1).tolist()  # ML101
        """,
    "a module that predicts with a part that it loaded": """
        import timm
        import torch
        from torch import nn

        class Tagger(nn.Module):
            def __init__(self):
                super().__init__()
                self.backbone = timm.create_model("resnet18", pretrained=True)

            @torch.no_grad()
            def predict(self, x):
                return self.backbone(x).argmax(-1).tolist()  # ML101
        """,
}


@pytest.mark.parametrize("name", SILENT)
def test_right(lint: Lint, name: str) -> None:
    lint(SILENT[name], rules=["ML101", "ML201", "ML204"])


@pytest.mark.parametrize("name", FOUND)
def test_wrong(lint: Lint, name: str) -> None:
    lint(FOUND[name], rules=["ML101", "ML201", "ML204"])
