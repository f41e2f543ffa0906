"""Whole programs as people write them, right and wrong."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

SILENT = {
    "the MNIST example": """
        import argparse

        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        import torch.optim as optim
        from torch.optim.lr_scheduler import StepLR

        class Net(nn.Module):
            def __init__(self):
                super(Net, self).__init__()
                self.conv1 = nn.Conv2d(1, 32, 3, 1)
                self.dropout1 = nn.Dropout(0.25)
                self.fc1 = nn.Linear(9216, 10)

            def forward(self, x):
                x = F.relu(self.conv1(x))
                x = self.dropout1(F.max_pool2d(x, 2))
                return F.log_softmax(self.fc1(torch.flatten(x, 1)), dim=1)

        def train(args, model, device, train_loader, optimizer, epoch):
            model.train()
            for batch_idx, (data, target) in enumerate(train_loader):
                data, target = data.to(device), target.to(device)
                optimizer.zero_grad()
                output = model(data)
                loss = F.nll_loss(output, target)
                loss.backward()
                optimizer.step()
                if batch_idx % args.log_interval == 0:
                    print(epoch, loss.item())
                    if args.dry_run:
                        break

        def test(model, device, test_loader):
            model.eval()
            test_loss = 0
            correct = 0
            with torch.no_grad():
                for data, target in test_loader:
                    data, target = data.to(device), target.to(device)
                    output = model(data)
                    test_loss += F.nll_loss(output, target, reduction="sum").item()
                    pred = output.argmax(dim=1, keepdim=True)
                    correct += pred.eq(target.view_as(pred)).sum().item()
            print(test_loss, correct)

        def main():
            args = argparse.ArgumentParser().parse_args()
            device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            train_loader, test_loader = make_loaders(args)
            model = Net().to(device)
            optimizer = optim.Adadelta(model.parameters(), lr=args.lr)
            scheduler = StepLR(optimizer, step_size=1, gamma=args.gamma)
            for epoch in range(1, args.epochs + 1):
                train(args, model, device, train_loader, optimizer, epoch)
                test(model, device, test_loader)
                scheduler.step()
            if args.save_model:
                torch.save(model.state_dict(), "mnist_cnn.pt")

        if __name__ == "__main__":
            main()
        """,
    "transfer learning with phases": """
        import copy

        import torch
        from torch import nn, optim
        from torchvision import models

        def train_model(model, dataloaders, criterion, optimizer, scheduler, device, num_epochs=25):
            best = copy.deepcopy(model.state_dict())
            best_acc = 0.0
            for epoch in range(num_epochs):
                for phase in ["train", "val"]:
                    if phase == "train":
                        model.train()
                    else:
                        model.eval()
                    running_loss, running_corrects = 0.0, 0
                    for inputs, labels in dataloaders[phase]:
                        inputs, labels = inputs.to(device), labels.to(device)
                        optimizer.zero_grad()
                        with torch.set_grad_enabled(phase == "train"):
                            outputs = model(inputs)
                            _, preds = torch.max(outputs, 1)
                            loss = criterion(outputs, labels)
                            if phase == "train":
                                loss.backward()
                                optimizer.step()
                        running_loss += loss.item() * inputs.size(0)
                        running_corrects += torch.sum(preds == labels.data)
                    if phase == "train":
                        scheduler.step()
                    if phase == "val" and running_corrects > best_acc:
                        best_acc = running_corrects
                        best = copy.deepcopy(model.state_dict())
            model.load_state_dict(best)
            return model

        def visualize(model, loader, device):
            was_training = model.training
            model.eval()
            with torch.no_grad():
                for inputs, labels in loader:
                    print(model(inputs.to(device)).argmax(1))
            model.train(mode=was_training)

        def main(dataloaders, device):
            model = models.resnet18(weights="IMAGENET1K_V1")
            model.fc = nn.Linear(model.fc.in_features, 2)
            model = model.to(device)
            optimizer = optim.SGD(model.parameters(), lr=0.001, momentum=0.9)
            model = train_model(
                model, dataloaders, nn.CrossEntropyLoss(), optimizer, optim.lr_scheduler.StepLR(optimizer, 7), device
            )
            visualize(model, dataloaders["val"], device)
        """,
    "a VAE that draws samples after each epoch": """
        import torch
        from torch import nn, optim
        from torch.nn import functional as F
        from torchvision.utils import save_image

        class VAE(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc1 = nn.Linear(784, 400)
                self.fc21, self.fc22 = nn.Linear(400, 20), nn.Linear(400, 20)
                self.fc4 = nn.Linear(20, 784)

            def encode(self, x):
                h = F.relu(self.fc1(x))
                return self.fc21(h), self.fc22(h)

            def reparameterize(self, mu, logvar):
                return mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)

            def decode(self, z):
                return torch.sigmoid(self.fc4(z))

            def forward(self, x):
                mu, logvar = self.encode(x.view(-1, 784))
                return self.decode(self.reparameterize(mu, logvar)), mu, logvar

        model = VAE()
        optimizer = optim.Adam(model.parameters())

        def train(epoch, loader, loss_function):
            model.train()
            train_loss = 0
            for data, _ in loader:
                optimizer.zero_grad()
                recon, mu, logvar = model(data)
                loss = loss_function(recon, data, mu, logvar)
                loss.backward()
                train_loss += loss.item()
                optimizer.step()
            print(epoch, train_loss)

        def test(epoch, loader, loss_function):
            model.eval()
            test_loss = 0
            with torch.no_grad():
                for data, _ in loader:
                    recon, mu, logvar = model(data)
                    test_loss += loss_function(recon, data, mu, logvar).item()
            print(test_loss)

        def main(train_loader, test_loader, loss_function):
            for epoch in range(10):
                train(epoch, train_loader, loss_function)
                test(epoch, test_loader, loss_function)
                with torch.no_grad():
                    save_image(model.decode(torch.randn(64, 20)).cpu(), "sample.png")
        """,
    "a language model with hidden state": """
        import torch
        from torch import nn

        class RNNModel(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.drop = nn.Dropout(0.5)
                self.encoder = nn.Embedding(n, 64)
                self.rnn = nn.LSTM(64, 64, dropout=0.5, num_layers=2)
                self.decoder = nn.Linear(64, n)

            def forward(self, x, hidden):
                out, hidden = self.rnn(self.drop(self.encoder(x)), hidden)
                return self.decoder(self.drop(out)), hidden

        def evaluate(model, data, criterion):
            model.eval()
            total, hidden = 0.0, None
            with torch.no_grad():
                for x, y in data:
                    out, hidden = model(x, hidden)
                    total += criterion(out, y).item()
            return total

        def train(model, data, criterion, lr):
            model.train()
            hidden = None
            for x, y in data:
                model.zero_grad()
                out, hidden = model(x, hidden)
                loss = criterion(out, y)
                loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
                for p in model.parameters():
                    p.data.add_(p.grad, alpha=-lr)

        def main(train_data, val_data, test_data, path):
            model = RNNModel(1000)
            criterion = nn.CrossEntropyLoss()
            for epoch in range(40):
                train(model, train_data, criterion, 20)
                print(evaluate(model, val_data, criterion))
                torch.save(model.state_dict(), path)
            model.load_state_dict(torch.load(path, weights_only=True))
            model.rnn.flatten_parameters()
            print(evaluate(model, test_data, criterion))
        """,
    "a web service": """
        import io

        import torch
        from flask import Flask, jsonify, request
        from PIL import Image
        from torchvision import models, transforms

        app = Flask(__name__)
        model = models.densenet121(weights="IMAGENET1K_V1")
        model.eval()

        def transform_image(image_bytes):
            steps = transforms.Compose([transforms.Resize(255), transforms.ToTensor()])
            return steps(Image.open(io.BytesIO(image_bytes))).unsqueeze(0)

        @torch.inference_mode()
        def get_prediction(image_bytes):
            outputs = model.forward(transform_image(image_bytes))
            return outputs.max(1)[1].item()

        @app.route("/predict", methods=["POST"])
        def predict():
            return jsonify({"class": get_prediction(request.files["file"].read())})
        """,
    "a cached model in a dashboard": """
        import streamlit as st
        import torch
        from torchvision.models import resnet18

        @st.cache_resource
        def load_model():
            model = resnet18(weights="DEFAULT")
            model.eval()
            return model

        def main():
            image = st.file_uploader("image")
            if image is not None:
                with torch.no_grad():
                    st.write(load_model()(image).argmax(-1).item())

        main()
        """,
    "a class with train and test methods": """
        import torch

        class Solver:
            def __init__(self, model, loaders, config):
                self.model = model
                self.loaders = loaders
                self.optimizer = torch.optim.Adam(self.model.parameters())
                self.criterion = torch.nn.CrossEntropyLoss()
                if config.resume:
                    self.model.load_state_dict(torch.load(config.resume, weights_only=True))

            def train(self):
                for epoch in range(10):
                    self.model.train()
                    for x, y in self.loaders["train"]:
                        self.optimizer.zero_grad()
                        loss = self.criterion(self.model(x), y)
                        loss.backward()
                        self.optimizer.step()
                    self.test()

            @torch.no_grad()
            def test(self):
                self.model.eval()
                correct = 0
                for x, y in self.loaders["test"]:
                    correct += (self.model(x).argmax(1) == y).sum().item()
                print(correct)

        def main(model, loaders, config):
            solver = Solver(model, loaders, config)
            if config.mode == "train":
                solver.train()
            else:
                solver.test()
        """,
    "Hugging Face fine-tuning by hand": """
        import torch
        from transformers import AutoModelForSequenceClassification, get_scheduler

        def main(train_loader, eval_loader, metric):
            model = AutoModelForSequenceClassification.from_pretrained("bert-base-cased", num_labels=5)
            optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)
            scheduler = get_scheduler("linear", optimizer, 0, 1000)
            model.train()
            for epoch in range(3):
                for batch in train_loader:
                    outputs = model(**batch)
                    loss = outputs.loss
                    loss.backward()
                    optimizer.step()
                    scheduler.step()
                    optimizer.zero_grad()
            model.eval()
            for batch in eval_loader:
                with torch.no_grad():
                    outputs = model(**batch)
                metric.add_batch(predictions=outputs.logits.argmax(-1), references=batch["labels"])
            print(metric.compute())
        """,
    "the Trainer of transformers": """
        from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments

        def main(train_set, eval_set):
            model = AutoModelForSequenceClassification.from_pretrained("bert-base-cased")
            trainer = Trainer(model=model, args=TrainingArguments("out"), train_dataset=train_set)
            trainer.train()
            print(trainer.evaluate(eval_set))
            print(trainer.predict(eval_set).predictions.argmax(-1))
        """,
    "distributed training": """
        import torch
        import torch.distributed as dist
        from torch.nn.parallel import DistributedDataParallel
        from torchvision.models import resnet50

        def validate(loader, model, criterion):
            def run_validate(loader):
                with torch.no_grad():
                    for images, target in loader:
                        output = model(images)
                        print(criterion(output, target).item())

            model.eval()
            run_validate(loader)

        def train(loader, model, criterion, optimizer):
            model.train()
            for images, target in loader:
                output = model(images)
                loss = criterion(output, target)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

        def main_worker(gpu, args, loaders):
            dist.init_process_group("nccl")
            model = resnet50(weights="DEFAULT") if args.pretrained else resnet50()
            model = DistributedDataParallel(model.cuda(gpu), device_ids=[gpu])
            criterion = torch.nn.CrossEntropyLoss()
            optimizer = torch.optim.SGD(model.parameters(), args.lr)
            if args.resume:
                checkpoint = torch.load(args.resume, weights_only=True)
                model.load_state_dict(checkpoint["state_dict"])
                optimizer.load_state_dict(checkpoint["optimizer"])
            if args.evaluate:
                validate(loaders["val"], model, criterion)
                return
            for epoch in range(args.epochs):
                train(loaders["train"], model, criterion, optimizer)
                validate(loaders["val"], model, criterion)
        """,
    "an averaged model beside the trained one": """
        import copy

        import torch

        class ModelEma:
            def __init__(self, model, decay=0.999):
                self.module = copy.deepcopy(model)
                self.module.eval()
                self.decay = decay

            @torch.no_grad()
            def update(self, model):
                for ours, theirs in zip(self.module.state_dict().values(), model.state_dict().values()):
                    ours.copy_(self.decay * ours + (1 - self.decay) * theirs)

        def fit(model, loader, val_loader, optimizer, loss_fn):
            ema = ModelEma(model)
            model.train()
            for x, y in loader:
                optimizer.zero_grad()
                loss_fn(model(x), y).backward()
                optimizer.step()
                ema.update(model)
            with torch.no_grad():
                for x, y in val_loader:
                    print((ema.module(x).argmax(1) == y).sum().item())
        """,
    "stochastic weight averaging": """
        import torch
        from torch.optim.swa_utils import AveragedModel, update_bn

        def fit(model, loader, test_loader, optimizer, loss_fn):
            swa = AveragedModel(model)
            for x, y in loader:
                optimizer.zero_grad()
                loss_fn(model(x), y).backward()
                optimizer.step()
                swa.update_parameters(model)
            update_bn(loader, swa)
            swa.eval()
            with torch.no_grad():
                for x, y in test_loader:
                    print((swa(x).argmax(1) == y).sum().item())
        """,
    "early stopping and the best weights": """
        import torch

        def run_epoch(model, loader, loss_fn, optimizer=None):
            training = optimizer is not None
            model.train(training)
            total = 0.0
            with torch.set_grad_enabled(training):
                for x, y in loader:
                    loss = loss_fn(model(x), y)
                    if training:
                        optimizer.zero_grad()
                        loss.backward()
                        optimizer.step()
                    total += loss.item()
            return total

        def fit(model, loaders, loss_fn, optimizer, path):
            best = float("inf")
            for epoch in range(100):
                run_epoch(model, loaders["train"], loss_fn, optimizer)
                val = run_epoch(model, loaders["val"], loss_fn)
                if val < best:
                    best = val
                    torch.save(model.state_dict(), path)
            model.load_state_dict(torch.load(path, weights_only=True))
            print(run_epoch(model, loaders["test"], loss_fn))
        """,
    "calibration before quantisation": """
        import torch
        from torchvision.models.quantization import resnet18

        def quantise(loader, path):
            model = resnet18(weights="DEFAULT")
            model.eval()
            model.qconfig = torch.ao.quantization.get_default_qconfig("fbgemm")
            torch.ao.quantization.prepare(model, inplace=True)
            with torch.no_grad():
                for x, _ in loader:
                    model(x)
            torch.ao.quantization.convert(model, inplace=True)
            torch.jit.script(model).save(path)
        """,
    "a handler of a model server": """
        import torch
        from ts.torch_handler.base_handler import BaseHandler

        class Handler(BaseHandler):
            def initialize(self, context):
                self.model = torch.jit.load(context.manifest["model"]["serializedFile"])
                self.model.eval()

            def inference(self, data):
                with torch.no_grad():
                    return self.model(data).argmax(-1).tolist()
        """,
    "features by a hook": """
        import torch
        from torchvision.models import resnet50

        class Features:
            def __init__(self):
                self.model = resnet50(weights="DEFAULT").eval()
                self.model.avgpool.register_forward_hook(self._keep)

            def _keep(self, module, inputs, output):
                self.kept = output.flatten(1)

            @torch.no_grad()
            def extract(self, x):
                self.model(x)
                return self.kept.cpu().numpy()
        """,
    "a beam search": """
        import torch

        class Translator:
            def __init__(self, model, beam):
                self.model = model
                self.model.eval()
                self.beam = beam

            def step(self, ids, memory):
                return self.model.decode(ids, memory).log_softmax(-1)

            @torch.no_grad()
            def translate(self, src):
                memory = self.model.encode(src)
                ids = torch.ones(self.beam, 1).long()
                for _ in range(50):
                    best = self.step(ids, memory)[:, -1].topk(self.beam).indices
                    ids = torch.cat([ids, best[:, :1]], 1)
                return ids[0].tolist()
        """,
    "an LR finder": """
        import torch

        def find_lr(model, loader, optimizer, loss_fn):
            state = model.state_dict()
            losses = []
            model.train()
            for lr, (x, y) in zip(torch.logspace(-6, 0, 100), loader):
                for group in optimizer.param_groups:
                    group["lr"] = lr.item()
                optimizer.zero_grad()
                loss = loss_fn(model(x), y)
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
            model.load_state_dict(state)
            return losses
        """,
    "gradient accumulation, clipping, logging": """
        import torch

        def train(model, loader, optimizer, scheduler, loss_fn, writer, accum=4):
            model.train()
            running = 0.0
            optimizer.zero_grad(set_to_none=True)
            for step, batch in enumerate(loader):
                logits = model(batch["input"])
                loss = loss_fn(logits, batch["target"]) / accum
                loss.backward()
                running += loss.detach().item()
                if (step + 1) % accum == 0:
                    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                    optimizer.step()
                    scheduler.step()
                    optimizer.zero_grad(set_to_none=True)
                    writer.add_scalar("loss", running, step)
                    running = 0.0
                acc = (logits.argmax(-1) == batch["target"]).float().mean()
                print(f"{loss.item():.3f} {acc.item():.3f}")
        """,
    "federated clients": """
        import copy

        import torch

        class Client:
            def __init__(self, loader, loss_fn):
                self.loader, self.loss_fn = loader, loss_fn

            def update(self, net):
                net.train()
                optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
                for x, y in self.loader:
                    net.zero_grad()
                    self.loss_fn(net(x), y).backward()
                    optimizer.step()
                return net.state_dict()

        def evaluate(net, loader):
            net.eval()
            with torch.no_grad():
                return sum((net(x).argmax(1) == y).sum().item() for x, y in loader)

        def main(net, clients, test_loader):
            for _ in range(10):
                states = [client.update(copy.deepcopy(net)) for client in clients]
                net.load_state_dict({k: sum(s[k] for s in states) / len(states) for k in states[0]})
            print(evaluate(net, test_loader))
        """,
    "a siamese net trained in pairs": """
        import torch
        import torch.nn.functional as F

        def train(model, loader, optimizer):
            for a, b, same in loader:
                d = F.pairwise_distance(model(a), model(b))
                loss = (same * d.pow(2) + (1 - same) * F.relu(1 - d).pow(2)).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                print("distance", d.mean().item())

        @torch.no_grad()
        def verify(model, a, b):
            model.eval()
            return F.pairwise_distance(model(a), model(b)).item() < 0.5
        """,
}

FOUND = {
    "a class whose test method forgets": """
        import torch

        class Solver:
            def __init__(self, model, loaders):
                self.model = model
                self.loaders = loaders
                self.optimizer = torch.optim.Adam(self.model.parameters())
                self.criterion = torch.nn.CrossEntropyLoss()

            def train(self):
                for epoch in range(10):
                    self.model.train()
                    for x, y in self.loaders["train"]:
                        self.optimizer.zero_grad()
                        loss = self.criterion(self.model(x), y)
                        loss.backward()
                        self.optimizer.step()
                    self.test()

            @torch.no_grad()
            def test(self):
                correct = 0
                for x, y in self.loaders["test"]:
                    correct += (self.model(x).argmax(1) == y).sum().item()  # ML101
                print(correct)
        """,
    "a web service without eval": """
        import torch
        from flask import Flask, jsonify, request
        from torchvision import models

        app = Flask(__name__)
        model = models.densenet121(weights="IMAGENET1K_V1")

        @app.route("/predict", methods=["POST"])
        def predict():
            x = torch.tensor(request.json["x"])
            with torch.no_grad():
                return jsonify({"class": model(x).argmax(-1).item()})  # ML101
        """,
    "a cached model without eval": """
        import streamlit as st
        import torch
        from torchvision.models import resnet18

        @st.cache_resource
        def load_model():
            return resnet18(weights="DEFAULT")

        def main():
            image = st.file_uploader("image")
            with torch.no_grad():
                st.write(load_model()(image).argmax(-1).item())  # ML101

        main()
        """,
    "the best weights loaded, and no eval": """
        import torch
        from torchvision.models import resnet18

        def fit(loader, test_loader, loss_fn, path):
            model = resnet18()
            optimizer = torch.optim.Adam(model.parameters())
            for epoch in range(10):
                model.train()
                for x, y in loader:
                    optimizer.zero_grad()
                    loss_fn(model(x), y).backward()
                    optimizer.step()
                torch.save(model.state_dict(), path)
            model.load_state_dict(torch.load(path, weights_only=True))
            with torch.no_grad():
                print(sum((model(x).argmax(1) == y).sum().item() for x, y in test_loader))  # ML101
        """,
    "one forgotten no_grad among several": """
        import torch

        def validate(model, loader, loss_fn):
            model.eval()
            losses, hits = 0.0, 0
            for x, y in loader:
                out = model(x)  # ML201
                losses += loss_fn(out, y).item()
                hits += (out.argmax(1) == y).sum().item()
            return losses, hits
        """,
    "test after train in one function": """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(10, 10)
                self.bn = nn.BatchNorm1d(10)

            def forward(self, x):
                return self.bn(self.fc(x))

        def main(train_loader, test_loader):
            net = Net()
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            criterion = nn.CrossEntropyLoss()
            for x, y in train_loader:
                optimizer.zero_grad()
                criterion(net(x), y).backward()
                optimizer.step()
            print("Finished Training")
            correct = 0
            with torch.no_grad():
                for images, labels in test_loader:
                    outputs = net(images)  # ML101:error
                    _, predicted = torch.max(outputs.data, 1)
                    correct += (predicted == labels).sum().item()
            print(correct)
        """,
    "run_epoch asked without an optimizer, its mode forgotten": """
        import torch

        def run_epoch(model, loader, loss_fn, optimizer=None):
            training = optimizer is not None
            total = 0.0
            with torch.set_grad_enabled(training):
                for x, y in loader:
                    loss = loss_fn(model(x), y)
                    if training:
                        optimizer.zero_grad()
                        loss.backward()
                        optimizer.step()
                    total += loss.item()
            return total

        def fit(model, loaders, loss_fn, optimizer):
            model.train()
            for epoch in range(100):
                run_epoch(model, loaders["train"], loss_fn, optimizer)
                print(run_epoch(model, loaders["val"], loss_fn))  # ML101
        """,
    "an exported handler": """
        import torch
        from torchvision.models import resnet18

        def export(path, out):
            model = resnet18()
            model.load_state_dict(torch.load(path, weights_only=True))
            example = torch.rand(1, 3, 224, 224)
            traced = torch.jit.trace(model, example)  # ML109
            traced.save(out)
        """,
}


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_right(lint: Lint, code: str) -> None:
    lint(code)


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_wrong(lint: Lint, code: str) -> None:
    lint(code)
