"""Inference with weights that nothing loaded: ML401."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

RULES = ("ML401",)

NET = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 16, 3)
        self.head = nn.Linear(16, 10)

    def forward(self, x):
        return self.head(self.conv(x).mean((2, 3)))
"""

SILENT = {
    "tried out on a batch of the training data": """
        import torch
        from net import Net
        from data import train_loader

        images, labels = next(iter(train_loader))
        first = images[0].unsqueeze(0)
        net = Net().eval()
        with torch.no_grad():
            scores = net(first)
        print(scores.argmax(-1).tolist(), labels[0])
        """,
    "the file may be missing: weights arrive under a condition": """
        import os
        import torch
        from net import Net

        def predict(image, path):
            net = Net().eval()
            if os.path.exists(path):
                net.load_state_dict(torch.load(path, weights_only=True))
            with torch.no_grad():
                return net(image).argmax(-1).item()
        """,
    "a helper in another file loads": """
        import torch
        from loading import restore_into
        from net import Net

        def predict(image):
            net = Net().eval()
            restore_into(net)
            with torch.no_grad():
                return net(image).argmax(-1).item()
        """,
    "a helper out of sight by any name is given the parameters": """
        import torch
        from elsewhere import fill
        from net import Net

        def predict(image):
            net = Net().eval()
            fill(net.parameters())
            with torch.no_grad():
                return net(image).argmax(-1).item()
        """,
    "weights copied one by one": """
        import torch
        from net import Net

        def predict(image, arrays):
            net = Net().eval()
            for parameter, array in zip(net.parameters(), arrays):
                parameter.data.copy_(torch.from_numpy(array))
            with torch.no_grad():
                return net(image).argmax(-1).item()
        """,
    "weights assigned to the layers": """
        import torch
        from net import Net

        def predict(image, arrays):
            net = Net().eval()
            net.conv.weight.data = torch.from_numpy(arrays["conv"])
            net.head.weight = torch.nn.Parameter(torch.from_numpy(arrays["head"]))
            with torch.no_grad():
                return net(image).argmax(-1).item()
        """,
    "weights copied into the state's own tensors": """
        import torch
        from net import Net

        def predict(image, saved):
            net = Net().eval()
            own = net.state_dict()
            for name, value in saved.items():
                own[name].copy_(value)
            with torch.no_grad():
                return net(image).argmax(-1).item()
        """,
    "only a part is loaded": """
        import torch
        from net import Net

        def features(image, path):
            net = Net().eval()
            net.conv.load_state_dict(torch.load(path, weights_only=True))
            with torch.no_grad():
                return net(image).cpu().numpy()
        """,
    "a part is replaced by a pretrained one": """
        import timm
        import torch
        from net import Net

        def predict(image):
            net = Net().eval()
            net.conv = timm.create_model("resnet18", pretrained=True)
            with torch.no_grad():
                return net(image).argmax(-1).item()
        """,
    "loaded under a wrapper": """
        import torch
        from net import Net

        def predict(image, path):
            net = torch.nn.DataParallel(Net()).cuda()
            net.module.load_state_dict(torch.load(path, weights_only=True))
            net.eval()
            with torch.no_grad():
                return net(image).argmax(-1).item()
        """,
    "trained by a trainer": """
        import lightning
        import torch
        from net import Net

        def main(loader, image):
            net = Net()
            lightning.Trainer(max_epochs=3).fit(net, loader)
            net.eval()
            with torch.no_grad():
                print(net(image).argmax(-1))
        """,
    "evaluated before it is trained": """
        import torch
        from net import Net

        def evaluate(net, loader):
            net.eval()
            correct = 0
            with torch.no_grad():
                for x, y in loader:
                    correct += (net(x).argmax(-1) == y).sum().item()
            return correct

        def main(train_loader, val_loader, loss_fn):
            net = Net()
            optimizer = torch.optim.Adam(net.parameters())
            print("before", evaluate(net, val_loader))
            net.train()
            for x, y in train_loader:
                optimizer.zero_grad()
                loss_fn(net(x), y).backward()
                optimizer.step()
            print("after", evaluate(net, val_loader))
        """,
    "one evaluation for a loaded and a fresh model, trained elsewhere": """
        import torch
        from net import Net

        class Trainer:
            def __init__(self, loss_fn):
                self.net = Net()
                self.loss_fn = loss_fn
                self.optimizer = torch.optim.Adam(self.net.parameters())

            def fit(self, loader):
                self.net.train()
                for x, y in loader:
                    self.optimizer.zero_grad()
                    self.loss_fn(self.net(x), y).backward()
                    self.optimizer.step()

            @torch.no_grad()
            def predict(self, x):
                self.net.eval()
                return self.net(x).argmax(-1)
        """,
    "another method of the predictor loads": """
        import torch
        from net import Net

        class Predictor:
            def __init__(self):
                self.net = Net().eval()

            def restore(self, path):
                self.net.load_state_dict(torch.load(path, weights_only=True))

            @torch.no_grad()
            def predict(self, x):
                return self.net(x).argmax(-1)
        """,
    "a global that another function loads": """
        import torch
        from net import Net

        net = Net().eval()

        def startup(path):
            net.load_state_dict(torch.load(path, weights_only=True))

        @torch.no_grad()
        def predict(x):
            return net(x).argmax(-1).tolist()
        """,
    "the class loads in its constructor": """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.head = nn.Linear(4, 2)
                self.restore()

            def restore(self):
                self.load_state_dict(torch.load("net.pt", weights_only=True))

            def forward(self, x):
                return self.head(x)

        @torch.no_grad()
        def predict(x):
            return Net().eval()(x).argmax(-1).item()
        """,
    "a part, run by a method of the whole": """
        import torch
        from torch import nn
        from net import Net

        class Tagger(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = Net().eval()
                self.requires_grad_(False)

            @torch.no_grad()
            def predict(self, x):
                return self.net(x).argmax(-1)
        """,
    "a fixed filter": """
        import torch
        from torch import nn

        class Edges(nn.Module):
            def __init__(self, kernel):
                super().__init__()
                self.conv = nn.Conv2d(1, 1, 3, bias=False)
                self.conv.weight.data = torch.tensor(kernel)

            def forward(self, x):
                return self.conv(x)

        @torch.no_grad()
        def detect_edges(image, kernel):
            return Edges(kernel).eval()(image).cpu().numpy()
        """,
    "a module that has no weights": """
        import torch
        from torch import nn

        class Normalise(nn.Module):
            def __init__(self, mean, std):
                super().__init__()
                self.register_buffer("mean", mean)
                self.register_buffer("std", std)

            def forward(self, x):
                return (x - self.mean) / self.std

        @torch.no_grad()
        def predict(image, mean, std):
            return Normalise(mean, std).eval()(image).cpu().numpy()
        """,
    "around a model that was loaded": """
        import torch
        import timm
        from torch import nn

        class Tta(nn.Module):
            def __init__(self, model):
                super().__init__()
                self.model = model
                self.mix = nn.Linear(2, 1)

            def forward(self, x):
                return self.model(x) + self.model(x.flip(-1))

        @torch.no_grad()
        def predict(image):
            tta = Tta(timm.create_model("resnet18", pretrained=True)).eval()
            return tta(image).argmax(-1).item()
        """,
    "options may ask for weights": """
        import timm
        import torch

        @torch.no_grad()
        def predict(image, options):
            model = timm.create_model("resnet18", **options).eval()
            return model(image).argmax(-1).item()
        """,
    "a checkpoint path for the factory": """
        import timm
        import torch

        @torch.no_grad()
        def predict(image, args):
            model = timm.create_model("resnet18", pretrained=False, checkpoint_path=args.checkpoint).eval()
            return model(image).argmax(-1).item()
        """,
    "weights handed out over several devices": """
        import torch
        from accelerate import init_empty_weights, load_checkpoint_and_dispatch
        from transformers import AutoConfig, AutoModelForCausalLM

        def answer(folder, tokens):
            config = AutoConfig.from_pretrained(folder)
            with init_empty_weights():
                model = AutoModelForCausalLM.from_config(config)
            model = load_checkpoint_and_dispatch(model, folder)
            model.eval()
            return model.generate(tokens)[0].tolist()
        """,
    "safetensors": """
        import torch
        from safetensors.torch import load_model
        from net import Net

        @torch.no_grad()
        def predict(image, path):
            net = Net()
            load_model(net, path)
            return net.eval()(image).argmax(-1).item()
        """,
    "a teacher trained in the same script": """
        import torch
        from net import Net

        def main(loader, images, loss_fn):
            teacher, student = Net(), Net()
            for net in (teacher, student):
                optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
                for x, y in loader:
                    loss_fn(net(x), y).backward()
                    optimizer.step()
            teacher.eval()
            with torch.no_grad():
                print(teacher(images).argmax(-1))
        """,
    "a network that follows another one": """
        import torch
        from net import Net

        def main(images, path):
            net = Net()
            net.load_state_dict(torch.load(path, weights_only=True))
            ema = Net().eval()
            ema.load_state_dict(net.state_dict())
            with torch.no_grad():
                print(ema(images).argmax(-1))
        """,
    "features that are meant to be random": """
        import torch
        from net import Net

        @torch.no_grad()
        def features(images):
            random_net = Net().eval()
            return random_net(images).cpu().numpy()
        """,
    "a population that evolves": """
        import torch
        from net import Net

        @torch.no_grad()
        def evaluate_population(images, labels):
            population = [Net().eval() for _ in range(10)]
            return [(net(images).argmax(-1) == labels).sum().item() for net in population]
        """,
    "a policy that acts": """
        import torch
        from net import Net

        def rollout(env):
            policy = Net().eval()
            observation = env.reset()
            while True:
                with torch.no_grad():
                    action = policy(observation).argmax(-1).item()
                observation, reward, done, info = env.step(action)
                if done:
                    break
        """,
    "timing": """
        import time
        import torch
        from net import Net

        @torch.no_grad()
        def measure_latency(images):
            net = Net().eval()
            start = time.time()
            for image in images:
                scores = net(image).cpu().numpy()
            print(time.time() - start)
        """,
    "a shape check at the bottom": """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.head = nn.Linear(4, 2)

            def forward(self, x):
                return self.head(x)

        if __name__ == "__main__":
            net = Net().eval()
            with torch.no_grad():
                print(net(torch.ones(2, 4)))
        """,
    "a made-up input, through variables and a helper": """
        import torch
        from net import Net

        @torch.no_grad()
        def predict(net, batch):
            return net(batch["image"]).argmax(-1).tolist()

        def main():
            net = Net().eval()
            batch = {"image": torch.zeros(1, 3, 32, 32)}
            print(predict(net, batch))
        """,
    "only the shape is printed": """
        import torch
        from net import Net

        def main(image):
            net = Net().eval()
            with torch.no_grad():
                out = net(image)
            print(out.shape, out.size(0))
        """,
    "nothing says that this is inference": """
        from net import Net

        def build(image):
            net = Net()
            return net(image)
        """,
    "a model from a factory out of sight": """
        import torch
        from models import build_model

        @torch.no_grad()
        def predict(image):
            return build_model("small").eval()(image).argmax(-1).item()
        """,
    "an accelerator loads into what it prepared": """
        import torch
        from accelerate import Accelerator
        from net import Net

        @torch.no_grad()
        def predict(images, folder):
            accelerator = Accelerator()
            net = accelerator.prepare(Net())
            accelerator.load_state(folder)
            net.eval()
            return net(images).argmax(1)
        """,
    "an engine resumes": """
        import torch
        from net import Net
        from engine import Engine

        class Runner:
            def __init__(self, config):
                self.net = Net().eval()
                self.engine = Engine(config)

            @torch.no_grad()
            def predict(self, images, path):
                self.engine.load_checkpoint(path)
                return self.net(images).argmax(1)
        """,
    "a model at the bottom of its own file": """
        import torch
        from torch import nn

        class Small(nn.Module):
            def __init__(self):
                super().__init__()
                self.head = nn.Linear(16, 4)

            def forward(self, x):
                return self.head(x)

        if __name__ == "__main__":
            model = Small().eval()
            with torch.no_grad():
                print(model(torch.load("batch.pt")).argmax(1))
        """,
}

