"""Ways in which a linter of mode and gradients goes wrong on right code, each seen in public repositories."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

LOADERS_THAT_RETURN_EVALUATION_MODE = {
    "transformers from_pretrained": """
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        def classify(text):
            tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
            model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased")
            with torch.no_grad():
                return model(**tokenizer(text, return_tensors="pt")).logits.argmax(-1).item()
        """,
    "a transformers model moved and halved": """
        import torch
        from transformers import AutoModel

        model = AutoModel.from_pretrained("roberta-base").to("cuda").half()

        @torch.no_grad()
        def embed(ids):
            return model(ids).last_hidden_state.mean(1).cpu().numpy()
        """,
    "diffusers part loaded on its own": """
        import torch
        from diffusers import AutoencoderKL

        vae = AutoencoderKL.from_pretrained("stabilityai/sd-vae-ft-mse")

        @torch.inference_mode()
        def decode(latents):
            return vae.decode(latents).sample.cpu().numpy()
        """,
    "clip.load": """
        import clip
        import torch

        model, preprocess = clip.load("ViT-B/32")

        def rank(image, texts):
            with torch.no_grad():
                logits, _ = model(preprocess(image).unsqueeze(0), clip.tokenize(texts))
            print(logits.softmax(-1).argmax())
        """,
    "segment anything": """
        import torch
        from segment_anything import build_sam

        sam = build_sam(checkpoint="sam_vit_h.pth")

        @torch.no_grad()
        def predict(image):
            return sam.image_encoder(image).cpu().numpy()
        """,
    "a project's own loader with eval=True": {
        "zoo.py": """
            import torch
            from torchvision.models import resnet18

            def load_model(path, eval=True):
                model = resnet18()
                model.load_state_dict(torch.load(path, weights_only=True))
                if eval:
                    model.eval()
                return model
            """,
        "app.py": """
            import torch
            from zoo import load_model

            def predict(path, x):
                model = load_model(path, eval=True)
                with torch.no_grad():
                    return model(x).argmax(-1).item()
            """,
    },
}

ENTRY_POINTS_THAT_SWITCH_GRADIENTS_OFF = {
    "generate": """
        from transformers import AutoModelForCausalLM, AutoTokenizer

        def reply(prompt):
            tokenizer = AutoTokenizer.from_pretrained("gpt2")
            model = AutoModelForCausalLM.from_pretrained("gpt2")
            model.eval()
            out = model.generate(**tokenizer(prompt, return_tensors="pt"), max_new_tokens=20)
            print(tokenizer.decode(out[0]))
        """,
    "a transformers pipeline": """
        from transformers import pipeline

        def classify(texts):
            classifier = pipeline("sentiment-analysis")
            for text in texts:
                print(classifier(text)[0]["label"])
        """,
    "a diffusers pipeline": """
        import torch
        from diffusers import StableDiffusionPipeline

        pipe = StableDiffusionPipeline.from_pretrained("runwayml/stable-diffusion-v1-5", torch_dtype=torch.float16)
        pipe = pipe.to("cuda")
        image = pipe("a cat").images[0]
        image.save("cat.png")
        """,
    "SentenceTransformer.encode": """
        from sentence_transformers import SentenceTransformer

        def embed(sentences):
            model = SentenceTransformer("all-MiniLM-L6-v2")
            print(model.encode(sentences))
        """,
    "Lightning's hooks and trainer": """
        import pytorch_lightning as pl
        import torch
        from torch import nn

        class Classifier(pl.LightningModule):
            def __init__(self):
                super().__init__()
                self.net = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.1), nn.Linear(4, 2))

            def forward(self, x):
                return self.net(x)

            def validation_step(self, batch, batch_idx):
                x, y = batch
                self.log("val_acc", (self(x).argmax(-1) == y).float().mean())

            def test_step(self, batch, batch_idx):
                x, y = batch
                print((self.net(x).argmax(-1) == y).float().mean().item())

            def predict_step(self, batch, batch_idx):
                return self(batch).argmax(-1)

        def main(path, loader):
            model = Classifier.load_from_checkpoint(path)
            pl.Trainer().test(model, loader)
            print(pl.Trainer().predict(model, loader))
        """,
    "an ignite evaluator": """
        import torch
        from ignite.engine import create_supervised_evaluator
        from ignite.metrics import Accuracy
        from torchvision.models import resnet18

        def evaluate(path, loader):
            model = resnet18()
            model.load_state_dict(torch.load(path, weights_only=True))
            evaluator = create_supervised_evaluator(model, metrics={"accuracy": Accuracy()})
            print(evaluator.run(loader).metrics)
        """,
}

EVAL_ELSEWHERE = {
    "in the caller": """
        import torch
        from torchvision.models import resnet18

        def accuracy(model, loader):
            hits = 0
            with torch.no_grad():
                for x, y in loader:
                    hits += (model(x).argmax(1) == y).sum().item()
            return hits

        def main(loader):
            net = resnet18(weights="DEFAULT")
            net.eval()
            print(accuracy(net, loader))
        """,
    "in a helper": """
        import torch
        from torchvision.models import resnet18

        def freeze(module):
            module.eval()
            for p in module.parameters():
                p.requires_grad_(False)

        def main(x):
            net = resnet18(weights="DEFAULT")
            freeze(net)
            with torch.no_grad():
                print(net(x).argmax())
        """,
    "in a helper's helper that returns the model": """
        import torch
        from torchvision.models import resnet18

        def ready(net):
            return net.cuda().eval()

        def load(path):
            net = resnet18()
            net.load_state_dict(torch.load(path, weights_only=True))
            return ready(net)

        @torch.no_grad()
        def predict(path, x):
            return load(path)(x).argmax(-1).item()
        """,
    "in a base class": """
        import torch
        from torchvision.models import resnet18

        class Service:
            def __init__(self, path):
                self.model = resnet18()
                self.model.load_state_dict(torch.load(path, weights_only=True))
                self.model.eval()

        class Ranker(Service):
            @torch.no_grad()
            def predict(self, x):
                return self.model(x).argmax(-1).item()
        """,
    "in __init__": """
        import torch
        from torchvision.models import resnet18

        class Predictor:
            def __init__(self, path):
                self.net = resnet18()
                self.net.load_state_dict(torch.load(path, weights_only=True))
                self.net.to("cuda").eval()

            def predict(self, x):
                with torch.inference_mode():
                    return self.net(x).argmax(-1).item()
        """,
    "in a setup method that __init__ calls": """
        import torch
        from torchvision.models import resnet18

        class Predictor:
            def __init__(self, path):
                self._load(path)

            def _load(self, path):
                self.net = resnet18()
                self.net.load_state_dict(torch.load(path, weights_only=True))
                self.net.eval()

            def predict(self, x):
                with torch.inference_mode():
                    return self.net(x).argmax(-1).item()
        """,
    "in another file": {
        "nets.py": """
            import torch
            from torchvision.models import resnet18

            def load(path):
                net = resnet18()
                net.load_state_dict(torch.load(path, weights_only=True))
                net.eval()
                return net
            """,
        "app.py": """
            import torch
            import nets

            def predict(path, x):
                net = nets.load(path)
                with torch.no_grad():
                    return net(x).argmax(-1).item()
            """,
    },
    "in the function around a closure": """
        import torch
        from torchvision.models import resnet18

        def make_predictor(path):
            model = resnet18()
            model.load_state_dict(torch.load(path, weights_only=True))
            model.eval()

            def predict(x):
                with torch.no_grad():
                    return model(x).argmax(-1).item()

            return predict
        """,
    "in a library's context manager": """
        import torch
        from engine import evaluating
        from torchvision.models import resnet18

        def predict(path, x):
            net = resnet18()
            net.load_state_dict(torch.load(path, weights_only=True))
            with evaluating(net), torch.no_grad():
                return net(x).argmax(-1).item()
        """,
    "in a context manager of an object": """
        import torch
        from torchvision.models import resnet18

        def predict(engine, path, x):
            net = resnet18()
            net.load_state_dict(torch.load(path, weights_only=True))
            with engine.mode(net, False), torch.no_grad():
                return net(x).argmax(-1).item()
        """,
    "a bare chain as a statement": """
        import torch
        from torchvision.models import resnet18

        def predict(path, x):
            model = resnet18()
            model.load_state_dict(torch.load(path, weights_only=True))
            model.eval().cpu()
            with torch.no_grad():
                return model(x).argmax(-1).item()
        """,
    "set_training_mode(False)": """
        import torch

        class Runner:
            def __init__(self, policy):
                self.policy = policy

            def evaluate(self, obs):
                self.policy.set_training_mode(False)
                with torch.no_grad():
                    return self.policy(obs).argmax(-1).item()
        """,
    "train(False)": """
        import torch
        from torchvision.models import resnet18

        net = resnet18(weights="DEFAULT")
        net.train(False)
        with torch.no_grad():
            print(net(torch.ones(1, 3, 224, 224)).argmax())
        """,
    "train(mode=False)": """
        import torch
        from torchvision.models import resnet18

        net = resnet18(weights="DEFAULT").train(mode=False)
        with torch.no_grad():
            print(net(torch.ones(1, 3, 224, 224)).argmax())
        """,
    "map over the models": """
        import torch
        from torchvision.models import resnet18, resnet50

        def predict(x):
            models = [resnet18(weights="DEFAULT"), resnet50(weights="DEFAULT")]
            models = list(map(lambda m: m.eval(), models))
            with torch.no_grad():
                print(sum(m(x) for m in models).argmax(-1))
        """,
    "a loop over the models": """
        import torch
        from torchvision.models import resnet18

        def predict(paths, x):
            models = []
            for path in paths:
                model = resnet18()
                model.load_state_dict(torch.load(path, weights_only=True))
                models.append(model)
            for m in models:
                m.eval()
            with torch.no_grad():
                print(torch.stack([m(x) for m in models]).mean(0).argmax(-1))
        """,
    "the flag set by hand": """
        import torch
        from torchvision.models import resnet18

        net = resnet18(weights="DEFAULT")
        for module in net.modules():
            module.training = False
        with torch.no_grad():
            print(net(torch.ones(1, 3, 224, 224)).argmax())
        """,
    "applied to every part": """
        import torch
        from torchvision.models import resnet18

        net = resnet18(weights="DEFAULT")
        net.apply(lambda m: m.eval())
        with torch.no_grad():
            print(net(torch.ones(1, 3, 224, 224)).argmax())
        """,
    "a method of the model that delegates": """
        import torch
        from torch import nn
        from torchvision.models import resnet18

        class Tagger(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = resnet18()

            def to_inference(self):
                self.eval()
                return self

            def forward(self, x):
                return self.body(x)

        def predict(path, x):
            tagger = Tagger()
            tagger.load_state_dict(torch.load(path, weights_only=True))
            tagger.to_inference()
            with torch.no_grad():
                return tagger(x).argmax(-1).item()
        """,
    "only where a flag asks for it, and the forward too": """
        import torch
        from torchvision.models import resnet18

        def main(args, loader):
            net = resnet18(weights="DEFAULT")
            if args.evaluate:
                net.eval()
                with torch.no_grad():
                    for x, y in loader:
                        print((net(x).argmax(1) == y).sum().item())
                return
        """,
}

GRADIENTS_OFF_BY_OTHER_MEANS = {
    "for the whole module": """
        import torch
        from torchvision.models import resnet18

        torch.set_grad_enabled(False)
        net = resnet18(weights="DEFAULT").eval()

        def predict(x):
            return net(x).argmax(-1).item()
        """,
    "torch.autograd.set_grad_enabled": """
        import torch
        from torchvision.models import resnet18

        def main(x):
            torch.autograd.set_grad_enabled(False)
            net = resnet18(weights="DEFAULT").eval()
            print(net(x).argmax(-1).item())
        """,
    "set_grad_enabled as a context": """
        import torch
        from torchvision.models import resnet18

        def predict(x):
            net = resnet18(weights="DEFAULT").eval()
            with torch.set_grad_enabled(False):
                print(net(x).argmax(-1).item())
        """,
    "every parameter frozen": """
        from torchvision.models import resnet18

        def predict(x):
            net = resnet18(weights="DEFAULT").eval()
            for p in net.parameters():
                p.requires_grad_(False)
            return net(x).argmax(-1).item()
        """,
    "requires_grad = False on every parameter": """
        from torchvision.models import resnet18

        def predict(x):
            net = resnet18(weights="DEFAULT").eval()
            for p in net.parameters():
                p.requires_grad = False
            return net(x).argmax(-1).item()
        """,
    "the model frozen at once": """
        from torchvision.models import resnet18

        def predict(x):
            net = resnet18(weights="DEFAULT").eval().requires_grad_(False)
            return net(x).argmax(-1).item()
        """,
    "an exit stack": """
        import contextlib

        import torch
        from torchvision.models import resnet18

        def predict(x):
            net = resnet18(weights="DEFAULT").eval()
            with contextlib.ExitStack() as stack:
                stack.enter_context(torch.no_grad())
                return net(x).argmax(-1).item()
        """,
    "a context chosen before": """
        import torch
        from torchvision.models import resnet18

        def run(x, training):
            net = resnet18(weights="DEFAULT").eval()
            ctx = torch.enable_grad() if training else torch.no_grad()
            with ctx:
                return net(x).argmax(-1).item()
        """,
    "a context kept in a variable": """
        import torch
        from torchvision.models import resnet18

        no_grad = torch.no_grad()

        def predict(x):
            net = resnet18(weights="DEFAULT").eval()
            with no_grad:
                return net(x).argmax(-1).item()
        """,
    "two contexts in one with": """
        import torch
        from torchvision.models import resnet18

        def predict(x):
            net = resnet18(weights="DEFAULT").eval()
            with torch.autocast("cuda"), torch.no_grad():
                return net(x).argmax(-1).item()
        """,
    "the name imported alone": """
        from torch import no_grad
        from torchvision.models import resnet18

        def predict(x):
            net = resnet18(weights="DEFAULT").eval()
            with no_grad():
                return net(x).argmax(-1).item()
        """,
    "the decorator without parentheses": """
        import torch
        from torchvision.models import resnet18

        @torch.no_grad
        def predict(x):
            net = resnet18(weights="DEFAULT").eval()
            return net(x).argmax(-1).item()
        """,
    "the decorator on the caller": """
        import torch
        from torchvision.models import resnet18

        def scores(net, x):
            return net(x).argmax(-1).item()

        @torch.inference_mode()
        def main(x):
            net = resnet18(weights="DEFAULT").eval()
            print(scores(net, x))
        """,
    "a decorator on the class's forward": """
        import torch
        from torch import nn
        from torchvision.models import resnet18

        class Extractor(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = resnet18(weights="DEFAULT").eval()

            @torch.no_grad()
            def forward(self, x):
                return self.body(x)

        def predict(x):
            net = Extractor().eval()
            return net(x).argmax(-1).item()
        """,
}

GRADIENTS_OR_DROPOUT_ON_PURPOSE = {
    "a saliency map": """
        import torch
        from torchvision.models import resnet18

        def saliency(image):
            model = resnet18(weights="DEFAULT").eval()
            image.requires_grad_()
            score = model(image).max()
            score.backward()
            return image.grad.abs().max(1).values.cpu().numpy()
        """,
    "class activation by hooks": """
        import torch
        from torchvision.models import resnet18

        class GradCam:
            def __init__(self):
                self.model = resnet18(weights="DEFAULT").eval()
                self.model.layer4.register_full_backward_hook(self.keep)

            def keep(self, module, grad_in, grad_out):
                self.grads = grad_out[0]

            def predict(self, x):
                logits = self.model(x)
                best = logits.argmax(-1).item()
                logits[0, best].backward()
                return best, self.grads
        """,
    "an adversarial example": """
        import torch

        def attack(model, x, y, epsilon, loss_fn):
            model.eval()
            adv = x.clone().detach()
            adv.requires_grad = True
            loss = loss_fn(model(adv), y)
            grad = torch.autograd.grad(loss, adv)[0]
            return (adv + epsilon * grad.sign()).clamp(0, 1)
        """,
    "accuracy before and after an attack": """
        import torch
        import torch.nn.functional as F
        from torchvision.models import resnet18

        def test(loader, epsilon):
            model = resnet18(weights="DEFAULT").eval()
            correct = 0
            for x, y in loader:
                x.requires_grad = True
                output = model(x)
                init = output.max(1, keepdim=True)[1]
                if init.item() != y.item():
                    continue
                loss = F.nll_loss(output, y)
                model.zero_grad()
                loss.backward()
                perturbed = x + epsilon * x.grad.sign()
                final = model(perturbed).max(1)[1]
                correct += (final == y).sum().item()
            print(correct)
        """,
    "guided sampling": """
        import torch

        @torch.no_grad()
        def sample(unet, classifier, x, y, steps):
            unet.eval()
            classifier.eval()
            for t in range(steps):
                with torch.enable_grad():
                    xt = x.detach().requires_grad_(True)
                    log_p = classifier(xt, t).log_softmax(-1)[:, y].sum()
                    guide = torch.autograd.grad(log_p, xt)[0]
                x = x - unet(x, t) + guide
            return x
        """,
    "a physics-informed loss": """
        import torch

        def residual(net, t):
            t = t.requires_grad_(True)
            u = net(t)
            du = torch.autograd.grad(u.sum(), t, create_graph=True)[0]
            return ((du + u) ** 2).mean()

        def validate(net, points):
            net.eval()
            print(residual(net, points).item())
        """,
    "an optimiser's closure": """
        import torch
        from torchvision.models import vgg19

        def transfer(image, target, steps):
            cnn = vgg19(weights="DEFAULT").features.eval()
            optimizer = torch.optim.LBFGS([image])
            for _ in range(steps):
                def closure():
                    optimizer.zero_grad()
                    loss = (cnn(image) - target).pow(2).mean()
                    loss.backward()
                    return loss

                optimizer.step(closure)
            return image
        """,
    "activations recomputed": """
        import torch
        from torch import nn
        from torch.utils.checkpoint import checkpoint

        class Deep(nn.Module):
            def __init__(self):
                super().__init__()
                self.block = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.1))

            def forward(self, x):
                return checkpoint(self.block, x, use_reentrant=False)
        """,
    "a policy that learns later from what it did": """
        import torch

        class Agent:
            def __init__(self, policy, optimizer):
                self.policy = policy
                self.optimizer = optimizer
                self.log_probs = []

            def select_action(self, state):
                dist = torch.distributions.Categorical(self.policy(state).softmax(-1))
                action = dist.sample()
                self.log_probs.append(dist.log_prob(action))
                return action.item()

            def finish_episode(self, returns):
                loss = -(torch.stack(self.log_probs) * returns).sum()
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
        """,
    "Monte-Carlo dropout through train()": """
        import torch
        from torchvision.models import densenet121

        def mc_dropout(x, samples):
            model = densenet121(weights="DEFAULT")
            model.train()
            with torch.no_grad():
                outs = torch.stack([model(x).softmax(-1) for _ in range(samples)])
            return outs.mean(0), outs.var(0)
        """,
    "Monte-Carlo dropout: dropout alone back on": """
        import torch
        from torch import nn
        from torchvision.models import densenet121

        def enable_dropout(model):
            for m in model.modules():
                if isinstance(m, nn.Dropout):
                    m.train()

        def uncertainty(x, samples):
            model = densenet121(weights="DEFAULT").eval()
            enable_dropout(model)
            with torch.no_grad():
                outs = torch.stack([model(x).softmax(-1) for _ in range(samples)])
            print(outs.std(0))
        """,
    "the Tacotron prenet": """
        import torch.nn.functional as F
        from torch import nn

        class Prenet(nn.Module):
            def __init__(self, sizes):
                super().__init__()
                self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))

            def forward(self, x):
                for linear in self.layers:
                    x = F.dropout(F.relu(linear(x)), p=0.5, training=True)
                return x
        """,
    "a discriminator that judges a frozen generator": """
        import torch

        def train_step(G, D, real, z, opt_d, loss_fn):
            with torch.no_grad():
                fake = G(z)
            loss = loss_fn(D(real), D(fake))
            opt_d.zero_grad()
            loss.backward()
            opt_d.step()
            return loss.item()
        """,
    "a tensor filled bit by bit, and differentiated": """
        import torch
        from torch import nn

        def adapt(loader, model: nn.Module, criterion):
            model.eval()  # statistics of batches stay as they are
            total = 0
            for parts, target in loader:
                out = torch.zeros(128, 5)
                for column in range(5):
                    out[:, column] = model(parts[column])
                loss = criterion(out, target)
                loss.backward()
                total += loss.item()
            return total
        """,
    "a tensor filled bit by bit, with a part cut off": """
        import torch
        from torch import nn

        def adapt(loader, model: nn.Module, teacher: nn.Module, criterion):
            model.eval()
            total = 0
            for x, target in loader:
                out = torch.zeros(2, 128)
                out[0] = model(x)
                out[1] = teacher(x).detach()
                loss = criterion(out, target)
                total += loss.item()
                loss.backward()
            return total
        """,
    "shown as it was before torch 0.4, and differentiated": """
        import torch
        from torchvision.models import vgg19

        net = vgg19()
        net.load_state_dict(torch.load("vgg.pth", weights_only=True))
        net.eval()
        image = torch.rand(1, 3, 224, 224, requires_grad=True)
        out = net(image)
        print(out.data.squeeze())
        out.norm().backward()
        """,
}

NOT_A_MODULE = {
    "train() of a trainer": """
        import torch

        class Trainer:
            def __init__(self, model, loader, optimizer, loss_fn):
                self.model, self.loader = model, loader
                self.optimizer, self.loss_fn = optimizer, loss_fn

            def train(self):
                self.model.train()
                for x, y in self.loader:
                    self.optimizer.zero_grad()
                    self.loss_fn(self.model(x), y).backward()
                    self.optimizer.step()
        """,
    "train() of an algorithm": """
        import torch
        from algorithms.base import OffPolicyAlgorithm

        class SAC(OffPolicyAlgorithm):
            def train(self, gradient_steps, batch_size=64):
                self.policy.set_training_mode(True)
                for _ in range(gradient_steps):
                    loss = self.policy(self.buffer.sample(batch_size)).mean()
                    self.optimizer.zero_grad()
                    loss.backward()
                    self.optimizer.step()
        """,
    "pandas": """
        import pandas as pd
        import torch

        def evaluate(path):
            frame = pd.read_csv(path)
            frame.eval("ratio = a / b", inplace=True)
            print(frame.query("ratio > 1").mean())
            return torch.tensor(frame.ratio.values)
        """,
    "a model of an ORM": """
        from django.db import models

        class Prediction(models.Model):
            text = models.TextField()

            def evaluate(self):
                model = Prediction.objects.get(pk=self.pk)
                print(model)
                return model.text
        """,
    "Keras": """
        from tensorflow import keras

        def predict(path, x):
            model = keras.models.load_model(path)
            print(model(x).numpy().argmax())
            return model.predict(x).argmax()
        """,
    "scikit-learn": """
        import torch
        from sklearn.linear_model import LogisticRegression

        def evaluate(x, y):
            model = LogisticRegression().fit(x, y)
            print(model.predict(x).argmax(), model.score(x, y))
        """,
    "eval, the builtin": """
        import torch

        def predict(expression, model):
            value = eval(expression)
            print(value, torch.ones(1))
        """,
}

FUNCTIONAL_DROPOUT = {
    "under if self.training": """
        import torch.nn.functional as F
        from torch import nn

        class Block(nn.Module):
            def forward(self, x):
                if self.training:
                    x = F.dropout(x, 0.5, training=True)
                return x
        """,
    "under an elif on self.training": """
        import torch.nn.functional as F
        from torch import nn

        class Block(nn.Module):
            def forward(self, x):
                if self.p is None:
                    x = x + 1
                elif self.training and self.p > 0:
                    x = F.dropout(x, p=self.p, training=True)
                return x
        """,
    "a parameter passed on": """
        import torch.nn.functional as F

        def attention(q, k, v, p=0.1, training=False):
            scores = (q @ k.transpose(-1, -2)).softmax(-1)
            return F.dropout(scores, p, training) @ v
        """,
    "off by default": """
        import torch.nn.functional as F
        from torch import nn

        class Block(nn.Module):
            def forward(self, x):
                x = F.alpha_dropout(x, 0.1)
                x = F.feature_alpha_dropout(x, 0.1)
                return F.rrelu(x)
        """,
    "a conditional expression": """
        import torch.nn.functional as F
        from torch import nn

        class Block(nn.Module):
            def forward(self, x):
                return F.dropout(x, 0.1) if self.training else x
        """,
    "an early return": """
        import torch.nn.functional as F
        from torch import nn

        class Block(nn.Module):
            def forward(self, x):
                if not self.training or self.p == 0:
                    return x
                return F.dropout(x, self.p)
        """,
    "the flag under a shorter name": """
        import torch.nn.functional as F
        from torch import nn

        class Block(nn.Module):
            def forward(self, x):
                training = self.training
                return F.dropout(x, self.p, training)
        """,
}

MODULES_KEPT_APART = {
    "a list whose modules are added one by one": """
        from torch import nn

        class Net(nn.Module):
            def __init__(self, depth):
                super().__init__()
                self.layers = []
                for i in range(depth):
                    layer = nn.Linear(4, 4)
                    self.add_module(f"layer{i}", layer)
                    self.layers.append(layer)
        """,
    "a list whose modules become attributes": """
        from torch import nn

        class Net(nn.Module):
            def __init__(self, depth):
                super().__init__()
                self.layers = []
                for i in range(depth):
                    layer = nn.Linear(4, 4)
                    setattr(self, "layer%d" % i, layer)
                    self.layers.append(layer)
        """,
    "registered by a loop over the list": """
        from torch import nn

        class Net(nn.Module):
            def __init__(self, depth):
                super().__init__()
                self.blocks = [nn.Linear(4, 4) for _ in range(depth)]
                for i, block in enumerate(self.blocks):
                    self.add_module(f"block{i}", block)
        """,
    "a teacher hidden in a list, its mode set": """
        import torch
        from torch import nn

        class Student(nn.Module):
            def __init__(self, teacher):
                super().__init__()
                self.body = nn.Linear(4, 4)
                self.teacher = [teacher.eval()]

            def forward(self, x):
                with torch.no_grad():
                    target = self.teacher[0](x)
                return self.body(x), target
        """,
    "a plain object that holds modules": """
        from torch import nn

        class Ensemble:
            def __init__(self):
                self.members = [nn.Linear(4, 2), nn.Linear(4, 2)]
        """,
}

SAMPLING_AND_EXPORTS = {
    "generation": """
        import torch

        @torch.no_grad()
        def generate(model, ids, n):
            model.eval()
            for _ in range(n):
                probs = model(ids)[:, -1].softmax(-1)
                ids = torch.cat([ids, torch.multinomial(probs, 1)], 1)
            return ids
        """,
    "acting in an environment": """
        import torch

        def rollout(policy, env, n):
            obs = env.reset()
            for _ in range(n):
                with torch.no_grad():
                    action = policy(obs).softmax(-1).multinomial(1).item()
                obs, reward, done, _ = env.step(action)
        """,
    "a shape check at the bottom of the file": """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.1))

            def forward(self, x):
                return self.body(x)

        if __name__ == "__main__":
            net = Net()
            with torch.no_grad():
                out = net(torch.randn(2, 4))
            print(out.shape)
        """,
    "a shape check without no_grad": """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.1))

            def forward(self, x):
                return self.body(x)

        def test():
            net = Net()
            print(net(torch.randn(2, 4)).size())

        if __name__ == "__main__":
            test()
        """,
    "the old ONNX exporter": """
        import torch
        from torchvision.models import resnet18

        def export(path):
            torch.onnx.export(resnet18(weights="DEFAULT"), torch.ones(1, 3, 224, 224), path, dynamo=False)
        """,
    "tests of a module": {
        "tests/test_block.py": """
            import pytest
            import torch
            from torch import nn

            @pytest.mark.parametrize("width", [4, 8])
            def test_block_keeps_the_shape(width):
                block = nn.Sequential(nn.Linear(width, width), nn.Dropout(0.1))
                with torch.no_grad():
                    out = block(torch.randn(2, width))
                assert out.argmax().item() >= 0
                assert out.shape == (2, width)
            """,
    },
    "frozen norms under a root in training": """
        import torch
        from torch import nn
        from torchvision.models import resnet50

        class Detector(nn.Module):
            def __init__(self):
                super().__init__()
                self.backbone = resnet50(weights="DEFAULT")

            def train(self, mode=True):
                super().train(mode)
                for m in self.backbone.modules():
                    if isinstance(m, nn.BatchNorm2d):
                        m.eval()
                return self

            def forward(self, x):
                return self.backbone(x)

        def fit(loader, loss_fn):
            net = Detector()
            net.train()
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            for x, y in loader:
                optimizer.zero_grad()
                loss_fn(net(x), y).backward()
                optimizer.step()
        """,
    "test-time augmentation": """
        import torch
        from torchvision import transforms
        from torchvision.models import resnet18

        crop = transforms.RandomResizedCrop(224)

        @torch.no_grad()
        def predict(image, n):
            net = resnet18(weights="DEFAULT").eval()
            return torch.stack([net(crop(image)) for _ in range(n)]).mean(0).argmax(-1).item()
        """,
    "timing a model with random weights": """
        import time

        import torch
        from torchvision.models import resnet18

        def benchmark(n):
            net = resnet18()
            x = torch.randn(1, 3, 224, 224)
            start = time.time()
            with torch.no_grad():
                for _ in range(n):
                    net(x)
            print((time.time() - start) / n)
        """,
    "a closing eval() that does no harm": """
        import torch

        def validate(model, loader):
            model.eval()
            with torch.no_grad():
                for x, y in loader:
                    print((model(x).argmax(1) == y).sum().item())
            model.eval()

        def fit(model, loader, val_loader, optimizer, loss_fn):
            for epoch in range(10):
                model.train()
                for x, y in loader:
                    optimizer.zero_grad()
                    loss_fn(model(x), y).backward()
                    optimizer.step()
                validate(model, val_loader)
        """,
}


@pytest.mark.parametrize("code", LOADERS_THAT_RETURN_EVALUATION_MODE.values(), ids=LOADERS_THAT_RETURN_EVALUATION_MODE)
def test_loaders_that_return_evaluation_mode(lint: Lint, code: str) -> None:
    lint(code)


@pytest.mark.parametrize(
    "code", ENTRY_POINTS_THAT_SWITCH_GRADIENTS_OFF.values(), ids=ENTRY_POINTS_THAT_SWITCH_GRADIENTS_OFF
)
def test_entry_points_that_switch_gradients_off_by_themselves(lint: Lint, code: str) -> None:
    lint(code)


@pytest.mark.parametrize("code", EVAL_ELSEWHERE.values(), ids=EVAL_ELSEWHERE)
def test_eval_is_called_elsewhere(lint: Lint, code: str) -> None:
    lint(code)


@pytest.mark.parametrize("code", GRADIENTS_OFF_BY_OTHER_MEANS.values(), ids=GRADIENTS_OFF_BY_OTHER_MEANS)
def test_gradients_are_off_by_other_means(lint: Lint, code: str) -> None:
    lint(code)


@pytest.mark.parametrize("code", GRADIENTS_OR_DROPOUT_ON_PURPOSE.values(), ids=GRADIENTS_OR_DROPOUT_ON_PURPOSE)
def test_gradients_or_dropout_are_wanted(lint: Lint, code: str) -> None:
    lint(code)


@pytest.mark.parametrize("code", NOT_A_MODULE.values(), ids=NOT_A_MODULE)
def test_what_is_no_torch_module(lint: Lint, code: str) -> None:
    lint(code)


@pytest.mark.parametrize("code", FUNCTIONAL_DROPOUT.values(), ids=FUNCTIONAL_DROPOUT)
def test_functional_dropout_that_follows_the_mode(lint: Lint, code: str) -> None:
    lint(code)


@pytest.mark.parametrize("code", MODULES_KEPT_APART.values(), ids=MODULES_KEPT_APART)
def test_modules_kept_apart_on_purpose(lint: Lint, code: str) -> None:
    lint(code)


@pytest.mark.parametrize("code", SAMPLING_AND_EXPORTS.values(), ids=SAMPLING_AND_EXPORTS)
def test_code_whose_job_it_is(lint: Lint, code: str) -> None:
    lint(code)
