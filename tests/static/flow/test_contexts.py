"""with statements and decorators: of torch, of the standard library, and written by the user."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

SILENT = {
    "a context manager that evaluates": """
        import contextlib

        import torch
        from torchvision.models import resnet18

        @contextlib.contextmanager
        def evaluating(model):
            training = model.training
            model.eval()
            try:
                yield model
            finally:
                model.train(training)

        def predict(x):
            net = resnet18(weights="DEFAULT")
            with evaluating(net), torch.no_grad():
                return net(x).argmax(-1).item()
        """,
    "a context manager that switches gradients off too": """
        from contextlib import contextmanager

        import torch
        from torchvision.models import resnet18

        @contextmanager
        def inference(model):
            model.eval()
            with torch.no_grad():
                yield
            model.train()

        def predict(x):
            net = resnet18(weights="DEFAULT")
            with inference(net):
                return net(x).argmax(-1).item()
        """,
    "a class as a context manager": """
        import torch
        from torchvision.models import resnet18

        class EvalMode:
            def __init__(self, model):
                self.model = model

            def __enter__(self):
                self.was_training = self.model.training
                self.model.eval()
                return self.model

            def __exit__(self, *exc):
                self.model.train(self.was_training)

        def predict(x):
            net = resnet18(weights="DEFAULT")
            with EvalMode(net) as ready, torch.no_grad():
                return ready(x).argmax(-1).item()
        """,
    "a user's decorator around no_grad": """
        import functools

        import torch
        from torchvision.models import resnet18

        def no_gradients(fn):
            @functools.wraps(fn)
            def inner(*args, **kwargs):
                with torch.no_grad():
                    return fn(*args, **kwargs)
            return inner

        @no_gradients
        def predict(x):
            net = resnet18(weights="DEFAULT").eval()
            return net(x).argmax(-1).item()
        """,
    "a user's decorator that calls eval": """
        import functools

        import torch
        from torchvision.models import resnet18

        def in_eval(fn):
            @functools.wraps(fn)
            def inner(self, *args, **kwargs):
                self.net.eval()
                with torch.no_grad():
                    return fn(self, *args, **kwargs)
            return inner

        class Service:
            def __init__(self):
                self.net = resnet18(weights="DEFAULT")

            @in_eval
            def predict(self, x):
                return self.net(x).argmax(-1).item()
        """,
    "a decorator with an argument": """
        import functools

        import torch
        from torchvision.models import resnet18

        def gradients(on):
            def decorate(fn):
                @functools.wraps(fn)
                def inner(*args, **kwargs):
                    with torch.set_grad_enabled(on):
                        return fn(*args, **kwargs)
                return inner
            return decorate

        @gradients(False)
        def predict(x):
            net = resnet18(weights="DEFAULT").eval()
            return net(x).argmax(-1).item()
        """,
    "no_grad applied as a function": """
        import torch
        from torchvision.models import resnet18

        def run(x):
            net = resnet18(weights="DEFAULT").eval()
            return net(x).argmax(-1).item()

        predict = torch.no_grad()(run)
        print(predict(torch.ones(1, 3, 224, 224)))
        """,
    "an exit stack, two contexts": """
        from contextlib import ExitStack

        import torch
        from torchvision.models import resnet18

        def predict(x, amp):
            net = resnet18(weights="DEFAULT").eval()
            with ExitStack() as stack:
                stack.enter_context(torch.inference_mode())
                if amp:
                    stack.enter_context(torch.autocast("cuda"))
                print(net(x).argmax(-1).item())
        """,
    "nullcontext where gradients are off already": """
        import contextlib

        import torch
        from torchvision.models import resnet18

        @torch.no_grad()
        def predict(x, amp):
            net = resnet18(weights="DEFAULT").eval()
            ctx = torch.autocast("cuda") if amp else contextlib.nullcontext()
            with ctx:
                return net(x).argmax(-1).item()
        """,
    "inference_mode(mode=True)": """
        import torch
        from torchvision.models import resnet18

        def predict(x):
            net = resnet18(weights="DEFAULT").eval()
            with torch.inference_mode(mode=True):
                return net(x).argmax(-1).item()
        """,
    "a decorated class method": """
        import torch
        from torchvision.models import resnet18

        class Service:
            net = resnet18(weights="DEFAULT").eval()

            @classmethod
            @torch.no_grad()
            def predict(cls, x):
                return cls.net(x).argmax(-1).item()
        """,
    "a generator under no_grad": """
        import torch
        from torchvision.models import resnet18

        @torch.no_grad()
        def predictions(batches):
            net = resnet18(weights="DEFAULT").eval()
            for x in batches:
                yield net(x).argmax(-1).item()
        """,
    "async code": """
        import torch
        from torchvision.models import resnet18

        net = resnet18(weights="DEFAULT").eval()

        async def predict(request):
            x = await request.tensor()
            with torch.no_grad():
                return net(x).argmax(-1).item()
        """,
    "a decorator out of sight": """
        import torch
        from engine import inference
        from torchvision.models import resnet18

        class Service:
            def __init__(self):
                self.net = resnet18(weights="DEFAULT")

            @inference
            def predict(self, x):
                return self.net(x).argmax(-1).item()
        """,
    "a class that enters no_grad": """
        import torch
        from torchvision.models import resnet18

        class Quiet:
            def __enter__(self):
                self.guard = torch.no_grad()
                self.guard.__enter__()

            def __exit__(self, *exc):
                self.guard.__exit__(*exc)

        def predict(x):
            net = resnet18(weights="DEFAULT").eval()
            with Quiet():
                return net(x).argmax(-1).item()
        """,
    "a nested function run by another one under no_grad": """
        import torch
        from torchvision.models import resnet18

        def timed(fn, *args):
            return fn(*args)

        def predict(x):
            net = resnet18(weights="DEFAULT").eval()

            def run():
                return net(x).argmax(-1).item()

            with torch.no_grad():
                return timed(run)
        """,
    "a context manager of the project on an exit stack": """
        import contextlib

        import torch
        from torchvision.models import resnet18

        @contextlib.contextmanager
        def quiet():
            with torch.no_grad():
                yield

        def predict(x):
            net = resnet18(weights="DEFAULT").eval()
            with contextlib.ExitStack() as stack:
                stack.enter_context(quiet())
                return net(x).argmax(-1).item()
        """,
}

FOUND = {
    "a context manager that only measures": """
        import contextlib
        import time

        import torch
        from torchvision.models import resnet18

        @contextlib.contextmanager
        def timed():
            start = time.time()
            yield
            print(time.time() - start)

        def predict(x):
            net = resnet18(weights="DEFAULT")
            with timed(), torch.no_grad():
                return net(x).argmax(-1).item()  # ML101
        """,
    "behind the context manager": """
        import contextlib

        import torch
        from torchvision.models import resnet18

        @contextlib.contextmanager
        def evaluating(model):
            model.eval()
            yield
            model.train()

        @torch.no_grad()
        def predict(x):
            net = resnet18(weights="DEFAULT")
            with evaluating(net):
                print(net(x).argmax(-1))
            print(net(x).argmax(-1))  # ML101
        """,
    "a user's decorator that only logs": """
        import functools

        import torch
        from torchvision.models import resnet18

        def logged(fn):
            @functools.wraps(fn)
            def inner(*args, **kwargs):
                print("called")
                return fn(*args, **kwargs)
            return inner

        @logged
        def predict(x):
            net = resnet18(weights="DEFAULT").eval()
            return net(x).argmax(-1).item()  # ML201
        """,
    "a user's no_grad, and no eval": """
        import functools

        import torch
        from torchvision.models import resnet18

        def no_gradients(fn):
            @functools.wraps(fn)
            def inner(*args, **kwargs):
                with torch.no_grad():
                    return fn(*args, **kwargs)
            return inner

        @no_gradients
        def predict(x):
            net = resnet18(weights="DEFAULT")
            return net(x).argmax(-1).item()  # ML101
        """,
    "nullcontext": """
        import contextlib

        from torchvision.models import resnet18

        def predict(x):
            net = resnet18(weights="DEFAULT").eval()
            with contextlib.nullcontext():
                return net(x).argmax(-1).item()  # ML201
        """,
    "set_grad_enabled(False) only as a context, elsewhere": """
        import torch
        from torchvision.models import resnet18

        def predict(x):
            net = resnet18(weights="DEFAULT").eval()
            with torch.set_grad_enabled(False):
                x = x.float()
            return net(x).argmax(-1).item()  # ML201
        """,
    "autocast is no no_grad": """
        import torch
        from torchvision.models import resnet18

        def predict(x):
            net = resnet18(weights="DEFAULT").eval()
            with torch.autocast("cuda"):
                return net(x).argmax(-1).item()  # ML201
        """,
    "a wrong context on the way in": """
        import torch
        from torchvision.models import resnet18

        def predict(x):
            net = resnet18(weights="DEFAULT").eval()
            with torch.no_grad:  # ML203
                return net(x).argmax(-1).item()
        """,
}


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_silent(lint: Lint, code: str) -> None:
    lint(code)


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_found(lint: Lint, code: str) -> None:
    lint(code)