FOUND = {
    "run on a batch of the test data": """
        import torch
        from net import Net
        from data import test_loader

        images, labels = next(iter(test_loader))
        first = images[0].unsqueeze(0)
        net = Net().eval()
        with torch.no_grad():
            scores = net(first)  # ML401
        print(scores.argmax(-1).tolist(), labels[0])
        """,
    "a class of another file": """
        import torch
        from net import Net

        @torch.inference_mode()
        def predict(image):
            net = Net().cuda().eval()
            return net(image).argmax(-1).item()  # ML401
        """,
    "counting the parameters and printing the model loads nothing": """
        import torch
        from net import Net

        def main(images):
            net = torch.nn.DataParallel(Net()).eval()
            print(net)
            print(sum(p.numel() for p in net.parameters()))
            for p in net.parameters():
                p.requires_grad = False
            with torch.no_grad():
                for image in images:
                    print(net(image).argmax(-1).item())  # ML401
        """,
    "the loaded state never reaches the model": """
        import torch
        from net import Net

        @torch.no_grad()
        def predict(image, path):
            state = torch.load(path, weights_only=True)
            net = Net()
            net.eval()
            return net(image).argmax(-1).item()  # ML401
        """,
    "loaded before the model was built anew": """
        import torch
        from net import Net

        @torch.no_grad()
        def predict(image, path):
            net = Net()
            net.load_state_dict(torch.load(path, weights_only=True))
            net = Net().eval()
            return net(image).argmax(-1).item()  # ML401
        """,
    "one of two models": """
        import torch
        from net import Net

        @torch.no_grad()
        def predict(image, path):
            first, second = Net().eval(), Net().eval()
            first.load_state_dict(torch.load(path, weights_only=True))
            return (first(image) + second(image)).argmax(-1).item()  # ML401
        """,
    "default weights of torchvision": """
        import torch
        from torchvision import models

        @torch.no_grad()
        def classify(image):
            model = models.resnet50(weights=None)
            model.fc = torch.nn.Linear(2048, 10)
            model.eval()
            return model(image).softmax(-1).max(-1)  # ML401
        """,
    "open_clip without pretrained": """
        import open_clip
        import torch

        def scores(image, texts):
            model, _, preprocess = open_clip.create_model_and_transforms("ViT-B-32")
            model.eval()
            with torch.no_grad():
                a = model.encode_image(image)  # ML401
                b = model.encode_text(texts)
            return (a @ b.T).softmax(-1).cpu().numpy()
        """,
    "generation": """
        import torch
        from transformers import GPT2Config, GPT2LMHeadModel, GPT2Tokenizer

        def main(text):
            tokenizer = GPT2Tokenizer.from_pretrained("gpt2")
            model = GPT2LMHeadModel(GPT2Config())
            model.eval()
            tokens = model.generate(**tokenizer(text, return_tensors="pt"))  # ML401
            print(tokenizer.decode(tokens[0]))
        """,
    "a predictor that forgets to load": """
        import torch
        from net import Net

        class Predictor:
            def __init__(self, device):
                self.device = device
                self.net = Net().to(device)
                self.net.eval()

            @torch.no_grad()
            def predict(self, image):
                return self.net(image.to(self.device)).argmax(-1).item()  # ML401
        """,
    "a helper for the forward, one caller that loads": """
        import torch
        from net import Net

        @torch.no_grad()
        def evaluate(net, loader):
            net.eval()
            return [net(x).argmax(-1) for x, _ in loader]

        def test(loader, path):
            net = Net()
            net.load_state_dict(torch.load(path, weights_only=True))
            print(evaluate(net, loader))

        def test_again(loader):
            net = Net()
            print(evaluate(net, loader))  # ML401
        """,
    "the script that defines the model, without the line that loads": """
        import argparse
        import torch
        from torch import nn
        from torchvision.io import read_image

        class Small(nn.Module):
            def __init__(self, classes):
                super().__init__()
                self.head = nn.Linear(16, classes)

            def forward(self, x):
                return self.head(x)

        def main():
            parser = argparse.ArgumentParser()
            parser.add_argument("image")
            args = parser.parse_args()
            model = Small(10)
            model.eval()
            with torch.inference_mode():
                print(model(read_image(args.image)[None].float()).argmax(1).item())  # ML401

        if __name__ == "__main__":
            main()
        """,
    "initialised by hand only": """
        import torch
        from torch import nn
        from net import Net

        def init(module):
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)

        @torch.no_grad()
        def predict(image):
            net = Net()
            net.apply(init)
            net.eval()
            return net(image).argmax(-1).item()  # ML401
        """,
}

