"""What a forward is for: GANs, RL, distillation, averaged teachers, ensembles, dropout on purpose."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

SILENT = {
    "a GAN": """
        import torch

        def train(G, D, loader, opt_g, opt_d, bce):
            G.train()
            D.train()
            for real in loader:
                z = torch.randn(len(real), 100)
                fake = G(z)
                loss_d = bce(D(real), torch.ones(len(real))) + bce(D(fake.detach()), torch.zeros(len(real)))
                opt_d.zero_grad()
                loss_d.backward()
                opt_d.step()
                loss_g = bce(D(fake), torch.ones(len(real)))
                opt_g.zero_grad()
                loss_g.backward()
                opt_g.step()
        """,
    "samples drawn while a GAN trains": """
        import torch
        from torchvision.utils import save_image

        def train(netG, netD, loader, opt_g, opt_d, bce, fixed):
            for step, real in enumerate(loader):
                fake = netG(torch.randn(len(real), 100))
                loss_d = bce(netD(real), torch.ones(1)) + bce(netD(fake.detach()), torch.zeros(1))
                opt_d.zero_grad()
                loss_d.backward()
                opt_d.step()
                loss_g = bce(netD(fake), torch.ones(1))
                opt_g.zero_grad()
                loss_g.backward()
                opt_g.step()
                if step % 100 == 0:
                    with torch.no_grad():
                        save_image(netG(fixed), f"{step}.png")
        """,
    "a deep Q network with a target": """
        import torch
        import torch.nn.functional as F

        class Agent:
            def __init__(self, q, target, optimizer, gamma):
                self.q, self.target = q, target
                self.optimizer, self.gamma = optimizer, gamma
                self.target.load_state_dict(self.q.state_dict())

            def learn(self, s, a, r, s2):
                with torch.no_grad():
                    wanted = r + self.gamma * self.target(s2).max(1).values
                loss = F.mse_loss(self.q(s).gather(1, a).squeeze(1), wanted)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()

            def act(self, s):
                with torch.no_grad():
                    return self.q(s).argmax(1).item()
        """,
    "PPO: old log probabilities": """
        import torch

        def update(policy, optimizer, states, actions, advantages):
            with torch.no_grad():
                old = policy(states).log_prob(actions)
            for _ in range(4):
                ratio = (policy(states).log_prob(actions) - old).exp()
                loss = -(ratio * advantages).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        """,
    "distillation": """
        import torch
        import torch.nn.functional as F
        from torchvision.models import resnet18, resnet50

        def distil(loader, optimizer):
            teacher = resnet50(weights="DEFAULT")
            teacher.eval()
            student = resnet18()
            student.train()
            for x, y in loader:
                with torch.no_grad():
                    soft = teacher(x).softmax(-1)
                loss = F.kl_div(student(x).log_softmax(-1), soft)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        """,
    "a teacher that follows by averaging": """
        import copy

        import torch
        import torch.nn.functional as F

        def fit(student, loader, optimizer):
            teacher = copy.deepcopy(student)
            for p in teacher.parameters():
                p.requires_grad_(False)
            student.train()
            for x1, x2 in loader:
                with torch.no_grad():
                    target = teacher(x1)
                loss = F.mse_loss(student(x2), target)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                for p, q in zip(teacher.parameters(), student.parameters()):
                    p.data.mul_(0.99).add_(q.data, alpha=0.01)
        """,
    "a momentum encoder": """
        import torch
        from torch import nn

        class MoCo(nn.Module):
            def __init__(self, base):
                super().__init__()
                self.encoder_q = base()
                self.encoder_k = base()
                self.register_buffer("queue", torch.randn(128, 4096))

            def forward(self, q, k):
                q = self.encoder_q(q)
                with torch.no_grad():
                    k = self.encoder_k(k)
                return torch.einsum("nc,nc->n", q, k)
        """,
    "pseudo labels inside a training step": """
        import torch
        import torch.nn.functional as F

        def train_step(model, labelled, unlabelled, optimizer):
            model.train()
            x, y = labelled
            with torch.no_grad():
                pseudo = model(unlabelled).argmax(-1)
            loss = F.cross_entropy(model(x), y) + F.cross_entropy(model(unlabelled), pseudo)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
    "batch norm statistics gathered again": """
        import torch

        @torch.no_grad()
        def recalibrate(model, loader):
            model.train()
            for x, _ in loader:
                model(x)
        """,
    "an ensemble": """
        import torch
        from torchvision.models import resnet18

        class Ensemble:
            def __init__(self, paths):
                self.members = []
                for path in paths:
                    net = resnet18()
                    net.load_state_dict(torch.load(path, weights_only=True))
                    net.eval()
                    self.members.append(net)

            @torch.no_grad()
            def predict(self, x):
                return torch.stack([net(x) for net in self.members]).mean(0).argmax(-1).item()
        """,
    "an ensemble as a module": """
        import torch
        from torch import nn
        from torchvision.models import resnet18, resnet50

        class Ensemble(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = resnet18(weights="DEFAULT")
                self.b = resnet50(weights="DEFAULT")

            def forward(self, x):
                return (self.a(x) + self.b(x)) / 2

        @torch.no_grad()
        def predict(x):
            net = Ensemble().eval()
            return net(x).argmax(-1).item()
        """,
    "dropout kept on, said in the name": """
        import torch
        from torchvision.models import densenet121

        class BayesianPredictor:
            def __init__(self):
                self.net = densenet121(weights="DEFAULT")

            def mc_predict(self, x, passes=20):
                self.net.train()
                with torch.no_grad():
                    outs = torch.stack([self.net(x).softmax(-1) for _ in range(passes)])
                return outs.mean(0), outs.std(0)
        """,
    "dropout layers switched back on by a helper": """
        import torch
        from torchvision.models import densenet121

        def enable_dropout(module):
            if type(module).__name__.startswith("Dropout"):
                module.train()

        @torch.no_grad()
        def predict_with_uncertainty(x):
            net = densenet121(weights="DEFAULT")
            net.eval()
            net.apply(enable_dropout)
            return torch.stack([net(x) for _ in range(10)]).std(0).max().item()
        """,
    "evaluation by a criterion under a training name": """
        import torch

        def train_epoch(model, loader, optimizer, loss_fn):
            model.train()
            hits = 0
            for x, y in loader:
                out = model(x)
                loss = loss_fn(out, y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                with torch.no_grad():
                    hits += (out.argmax(1) == y).sum().item()
            print(hits)
        """,
    "a gradient scaler": """
        import torch

        def train_epoch(model, loader, optimizer, loss_fn):
            scaler = torch.amp.GradScaler()
            for x, y in loader:
                with torch.autocast("cuda"):
                    loss = loss_fn(model(x), y)
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()
        """,
    "accelerate": """
        from accelerate import Accelerator

        def main(model, loader, optimizer, loss_fn):
            accelerator = Accelerator()
            model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
            model.train()
            for x, y in loader:
                loss = loss_fn(model(x), y)
                accelerator.backward(loss)
                optimizer.step()
                print(loss.item())
        """,
    "deepspeed": """
        def main(engine, loader, loss_fn):
            engine.train()
            for x, y in loader:
                loss = loss_fn(engine(x), y)
                engine.backward(loss)
                engine.step()
                print(loss.item())
        """,
    "a perceptual loss": """
        import torch
        from torch import nn
        from torchvision.models import vgg16

        class PerceptualLoss(nn.Module):
            def __init__(self):
                super().__init__()
                self.features = vgg16(weights="DEFAULT").features.eval()
                for p in self.features.parameters():
                    p.requires_grad = False

            def forward(self, x, y):
                return (self.features(x) - self.features(y)).pow(2).mean()
        """,
    "one step of meta learning": """
        import torch

        def maml(model, tasks, optimizer, loss_fn):
            for support, query in tasks:
                loss = loss_fn(model(support[0]), support[1])
                grads = torch.autograd.grad(loss, model.parameters(), create_graph=True)
                adapted = [p - 0.01 * g for p, g in zip(model.parameters(), grads)]
                outer = loss_fn(torch.func.functional_call(model, adapted, query[0]), query[1])
                optimizer.zero_grad()
                outer.backward()
                optimizer.step()
        """,
    "the loss handed to a function that steps": """
        def step(loss, optimizer):
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

        def fit(model, loader, optimizer, loss_fn):
            model.train()
            for x, y in loader:
                loss = loss_fn(model(x), y)
                step(loss, optimizer)
                print(loss.item())
        """,
    "the loss computed by a method": """
        class Trainer:
            def compute_loss(self, x, y):
                return self.loss_fn(self.model(x), y)

            def fit(self, loader):
                self.model.train()
                for x, y in loader:
                    loss = self.compute_loss(x, y)
                    self.optimizer.zero_grad()
                    loss.backward()
                    self.optimizer.step()
                    print(loss.item())
        """,
    "losses kept in a dict": """
        def fit(model, loader, optimizer, losses):
            model.train()
            for x, y in loader:
                out = model(x)
                parts = {name: fn(out, y) for name, fn in losses.items()}
                total = sum(parts.values())
                optimizer.zero_grad()
                total.backward()
                optimizer.step()
                print({name: part.item() for name, part in parts.items()})
        """,
}

