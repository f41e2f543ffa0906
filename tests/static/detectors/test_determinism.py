"""Switches and comparisons that make two runs differ: ML301, ML303, ML304, ML308."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

RULES = ["ML301", "ML303", "ML304", "ML308"]

SILENT = {
    "a demo that only wants speed": """
        import torch
        import torch.backends.cudnn as cudnn

        def main():
            cudnn.benchmark = True
            cudnn.fastest = True
        """,
    "the imagenet example": """
        import random
        import torch
        import torch.backends.cudnn as cudnn

        def main(args):
            if args.seed is not None:
                random.seed(args.seed)
                torch.manual_seed(args.seed)
                cudnn.deterministic = True
                cudnn.benchmark = False
        """,
    "the user asks for speed": """
        import torch

        def main(args):
            torch.manual_seed(args.seed)
            if args.cudnn_benchmark:
                torch.backends.cudnn.benchmark = True
            torch.backends.cudnn.benchmark = args.benchmark
            torch.backends.cudnn.benchmark = not args.deterministic
        """,
    "switched on and off again": """
        import torch

        torch.manual_seed(0)
        torch.backends.cudnn.benchmark = True
        torch.backends.cudnn.benchmark = False
        """,
    "a seed from outside, in another function that nobody calls here": """
        import numpy as np
        import torch

        def split(data):
            np.random.seed(0)
            return np.random.permutation(data)

        def serve():
            torch.backends.cudnn.benchmark = True
        """,
    "not seeded at all": """
        import torch

        def start():
            torch.seed()
            torch.backends.cudnn.benchmark = True
        """,
    "losses, labels and masks": """
        import torch

        def check(model, other_model, x, y):
            same = (model(x).argmax(1) == other_model(x).argmax(1)).all()
            right = (model(x).argmax(1) == y).sum()
            masks = torch.equal(model(x)["mask"], other_model(x)["mask"])
            kept = torch.equal(model.generate(x), other_model.generate(x))
            return same, right, masks, kept
        """,
    "tensors that no model made": """
        import torch

        def check(a, b, weights):
            assert torch.equal(a, b)
            assert (a == weights).all()
            torch.testing.assert_close(a, b, rtol=0, atol=0)
        """,
    "weights that must not change": """
        import torch

        def check(model, before):
            for name, value in model.state_dict().items():
                assert torch.equal(value, before[name])
        """,
    "buffers that are filled": """
        import torch
        from torch import nn

        def run(model, images, size):
            batch = torch.empty(len(images), 3, size, size)
            for i, image in enumerate(images):
                batch[i].copy_(image)
            noise = torch.empty(4, 100)
            nn.init.normal_(noise)
            filled = torch.empty(4).uniform_(0, 1)
            zeros = torch.Tensor(4, 100).zero_()
            return model(batch), model(noise), model(filled), model(zeros)
        """,
    "data wrapped in a tensor": """
        import numpy as np
        import torch

        def run(model, values, state):
            a = model(torch.Tensor(values))
            b = model(torch.Tensor(np.array(values)))
            return a, b, model(torch.FloatTensor([state]))
        """,
    "sizes are found out": """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self, shape):
                super().__init__()
                self.model = nn.Conv2d(3, 8, 3)
                with torch.no_grad():
                    n = self.model(torch.empty(1, *shape)).view(1, -1).size(1)
                    n += self.model(torch.Tensor(1, 3, 8, 8)).numel()
                    out = self.model(torch.empty(1, 3, 8, 8))
                self.head = nn.Linear(out.shape[1], 10)
        """,
    "memory that something fills before a model of any name sees it": """
        import torch
        import torch.distributed as dist

        @torch.no_grad()
        def run(path, frame, source):
            g = torch.jit.load(path).eval()
            x = torch.empty(1, 3, 8, 8)
            dist.recv(x, source)
            y = frame.new_empty(frame.shape)
            y[:] = frame
            z = frame.new_zeros(frame.shape)
            return g(x).cpu(), g(y).cpu(), g(z).cpu()
        """,
    "labels and masks of two models of any name": """
        import timm
        import torch

        @torch.no_grad()
        def agreement(path, images):
            before = timm.create_model("resnet18", pretrained=True).eval()
            again = torch.jit.load(path).eval()
            one, two = before(images), again(images)
            sure = (one > 0.5) == (two > 0.5)
            return (one.argmax(1) == two.argmax(1)).sum(), sure.all(), torch.allclose(one, two, atol=1e-5)
        """,
    "weights and not outputs": """
        import torch

        def check(before, again):
            for (name, a), (_, b) in zip(before.state_dict().items(), again.state_dict().items()):
                assert torch.equal(a, b), name
        """,
    "one forward against a part of itself": """
        import torch

        def check(model, ids):
            hidden = model(ids).last_hidden_state
            return torch.equal(hidden, hidden.detach().clone())
        """,
    "deterministic algorithms are asked for": """
        import os
        import torch

        os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
        torch.use_deterministic_algorithms(True)

        @torch.no_grad()
        def reproducible(model, x):
            model.eval()
            return torch.equal(model(x), model(x))
        """,
}

FOUND = {
    "the seed helper everybody copies, with the wrong switch": """
        import os
        import random
        import numpy as np
        import torch

        def set_seed(seed: int = 42):
            random.seed(seed)
            np.random.seed(seed)
            torch.manual_seed(seed)
            torch.cuda.manual_seed_all(seed)
            torch.backends.cudnn.deterministic = True
            torch.backends.cudnn.benchmark = True  # ML301
            os.environ["PYTHONHASHSEED"] = str(seed)
        """,
    "at the top of a script": """
        import torch
        from torch.backends import cudnn

        SEED = 1234  # for runs that can be reproduced
        torch.manual_seed(SEED)
        torch.cuda.manual_seed(SEED)
        cudnn.enabled = True
        cudnn.benchmark = True  # ML301
        """,
    "a flag that is not looked at": """
        import torch

        class Runner:
            def __init__(self, deterministic=False):
                torch.backends.cudnn.benchmark = True  # ML301
        """,
    "the framework seeds": """
        import pytorch_lightning as pl
        import torch

        def main():
            pl.seed_everything(7, workers=True)
            torch.backends.cudnn.benchmark = True  # ML301
        """,
    "spawned by what seeds": """
        import torch
        import torch.backends.cudnn as cudnn
        import torch.multiprocessing as mp

        def worker(gpu, args):
            cudnn.benchmark = True  # ML301

        def main(args):
            torch.manual_seed(args.seed)
            cudnn.deterministic = True
            mp.spawn(worker, nprocs=2, args=(args,))
        """,
    "a test of an export": """
        import numpy as np
        import torch

        def test_export(model, traced_model):
            x = torch.randn(1, 3, 8, 8)
            expected = model(x)
            actual = traced_model(x)
            assert torch.equal(expected, actual)  # ML303
            assert np.array_equal(expected.detach().cpu().numpy(), actual.detach().numpy())  # ML303
            assert torch.all(expected == actual)  # ML303
            assert torch.allclose(expected, actual, rtol=0, atol=0)  # ML303
        """,
    "batched against one by one": """
        import torch

        def check(model, batch):
            whole = model(batch)
            single = model(batch[:1])
            return (whole[:1] == single).all()  # ML303
        """,
    "features of two encoders": """
        import torch

        def same(clip_model, image):
            a = clip_model.encode_image(image)
            b = clip_model.encode_image(image.clone())
            assert a.allclose(b, rtol=0, atol=0)  # ML303
            assert a.equal(b)  # ML303
            return torch.equal(a, b)  # ML303
        """,
    "the size of an input": """
        import numpy as np
        import torch
        from torchvision.models import resnet18

        def main():
            net = resnet18(weights="DEFAULT").eval()
            dummy = torch.Tensor(1, 3, 224, 224).cuda()
            with torch.no_grad():
                print(net(dummy).argmax(1))  # ML304
                print(net(torch.empty(1, 3, 224, 224)).softmax(1))  # ML304
                size = 224
                print(net(torch.FloatTensor(8, 3, size, size)).softmax(1))  # ML304
                print(net(torch.from_numpy(np.empty((1, 3, 8, 8)))).softmax(1))  # ML304
        """,
    "a generator in a variable of one letter": """
        import torch
        from torch import nn
        from torchvision.utils import save_image

        class G(nn.Module):
            def __init__(self):
                super().__init__()
                self.up = nn.Sequential(nn.Linear(100, 784), nn.BatchNorm1d(784))

            def forward(self, z):
                return self.up(z)

        def draw(path, n=64):
            g = G()
            g.load_state_dict(torch.load(path, weights_only=True))
            g.eval()
            z = torch.FloatTensor(n, 100)
            with torch.no_grad():
                save_image(g(z), "drawn.png")  # ML304
        """,
    "a checkpoint against what was saved": """
        import torch
        import timm

        @torch.no_grad()
        def check(path, x):
            one = timm.create_model("resnet34", pretrained=True).eval()
            torch.save(one.state_dict(), path)
            again = timm.create_model("resnet34", pretrained=False)
            again.load_state_dict(torch.load(path, weights_only=True))
            again.eval()
            before, after = one(x), again(x)
            print("same", (before == after).all().item())  # ML303
            assert torch.equal(one(x), again(x))  # ML303
        """,
    "hidden states of a batch and of one of it": """
        import torch
        from transformers import AutoModel

        @torch.no_grad()
        def check(name, ids):
            model = AutoModel.from_pretrained(name)
            together = model(ids).last_hidden_state[0]
            alone = model(ids[:1]).last_hidden_state[0]
            assert torch.equal(together, alone)  # ML303
        """,
}


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_silent(code: str, lint: Lint) -> None:
    lint(code, rules=RULES)


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_found(code: str, lint: Lint) -> None:
    lint(code, rules=RULES)
