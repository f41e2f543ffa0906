"""Registries, factories, ensembles, loops over stages, exports, right and wrong."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.static.conftest import Lint

SILENT: dict[str, str | Mapping[str, str]] = {
    "registry class decorator": {
        "app.py": """
            import torch
            from registry import build_model
            import nets

            def main(cfg, x):
                model = build_model(cfg["name"])
                model.load_state_dict(torch.load(cfg["ckpt"], weights_only=True))
                model.eval()
                with torch.no_grad():
                    print(model(x).argmax(-1))
            """,
        "registry.py": """
            class Registry:
                def __init__(self, name):
                    self.name = name
                    self._map = {}

                def register(self, name=None):
                    def deco(cls):
                        self._map[name or cls.__name__] = cls
                        return cls
                    return deco

                def get(self, name):
                    return self._map[name]

            MODELS = Registry("models")

            def build_model(name, **kw):
                return MODELS.get(name)(**kw)
            """,
        "nets.py": """
            from torch import nn
            from registry import MODELS

            @MODELS.register()
            class Net(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.fc = nn.Sequential(nn.Linear(3, 3), nn.Dropout())

                def forward(self, x):
                    return self.fc(x)
            """,
    },
    "registry without mode dependence": {
        "app.py": """
            import torch
            from zoo import MODELS

            def main(cfg, x):
                model = MODELS[cfg.name]()
                model.load_state_dict(torch.load(cfg.ckpt, weights_only=True))
                with torch.no_grad():
                    print(model(x).argmax(-1))  # ML101:info
            """,
        "zoo.py": """
            from torch import nn

            class A(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.fc = nn.Linear(3, 3)
                def forward(self, x):
                    return self.fc(x)

            class B(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.fc = nn.Conv2d(3, 3, 1)
                def forward(self, x):
                    return self.fc(x)

            MODELS = {"a": A, "b": B}
            """,
    },
    "config-built importlib": """
        import importlib
        import torch

        def get_obj_from_str(string):
            module, cls = string.rsplit(".", 1)
            return getattr(importlib.import_module(module), cls)

        def instantiate_from_config(config):
            return get_obj_from_str(config["target"])(**config.get("params", dict()))

        def load_model_from_config(config, ckpt, verbose=False):
            sd = torch.load(ckpt, map_location="cpu", weights_only=True)["state_dict"]
            model = instantiate_from_config(config.model)
            m, u = model.load_state_dict(sd, strict=False)
            model.cuda()
            model.eval()
            return model

        def main(opt, config):
            model = load_model_from_config(config, opt.ckpt)
            with torch.no_grad():
                c = model.encode_first_stage(opt.x)
                print(model(c).argmax(-1))
        """,
    "if elif chain of architectures": """
        import torch
        from torchvision import models

        def get_model(name, num_classes):
            if name == "resnet18":
                model = models.resnet18(weights="DEFAULT")
                model.fc = torch.nn.Linear(512, num_classes)
            elif name == "vgg":
                model = models.vgg16(weights="DEFAULT")
                model.classifier[6] = torch.nn.Linear(4096, num_classes)
            else:
                raise ValueError(name)
            return model

        def main(args, loader):
            model = get_model(args.arch, 10)
            model.load_state_dict(torch.load(args.weights, weights_only=True))
            model = model.to("cuda").eval()
            preds = []
            with torch.no_grad():
                for x in loader:
                    preds.extend(model(x.cuda()).argmax(1).tolist())
            print(preds)
        """,
    "ensemble list": """
        import torch
        from torchvision.models import resnet18

        def load_models(paths):
            models = []
            for p in paths:
                m = resnet18(num_classes=5)
                m.load_state_dict(torch.load(p, weights_only=True))
                m.eval()
                models.append(m)
            return models

        def predict(paths, loader):
            models = load_models(paths)
            out = []
            with torch.no_grad():
                for x in loader:
                    probs = sum(m(x).softmax(1) for m in models) / len(models)
                    out.append(probs.argmax(1).cpu().numpy())
            return out
        """,
    "ensemble folds dict": {
        "app.py": """
            import numpy as np
            import torch
            from net import Net

            def inference(cfg, loader, states):
                model = Net(cfg)
                model.to("cuda")
                probs = []
                for x in loader:
                    avg = []
                    for state in states:
                        model.load_state_dict(state["model"])
                        model.eval()
                        with torch.no_grad():
                            y = model(x.cuda())
                        avg.append(y.sigmoid().to("cpu").numpy())
                    probs.append(np.mean(avg, axis=0))
                return np.concatenate(probs)
            """,
        "net.py": """
            import timm
            from torch import nn

            class Net(nn.Module):
                def __init__(self, cfg):
                    super().__init__()
                    self.model = timm.create_model(cfg.name, pretrained=False)
                    self.drop = nn.Dropout(0.2)

                def forward(self, x):
                    return self.drop(self.model(x))
            """,
    },
    "ensemble module class": """
        import torch
        from torch import nn

        class Ensemble(nn.ModuleList):
            def forward(self, x):
                return torch.stack([m(x) for m in self]).mean(0)

        def attempt_load(weights):
            model = Ensemble()
            for w in weights if isinstance(weights, list) else [weights]:
                ckpt = torch.load(w, map_location="cpu", weights_only=False)
                model.append((ckpt.get("ema") or ckpt["model"]).float().fuse().eval())
            return model[-1] if len(model) == 1 else model

        def detect(opt, dataset):
            model = attempt_load(opt.weights)
            with torch.no_grad():
                for img in dataset:
                    pred = model(img)[0]
                    print(pred.argmax(-1))
        """,
    "correlated phase flag": """
        import torch
        from torchvision.models import resnet18

        def main(args, loader, opt):
            net = resnet18(weights="DEFAULT")
            if args.mode == "test":
                net.eval()
            else:
                net.train()
            for x, y in loader:
                if args.mode == "test":
                    with torch.no_grad():
                        print(net(x).argmax(-1))
                else:
                    loss = torch.nn.functional.cross_entropy(net(x), y)
                    opt.zero_grad()
                    loss.backward()
                    opt.step()
        """,
    "train(args.test)": """
        import torch
        from torchvision.models import resnet18

        def main(args, x):
            net = resnet18(weights="DEFAULT")
            net.train(args.train)
            if not args.train:
                with torch.no_grad():
                    print(net(x).argmax(-1))
        """,
    "train(mode == train)": """
        import torch
        from torchvision.models import resnet18

        def run(model, loader, split, opt=None):
            model.train(split == "train")
            n = 0
            for x, y in loader:
                with torch.set_grad_enabled(split == "train"):
                    out = model(x)
                if split == "train":
                    loss = torch.nn.functional.cross_entropy(out, y)
                    opt.zero_grad()
                    loss.backward()
                    opt.step()
                n += (out.argmax(1) == y).sum().item()
            return n
        """,
    "closure predictor": """
        import torch
        from torchvision.models import resnet18

        def make_predictor(path):
            net = resnet18()
            net.load_state_dict(torch.load(path, weights_only=True))
            net.eval()
            def predict(x):
                with torch.no_grad():
                    return net(x).argmax(-1).item()
            return predict

        if __name__ == "__main__":
            p = make_predictor("a.pt")
            print(p(torch.ones(1, 3, 224, 224)))
        """,
    "dqn": """
        import random
        import torch
        from torch import nn

        class DQN(nn.Module):
            def __init__(self, n_obs, n_act):
                super().__init__()
                self.layers = nn.Sequential(nn.Linear(n_obs, 128), nn.ReLU(), nn.Linear(128, n_act))

            def forward(self, x):
                return self.layers(x)

        policy_net = DQN(4, 2)
        target_net = DQN(4, 2)
        target_net.load_state_dict(policy_net.state_dict())
        optimizer = torch.optim.AdamW(policy_net.parameters())

        def select_action(state, eps):
            if random.random() > eps:
                with torch.no_grad():
                    return policy_net(state).max(1).indices.view(1, 1)
            return torch.tensor([[random.randrange(2)]])

        def optimize_model(batch):
            q = policy_net(batch.state).gather(1, batch.action)
            with torch.no_grad():
                nxt = target_net(batch.next_state).max(1).values
            loss = nn.functional.smooth_l1_loss(q, (nxt * 0.99 + batch.reward).unsqueeze(1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
    "ddpg agent act": """
        import torch

        class Agent:
            def __init__(self, actor, critic):
                self.actor_local = actor
                self.critic_local = critic
                self.opt = torch.optim.Adam(actor.parameters())

            def act(self, state, noise=True):
                state = torch.from_numpy(state).float()
                self.actor_local.eval()
                with torch.no_grad():
                    action = self.actor_local(state).cpu().data.numpy()
                self.actor_local.train()
                return action

            def learn(self, s):
                loss = -self.critic_local(s, self.actor_local(s)).mean()
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
        """,
    "a2c values with grad": """
        import torch

        def rollout_and_learn(model, env, optimizer, n):
            log_probs, values, rewards = [], [], []
            state = env.reset()
            for _ in range(n):
                dist, value = model(torch.FloatTensor(state))
                action = dist.sample()
                state, reward, done, _ = env.step(action.cpu().numpy())
                log_probs.append(dist.log_prob(action))
                values.append(value)
                rewards.append(reward)
            returns = compute_returns(rewards)
            adv = torch.cat(returns) - torch.cat(values)
            loss = -(torch.cat(log_probs) * adv.detach()).mean() + adv.pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
    "tta": """
        import torch
        from torchvision.models import resnet18

        def tta(model, x):
            model.eval()
            with torch.no_grad():
                outs = [model(x), model(x.flip(-1)), model(x.flip(-2))]
            return torch.stack(outs).mean(0).argmax(-1)
        """,
    "test called from train of other file": {
        "app.py": """
            import torch
            from evaluation import test
            from torchvision.models import resnet18

            def main(loader, val):
                net = resnet18(num_classes=10)
                opt = torch.optim.SGD(net.parameters(), 0.1)
                for e in range(3):
                    net.train()
                    for x, y in loader:
                        loss = torch.nn.functional.cross_entropy(net(x), y)
                        opt.zero_grad()
                        loss.backward()
                        opt.step()
                    net.eval()
                    print(test(net, val))

            if __name__ == "__main__":
                main(None, None)
            """,
        "evaluation.py": """
            import torch

            def test(net, loader):
                hits = 0
                with torch.no_grad():
                    for x, y in loader:
                        hits += (net(x).argmax(1) == y).sum().item()
                return hits
            """,
    },
    "fine-tune frozen bn": """
        import torch
        from torchvision.models import resnet18

        def finetune(path, loader):
            net = resnet18(num_classes=10)
            net.load_state_dict(torch.load(path, weights_only=True))
            net.eval()
            opt = torch.optim.SGD(net.fc.parameters(), 0.01)
            for e in range(5):
                for x, y in loader:
                    loss = torch.nn.functional.cross_entropy(net(x), y)
                    opt.zero_grad()
                    loss.backward()
                    opt.step()
        """,
    "notebook flat right without dependence": """
        import torch
        from torch import nn
        import torch.nn.functional as F

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv1 = nn.Conv2d(3, 6, 5)
                self.pool = nn.MaxPool2d(2, 2)
                self.fc1 = nn.Linear(16 * 5 * 5, 10)

            def forward(self, x):
                return self.fc1(torch.flatten(self.pool(F.relu(self.conv1(x))), 1))

        net = Net()
        net.load_state_dict(torch.load("net.pth", weights_only=True))
        correct = 0
        with torch.no_grad():
            for images, labels in testloader:
                outputs = net(images)  # ML101:info
                _, predicted = torch.max(outputs.data, 1)
                correct += (predicted == labels).sum().item()
        print(correct)
        """,
    "engine with process_function": """
        import torch

        class Engine:
            def __init__(self, fn):
                self.fn = fn

            def run(self, loader):
                for batch in loader:
                    out = self.fn(self, batch)
                return out

        def main(model, loader):
            def eval_step(engine, batch):
                model.eval()
                with torch.no_grad():
                    return model(batch[0]).argmax(1)
            print(Engine(eval_step).run(loader))
        """,
    "pipeline of two models": """
        import torch
        from torchvision.models import resnet18

        class Pipeline:
            def __init__(self, detector, classifier, device="cpu"):
                self.detector = detector.to(device)
                self.classifier = classifier.to(device)
                for m in (self.detector, self.classifier):
                    m.eval()

            @torch.inference_mode()
            def __call__(self, image):
                boxes = self.detector([image])[0]["boxes"]
                return [self.classifier(crop(image, b)).argmax(-1).item() for b in boxes]

        def main(img):
            pipe = Pipeline(detector=resnet18(weights="DEFAULT"), classifier=resnet18(weights="DEFAULT"))
            print(pipe(img))
        """,
    "models dict loop eval": """
        import torch
        from torchvision.models import resnet18

        def main(x):
            nets = {"a": resnet18(weights="DEFAULT"), "b": resnet18(weights="DEFAULT")}
            for name, net in nets.items():
                net.eval()
            with torch.no_grad():
                print({k: n(x).argmax(-1).item() for k, n in nets.items()})
        """,
    "adversarial eval": """
        import torch
        import torch.nn.functional as F
        from torchvision.models import resnet18

        def pgd(model, x, y, eps, steps):
            adv = x.clone().detach()
            for _ in range(steps):
                adv.requires_grad_()
                loss = F.cross_entropy(model(adv), y)
                g = torch.autograd.grad(loss, adv)[0]
                adv = (adv.detach() + 0.01 * g.sign()).clamp(x - eps, x + eps)
            return adv.detach()

        def robust_accuracy(loader):
            model = resnet18(weights="DEFAULT").eval()
            hits = 0
            for x, y in loader:
                adv = pgd(model, x, y, 8 / 255, 10)
                with torch.no_grad():
                    hits += (model(adv).argmax(1) == y).sum().item()
            print(hits)
        """,
    "gradcam": """
        import torch
        from torchvision.models import resnet18

        class GradCAM:
            def __init__(self, model, layer):
                self.model = model.eval()
                layer.register_forward_hook(self.save)

            def save(self, m, i, o):
                self.act = o
                o.register_hook(lambda g: setattr(self, "grad", g))

            def __call__(self, x, cls=None):
                out = self.model(x)
                if cls is None:
                    cls = out.argmax(-1).item()
                self.model.zero_grad()
                out[0, cls].backward()
                return (self.act * self.grad.mean((2, 3), keepdim=True)).sum(1).relu().detach().numpy()
        """,
    "style transfer optimise input": """
        import torch
        from torchvision.models import vgg19

        def stylize(content, style, steps=300):
            vgg = vgg19(weights="DEFAULT").features.eval()
            img = content.clone().requires_grad_(True)
            opt = torch.optim.LBFGS([img])
            target = vgg(style).detach()
            for _ in range(steps):
                def closure():
                    opt.zero_grad()
                    loss = torch.nn.functional.mse_loss(vgg(img), target)
                    loss.backward()
                    return loss
                opt.step(closure)
            return img
        """,
    "pinn evaluation needs gradient": """
        import torch

        def residual(model, t):
            t.requires_grad_(True)
            u = model(t)
            du = torch.autograd.grad(u.sum(), t, create_graph=True)[0]
            return du - u

        def evaluate(model, t):
            model.eval()
            r = residual(model, t)
            print("residual", r.abs().mean().item())
        """,
    "export onnx": """
        import torch
        from torchvision.models import resnet18

        net = resnet18(weights="DEFAULT").eval()
        torch.onnx.export(net, torch.randn(1, 3, 224, 224), "r.onnx", dynamo=True)
        """,
    "export wrapper around eval model": """
        import torch
        from torch import nn
        from torchvision.models import resnet18

        class Wrapper(nn.Module):
            def __init__(self, model):
                super().__init__()
                self.model = model

            def forward(self, x):
                return self.model(x).softmax(-1)

        def main():
            net = resnet18(weights="DEFAULT")
            net.eval()
            wrapped = Wrapper(net)
            torch.jit.trace(wrapped, torch.ones(1, 3, 224, 224)).save("a.pt")
        """,
    "train validate nested function with nonlocal": """
        import torch

        def main(model, loader, val, opt):
            best = 0

            def validate():
                nonlocal best
                model.eval()
                hits = 0
                with torch.no_grad():
                    for x, y in val:
                        hits += (model(x).argmax(1) == y).sum().item()
                best = max(best, hits)
                model.train()

            for epoch in range(5):
                model.train()
                for x, y in loader:
                    loss = torch.nn.functional.cross_entropy(model(x), y)
                    opt.zero_grad()
                    loss.backward()
                    opt.step()
                validate()
        """,
    "running loss item": """
        import torch

        def train(model, loader, opt, criterion):
            model.train()
            running = 0.0
            for x, y in loader:
                opt.zero_grad()
                loss = criterion(model(x), y)
                loss.backward()
                opt.step()
                running += loss.detach()
            print(running / len(loader))
        """,
    "gradient accumulation": """
        import torch

        def train(model, loader, opt, criterion):
            model.train()
            total = 0
            for i, (x, y) in enumerate(loader):
                total = total + criterion(model(x), y)
                if (i + 1) % 4 == 0:
                    total.backward()
                    opt.step()
                    opt.zero_grad()
                    total = 0
        """,
}

FOUND: dict[str, str | Mapping[str, str]] = {
    "registry class decorator, wrong": {
        "app.py": """
            import torch
            from registry import build_model
            import nets

            def main(cfg, x):
                model = build_model(cfg["name"])
                model.load_state_dict(torch.load(cfg["ckpt"], weights_only=True))
                with torch.no_grad():
                    print(model(x).argmax(-1))  # ML101
            """,
        "registry.py": """
            class Registry:
                def __init__(self, name):
                    self.name = name
                    self._map = {}

                def register(self, name=None):
                    def deco(cls):
                        self._map[name or cls.__name__] = cls
                        return cls
                    return deco

                def get(self, name):
                    if name not in self._map:
                        raise KeyError(name)
                    return self._map[name]

            MODELS = Registry("models")

            def build_model(name, **kw):
                return MODELS.get(name)(**kw)
            """,
        "nets.py": """
            from torch import nn
            from registry import MODELS

            @MODELS.register()
            class Net(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.fc = nn.Sequential(nn.Linear(3, 3), nn.Dropout())

                def forward(self, x):
                    return self.fc(x)
            """,
    },
    "config-built getattr, wrong": {
        "app.py": """
            import torch
            import models

            def load(cfg):
                net = getattr(models, cfg["arch"])(**cfg["kwargs"])
                net.load_state_dict(torch.load(cfg["path"], weights_only=True))
                return net

            @torch.no_grad()
            def test(cfg, loader):
                net = load(cfg)
                hits = 0
                for x, y in loader:
                    hits += (net(x).argmax(1) == y).sum().item()  # ML101
                print(hits)
            """,
        "models.py": """
            from torch import nn

            class Big(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.bn = nn.BatchNorm1d(3)
                def forward(self, x):
                    return self.bn(x)
            """,
    },
    "config-built importlib, wrong": """
        import importlib
        import torch

        def get_obj_from_str(string):
            module, cls = string.rsplit(".", 1)
            return getattr(importlib.import_module(module), cls)

        def instantiate_from_config(config):
            return get_obj_from_str(config["target"])(**config.get("params", dict()))

        def load_model_from_config(config, ckpt, verbose=False):
            sd = torch.load(ckpt, map_location="cpu", weights_only=True)["state_dict"]
            model = instantiate_from_config(config.model)
            m, u = model.load_state_dict(sd, strict=False)
            model.cuda()
            return model

        def main(opt, config):
            model = load_model_from_config(config, opt.ckpt)
            with torch.no_grad():
                print(model(opt.x).argmax(-1))  # ML101
        """,
    "if elif chain of architectures, wrong": """
        import torch
        from torchvision import models

        def get_model(name, num_classes):
            if name == "resnet18":
                model = models.resnet18(weights="DEFAULT")
                model.fc = torch.nn.Linear(512, num_classes)
            elif name == "vgg":
                model = models.vgg16(weights="DEFAULT")
                model.classifier[6] = torch.nn.Linear(4096, num_classes)
            else:
                raise ValueError(name)
            return model

        def main(args, loader):
            model = get_model(args.arch, 10)
            state = torch.load(args.weights, weights_only=True)
            model.load_state_dict(state)
            model = model.to("cuda")
            preds = []
            with torch.no_grad():
                for x in loader:
                    preds.extend(model(x.cuda()).argmax(1).tolist())  # ML101
            print(preds)
        """,
    "ensemble list, wrong": """
        import torch
        from torchvision.models import resnet18

        def load_models(paths):
            models = []
            for p in paths:
                m = resnet18(num_classes=5)
                m.load_state_dict(torch.load(p, weights_only=True))
                models.append(m)
            return models

        def predict(paths, loader):
            models = load_models(paths)
            out = []
            with torch.no_grad():
                for x in loader:
                    probs = sum(m(x).softmax(1) for m in models) / len(models)  # ML101
                    out.append(probs.argmax(1).cpu().numpy())
            return out
        """,
    "correlated phase flag wrong way": """
        import torch
        from torchvision.models import resnet18

        def main(args, loader, opt):
            net = resnet18(weights="DEFAULT")
            if args.mode == "train":
                net.eval()
            else:
                net.train()
            for x, y in loader:
                if args.mode == "test":
                    with torch.no_grad():
                        print(net(x).argmax(-1))  # ML101
                else:
                    loss = torch.nn.functional.cross_entropy(net(x), y)
                    opt.zero_grad()
                    loss.backward()
                    opt.step()
        """,
    "closure predictor, wrong": """
        import torch
        from torchvision.models import resnet18

        def make_predictor(path):
            net = resnet18()
            net.load_state_dict(torch.load(path, weights_only=True))
            def predict(x):
                with torch.no_grad():
                    return net(x).argmax(-1).item()  # ML101
            return predict

        if __name__ == "__main__":
            p = make_predictor("a.pt")
            print(p(torch.ones(1, 3, 224, 224)))
        """,
    "rl agent with batchnorm act, wrong": """
        import torch
        from torch import nn

        class Actor(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = nn.Sequential(nn.Linear(4, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 2))

            def forward(self, x):
                return self.net(x)

        def evaluate(path, env, episodes=10):
            actor = Actor()
            actor.load_state_dict(torch.load(path, weights_only=True))
            total = 0
            for _ in range(episodes):
                obs, done = env.reset(), False
                while not done:
                    with torch.no_grad():
                        action = actor(torch.as_tensor(obs)[None]).argmax(-1).item()  # ML101
                    obs, r, done, _ = env.step(action)
                    total += r
            print(total / episodes)
        """,
    "tta, wrong": """
        import torch
        import timm

        def tta(path, x):
            model = timm.create_model("resnet50", num_classes=4)
            model.load_state_dict(torch.load(path, weights_only=True))
            with torch.no_grad():
                outs = [model(x), model(x.flip(-1)), model(x.flip(-2))]  # ML101
            return torch.stack(outs).mean(0).argmax(-1)
        """,
    "test called from train of other file, wrong": {
        "app.py": """
            import torch
            from evaluation import test
            from torchvision.models import resnet18

            def main(loader, val):
                net = resnet18(num_classes=10)
                opt = torch.optim.SGD(net.parameters(), 0.1)
                for e in range(3):
                    net.train()
                    for x, y in loader:
                        loss = torch.nn.functional.cross_entropy(net(x), y)
                        opt.zero_grad()
                        loss.backward()
                        opt.step()
                    print(test(net, val))

            if __name__ == "__main__":
                main(None, None)
            """,
        "evaluation.py": """
            import torch

            def test(net, loader):
                hits = 0
                with torch.no_grad():
                    for x, y in loader:
                        hits += (net(x).argmax(1) == y).sum().item()  # ML101
                return hits
            """,
    },
    "resume fine-tune eval leak": """
        import torch
        from torchvision.models import resnet18

        def finetune(path, loader, val):
            net = resnet18(num_classes=10)
            net.load_state_dict(torch.load(path, weights_only=True))
            opt = torch.optim.SGD(net.parameters(), 0.01)
            for e in range(5):
                for x, y in loader:
                    loss = torch.nn.functional.cross_entropy(net(x), y)  # ML103
                    opt.zero_grad()
                    loss.backward()
                    opt.step()
                net.eval()
                with torch.no_grad():
                    hits = sum((net(x).argmax(1) == y).sum().item() for x, y in val)
                print(hits)
        """,
    "notebook flat, wrong": """
        import torch
        import torchvision
        import matplotlib.pyplot as plt

        net = torchvision.models.resnet18(num_classes=10)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.001)
        criterion = torch.nn.CrossEntropyLoss()
        for epoch in range(2):
            running_loss = 0.0
            for i, data in enumerate(trainloader, 0):
                inputs, labels = data
                optimizer.zero_grad()
                outputs = net(inputs)
                loss = criterion(outputs, labels)
                loss.backward()
                optimizer.step()
                running_loss += loss.item()
        torch.save(net.state_dict(), "./net.pth")
        dataiter = iter(testloader)
        images, labels = next(dataiter)
        net = torchvision.models.resnet18(num_classes=10)
        net.load_state_dict(torch.load("./net.pth", weights_only=True))
        outputs = net(images)  # ML101, ML201
        _, predicted = torch.max(outputs, 1)
        print(predicted)
        """,
    "mode string method, wrong": """
        import torch
        from nets import build

        class Solver:
            def __init__(self, config):
                self.net = build(config)
                self.net.load_state_dict(torch.load(config.ckpt, weights_only=True))

            def run(self, mode):
                if mode == "train":
                    self.net.train()
                return self._epoch(mode)

            def _epoch(self, mode):
                total = 0
                for x, y in self.loaders[mode]:
                    if mode == "train":
                        loss = self.criterion(self.net(x), y)
                        self.opt.zero_grad()
                        loss.backward()
                        self.opt.step()
                    else:
                        with torch.no_grad():
                            total += (self.net(x).argmax(1) == y).sum().item()  # ML101
                return total
        """,
    "pipeline of two models by keyword": """
        import torch
        from torchvision.models import resnet18

        class Pipeline:
            def __init__(self, detector, classifier, device="cpu"):
                self.detector = detector.to(device)
                self.classifier = classifier.to(device)

            @torch.inference_mode()
            def __call__(self, image):
                boxes = self.detector([image])[0]["boxes"]
                return [self.classifier(crop(image, b)).argmax(-1).item() for b in boxes]  # ML101

        def main(img):
            det = resnet18(weights="DEFAULT").eval()
            cls = resnet18(weights="DEFAULT")
            pipe = Pipeline(detector=det, classifier=cls)
            print(pipe(img))
        """,
    "models dict loop missing": """
        import torch
        from torchvision.models import resnet18

        def main(x):
            nets = {"a": resnet18(weights="DEFAULT"), "b": resnet18(weights="DEFAULT")}
            for name, net in nets.items():
                net.to("cuda")
            with torch.no_grad():
                print({k: n(x).argmax(-1).item() for k, n in nets.items()})  # ML101
        """,
    "export jit trace wrong in function": {
        "app.py": """
            import argparse
            import torch
            from model import Net

            def parse():
                p = argparse.ArgumentParser()
                p.add_argument("--ckpt")
                return p.parse_args()

            def convert(args):
                model = Net()
                model.load_state_dict(torch.load(args.ckpt, weights_only=True))
                traced = torch.jit.trace(model, torch.randn(1, 3, 64, 64))  # ML109
                traced.save("model.pt")

            if __name__ == "__main__":
                convert(parse())
            """,
        "model.py": """
            from torch import nn

            class Net(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.body = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8))

                def forward(self, x):
                    return self.body(x)
            """,
    },
    "export wrapper around train model": """
        import torch
        from torch import nn
        from torchvision.models import resnet18

        class Wrapper(nn.Module):
            def __init__(self, model):
                super().__init__()
                self.model = model

            def forward(self, x):
                return self.model(x).softmax(-1)

        def main():
            net = resnet18(weights="DEFAULT")
            wrapped = Wrapper(net)
            torch.jit.trace(wrapped, torch.ones(1, 3, 224, 224)).save("a.pt")  # ML109
        """,
    "train every n steps validate leak": """
        import torch
        from torchvision.models import resnet18

        def validate(model, val):
            model.eval()
            hits = 0
            with torch.no_grad():
                for x, y in val:
                    hits += (model(x).argmax(1) == y).sum().item()
            return hits

        def train(loader, val):
            model = resnet18(num_classes=10)
            opt = torch.optim.SGD(model.parameters(), 0.1)
            for epoch in range(5):
                model.train()
                for i, (x, y) in enumerate(loader):
                    loss = torch.nn.functional.cross_entropy(model(x), y)  # ML103
                    opt.zero_grad()
                    loss.backward()
                    opt.step()
                    if i % 100 == 0:
                        print(validate(model, val))
        """,
    "running loss keeps graph": """
        import torch

        def train(model, loader, opt, criterion):
            model.train()
            running = 0.0
            for x, y in loader:
                opt.zero_grad()
                loss = criterion(model(x), y)
                loss.backward()
                opt.step()
                running += loss  # ML204
            print(running / len(loader))
        """,
    "with net.eval": """
        import torch
        from torchvision.models import resnet18

        def predict(x):
            net = resnet18(weights="DEFAULT")
            with net.eval():  # ML102
                with torch.no_grad():
                    return net(x).argmax(-1).item()
        """,
}

RULES = ("ML101", "ML102", "ML103", "ML109", "ML201", "ML202", "ML204")


@pytest.mark.parametrize("files", SILENT.values(), ids=SILENT)
def test_right(lint: Lint, files: str | Mapping[str, str]) -> None:
    lint(files, rules=RULES)


@pytest.mark.parametrize("files", FOUND.values(), ids=FOUND)
def test_wrong(lint: Lint, files: str | Mapping[str, str]) -> None:
    lint(files, rules=RULES)


EXPERIMENT = """
        import torch

        class {name}:
            def __init__(self, args):
                self.model = args.models[args.model](args)
                self.optimizer = torch.optim.SGD(self.model.parameters(), 0.1)

            def train(self, loader):
                self.model.train()
                for x, y in loader:
                    self.optimizer.zero_grad()
                    torch.nn.functional.cross_entropy(self.model(x), y).backward()
                    self.optimizer.step()

            def test(self, loader):
                {ready}
                with torch.no_grad():
                    for x, y in loader:
                        print(self.model(x).argmax(1)){mark}
    """
CHOSEN = """
        import argparse
        from data import train_loader, test_loader

        if __name__ == "__main__":
            parser = argparse.ArgumentParser()
            parser.add_argument("--task")
            args = parser.parse_args()
            if args.task == "forecasting":
                from forecasting import Forecasting
                Experiment = Forecasting
            else:
                from imputation import Imputation
                Experiment = Imputation
            experiment = Experiment(args)
            experiment.train(train_loader)
            experiment.test(test_loader)
    """


@pytest.mark.parametrize(("ready", "mark"), [("self.model.eval()", ""), ("pass", "  # ML101")])
def test_one_call_makes_instances_of_several_classes(lint: Lint, ready: str, mark: str) -> None:
    program = {
        "forecasting.py": EXPERIMENT.format(name="Forecasting", ready=ready, mark=mark),
        "imputation.py": EXPERIMENT.format(name="Imputation", ready="self.model.eval()", mark=""),
        "main.py": CHOSEN,
    }
    lint(program, rules=["ML101", "ML103", "ML201"])
