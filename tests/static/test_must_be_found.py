"""Defects of mode and gradients as people really make them; the lines say what is reported there."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

INFERENCE_MODE_IS_NO_EVAL = {
    "inference_mode as a context": """
        import torch
        from torchvision.models import resnet18

        def predict(path, image):
            model = resnet18()
            model.load_state_dict(torch.load(path, weights_only=True))
            with torch.inference_mode():  # instead of eval()
                return model(image).argmax(-1).item()  # ML101
        """,
    "inference_mode as a decorator": """
        import torch
        from torchvision.models import resnet18

        @torch.inference_mode()
        def predict(path, image):
            model = resnet18()
            model.load_state_dict(torch.load(path, weights_only=True))
            return model(image).argmax(-1).item()  # ML101
        """,
    "neither the one nor the other": """
        import torch
        from torchvision.models import resnet18

        def predict(path, image):
            model = resnet18()
            model.load_state_dict(torch.load(path, weights_only=True))
            return model(image).argmax(-1).item()  # ML101, ML201
        """,
    "gradients off for the whole script": """
        import torch
        from torchvision.models import resnet18

        torch.set_grad_enabled(False)
        net = resnet18(weights="DEFAULT")
        print(net(torch.ones(1, 3, 224, 224)).argmax())  # ML101
        """,
}

LOADERS_THAT_RETURN_TRAINING_MODE = {
    "timm.create_model": """
        import timm
        import torch

        model = timm.create_model("resnet50", pretrained=True)
        with torch.no_grad():
            print(model(torch.ones(1, 3, 224, 224)).softmax(-1))  # ML101
        """,
    "a torchvision factory": """
        import torch
        from torchvision import models

        net = models.resnet18(pretrained=True)
        with torch.no_grad():
            print(net(torch.ones(1, 3, 224, 224)).argmax())  # ML101
        """,
    "open_clip": """
        import open_clip
        import torch

        model, _, preprocess = open_clip.create_model_and_transforms("ViT-B-32", pretrained="laion2b")

        def embed(image):
            with torch.no_grad():
                return model.encode_image(preprocess(image)).cpu().numpy()  # ML101
        """,
    "transformers from_config and load_state_dict": """
        import torch
        from transformers import AutoConfig, AutoModel

        def embed(path, ids):
            model = AutoModel.from_config(AutoConfig.from_pretrained("bert-base-uncased"))
            model.load_state_dict(torch.load(path, weights_only=True))
            with torch.no_grad():
                return model(ids).last_hidden_state.mean(1).cpu().numpy()  # ML101
        """,
    "a direct constructor of transformers": """
        import torch
        from transformers import BertConfig, BertForSequenceClassification

        def classify(path, ids):
            model = BertForSequenceClassification(BertConfig())
            model.load_state_dict(torch.load(path, weights_only=True))
            with torch.no_grad():
                return model(ids).logits.argmax(-1).item()  # ML101
        """,
    "a model of the project": """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Linear(4, 4)
                self.drop = nn.Dropout(0.5)

            def forward(self, x):
                return self.drop(self.body(x))

        def predict(path, x):
            net = Net()
            net.load_state_dict(torch.load(path, weights_only=True))
            with torch.no_grad():
                return net(x).argmax(-1).item()  # ML101:error
        """,
}

ONE_OF_SEVERAL = {
    "one of two models": """
        import torch
        from torchvision.models import resnet18, resnet50

        def predict(x):
            first = resnet18(weights="DEFAULT")
            second = resnet50(weights="DEFAULT")
            first.eval()
            with torch.no_grad():
                a = first(x).argmax(-1).item()
                b = second(x).argmax(-1).item()  # ML101
            return a, b
        """,
    "only a submodule": """
        import torch
        from torchvision.models import resnet18

        def predict(x):
            net = resnet18(weights="DEFAULT")
            net.layer1.eval()
            with torch.no_grad():
                return net(x).argmax(-1).item()  # ML101
        """,
    "eval() before the model was rebuilt": """
        import torch
        from torchvision.models import resnet18

        def predict(path, x):
            net = resnet18()
            net.eval()
            net = resnet18(num_classes=10)
            net.load_state_dict(torch.load(path, weights_only=True))
            with torch.no_grad():
                return net(x).argmax(-1).item()  # ML101
        """,
    "eval() before the wrapper": """
        import torch
        from torch import nn
        from torchvision.models import resnet18

        class Tagger(nn.Module):
            def __init__(self, body):
                super().__init__()
                self.body = body
                self.drop = nn.Dropout(0.1)

            def forward(self, x):
                return self.drop(self.body(x))

        def predict(path, x):
            body = resnet18().eval()
            tagger = Tagger(body)
            tagger.load_state_dict(torch.load(path, weights_only=True))
            with torch.no_grad():
                return tagger(x).argmax(-1).item()  # ML101
        """,
    "the encoder alone of encoder and decoder": """
        import torch

        class Captioner:
            def __init__(self, encoder, decoder):
                self.encoder = encoder
                self.decoder = decoder

            def load(self, path):
                state = torch.load(path, weights_only=True)
                self.encoder.load_state_dict(state["encoder"])
                self.decoder.load_state_dict(state["decoder"])

        def build(path, make_encoder):
            from torchvision.models import resnet18, resnet50

            encoder, decoder = resnet18(), resnet50()
            encoder.load_state_dict(torch.load(path, weights_only=True))
            decoder.load_state_dict(torch.load(path, weights_only=True))
            encoder.eval()
            return encoder, decoder

        @torch.no_grad()
        def caption(path, x):
            encoder, decoder = build(path, None)
            return decoder(encoder(x)).argmax(-1).item()  # ML101
        """,
}

OTHER_SPELLINGS = {
    "forward by its name": """
        import torch
        from torchvision.models import resnet18

        net = resnet18(weights="DEFAULT")
        with torch.no_grad():
            print(net.forward(torch.ones(1, 3, 224, 224)).argmax())  # ML101
        """,
    "through .module": """
        import torch
        from torch import nn
        from torchvision.models import resnet18

        net = nn.DataParallel(resnet18(weights="DEFAULT"))
        with torch.no_grad():
            print(net.module(torch.ones(1, 3, 224, 224)).argmax())  # ML101
        """,
    "an alias of an attribute": """
        import torch
        from torchvision.models import resnet18

        class Service:
            def __init__(self, path):
                self.model = resnet18()
                self.model.load_state_dict(torch.load(path, weights_only=True))

            @torch.no_grad()
            def predict(self, x):
                m = self.model
                return m(x).argmax(-1).item()  # ML101
        """,
    "a bound method handed to map": """
        import torch
        from torchvision.models import resnet18

        def predict(path, batches):
            net = resnet18()
            net.load_state_dict(torch.load(path, weights_only=True))
            with torch.no_grad():
                outs = list(map(net.forward, batches))  # ML101
            print(torch.cat(outs).argmax(-1))
        """,
    "a loaded module's own encode method": """
        import open_clip
        import torch

        @torch.no_grad()
        def rank(image, text):
            model = open_clip.create_model("ViT-B-32", pretrained="openai")
            image_features = model.encode_image(image)  # ML101
            text_features = model.encode_text(text)
            print((image_features @ text_features.T).softmax(-1))
        """,
    "a method of the model": """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.1))

            def forward(self, x):
                return self.body(x)

            def inference(self, x):
                return self.forward(x).argmax(-1)  # ML101

        @torch.no_grad()
        def main(path, x):
            net = nn.DataParallel(Net())
            net.load_state_dict(torch.load(path, weights_only=True))
            print(net.module.inference(x))
        """,
    "self(x) in a method": """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self, path):
                super().__init__()
                self.body = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.1))
                self.load_state_dict(torch.load(path, weights_only=True))

            def forward(self, x):
                return self.body(x)

            @torch.no_grad()
            def predict(self, x):
                return self(x).argmax(-1)  # ML101

        def main(path, x):
            print(Net(path).predict(x))
        """,
}

COPIED_LINES = {
    "train() in an evaluate function": """
        import torch

        def evaluate(model, loader):
            model.train()
            hits = 0
            with torch.no_grad():
                for x, y in loader:
                    hits += (model(x).argmax(1) == y).sum().item()  # ML101
            return hits
        """,
    "eval() in a comment only": """
        import torch
        from torchvision.models import resnet18

        def predict(x):
            net = resnet18(weights="DEFAULT")
            # net.eval()
            with torch.no_grad():
                return net(x).argmax(-1).item()  # ML101
        """,
    "eval() where the closing train() was meant": """
        import torch

        def validate(model, loader):
            model.eval()
            hits = 0
            with torch.no_grad():
                for x, y in loader:
                    hits += (model(x).argmax(1) == y).sum().item()
            model.eval()
            return hits

        def fit(model, loader, val_loader, optimizer, loss_fn):
            model.train()
            for epoch in range(10):
                for x, y in loader:
                    optimizer.zero_grad()
                    loss_fn(model(x), y).backward()  # ML103
                    optimizer.step()
                print(validate(model, val_loader))
        """,
    "parentheses forgotten": """
        import torch
        from torchvision.models import resnet18

        def predict(x):
            net = resnet18(weights="DEFAULT")
            net.eval  # ML102
            with torch.no_grad():
                return net(x).argmax(-1).item()  # ML101
        """,
    "no_grad() as a statement": """
        import torch
        from torchvision.models import resnet18

        def predict(x):
            net = resnet18(weights="DEFAULT").eval()
            torch.no_grad()  # ML203
            return net(x).argmax(-1).item()  # ML201
        """,
    "a volatile variable": """
        from torch.autograd import Variable
        from torchvision.models import resnet18

        def predict(x):
            net = resnet18(pretrained=True)
            net.eval()
            x = Variable(x, volatile=True)
            return net(x).max(1)[1].cpu().numpy()  # ML201
        """,
    "validation after training, no eval()": """
        import torch

        def run(model, train_loader, val_loader, optimizer, loss_fn):
            for epoch in range(3):
                model.train()
                for x, y in train_loader:
                    optimizer.zero_grad()
                    loss_fn(model(x), y).backward()
                    optimizer.step()
                with torch.no_grad():
                    total = 0.0
                    for x, y in val_loader:
                        total += loss_fn(model(x), y).item()  # ML101
                print(total)
        """,
}

ALWAYS_TRUE_GUARDS = {
    "the bound method": """
        import torch.nn.functional as F
        from torch import nn

        class Block(nn.Module):
            def forward(self, x):
                if self.train:
                    x = F.dropout(x, 0.1)  # ML104
                return x
        """,
    "the bound method as an argument": """
        import torch.nn.functional as F
        from torch import nn

        class Block(nn.Module):
            def forward(self, x):
                return F.dropout(x, p=0.1, training=self.train)  # ML104
        """,
    "a complement instead of a negation": """
        import torch.nn.functional as F
        from torch import nn

        class Block(nn.Module):
            def forward(self, x):
                if ~self.training:
                    return F.dropout(x, 0.3)  # ML104
                return x
        """,
    "a probability": """
        import torch.nn.functional as F
        from torch import nn

        class Block(nn.Module):
            def forward(self, x):
                if self.p > 0:
                    x = F.dropout(x, self.p)  # ML104
                return x
        """,
    "True where the class follows the mode elsewhere": """
        import torch.nn.functional as F
        from torch import nn

        class Block(nn.Module):
            def forward(self, x):
                x = F.dropout(x, 0.1, self.training)
                return F.dropout(x, 0.1, True)  # ML104
        """,
    "in the wrong branch": """
        import torch.nn.functional as F
        from torch import nn

        class Block(nn.Module):
            def forward(self, x):
                if not self.training:
                    x = F.dropout(x, 0.1)  # ML104
                return x
        """,
}

ATTENTION = {
    "scaled_dot_product_attention": """
        import torch.nn.functional as F
        from torch import nn

        class Attention(nn.Module):
            def forward(self, q, k, v):
                return F.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout)  # ML104
        """,
    "a constant probability": """
        import torch
        from torch import nn

        class Attention(nn.Module):
            def forward(self, q, k, v):
                return torch.nn.functional.scaled_dot_product_attention(q, k, v, None, 0.1)  # ML104
        """,
    "flash attention": """
        from flash_attn import flash_attn_func
        from torch import nn

        class Attention(nn.Module):
            def forward(self, q, k, v):
                return flash_attn_func(q, k, v, dropout_p=self.p, causal=True)  # ML104
        """,
    "the probability through a variable": """
        import torch.nn.functional as F
        from torch import nn

        class Attention(nn.Module):
            def forward(self, q, k, v):
                p = self.p
                return F.scaled_dot_product_attention(q, k, v, dropout_p=p)  # ML104
        """,
    "through a callable attribute": """
        from torch import nn
        from torch.nn.functional import scaled_dot_product_attention

        class Attention(nn.Module):
            def __init__(self, p):
                super().__init__()
                self.attend = scaled_dot_product_attention
                self.p = p

            def forward(self, q, k, v):
                return self.attend(q, k, v, dropout_p=self.p)  # ML104
        """,
}

MODULES_OUT_OF_REACH = {
    "a list plus a list": """
        from torch import nn

        class Net(nn.Module):
            def __init__(self, depth):
                super().__init__()
                self.layers = []
                for _ in range(depth):
                    self.layers = self.layers + [nn.Linear(4, 4)]  # ML106
        """,
    "appended in a loop": """
        from torch import nn

        class Net(nn.Module):
            def __init__(self, depth):
                super().__init__()
                self.norms = list()
                for _ in range(depth):
                    self.norms.append(nn.BatchNorm1d(4))  # ML106
        """,
    "a comprehension": """
        from torch import nn

        class Net(nn.Module):
            def __init__(self, depth):
                super().__init__()
                self.heads = {name: nn.Linear(4, 2) for name in ("a", "b")}  # ML106
                self.norms = tuple(nn.LayerNorm(4) for _ in range(depth))  # ML106
        """,
    "the project's own modules": """
        from torch import nn

        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(4, 4)

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.blocks = [Block(), Block()]  # ML106
        """,
    "built in forward": """
        from torch import nn

        class Net(nn.Module):
            def forward(self, x):
                x = nn.Linear(4, 4)(x)  # ML105
                return nn.Dropout(0.5)(x)  # ML105
        """,
}

PHASES = {
    "a phase loop whose val phase stays in training mode": """
        import torch

        def run(model, loaders, optimizer, loss_fn):
            for phase in ["train", "val"]:
                model.train()
                total = 0.0
                for x, y in loaders[phase]:
                    with torch.set_grad_enabled(phase == "train"):
                        loss = loss_fn(model(x), y)  # ML101
                        if phase == "train":
                            optimizer.zero_grad()
                            loss.backward()
                            optimizer.step()
                    total += loss.item()
                print(phase, total)
        """,
    "one function with a mode string": """
        import torch

        def epoch(model, loader, mode, optimizer, loss_fn):
            total = 0.0
            for x, y in loader:
                if mode == "train":
                    loss = loss_fn(model(x), y)
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                else:
                    with torch.no_grad():
                        loss = loss_fn(model(x), y)  # ML101
                total += loss.item()
            return total

        def main(model, loaders, optimizer, loss_fn):
            model.train()
            for _ in range(10):
                epoch(model, loaders["train"], "train", optimizer, loss_fn)
                print(epoch(model, loaders["val"], "val", optimizer, loss_fn))
        """,
}

ONE_METHOD_RIGHT_ONE_WRONG = {
    "predict_one right, predict_many wrong": """
        import torch
        from torchvision.models import resnet18

        class Tagger:
            def __init__(self, path):
                self.net = resnet18()
                self.net.load_state_dict(torch.load(path, weights_only=True))

            @torch.no_grad()
            def predict_one(self, x):
                self.net.eval()
                return self.net(x[None]).argmax(-1).item()

            @torch.no_grad()
            def predict_many(self, xs):
                return [self.net(x[None]).argmax(-1).item() for x in xs]  # ML101
        """,
    "one with no_grad, one without": """
        import torch
        from torchvision.models import resnet18

        class Tagger:
            def __init__(self, path):
                self.net = resnet18()
                self.net.load_state_dict(torch.load(path, weights_only=True))
                self.net.eval()

            def predict_one(self, x):
                with torch.no_grad():
                    return self.net(x[None]).argmax(-1).item()

            def predict_many(self, xs):
                return [self.net(x[None]).argmax(-1).item() for x in xs]  # ML201
        """,
}

EXPORTS = {
    "torch.export": """
        import torch
        from torchvision.models import resnet18

        net = resnet18(weights="DEFAULT")
        torch.export.export(net, (torch.ones(1, 3, 224, 224),))  # ML109
        """,
    "the new ONNX exporter": """
        import torch
        from torchvision.models import resnet18

        def export(path):
            net = resnet18(weights="DEFAULT")
            torch.onnx.export(net, (torch.ones(1, 3, 224, 224),), path, dynamo=True)  # ML109
        """,
    "jit.script, saved": """
        import torch
        from torchvision.models import resnet18

        def export(path):
            net = resnet18(weights="DEFAULT")
            torch.jit.script(net).save(path)  # ML109
        """,
    "jit.trace of what was trained": """
        import torch
        from torchvision.models import resnet18

        def main(loader, loss_fn, path):
            net = resnet18()
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            net.train()
            for x, y in loader:
                optimizer.zero_grad()
                loss_fn(net(x), y).backward()
                optimizer.step()
            torch.jit.trace(net, torch.ones(1, 3, 224, 224)).save(path)  # ML109
        """,
    "quantisation": """
        import torch
        from torchvision.models.quantization import resnet18

        def quantise(path):
            net = resnet18()
            net.load_state_dict(torch.load(path, weights_only=True))
            net.train()
            torch.ao.quantization.prepare_qat(net, inplace=True)
            torch.ao.quantization.convert(net, inplace=True)  # ML109
        """,
}

BROKEN_TRAIN = {
    "no argument": """
        from torch import nn

        class Net(nn.Module):
            def train(self):  # ML107
                super().train()
                self.body.eval()
                return self
        """,
    "not passed on": """
        from torch import nn

        class Net(nn.Module):
            def train(self, mode=True):  # ML107
                super().train()
                return self
        """,
    "not returned, in a class of the project's own": """
        from torch import nn

        class Base(nn.Module):
            pass

        class Net(Base):
            def train(self, mode=True):  # ML107
                super().train(mode)
                self.body.eval()
        """,
}

GRADIENTS_FOR_NOTHING = {
    "switched back on": """
        import torch

        @torch.no_grad()
        def predict(model, x):
            model.eval()
            with torch.enable_grad():  # ML202
                return model(x).argmax(-1).tolist()
        """,
    "set_grad_enabled(True) in an evaluation": """
        import torch

        def evaluate(model, loader):
            model.eval()
            hits = 0
            with torch.set_grad_enabled(True):  # ML202
                for x, y in loader:
                    hits += (model(x).argmax(1) == y).sum().item()
            return hits
        """,
    "inference_mode(False)": """
        import torch

        def predict(model, x):
            model.eval()
            with torch.inference_mode(False):  # ML202
                print(model(x).argmax(-1))
        """,
    "an input that needs none": """
        import torch

        def predict(model, batch):
            model.eval()
            x = batch.clone().requires_grad_(True)  # ML202
            print(model(x).argmax(1))
        """,
    "the running loss keeps its graph": """
        def fit(model, loader, optimizer, loss_fn):
            model.train()
            running = 0.0
            for x, y in loader:
                loss = loss_fn(model(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                running += loss  # ML204
            print(running / len(loader))
        """,
    "cut off as before torch 0.4": """
        import torch
        from torchvision.models import vgg19

        net = vgg19()
        net.load_state_dict(torch.load("vgg.pth", weights_only=True))
        net.eval()
        batch = torch.rand(1, 3, 224, 224)
        out = net(batch)  # ML201
        image = (out.data.squeeze() + 1.0) / 2.0
        """,
    "a tensor filled bit by bit": """
        import torch
        from torch import nn

        def validate(loader, model: nn.Module, criterion):
            model.eval()
            total = 0
            for parts, target in loader:
                out = torch.zeros(128, 5)
                for column in range(5):
                    out[:, column] = model(parts[column])  # ML201
                total += criterion(out, target).item()
            return total
        """,
}


@pytest.mark.parametrize("code", INFERENCE_MODE_IS_NO_EVAL.values(), ids=INFERENCE_MODE_IS_NO_EVAL)
def test_switching_gradients_off_is_no_evaluation_mode(lint: Lint, code: str) -> None:
    lint(code)


@pytest.mark.parametrize("code", LOADERS_THAT_RETURN_TRAINING_MODE.values(), ids=LOADERS_THAT_RETURN_TRAINING_MODE)
def test_loaders_that_return_training_mode(lint: Lint, code: str) -> None:
    lint(code)


@pytest.mark.parametrize("code", ONE_OF_SEVERAL.values(), ids=ONE_OF_SEVERAL)
def test_one_of_several_was_forgotten(lint: Lint, code: str) -> None:
    lint(code)


@pytest.mark.parametrize("code", OTHER_SPELLINGS.values(), ids=OTHER_SPELLINGS)
def test_forwards_in_other_spellings(lint: Lint, code: str) -> None:
    lint(code)


@pytest.mark.parametrize("code", COPIED_LINES.values(), ids=COPIED_LINES)
def test_slips_of_the_pen(lint: Lint, code: str) -> None:
    lint(code)


@pytest.mark.parametrize("code", ALWAYS_TRUE_GUARDS.values(), ids=ALWAYS_TRUE_GUARDS)
def test_guards_that_guard_nothing(lint: Lint, code: str) -> None:
    lint(code)


@pytest.mark.parametrize("code", ATTENTION.values(), ids=ATTENTION)
def test_attention_that_drops_in_every_mode(lint: Lint, code: str) -> None:
    lint(code)


@pytest.mark.parametrize("code", MODULES_OUT_OF_REACH.values(), ids=MODULES_OUT_OF_REACH)
def test_modules_that_eval_does_not_reach(lint: Lint, code: str) -> None:
    lint(code)


@pytest.mark.parametrize("code", PHASES.values(), ids=PHASES)
def test_phases(lint: Lint, code: str) -> None:
    lint(code)


@pytest.mark.parametrize("code", ONE_METHOD_RIGHT_ONE_WRONG.values(), ids=ONE_METHOD_RIGHT_ONE_WRONG)
def test_one_method_is_right_and_another_wrong(lint: Lint, code: str) -> None:
    lint(code)


@pytest.mark.parametrize("code", EXPORTS.values(), ids=EXPORTS)
def test_exports_in_training_mode(lint: Lint, code: str) -> None:
    lint(code)


@pytest.mark.parametrize("code", BROKEN_TRAIN.values(), ids=BROKEN_TRAIN)
def test_overrides_that_break_eval(lint: Lint, code: str) -> None:
    lint(code)


@pytest.mark.parametrize("code", GRADIENTS_FOR_NOTHING.values(), ids=GRADIENTS_FOR_NOTHING)
def test_gradients_for_nothing(lint: Lint, code: str) -> None:
    lint(code)