FOUND = {
    "a teacher in training mode": """
        import torch
        import torch.nn.functional as F
        from torchvision.models import resnet18, resnet50

        def distil(loader, optimizer):
            teacher = resnet50(weights="DEFAULT")
            student = resnet18()
            student.train()
            for x, y in loader:
                with torch.no_grad():
                    soft = teacher(x).softmax(-1)  # ML101
                loss = F.kl_div(student(x).log_softmax(-1), soft)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        """,
    "samples after a GAN was trained": """
        import torch
        from torch import nn
        from torchvision.utils import save_image

        class Generator(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(nn.Linear(100, 784), nn.BatchNorm1d(784), nn.Tanh())

            def forward(self, z):
                return self.body(z)

        def sample(path):
            G = Generator()
            G.load_state_dict(torch.load(path, weights_only=True))
            with torch.no_grad():
                save_image(G(torch.randn(64, 100)), "samples.png")  # ML101
        """,
    "one member of an ensemble": """
        import torch
        from torchvision.models import resnet18, resnet50

        class Ensemble:
            def __init__(self):
                self.a = resnet18(weights="DEFAULT").eval()
                self.b = resnet50(weights="DEFAULT")

            @torch.no_grad()
            def predict(self, x):
                first = self.a(x)
                second = self.b(x)  # ML101
                return (first + second).argmax(-1).item()
        """,
    "members in training mode": """
        import torch
        from torchvision.models import resnet18

        class Ensemble:
            def __init__(self, paths):
                self.members = []
                for path in paths:
                    net = resnet18()
                    net.load_state_dict(torch.load(path, weights_only=True))
                    self.members.append(net)

            @torch.no_grad()
            def predict(self, x):
                return torch.stack([net(x) for net in self.members]).mean(0).argmax(-1).item()  # ML101
        """,
    "an agent evaluated with its dropout": """
        import torch
        from torch import nn

        class Policy(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(nn.Linear(4, 64), nn.Dropout(0.5), nn.Linear(64, 2))

            def forward(self, x):
                return self.body(x)

        def evaluate(path, env):
            policy = Policy()
            policy.load_state_dict(torch.load(path, weights_only=True))
            obs, total = env.reset(), 0.0
            for _ in range(200):
                with torch.no_grad():
                    action = policy(obs).argmax(-1).item()  # ML101
                obs, reward, done, _ = env.step(action)
                total += reward
            return total
        """,
    "one prediction with dropout by mistake": """
        import torch
        from torchvision.models import densenet121

        @torch.no_grad()
        def predict(x):
            net = densenet121(weights="DEFAULT")
            net.train()
            return net(x).argmax(-1).item()  # ML101
        """,
    "validation loss that keeps its graph": """
        def validate(model, loader, loss_fn):
            model.eval()
            total = 0.0
            for x, y in loader:
                total += loss_fn(model(x), y).item()  # ML201
            return total / len(loader)
        """,
}


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_silent(lint: Lint, code: str) -> None:
    lint(code)


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_found(lint: Lint, code: str) -> None:
    lint(code)
