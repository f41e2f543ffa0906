"""Programs of many kinds, right and wrong."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.static.conftest import Lint

SILENT: dict[str, str | Mapping[str, str]] = {
    "speaker verification embeddings": {
        "app.py": """
            import numpy as np
            import torch
            from ecapa import ECAPA

            class Encoder:
                def __init__(self, weights, device=None):
                    self.device = device or torch.device("cpu")
                    self.net = ECAPA()
                    checkpoint = torch.load(weights, map_location="cpu", weights_only=True)
                    self.net.load_state_dict(checkpoint["model_state"])
                    self.net.to(self.device)
                    self.net.eval()

                def embed_batch(self, mels):
                    mels = torch.from_numpy(mels).to(self.device)
                    with torch.no_grad():
                        return self.net(mels).cpu().numpy()

                def embed_utterance(self, wav):
                    frames = make_frames(wav)
                    partial = self.embed_batch(frames)
                    raw = np.mean(partial, axis=0)
                    return raw / np.linalg.norm(raw, 2)
            """,
        "ecapa.py": """
            from torch import nn

            class ECAPA(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.bn = nn.BatchNorm1d(80)

                def forward(self, x):
                    return self.bn(x)
            """,
    },
    "OCR with two stages": """
        import torch
        from torch import nn

        class Detector(nn.Module):
            def __init__(self):
                super().__init__()
                self.c = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8))

            def forward(self, x):
                return self.c(x)

        class OCR:
            def __init__(self, paths):
                self.stages = [self._load(Detector(), p) for p in paths]

            @staticmethod
            def _load(net, path):
                net.load_state_dict(torch.load(path, weights_only=True))
                return net.eval()

            @torch.no_grad()
            def __call__(self, image):
                for stage in self.stages:
                    image = stage(image)
                return image.argmax(1).tolist()
        """,
    "PPO with a shared trunk": """
        import torch
        from torch import nn

        class ActorCritic(nn.Module):
            def __init__(self):
                super().__init__()
                self.trunk = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Dropout(0.1))
                self.pi = nn.Linear(64, 2)
                self.v = nn.Linear(64, 1)

            def act(self, s):
                d = torch.distributions.Categorical(logits=self.pi(self.trunk(s)))
                a = d.sample()
                return a.detach(), d.log_prob(a).detach()

            def evaluate(self, s, a):
                h = self.trunk(s)
                d = torch.distributions.Categorical(logits=self.pi(h))
                return d.log_prob(a), self.v(h), d.entropy()

        class PPO:
            def __init__(self):
                self.policy = ActorCritic()
                self.policy_old = ActorCritic()
                self.policy_old.load_state_dict(self.policy.state_dict())
                self.optimizer = torch.optim.Adam(self.policy.parameters())

            def select_action(self, state):
                with torch.no_grad():
                    action, logp = self.policy_old.act(torch.FloatTensor(state))
                return action.item()

            def update(self, buf):
                for _ in range(4):
                    logp, v, ent = self.policy.evaluate(buf.s, buf.a)
                    ratio = (logp - buf.logp.detach()).exp()
                    adv = buf.r - v.detach()
                    loss = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean() + (v - buf.r).pow(2).mean()
                    self.optimizer.zero_grad()
                    loss.backward()
                    self.optimizer.step()
                self.policy_old.load_state_dict(self.policy.state_dict())
        """,
    "mean teacher": """
        import torch
        from torchvision.models import resnet18

        def create_model(ema=False):
            model = resnet18(num_classes=10)
            if ema:
                for p in model.parameters():
                    p.detach_()
            return model

        def train(labelled, unlabelled):
            model, ema_model = create_model(), create_model(ema=True)
            opt = torch.optim.SGD(model.parameters(), 0.1)
            model.train()
            ema_model.train()
            for (x, y), u in zip(labelled, unlabelled):
                out = model(x)
                with torch.no_grad():
                    target = ema_model(u).softmax(1)
                loss = torch.nn.functional.cross_entropy(out, y) + (model(u).softmax(1) - target).pow(2).mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
        """,
    "MAML inner loop": """
        import torch
        import torch.nn.functional as F

        def inner(model, x, y, lr):
            loss = F.cross_entropy(model(x), y)
            grads = torch.autograd.grad(loss, model.parameters(), create_graph=True)
            return [p - lr * g for p, g in zip(model.parameters(), grads)]

        def meta_step(model, tasks, opt):
            outer = 0
            for s, q in tasks:
                fast = inner(model, s[0], s[1], 0.1)
                names = [n for n, _ in model.named_parameters()]
                logits = torch.func.functional_call(model, dict(zip(names, fast)), (q[0],))
                outer = outer + F.cross_entropy(logits, q[1])
            opt.zero_grad()
            outer.backward()
            opt.step()
        """,
    "recalibrate batch statistics, then evaluate": """
        import torch
        from torchvision.models import resnet18

        def bn_update(loader, model):
            model.train()
            with torch.no_grad():
                for x in loader:
                    model(x)

        def main(loader, test):
            model = resnet18(num_classes=10)
            model.load_state_dict(torch.load("swa.pt", weights_only=True))
            bn_update(loader, model)
            model.eval()
            with torch.no_grad():
                print(sum((model(x).argmax(1) == y).sum().item() for x, y in test))
        """,
    "inference time benchmark with random weights": """
        import time
        import torch
        from torchvision.models import resnet18

        model = resnet18().cuda()
        x = torch.randn(1, 3, 224, 224).cuda()
        with torch.no_grad():
            for _ in range(10):
                model(x)
            torch.cuda.synchronize()
            t = time.time()
            for _ in range(100):
                model(x)
            torch.cuda.synchronize()
        print((time.time() - t) / 100)
        """,
    "test under pytest": {
        "app.py": """
            import pytest
            import torch
            from net import Net

            @pytest.mark.parametrize("n", [1, 2])
            def test_shape(n):
                net = Net()
                with torch.no_grad():
                    y = net(torch.ones(n, 3))
                assert y.shape == (n, 3)
            """,
        "net.py": """
            from torch import nn

            class Net(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.fc = nn.Sequential(nn.Linear(3, 3), nn.Dropout())

                def forward(self, x):
                    return self.fc(x)
            """,
    },
    "text generation loop of a small GPT": {
        "app.py": """
            import torch
            from gpt import GPT

            @torch.no_grad()
            def generate(model, idx, n):
                for _ in range(n):
                    logits = model(idx[:, -128:])[:, -1]
                    idx = torch.cat((idx, logits.softmax(-1).multinomial(1)), 1)
                return idx

            def main(path):
                model = GPT()
                model.load_state_dict(torch.load(path, weights_only=True))
                model.eval()
                print(generate(model, torch.zeros(1, 1, dtype=torch.long), 100))
            """,
        "gpt.py": """
            from torch import nn

            class GPT(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.drop = nn.Dropout(0.1)

                def forward(self, x):
                    return self.drop(x)
            """,
    },
    "estimate_loss inside a nanoGPT loop": {
        "app.py": """
            import torch
            from gpt import GPT

            model = GPT()
            opt = torch.optim.AdamW(model.parameters())

            @torch.no_grad()
            def estimate_loss():
                out = {}
                model.eval()
                for split in ["train", "val"]:
                    losses = torch.zeros(200)
                    for k in range(200):
                        x, y = get_batch(split)
                        logits, loss = model(x, y)
                        losses[k] = loss.item()
                    out[split] = losses.mean()
                model.train()
                return out

            for it in range(5000):
                if it % 500 == 0:
                    print(estimate_loss())
                x, y = get_batch("train")
                logits, loss = model(x, y)
                opt.zero_grad()
                loss.backward()
                opt.step()
            """,
        "gpt.py": """
            from torch import nn

            class GPT(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.drop = nn.Dropout(0.1)

                def forward(self, x, y=None):
                    return self.drop(x), x.mean()
            """,
    },
    "linear probe on frozen features": """
        import torch
        from torch import nn
        from torchvision.models import resnet50

        def probe(loader, epochs):
            backbone = resnet50(weights="DEFAULT")
            backbone.fc = nn.Identity()
            backbone.eval()
            for p in backbone.parameters():
                p.requires_grad = False
            head = nn.Linear(2048, 10)
            opt = torch.optim.SGD(head.parameters(), 0.1)
            for _ in range(epochs):
                for x, y in loader:
                    with torch.no_grad():
                        f = backbone(x)
                    loss = nn.functional.cross_entropy(head(f), y)
                    opt.zero_grad()
                    loss.backward()
                    opt.step()
        """,
    "perceptual loss network inside a module": """
        import torch
        from torch import nn
        from torchvision.models import vgg16

        class PerceptualLoss(nn.Module):
            def __init__(self):
                super().__init__()
                self.vgg = vgg16(weights="DEFAULT").features[:16].eval()
                for p in self.vgg.parameters():
                    p.requires_grad_(False)

            def forward(self, x, y):
                return nn.functional.l1_loss(self.vgg(x), self.vgg(y))

        def train(net, loader, opt):
            criterion = PerceptualLoss()
            net.train()
            for x, y in loader:
                loss = criterion(net(x), y)
                opt.zero_grad()
                loss.backward()
                opt.step()
        """,
    "default argument given": """
        import torch
        from torchvision.models import resnet18

        def load_model(path, eval_mode=False):
            net = resnet18(num_classes=3)
            net.load_state_dict(torch.load(path, weights_only=True))
            if eval_mode:
                net.eval()
            return net

        def predict(path, x):
            net = load_model(path, eval_mode=True)
            with torch.no_grad():
                return net(x).argmax(1).tolist()
        """,
    "mode constant in a config class": """
        import torch
        from torchvision.models import resnet18

        class Config:
            mode = "test"
            weights = "a.pt"

        def main(x):
            net = resnet18()
            net.load_state_dict(torch.load(Config.weights, weights_only=True))
            if Config.mode == "train":
                net.train()
            else:
                net.eval()
            with torch.no_grad():
                print(net(x).argmax(1))
        """,
    "fire command line": """
        import fire
        import torch
        from torchvision.models import resnet18

        class Commands:
            def __init__(self, weights="a.pt"):
                self.net = resnet18()
                self.net.load_state_dict(torch.load(weights, weights_only=True))
                self.net = self.net.eval()

            def predict(self, path):
                with torch.no_grad():
                    print(self.net(load(path)).argmax(1).item())

        if __name__ == "__main__":
            fire.Fire(Commands)
        """,
    "models in a dataclass": """
        from dataclasses import dataclass, field
        import torch
        from torch import nn
        from torchvision.models import resnet18

        @dataclass
        class Stack:
            first: nn.Module
            second: nn.Module

            def eval(self):
                self.first.eval()
                self.second.eval()
                return self

        def main(x):
            stack = Stack(resnet18(weights="DEFAULT"), resnet18(weights="DEFAULT")).eval()
            with torch.no_grad():
                print(stack.first(x).argmax(1), stack.second(x).argmax(1))
        """,
    "generator of predictions": """
        import torch
        from torchvision.models import resnet18

        def predictions(loader):
            net = resnet18(weights="DEFAULT")
            net.eval()
            for x in loader:
                with torch.no_grad():
                    yield net(x).argmax(1)

        def main(loader):
            for p in predictions(loader):
                print(p.tolist())
        """,
    "no_grad by a global switch": """
        import torch
        from torchvision.models import resnet18

        torch.set_grad_enabled(False)
        net = resnet18(weights="DEFAULT").eval()

        def predict(x):
            return net(x).argmax(1).tolist()
        """,
    "frozen by hand": """
        import torch
        from torchvision.models import resnet18

        net = resnet18(weights="DEFAULT").eval()
        for p in net.parameters():
            p.requires_grad = False

        def predict(x):
            return net(x).argmax(1).tolist()
        """,
    "early return for training": """
        import torch

        def step(model, batch, opt, training):
            model.train(training)
            if training:
                loss = model(**batch).loss
                loss.backward()
                opt.step()
                opt.zero_grad()
                return loss.item()
            with torch.no_grad():
                return model(**batch).loss.item()
        """,
    "try around the evaluation": """
        import torch
        from torchvision.models import resnet18

        def safe_predict(x):
            net = resnet18(weights="DEFAULT")
            try:
                net.eval()
                with torch.no_grad():
                    return net(x).argmax(1).item()
            except RuntimeError as e:
                print(e)
                return None
            finally:
                net.train()
        """,
    "compiled model": """
        import torch
        from torchvision.models import resnet18

        net = resnet18(weights="DEFAULT")
        net.eval()
        fast = torch.compile(net)

        @torch.inference_mode()
        def predict(x):
            return fast(x).argmax(1).item()
        """,
}

FOUND: dict[str, str | Mapping[str, str]] = {
    "super-resolution video demo,, wrong": {
        "app.py": """
            import cv2
            import numpy as np
            import torch
            from model import SRNet

            def main(args):
                device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
                net = SRNet(scale=args.scale).to(device)
                state_dict = net.state_dict()
                for n, p in torch.load(args.weights, map_location="cpu", weights_only=True).items():
                    if n in state_dict.keys():
                        state_dict[n].copy_(p)
                cap = cv2.VideoCapture(args.video)
                out = cv2.VideoWriter(args.out, 0, 30, (640, 480))
                while True:
                    ok, frame = cap.read()
                    if not ok:
                        break
                    x = torch.from_numpy(frame).permute(2, 0, 1)[None].float().to(device)
                    with torch.no_grad():
                        y = net(x).clamp(0.0, 1.0)  # ML101
                    out.write(np.array(y.squeeze(0).permute(1, 2, 0).cpu()))
                out.release()
            """,
        "model.py": """
            from torch import nn

            class SRNet(nn.Module):
                def __init__(self, scale):
                    super().__init__()
                    self.body = nn.Sequential(nn.Conv2d(3, 64, 9), nn.BatchNorm2d(64), nn.Conv2d(64, 3, 5))

                def forward(self, x):
                    return self.body(x)
            """,
    },
    "speaker verification embeddings, graph kept": {
        "app.py": """
            import numpy as np
            import torch
            from ecapa import ECAPA

            class Encoder:
                def __init__(self, weights):
                    self.net = ECAPA()
                    self.net.load_state_dict(torch.load(weights, map_location="cpu", weights_only=True))
                    self.net.eval()

                def embed_batch(self, mels):
                    mels = torch.from_numpy(mels)
                    return self.net(mels).detach().cpu().numpy()  # ML201

                def embed_utterance(self, wav):
                    raw = np.mean(self.embed_batch(make_frames(wav)), axis=0)
                    return raw / np.linalg.norm(raw, 2)
            """,
        "ecapa.py": """
            from torch import nn

            class ECAPA(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.bn = nn.BatchNorm1d(80)

                def forward(self, x):
                    return self.bn(x)
            """,
    },
    "OCR with two stages, recogniser in training mode": """
        import torch
        from torch import nn

        class Detector(nn.Module):
            def __init__(self):
                super().__init__()
                self.c = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8))

            def forward(self, x):
                return self.c(x)

        class Recogniser(nn.Module):
            def __init__(self):
                super().__init__()
                self.rnn = nn.LSTM(8, 8, 2, dropout=0.2)

            def forward(self, x):
                return self.rnn(x)[0]

        class OCR:
            def __init__(self, det_path, rec_path):
                self.detector = self._load(Detector(), det_path)
                self.detector.eval()
                self.recogniser = self._load(Recogniser(), rec_path)

            @staticmethod
            def _load(net, path):
                net.load_state_dict(torch.load(path, weights_only=True))
                return net

            @torch.no_grad()
            def __call__(self, image):
                boxes = self.detector(image).argmax(1)
                return self.recogniser(crop(image, boxes)).argmax(-1).tolist()  # ML101
        """,
    "pseudo labels by a trained model,, wrong": """
        import torch
        from torchvision.models import resnet18

        def pseudo_label(path, loader, threshold=0.9):
            model = resnet18(num_classes=10)
            model.load_state_dict(torch.load(path, weights_only=True))
            keep = []
            with torch.no_grad():
                for x, name in loader:
                    conf, label = model(x).softmax(1).max(1)  # ML101
                    keep += [(n, l.item()) for n, c, l in zip(name, conf, label) if c > threshold]
            return keep
        """,
    "recalibrate batch statistics and forget to go back": """
        import torch
        from torchvision.models import resnet18

        def bn_update(loader, model):
            model.train()
            with torch.no_grad():
                for x in loader:
                    model(x)

        def main(loader, test):
            model = resnet18(num_classes=10)
            model.load_state_dict(torch.load("swa.pt", weights_only=True))
            model.eval()
            bn_update(loader, model)
            with torch.no_grad():
                print(sum((model(x).argmax(1) == y).sum().item() for x, y in test))  # ML101
        """,
    "text generation loop of a small GPT,, wrong": {
        "app.py": """
            import torch
            from gpt import GPT

            @torch.no_grad()
            def generate(model, idx, n):
                for _ in range(n):
                    logits = model(idx[:, -128:])[:, -1]  # ML101
                    idx = torch.cat((idx, logits.softmax(-1).multinomial(1)), 1)
                return idx

            def main(path):
                model = GPT()
                model.load_state_dict(torch.load(path, weights_only=True))
                print(generate(model, torch.zeros(1, 1, dtype=torch.long), 100))
            """,
        "gpt.py": """
            from torch import nn

            class GPT(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.drop = nn.Dropout(0.1)

                def forward(self, x):
                    return self.drop(x)
            """,
    },
    "estimate_loss that leaves the model in evaluation mode": {
        "app.py": """
            import torch
            from gpt import GPT

            model = GPT()
            opt = torch.optim.AdamW(model.parameters())

            @torch.no_grad()
            def estimate_loss():
                model.eval()
                losses = torch.zeros(200)
                for k in range(200):
                    x, y = get_batch("val")
                    logits, loss = model(x, y)
                    losses[k] = loss.item()
                return losses.mean()

            for it in range(5000):
                if it % 500 == 0:
                    print(estimate_loss())
                x, y = get_batch("train")
                logits, loss = model(x, y)  # ML103
                opt.zero_grad()
                loss.backward()
                opt.step()
            """,
        "gpt.py": """
            from torch import nn

            class GPT(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.drop = nn.Dropout(0.1)

                def forward(self, x, y=None):
                    return self.drop(x), x.mean()
            """,
    },
    "linear probe on features in training mode": """
        import torch
        from torch import nn
        from torchvision.models import resnet50

        def probe(loader, epochs):
            backbone = resnet50(weights="DEFAULT")
            backbone.fc = nn.Identity()
            for p in backbone.parameters():
                p.requires_grad = False
            head = nn.Linear(2048, 10)
            opt = torch.optim.SGD(head.parameters(), 0.1)
            for _ in range(epochs):
                for x, y in loader:
                    with torch.no_grad():
                        f = backbone(x)  # ML101
                    loss = nn.functional.cross_entropy(head(f), y)
                    opt.zero_grad()
                    loss.backward()
                    opt.step()
        """,
    "wrong default argument of a helper": """
        import torch
        from torchvision.models import resnet18

        def load_model(path, eval_mode=False):
            net = resnet18(num_classes=3)
            net.load_state_dict(torch.load(path, weights_only=True))
            if eval_mode:
                net.eval()
            return net

        def predict(path, x):
            net = load_model(path)
            with torch.no_grad():
                return net(x).argmax(1).tolist()  # ML101
        """,
    "click group,, wrong": """
        import click
        import torch
        from torchvision.models import resnet18

        @click.group()
        def cli():
            pass

        @cli.command()
        @click.argument("weights")
        @click.argument("image")
        def predict(weights, image):
            net = resnet18()
            net.load_state_dict(torch.load(weights, weights_only=True))
            with torch.no_grad():
                click.echo(net(load(image)).argmax(1).item())  # ML101

        if __name__ == "__main__":
            cli()
        """,
    "models in a named tuple,, wrong": """
        from typing import NamedTuple
        import torch
        from torch import nn
        from torchvision.models import resnet18

        class Stack(NamedTuple):
            first: nn.Module
            second: nn.Module

        def main(x):
            stack = Stack(resnet18(weights="DEFAULT").eval(), resnet18(weights="DEFAULT"))
            with torch.no_grad():
                print(stack.first(x).argmax(1))
                print(stack.second(x).argmax(1))  # ML101
        """,
    "generator of predictions,, wrong": """
        import torch
        from torchvision.models import resnet18

        def predictions(loader):
            net = resnet18(weights="DEFAULT")
            for x in loader:
                with torch.no_grad():
                    yield net(x).argmax(1)  # ML101

        def main(loader):
            for p in predictions(loader):
                print(p.tolist())
        """,
    "compiled model,, wrong": """
        import torch
        from torchvision.models import resnet18

        net = torch.compile(resnet18(weights="DEFAULT"))

        @torch.inference_mode()
        def predict(x):
            return net(x).argmax(1).item()  # ML101
        """,
}

RULES = ("ML101", "ML102", "ML103", "ML109", "ML201", "ML202", "ML204")


@pytest.mark.parametrize("files", SILENT.values(), ids=SILENT)
def test_right(lint: Lint, files: str | Mapping[str, str]) -> None:
    lint(files, rules=RULES)


@pytest.mark.parametrize("files", FOUND.values(), ids=FOUND)
def test_wrong(lint: Lint, files: str | Mapping[str, str]) -> None:
    lint(files, rules=RULES)