HELPERS = {
    "net.py": NET,
    "loading.py": """
import torch

def restore_into(model):
    model.load_state_dict(torch.load("net.pt", weights_only=True))
""",
}


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_silent(lint: Lint, code: str) -> None:
    lint({"app.py": code, **HELPERS}, rules=RULES)


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_found(lint: Lint, code: str) -> None:
    lint({"app.py": code, **HELPERS}, rules=RULES)


PREDICTOR = """
import timm
import torch

class Predictor:
    def __init__(self, device="cpu"):
        self.model = timm.create_model("convnext_tiny", pretrained=False).to(device).eval()

    @torch.inference_mode()
    def predict(self, image):
        return self.model(image).argmax(-1).item()
"""


def test_a_file_that_imports_the_class_may_load_its_model(lint: Lint) -> None:
    serving = "from predictor import Predictor\n\ndef start():\n    return restore(Predictor())\n"
    lint({"predictor.py": PREDICTOR, "serving.py": serving}, rules=RULES)


def test_a_class_of_the_same_name_elsewhere_loads_nothing(lint: Lint) -> None:
    marked = PREDICTOR.replace(".item()", ".item()  # ML401")
    lint({"predict_fast.py": marked, "other.py": "class Predictor:\n    pass\n"}, rules=RULES)


@pytest.mark.parametrize("name", ["untrained.py", "random_weights.py", "benchmark_speed.py"])
def test_a_file_that_says_its_weights_are_random(lint: Lint, name: str) -> None:
    lint({name: PREDICTOR}, rules=RULES)


@pytest.mark.parametrize(
    "name", ["server.py", "project.py", "image_search.py", "client_demo.py", "verify_signature.py"]
)
def test_the_name_of_a_file_that_serves_is_no_excuse(lint: Lint, name: str) -> None:
    lint({name: PREDICTOR.replace(".item()", ".item()  # ML401")}, rules=RULES)
