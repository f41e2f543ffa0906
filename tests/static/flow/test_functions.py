"""Closures, nested functions, lambdas, comprehensions, partial, methods: a model goes where names take it."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

SILENT = {
    "a closure over a ready model": """
        import torch
        from torchvision.models import resnet18

        def build(path):
            net = resnet18()
            net.load_state_dict(torch.load(path, weights_only=True))
            net.eval()

            @torch.no_grad()
            def predict(x):
                return net(x).argmax(-1).item()

            return predict
        """,
    "eval() behind the closure's definition": """
        import torch
        from torchvision.models import resnet18

        def build(path):
            net = resnet18()
            net.load_state_dict(torch.load(path, weights_only=True))

            @torch.no_grad()
            def predict(x):
                return net(x).argmax(-1).item()

            net.eval()
            return predict
        """,
    "a nested helper that sets the mode": """
        import torch
        from torchvision.models import resnet18

        def predict(path, x):
            net = resnet18()

            def prepare():
                net.load_state_dict(torch.load(path, weights_only=True))
                net.eval()

            prepare()
            with torch.no_grad():
                return net(x).argmax(-1).item()
        """,
    "a lambda": """
        import torch
        from torchvision.models import resnet18

        net = resnet18(weights="DEFAULT").eval()
        predict = lambda x: net(x).argmax(-1).item()
        with torch.no_grad():
            print(predict(torch.ones(1, 3, 224, 224)))
        """,
    "a comprehension under no_grad": """
        import torch
        from torchvision.models import resnet18

        def predict(batches):
            net = resnet18(weights="DEFAULT").eval()
            with torch.no_grad():
                return [net(x).argmax(-1).item() for x in batches]
        """,
    "a comprehension that calls eval": """
        import torch
        from torchvision.models import resnet18

        def predict(names, x):
            nets = {name: resnet18(weights="DEFAULT") for name in names}
            [net.eval() for net in nets.values()]
            with torch.no_grad():
                return {name: net(x).argmax(-1).item() for name, net in nets.items()}
        """,
    "a model handed on by keyword": """
        import torch
        from torchvision.models import resnet18

        def scores(x, *, model, device="cpu"):
            with torch.no_grad():
                return model(x.to(device)).argmax(-1).item()

        def main(x):
            net = resnet18(weights="DEFAULT")
            net.eval()
            print(scores(x, device="cuda", model=net))
        """,
    "partial": """
        import functools

        import torch
        from torchvision.models import resnet18

        @torch.no_grad()
        def run(model, x):
            return model(x).argmax(-1).item()

        net = resnet18(weights="DEFAULT").eval()
        predict = functools.partial(run, net)
        print(predict(torch.ones(1, 3, 224, 224)))
        """,
    "a global model": """
        import torch
        from torchvision.models import resnet18

        net = None

        def setup():
            global net
            net = resnet18(weights="DEFAULT")
            net.eval()

        @torch.no_grad()
        def predict(x):
            return net(x).argmax(-1).item()

        setup()
        print(predict(torch.ones(1, 3, 224, 224)))
        """,
    "a static method": """
        import torch
        from torchvision.models import resnet18

        class Zoo:
            @staticmethod
            def load():
                return resnet18(weights="DEFAULT").eval()

            @torch.no_grad()
            def predict(self, x):
                return self.load()(x).argmax(-1).item()
        """,
    "a property that builds on demand": """
        import torch
        from torchvision.models import resnet18

        class Service:
            _net = None

            @property
            def net(self):
                if self._net is None:
                    self._net = resnet18(weights="DEFAULT")
                    self._net.eval()
                return self._net

            @torch.no_grad()
            def predict(self, x):
                return self.net(x).argmax(-1).item()
        """,
    "a cached factory": """
        import functools

        import torch
        from torchvision.models import resnet18

        @functools.lru_cache(maxsize=None)
        def model():
            return resnet18(weights="DEFAULT").eval()

        @torch.no_grad()
        def predict(x):
            return model()(x).argmax(-1).item()
        """,
    "a callable object": """
        import torch
        from torchvision.models import resnet18

        class Classifier:
            def __init__(self):
                self.net = resnet18(weights="DEFAULT").eval()

            @torch.no_grad()
            def __call__(self, x):
                return self.net(x).argmax(-1).item()

        print(Classifier()(torch.ones(1, 3, 224, 224)))
        """,
    "the walrus": """
        import torch
        from torchvision.models import resnet18

        def predict(x):
            if (net := resnet18(weights="DEFAULT").eval()) is not None:
                with torch.no_grad():
                    return net(x).argmax(-1).item()
        """,
    "handed through two functions": """
        import torch
        from torchvision.models import resnet18

        def logits(model, x):
            return model(x)

        def labels(model, x):
            return logits(model, x).argmax(-1)

        @torch.no_grad()
        def main(x):
            net = resnet18(weights="DEFAULT")
            net.eval()
            print(labels(net, x))
        """,
    "a thread pool": """
        from concurrent.futures import ThreadPoolExecutor

        import torch
        from torchvision.models import resnet18

        net = resnet18(weights="DEFAULT").eval()

        def predict(x):
            with torch.no_grad():
                return net(x).argmax(-1).item()

        with ThreadPoolExecutor() as pool:
            print(list(pool.map(predict, [torch.ones(1, 3, 224, 224)])))
        """,
    "a method handed to a library": """
        import gradio as gr
        import torch
        from torchvision.models import resnet18

        class Demo:
            def __init__(self):
                self.net = resnet18(weights="DEFAULT")
                self.net.eval()

            def predict(self, image):
                with torch.no_grad():
                    return self.net(image).argmax(-1).item()

        gr.Interface(Demo().predict, "image", "label").launch()
        """,
    "a model returned by a nested call": """
        import torch
        from torchvision.models import resnet18

        def ready(model):
            model.eval()
            return model

        def main(x):
            with torch.no_grad():
                print(ready(resnet18(weights="DEFAULT"))(x).argmax(-1))
        """,
    "arguments unpacked": """
        import torch
        from torchvision.models import resnet18

        @torch.no_grad()
        def run(model, x):
            return model(x).argmax(-1).item()

        def main(x):
            args = (resnet18(weights="DEFAULT").eval(), x)
            print(run(*args))
        """,
    "two nested functions of one name": """
        import torch
        from torchvision.models import resnet18

        @torch.no_grad()
        def predict(x):
            a = resnet18(weights="DEFAULT")
            b = resnet18(weights="DEFAULT")
            def switch():
                a.eval()
            switch()
            def switch():
                b.eval()
            switch()
            return a(x).argmax(-1).item()
        """,
    "a nested function that returns the model": """
        import torch
        from torchvision.models import resnet18

        @torch.no_grad()
        def predict(x):
            a = resnet18(weights="DEFAULT")
            def model():
                return a
            model().eval()
            return a(x).argmax(-1).item()
        """,
    "a function that is handed a function": """
        import torch
        from torchvision.models import resnet18

        def apply(fn, *args):
            return fn(*args)

        def ready(net):
            net.eval()

        @torch.no_grad()
        def predict(x):
            a = resnet18(weights="DEFAULT")
            apply(ready, a)
            return a(x).argmax(-1).item()
        """,
    "a generator that yields silence before it raises": """
        import torch
        from audio import silence
        from torchvision.models import resnet18

        @torch.no_grad()
        def stream(net, batches):
            try:
                for x in batches:
                    yield net(x).argmax(-1).item()
            except RuntimeError as error:
                yield silence()
                yield silence().parameters
                raise error

        def main(batches):
            for piece in stream(resnet18(weights="DEFAULT").eval(), batches):
                print(piece)
        """,
}

FOUND = {
    "a closure over a model in training mode": """
        import torch
        from torchvision.models import resnet18

        def build(path):
            net = resnet18()
            net.load_state_dict(torch.load(path, weights_only=True))

            @torch.no_grad()
            def predict(x):
                return net(x).argmax(-1).item()  # ML101

            return predict
        """,
    "a lambda without eval": """
        import torch
        from torchvision.models import resnet18

        net = resnet18(weights="DEFAULT")
        predict = lambda x: net(x).argmax(-1).item()  # ML101
        with torch.no_grad():
            print(predict(torch.ones(1, 3, 224, 224)))
        """,
    "a comprehension without eval": """
        import torch
        from torchvision.models import resnet18

        def predict(batches):
            net = resnet18(weights="DEFAULT")
            with torch.no_grad():
                return [net(x).argmax(-1).item() for x in batches]  # ML101
        """,
    "a comprehension without no_grad": """
        from torchvision.models import resnet18

        def predict(batches):
            net = resnet18(weights="DEFAULT").eval()
            return [net(x).argmax(-1).item() for x in batches]  # ML201
        """,
    "a global model nobody prepared": """
        import torch
        from torchvision.models import resnet18

        net = resnet18(weights="DEFAULT")

        @torch.no_grad()
        def predict(x):
            return net(x).argmax(-1).item()  # ML101
        """,
    "one caller right, one wrong": """
        import torch
        from torchvision.models import resnet18, resnet50

        @torch.no_grad()
        def scores(model, x):
            return model(x).argmax(-1).item()

        def small(x):
            net = resnet18(weights="DEFAULT").eval()
            print(scores(net, x))

        def large(x):
            net = resnet50(weights="DEFAULT")
            print(scores(net, x))  # ML101
        """,
    "every caller wrong": """
        import torch
        from torchvision.models import resnet18, resnet50

        @torch.no_grad()
        def scores(model, x):
            return model(x).argmax(-1).item()  # ML101

        def small(x):
            print(scores(resnet18(weights="DEFAULT"), x))

        def large(x):
            print(scores(resnet50(weights="DEFAULT"), x))
        """,
    "one caller without no_grad": """
        import torch
        from torchvision.models import resnet18

        def scores(model, x):
            return model(x).argmax(-1).item()

        def first(x):
            net = resnet18(weights="DEFAULT").eval()
            with torch.no_grad():
                print(scores(net, x))

        def second(x):
            net = resnet18(weights="DEFAULT").eval()
            print(scores(net, x))  # ML201
        """,
    "a helper that sets the wrong model": """
        import torch
        from torchvision.models import resnet18

        def prepare(model):
            model.eval()

        def predict(x):
            first, second = resnet18(weights="DEFAULT"), resnet18(weights="DEFAULT")
            prepare(first)
            with torch.no_grad():
                return second(x).argmax(-1).item()  # ML101
        """,
    "partial of a model in training mode": """
        import functools

        import torch
        from torchvision.models import resnet18

        @torch.no_grad()
        def run(model, x):
            return model(x).argmax(-1).item()  # ML101

        net = resnet18(weights="DEFAULT")
        predict = functools.partial(run, net)
        print(predict(torch.ones(1, 3, 224, 224)))
        """,
    "a callable object without eval": """
        import torch
        from torchvision.models import resnet18

        class Classifier:
            def __init__(self):
                self.net = resnet18(weights="DEFAULT")

            @torch.no_grad()
            def __call__(self, x):
                return self.net(x).argmax(-1).item()  # ML101

        print(Classifier()(torch.ones(1, 3, 224, 224)))
        """,
    "a property without eval": """
        import torch
        from torchvision.models import resnet18

        class Service:
            @property
            def net(self):
                return resnet18(weights="DEFAULT")

            @torch.no_grad()
            def predict(self, x):
                return self.net(x).argmax(-1).item()  # ML101
        """,
    "a generator": """
        import torch
        from torchvision.models import resnet18

        @torch.no_grad()
        def predictions(batches):
            net = resnet18(weights="DEFAULT")
            for x in batches:
                yield net(x).argmax(-1).item()  # ML101
        """,
    "a helper that puts it back into training": """
        import torch
        from torchvision.models import resnet18

        def warm_up(model, x):
            model.train()
            model(x)

        @torch.no_grad()
        def predict(x):
            net = resnet18(weights="DEFAULT").eval()
            warm_up(net, x)
            return net(x).argmax(-1).item()  # ML101
        """,
    "a bound method handed to a function": """
        import torch
        from torchvision.models import resnet18

        def apply(fn, *args):
            return fn(*args)

        def ready(net):
            net.eval()

        @torch.no_grad()
        def predict(x):
            a = resnet18(weights="DEFAULT")
            a.eval()
            apply(a.train)
            return a(x).argmax(-1).item()  # ML101
        """,
}


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_silent(lint: Lint, code: str) -> None:
    lint(code)


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_found(lint: Lint, code: str) -> None:
    lint(code)
