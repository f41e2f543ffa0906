"""Services, scripts and trainers as people write them, right and wrong."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.static.conftest import Lint

SILENT: dict[str, str | Mapping[str, str]] = {
    "argparse eval-only": """
        import argparse
        import torch
        from torchvision import models

        def validate(loader, model, criterion):
            model.eval()
            top1 = 0.0
            with torch.no_grad():
                for i, (images, target) in enumerate(loader):
                    output = model(images)
                    loss = criterion(output, target)
                    top1 += (output.argmax(1) == target).sum().item()
            return top1

        def train(loader, model, criterion, optimizer, epoch):
            model.train()
            for i, (images, target) in enumerate(loader):
                output = model(images)
                loss = criterion(output, target)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

        def main():
            parser = argparse.ArgumentParser()
            parser.add_argument('-e', '--evaluate', action='store_true')
            parser.add_argument('--resume', default='')
            args = parser.parse_args()
            model = models.__dict__["resnet18"]()
            optimizer = torch.optim.SGD(model.parameters(), 0.1)
            criterion = torch.nn.CrossEntropyLoss()
            if args.resume:
                ckpt = torch.load(args.resume, weights_only=True)
                model.load_state_dict(ckpt['state_dict'])
            train_loader, val_loader = get_loaders(args)
            if args.evaluate:
                validate(val_loader, model, criterion)
                return
            for epoch in range(90):
                train(train_loader, model, criterion, optimizer, epoch)
                validate(val_loader, model, criterion)

        if __name__ == '__main__':
            main()
        """,
    "flask global": """
        import io
        import torch
        from flask import Flask, request, jsonify
        from torchvision import models, transforms
        from PIL import Image

        app = Flask(__name__)
        model = models.densenet121(weights="IMAGENET1K_V1")
        model.eval()
        tf = transforms.Compose([transforms.Resize(256), transforms.CenterCrop(224), transforms.ToTensor()])

        def get_prediction(image_bytes):
            tensor = tf(Image.open(io.BytesIO(image_bytes))).unsqueeze(0)
            with torch.no_grad():
                outputs = model.forward(tensor)
            _, y_hat = outputs.max(1)
            return str(y_hat.item())

        @app.route('/predict', methods=['POST'])
        def predict():
            file = request.files['file']
            return jsonify({'class_id': get_prediction(file.read())})
        """,
    "fastapi startup": """
        import torch
        from fastapi import FastAPI
        from torchvision.models import resnet18

        app = FastAPI()
        model = None

        @app.on_event("startup")
        def load_model():
            global model
            model = resnet18()
            model.load_state_dict(torch.load("w.pt", weights_only=True))
            model.eval()

        @app.post("/predict")
        async def predict(payload: dict):
            x = torch.tensor(payload["data"])
            with torch.no_grad():
                out = model(x)
            return {"label": int(out.argmax(-1))}
        """,
    "fastapi lifespan dict": {
        "app.py": """
            from contextlib import asynccontextmanager
            import torch
            from fastapi import FastAPI
            from net import Net

            ml = {}

            @asynccontextmanager
            async def lifespan(app):
                net = Net()
                net.load_state_dict(torch.load("w.pt", weights_only=True))
                net.eval()
                ml["net"] = net
                yield
                ml.clear()

            app = FastAPI(lifespan=lifespan)

            @app.get("/p")
            async def predict(x: float):
                with torch.inference_mode():
                    return ml["net"](torch.tensor([[x]])).item()
            """,
        "net.py": """
            from torch import nn

            class Net(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.body = nn.Sequential(nn.Linear(1, 8), nn.Dropout(0.2), nn.Linear(8, 1))

                def forward(self, x):
                    return self.body(x)
            """,
    },
    "gradio": """
        import gradio as gr
        import torch
        import timm

        model = timm.create_model("resnet50", pretrained=True)
        model.eval()
        labels = open("labels.txt").read().splitlines()

        def classify(img):
            x = preprocess(img)[None]
            with torch.no_grad():
                probs = torch.nn.functional.softmax(model(x)[0], dim=0)
            return {labels[i]: float(probs[i]) for i in range(1000)}

        gr.Interface(fn=classify, inputs="image", outputs="label").launch()
        """,
    "streamlit cached loader": """
        import streamlit as st
        import torch
        from torchvision.models import resnet18

        @st.cache_resource
        def load_model():
            model = resnet18(weights="DEFAULT")
            model.eval()
            return model

        model = load_model()
        img = st.file_uploader("image")
        if img is not None:
            with torch.no_grad():
                out = model(to_tensor(img))
            st.write(out.argmax(-1).item())
        """,
    "features to numpy": """
        import numpy as np
        import torch
        from torch import nn
        from torchvision.models import resnet50

        class Extractor:
            def __init__(self, device="cuda"):
                self.device = device
                net = resnet50(weights="IMAGENET1K_V2")
                self.model = nn.Sequential(*list(net.children())[:-1]).to(device)
                self.model.eval()

            def extract(self, loader):
                feats = []
                with torch.no_grad():
                    for x, _ in loader:
                        feats.append(self.model(x.to(self.device)).flatten(1).cpu().numpy())
                return np.concatenate(feats)
        """,
    "embeddings faiss": """
        import faiss
        import numpy as np
        import torch
        from transformers import AutoModel, AutoTokenizer

        tok = AutoTokenizer.from_pretrained("bert-base-uncased")
        model = AutoModel.from_pretrained("bert-base-uncased")

        def embed(texts):
            batch = tok(texts, return_tensors="pt", padding=True)
            with torch.no_grad():
                out = model(**batch).last_hidden_state.mean(1)
            return out.numpy()

        index = faiss.IndexFlatL2(768)
        index.add(embed(["a", "b"]))
        """,
    "encoder decoder checkpoints": {
        "app.py": """
            import torch
            from model import EncoderCNN, DecoderRNN
            from torchvision import transforms
            from PIL import Image
            import argparse

            device = torch.device('cuda')

            def main(args):
                encoder = EncoderCNN(args.embed_size).eval()
                decoder = DecoderRNN(args.embed_size, args.hidden_size)
                encoder = encoder.to(device)
                decoder = decoder.to(device)
                encoder.load_state_dict(torch.load(args.encoder_path, weights_only=True))
                decoder.load_state_dict(torch.load(args.decoder_path, weights_only=True))
                decoder.eval()
                image = transforms.ToTensor()(Image.open(args.image)).unsqueeze(0).to(device)
                with torch.no_grad():
                    feature = encoder(image)
                    sampled_ids = decoder.sample(feature)
                print(sampled_ids[0].cpu().numpy())

            if __name__ == '__main__':
                main(argparse.ArgumentParser().parse_args())
            """,
        "model.py": """
            import torch
            import torch.nn as nn
            import torchvision.models as models

            class EncoderCNN(nn.Module):
                def __init__(self, embed_size):
                    super().__init__()
                    resnet = models.resnet152(pretrained=True)
                    self.resnet = nn.Sequential(*list(resnet.children())[:-1])
                    self.linear = nn.Linear(resnet.fc.in_features, embed_size)
                    self.bn = nn.BatchNorm1d(embed_size, momentum=0.01)

                def forward(self, images):
                    with torch.no_grad():
                        features = self.resnet(images)
                    return self.bn(self.linear(features.flatten(1)))

            class DecoderRNN(nn.Module):
                def __init__(self, embed_size, hidden_size):
                    super().__init__()
                    self.lstm = nn.LSTM(embed_size, hidden_size, batch_first=True)
                    self.drop = nn.Dropout(0.5)
                    self.linear = nn.Linear(hidden_size, 1000)

                def forward(self, features, captions):
                    return self.linear(self.drop(self.lstm(features)[0]))

                def sample(self, features, states=None):
                    ids = []
                    inputs = features.unsqueeze(1)
                    for i in range(20):
                        h, states = self.lstm(inputs, states)
                        predicted = self.linear(self.drop(h.squeeze(1))).max(1)[1]
                        ids.append(predicted)
                        inputs = h
                    return torch.stack(ids, 1)
            """,
    },
    "trainer class": """
        import torch
        from torch import nn

        class Trainer:
            def __init__(self, model, train_loader, val_loader, lr=1e-3):
                self.model = model
                self.train_loader = train_loader
                self.val_loader = val_loader
                self.criterion = nn.CrossEntropyLoss()
                self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)

            def _train_epoch(self, epoch):
                self.model.train()
                total = 0.0
                for x, y in self.train_loader:
                    self.optimizer.zero_grad()
                    loss = self.criterion(self.model(x), y)
                    loss.backward()
                    self.optimizer.step()
                    total += loss.item()
                return total

            def _valid_epoch(self, epoch):
                self.model.eval()
                total = 0.0
                with torch.no_grad():
                    for x, y in self.val_loader:
                        total += self.criterion(self.model(x), y).item()
                return total

            def train(self, epochs):
                for epoch in range(epochs):
                    log = self._train_epoch(epoch)
                    val = self._valid_epoch(epoch)
                    print(log, val)
        """,
    "base trainer in another file": {
        "app.py": """
            import torch
            from base import BaseTrainer

            class Trainer(BaseTrainer):
                def _valid_epoch(self, epoch):
                    self.model.eval()
                    hits = 0
                    with torch.no_grad():
                        for x, y in self.val_loader:
                            hits += (self.model(x).argmax(1) == y).sum().item()
                    return hits

                def _train_epoch(self, epoch):
                    self.model.train()
                    for x, y in self.loader:
                        loss = self.criterion(self.model(x), y)
                        self.optimizer.zero_grad()
                        loss.backward()
                        self.optimizer.step()
                    return self._valid_epoch(epoch)
            """,
        "base.py": """
            from abc import abstractmethod

            class BaseTrainer:
                def __init__(self, model, criterion, optimizer, loader, val_loader):
                    self.model = model
                    self.criterion = criterion
                    self.optimizer = optimizer
                    self.loader = loader
                    self.val_loader = val_loader

                @abstractmethod
                def _train_epoch(self, epoch):
                    raise NotImplementedError

                def train(self):
                    for epoch in range(10):
                        result = self._train_epoch(epoch)
                        print(epoch, result)
            """,
    },
    "template base sets eval": {
        "app.py": """
            import torch
            from base import Runner

            class Classifier(Runner):
                def step(self, batch):
                    return self.model(batch["x"]).argmax(1).cpu()
            """,
        "base.py": """
            import torch

            class Runner:
                def __init__(self, model):
                    self.model = model

                def run(self, loader):
                    self.model.eval()
                    out = []
                    with torch.no_grad():
                        for batch in loader:
                            out.append(self.step(batch))
                    return torch.cat(out)

                def step(self, batch):
                    raise NotImplementedError
            """,
    },
    "gan sample images": """
        import torch
        from torch import nn
        from torchvision.utils import save_image

        class Generator(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = nn.Sequential(nn.Linear(100, 256), nn.BatchNorm1d(256), nn.Linear(256, 784), nn.Tanh())

            def forward(self, z):
                return self.net(z).view(-1, 1, 28, 28)

        class Discriminator(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = nn.Sequential(nn.Linear(784, 256), nn.Dropout(0.3), nn.Linear(256, 1), nn.Sigmoid())

            def forward(self, x):
                return self.net(x.flatten(1))

        G, D = Generator(), Discriminator()
        opt_g = torch.optim.Adam(G.parameters())
        opt_d = torch.optim.Adam(D.parameters())
        bce = nn.BCELoss()
        for epoch in range(200):
            for i, (imgs, _) in enumerate(loader):
                valid, fake = torch.ones(imgs.size(0), 1), torch.zeros(imgs.size(0), 1)
                z = torch.randn(imgs.size(0), 100)
                gen = G(z)
                g_loss = bce(D(gen), valid)
                opt_g.zero_grad()
                g_loss.backward()
                opt_g.step()
                d_loss = (bce(D(imgs), valid) + bce(D(gen.detach()), fake)) / 2
                opt_d.zero_grad()
                d_loss.backward()
                opt_d.step()
                if i % 100 == 0:
                    save_image(gen.data[:25], "images/%d.png" % i, nrow=5)
        """,
    "gan generate script instance norm only": {
        "app.py": """
            import torch
            from torchvision.utils import save_image
            from models import Generator

            G = Generator()
            G.load_state_dict(torch.load("G.pth", weights_only=True))
            z = torch.randn(64, 100)
            with torch.no_grad():
                imgs = G(z)  # ML101:info
            save_image(imgs, "fake.png")
            """,
        "models.py": """
            from torch import nn

            class Generator(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.net = nn.Sequential(nn.ConvTranspose2d(100, 9, 4), nn.InstanceNorm2d(9), nn.Tanh())

                def forward(self, z):
                    return self.net(z[:, :, None, None])
            """,
    },
    "distillation": """
        import torch
        import torch.nn.functional as F
        from torchvision.models import resnet18, resnet50

        def distill(loader, epochs):
            teacher = resnet50(weights="DEFAULT").cuda()
            teacher.eval()
            student = resnet18(num_classes=1000).cuda()
            opt = torch.optim.SGD(student.parameters(), 0.1)
            for _ in range(epochs):
                student.train()
                for x, y in loader:
                    with torch.no_grad():
                        t = teacher(x)
                    s = student(x)
                    loss = F.kl_div(F.log_softmax(s / 4, 1), F.softmax(t / 4, 1), reduction="batchmean")
                    opt.zero_grad()
                    loss.backward()
                    opt.step()
        """,
    "distillation teacher method no_grad": """
        import torch
        import torch.nn.functional as F
        from torch import nn
        from torchvision.models import resnet18, resnet50

        class Distiller(nn.Module):
            def __init__(self, student, teacher):
                super().__init__()
                self.student = student
                self.teacher = teacher

            def train(self, mode=True):
                super().train(mode)
                self.teacher.eval()
                return self

            def forward(self, x):
                with torch.no_grad():
                    t = self.teacher(x)
                return F.mse_loss(self.student(x), t)
        """,
    "ema evaluation": """
        import copy
        import torch
        from torchvision.models import resnet18

        class EMA:
            def __init__(self, model, decay=0.999):
                self.module = copy.deepcopy(model).eval()
                self.decay = decay

            @torch.no_grad()
            def update(self, model):
                for e, m in zip(self.module.state_dict().values(), model.state_dict().values()):
                    e.copy_(e * self.decay + m * (1 - self.decay))

        @torch.no_grad()
        def validate(model, loader):
            model.eval()
            return sum((model(x).argmax(1) == y).sum().item() for x, y in loader)

        def main(loader, val):
            model = resnet18()
            ema = EMA(model)
            opt = torch.optim.SGD(model.parameters(), 0.1)
            for epoch in range(10):
                model.train()
                for x, y in loader:
                    loss = torch.nn.functional.cross_entropy(model(x), y)
                    opt.zero_grad()
                    loss.backward()
                    opt.step()
                    ema.update(model)
                print(validate(ema.module, val))
        """,
    "mc dropout": """
        import torch
        from torch import nn

        def enable_dropout(model):
            for m in model.modules():
                if m.__class__.__name__.startswith('Dropout'):
                    m.train()

        def get_monte_carlo_predictions(loader, forward_passes, model, n_classes):
            preds = []
            for i in range(forward_passes):
                model.eval()
                enable_dropout(model)
                batch = []
                for image, label in loader:
                    with torch.no_grad():
                        output = model(image).softmax(-1)
                    batch.append(output.cpu().numpy())
                preds.append(batch)
            return preds
        """,
    "phase loop": """
        import time
        import copy
        import torch
        from torchvision import models

        def train_model(model, dataloaders, criterion, optimizer, scheduler, num_epochs=25):
            best = copy.deepcopy(model.state_dict())
            best_acc = 0.0
            for epoch in range(num_epochs):
                for phase in ['train', 'val']:
                    if phase == 'train':
                        model.train()
                    else:
                        model.eval()
                    running_loss = 0.0
                    running_corrects = 0
                    for inputs, labels in dataloaders[phase]:
                        optimizer.zero_grad()
                        with torch.set_grad_enabled(phase == 'train'):
                            outputs = model(inputs)
                            _, preds = torch.max(outputs, 1)
                            loss = criterion(outputs, labels)
                            if phase == 'train':
                                loss.backward()
                                optimizer.step()
                        running_loss += loss.item() * inputs.size(0)
                        running_corrects += torch.sum(preds == labels.data)
                    if phase == 'train':
                        scheduler.step()
                    if phase == 'val' and running_corrects > best_acc:
                        best = copy.deepcopy(model.state_dict())
            model.load_state_dict(best)
            return model

        def visualize_model(model, dataloaders, num_images=6):
            was_training = model.training
            model.eval()
            with torch.no_grad():
                for i, (inputs, labels) in enumerate(dataloaders['val']):
                    outputs = model(inputs)
                    _, preds = torch.max(outputs, 1)
                    for j in range(inputs.size()[0]):
                        print(preds[j])
                model.train(mode=was_training)

        model_ft = models.resnet18(weights='IMAGENET1K_V1')
        model_ft = train_model(model_ft, dl, torch.nn.CrossEntropyLoss(), opt, sch)
        visualize_model(model_ft, dl)
        """,
    "phase loop dict comprehension of loaders, is_train flag": """
        import torch

        def run_epoch(model, loader, criterion, optimizer=None):
            is_train = optimizer is not None
            model.train() if is_train else model.eval()
            total = 0
            with torch.set_grad_enabled(is_train):
                for x, y in loader:
                    out = model(x)
                    loss = criterion(out, y)
                    if is_train:
                        optimizer.zero_grad()
                        loss.backward()
                        optimizer.step()
                    total += loss.item()
            return total
        """,
    "is_train flag without mode": """
        import torch

        def run_epoch(model, loader, criterion, optimizer=None):
            is_train = optimizer is not None
            total = 0
            with torch.set_grad_enabled(is_train):
                for x, y in loader:
                    out = model(x)
                    loss = criterion(out, y)
                    if is_train:
                        optimizer.zero_grad()
                        loss.backward()
                        optimizer.step()
                    total += loss.item()
            return total

        def main(model, a, b, criterion, optimizer):
            for epoch in range(10):
                model.train()
                run_epoch(model, a, criterion, optimizer)
                model.eval()
                print(run_epoch(model, b, criterion))
        """,
    "hydra": """
        import hydra
        import torch
        from hydra.utils import instantiate

        @hydra.main(config_path="conf", config_name="config")
        def main(cfg):
            model = instantiate(cfg.model)
            ckpt = torch.load(cfg.ckpt, weights_only=True)
            model.load_state_dict(ckpt["model"])
            model.cuda().eval()
            loader = instantiate(cfg.data)
            with torch.no_grad():
                for batch in loader:
                    print(model(batch["x"].cuda()).argmax(-1))

        if __name__ == "__main__":
            main()
        """,
}

FOUND: dict[str, str | Mapping[str, str]] = {
    "argparse eval-only without eval": """
        import argparse
        import torch
        from torchvision import models

        def validate(loader, model, criterion):
            top1 = 0.0
            with torch.no_grad():
                for i, (images, target) in enumerate(loader):
                    output = model(images)  # ML101
                    loss = criterion(output, target)
                    top1 += (output.argmax(1) == target).sum().item()
            return top1

        def train(loader, model, criterion, optimizer, epoch):
            model.train()
            for i, (images, target) in enumerate(loader):
                output = model(images)
                loss = criterion(output, target)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

        def main():
            parser = argparse.ArgumentParser()
            parser.add_argument('-e', '--evaluate', action='store_true')
            parser.add_argument('--resume', default='')
            args = parser.parse_args()
            model = models.__dict__["resnet18"]()
            optimizer = torch.optim.SGD(model.parameters(), 0.1)
            criterion = torch.nn.CrossEntropyLoss()
            if args.resume:
                ckpt = torch.load(args.resume, weights_only=True)
                model.load_state_dict(ckpt['state_dict'])
            train_loader, val_loader = get_loaders(args)
            if args.evaluate:
                validate(val_loader, model, criterion)
                return
            for epoch in range(90):
                train(train_loader, model, criterion, optimizer, epoch)
                validate(val_loader, model, criterion)

        if __name__ == '__main__':
            main()
        """,
    "eval-only path skips eval": """
        import torch
        from torchvision import models

        def evaluate(model, loader, device):
            correct = 0
            with torch.no_grad():
                for x, y in loader:
                    pred = model(x.to(device)).argmax(1)  # ML101
                    correct += pred.eq(y.to(device)).sum().item()
            return correct / len(loader.dataset)

        def main(args):
            device = torch.device("cuda")
            model = models.resnet50(weights=None, num_classes=10).to(device)
            loader = build_loader(args)
            if args.eval_only:
                model.load_state_dict(torch.load(args.ckpt, map_location=device, weights_only=True))
                print(evaluate(model, loader, device))
                return
            opt = torch.optim.AdamW(model.parameters())
            for epoch in range(args.epochs):
                model.train()
                for x, y in loader:
                    loss = torch.nn.functional.cross_entropy(model(x.to(device)), y.to(device))
                    opt.zero_grad()
                    loss.backward()
                    opt.step()
                print(evaluate(model, loader, device))
        """,
    "flask global, wrong": """
        import io
        import torch
        from flask import Flask, request, jsonify
        from torchvision import models, transforms
        from PIL import Image

        app = Flask(__name__)
        model = models.densenet121(weights="IMAGENET1K_V1")
        tf = transforms.Compose([transforms.Resize(256), transforms.CenterCrop(224), transforms.ToTensor()])

        def get_prediction(image_bytes):
            tensor = tf(Image.open(io.BytesIO(image_bytes))).unsqueeze(0)
            with torch.no_grad():
                outputs = model.forward(tensor)  # ML101
            _, y_hat = outputs.max(1)
            return str(y_hat.item())

        @app.route('/predict', methods=['POST'])
        def predict():
            file = request.files['file']
            return jsonify({'class_id': get_prediction(file.read())})
        """,
    "flask no grad missing": """
        import io
        import torch
        from flask import Flask, request, jsonify
        from torchvision import models, transforms
        from PIL import Image

        app = Flask(__name__)
        model = models.densenet121(weights="IMAGENET1K_V1")
        model.eval()
        tf = transforms.ToTensor()

        def get_prediction(image_bytes):
            tensor = tf(Image.open(io.BytesIO(image_bytes))).unsqueeze(0)
            outputs = model.forward(tensor)  # ML201
            _, y_hat = outputs.max(1)
            return str(y_hat.item())

        @app.route('/predict', methods=['POST'])
        def predict():
            return jsonify({'class_id': get_prediction(request.files['file'].read())})
        """,
    "fastapi startup, wrong": """
        import torch
        from fastapi import FastAPI
        from torchvision.models import resnet18

        app = FastAPI()
        model = None

        @app.on_event("startup")
        def load_model():
            global model
            model = resnet18()
            model.load_state_dict(torch.load("w.pt", weights_only=True))

        @app.post("/predict")
        async def predict(payload: dict):
            x = torch.tensor(payload["data"])
            with torch.no_grad():
                out = model(x)  # ML101
            return {"label": int(out.argmax(-1))}
        """,
    "fastapi lifespan dict, wrong": {
        "app.py": """
            from contextlib import asynccontextmanager
            import torch
            from fastapi import FastAPI
            from net import Net

            ml = {}

            @asynccontextmanager
            async def lifespan(app):
                net = Net()
                net.load_state_dict(torch.load("w.pt", weights_only=True))
                ml["net"] = net
                yield
                ml.clear()

            app = FastAPI(lifespan=lifespan)

            @app.get("/p")
            async def predict(x: float):
                with torch.inference_mode():
                    return ml["net"](torch.tensor([[x]])).item()  # ML101
            """,
        "net.py": """
            from torch import nn

            class Net(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.body = nn.Sequential(nn.Linear(1, 8), nn.Dropout(0.2), nn.Linear(8, 1))

                def forward(self, x):
                    return self.body(x)
            """,
    },
    "gradio, wrong": """
        import gradio as gr
        import torch
        import timm

        model = timm.create_model("resnet50", pretrained=True)
        labels = open("labels.txt").read().splitlines()

        def classify(img):
            x = preprocess(img)[None]
            with torch.no_grad():
                probs = torch.nn.functional.softmax(model(x)[0], dim=0)  # ML101
            return {labels[i]: float(probs[i]) for i in range(1000)}

        gr.Interface(fn=classify, inputs="image", outputs="label").launch()
        """,
    "streamlit cached loader, wrong": """
        import streamlit as st
        import torch
        from torchvision.models import resnet18

        @st.cache_resource
        def load_model():
            model = resnet18(weights="DEFAULT")
            return model

        model = load_model()
        img = st.file_uploader("image")
        if img is not None:
            with torch.no_grad():
                out = model(to_tensor(img))  # ML101
            st.write(out.argmax(-1).item())
        """,
    "video loop, wrong": """
        import cv2
        import torch
        from torchvision.models.detection import fasterrcnn_resnet50_fpn

        model = fasterrcnn_resnet50_fpn(weights="DEFAULT").cuda()
        cap = cv2.VideoCapture(0)
        while True:
            ret, frame = cap.read()
            if not ret:
                break
            x = torch.from_numpy(frame).permute(2, 0, 1).float().cuda() / 255
            with torch.no_grad():
                pred = model([x])[0]  # ML101
            for box in pred["boxes"].cpu().numpy():
                cv2.rectangle(frame, tuple(box[:2]), tuple(box[2:]), (0, 255, 0), 2)
            cv2.imshow("out", frame)
            if cv2.waitKey(1) == 27:
                break
        cap.release()
        """,
    "video loop no no_grad": """
        import cv2
        import torch
        from torchvision.models.segmentation import deeplabv3_resnet50

        model = deeplabv3_resnet50(weights="DEFAULT").eval().cuda()
        cap = cv2.VideoCapture("in.mp4")
        while cap.isOpened():
            ok, frame = cap.read()
            if not ok:
                break
            x = torch.from_numpy(frame).permute(2, 0, 1).float().cuda()[None] / 255
            out = model(x)["out"][0]  # ML201
            mask = out.argmax(0).byte().cpu().numpy()
            cv2.imshow("mask", mask * 10)
        """,
    "features to numpy, wrong": """
        import numpy as np
        import torch
        from torch import nn
        from torchvision.models import resnet50

        class Extractor:
            def __init__(self, device="cuda"):
                self.device = device
                net = resnet50(weights="IMAGENET1K_V2")
                self.model = nn.Sequential(*list(net.children())[:-1]).to(device)

            def extract(self, loader):
                feats = []
                with torch.no_grad():
                    for x, _ in loader:
                        feats.append(self.model(x.to(self.device)).flatten(1).cpu().numpy())  # ML101
                return np.concatenate(feats)
        """,
    "features detach numpy no grad": """
        import numpy as np
        import torch
        from torchvision.models import resnet50

        def extract_features(paths):
            net = resnet50(weights="IMAGENET1K_V2")
            net.fc = torch.nn.Identity()
            net.eval()
            out = {}
            for p in paths:
                x = load(p)
                out[p] = net(x).detach().cpu().numpy()  # ML201
            np.savez("f.npz", **out)
        """,
    "embeddings no grad missing": """
        import faiss
        import numpy as np
        import torch
        from transformers import AutoModel, AutoTokenizer

        tok = AutoTokenizer.from_pretrained("bert-base-uncased")
        model = AutoModel.from_pretrained("bert-base-uncased")

        def embed(texts):
            batch = tok(texts, return_tensors="pt", padding=True)
            out = model(**batch).last_hidden_state.mean(1)  # ML201
            return out.detach().numpy()

        index = faiss.IndexFlatL2(768)
        index.add(embed(["a", "b"]))
        """,
    "encoder decoder only encoder eval": {
        "app.py": """
            import torch
            from model import EncoderCNN, DecoderRNN
            from torchvision import transforms
            from PIL import Image
            import argparse

            device = torch.device('cuda')

            def main(args):
                encoder = EncoderCNN(args.embed_size).eval()
                decoder = DecoderRNN(args.embed_size, args.hidden_size)
                ckpt = torch.load(args.checkpoint, weights_only=True)
                encoder.load_state_dict(ckpt["encoder"])
                decoder.load_state_dict(ckpt["decoder"])
                image = transforms.ToTensor()(Image.open(args.image)).unsqueeze(0).to(device)
                with torch.no_grad():
                    feature = encoder(image)
                    sampled = decoder(feature, args.captions)  # ML101
                print(sampled[0].argmax(-1).cpu().numpy())

            if __name__ == '__main__':
                main(argparse.ArgumentParser().parse_args())
            """,
        "model.py": """
            import torch
            import torch.nn as nn
            import torchvision.models as models

            class EncoderCNN(nn.Module):
                def __init__(self, embed_size):
                    super().__init__()
                    resnet = models.resnet152(pretrained=True)
                    self.resnet = nn.Sequential(*list(resnet.children())[:-1])
                    self.bn = nn.BatchNorm1d(embed_size, momentum=0.01)

                def forward(self, images):
                    return self.bn(self.resnet(images).flatten(1))

            class DecoderRNN(nn.Module):
                def __init__(self, embed_size, hidden_size):
                    super().__init__()
                    self.lstm = nn.LSTM(embed_size, hidden_size, batch_first=True)
                    self.drop = nn.Dropout(0.5)
                    self.linear = nn.Linear(hidden_size, 1000)

                def forward(self, features, captions):
                    return self.linear(self.drop(self.lstm(features)[0]))
            """,
    },
    "trainer class never back to train": """
        import torch
        from torch import nn

        class Trainer:
            def __init__(self, model, train_loader, val_loader, lr=1e-3):
                self.model = model
                self.train_loader = train_loader
                self.val_loader = val_loader
                self.criterion = nn.CrossEntropyLoss()
                self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)

            def _train_epoch(self, epoch):
                total = 0.0
                for x, y in self.train_loader:
                    self.optimizer.zero_grad()
                    loss = self.criterion(self.model(x), y)  # ML103
                    loss.backward()
                    self.optimizer.step()
                    total += loss.item()
                return total

            def _valid_epoch(self, epoch):
                self.model.eval()
                total = 0.0
                with torch.no_grad():
                    for x, y in self.val_loader:
                        total += self.criterion(self.model(x), y).item()
                return total

            def train(self, epochs):
                self.model.train()
                for epoch in range(epochs):
                    log = self._train_epoch(epoch)
                    val = self._valid_epoch(epoch)
                    print(log, val)
        """,
    "trainer class validates in train mode": """
        import torch
        from torch import nn

        class Trainer:
            def __init__(self, model, train_loader, val_loader, lr=1e-3):
                self.model = model
                self.train_loader = train_loader
                self.val_loader = val_loader
                self.criterion = nn.CrossEntropyLoss()
                self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)

            def _train_epoch(self, epoch):
                self.model.train()
                total = 0.0
                for x, y in self.train_loader:
                    self.optimizer.zero_grad()
                    loss = self.criterion(self.model(x), y)
                    loss.backward()
                    self.optimizer.step()
                    total += loss.item()
                return total

            def _valid_epoch(self, epoch):
                total = 0.0
                with torch.no_grad():
                    for x, y in self.val_loader:
                        total += self.criterion(self.model(x), y).item()  # ML101
                return total

            def train(self, epochs):
                for epoch in range(epochs):
                    log = self._train_epoch(epoch)
                    val = self._valid_epoch(epoch)
                    print(log, val)
        """,
    "base trainer in another file, wrong": {
        "app.py": """
            import torch
            from base import BaseTrainer

            class Trainer(BaseTrainer):
                def _valid_epoch(self, epoch):
                    hits = 0
                    with torch.no_grad():
                        for x, y in self.val_loader:
                            hits += (self.model(x).argmax(1) == y).sum().item()  # ML101
                    return hits

                def _train_epoch(self, epoch):
                    self.model.train()
                    for x, y in self.loader:
                        loss = self.criterion(self.model(x), y)
                        self.optimizer.zero_grad()
                        loss.backward()
                        self.optimizer.step()
                    return self._valid_epoch(epoch)
            """,
        "base.py": """
            from abc import abstractmethod

            class BaseTrainer:
                def __init__(self, model, criterion, optimizer, loader, val_loader):
                    self.model = model
                    self.criterion = criterion
                    self.optimizer = optimizer
                    self.loader = loader
                    self.val_loader = val_loader

                @abstractmethod
                def _train_epoch(self, epoch):
                    raise NotImplementedError

                def train(self):
                    for epoch in range(10):
                        result = self._train_epoch(epoch)
                        print(epoch, result)
            """,
    },
    "gan generate script, wrong": {
        "app.py": """
            import torch
            from torchvision.utils import save_image
            from models import Generator

            G = Generator()
            G.load_state_dict(torch.load("G.pth", weights_only=True))
            z = torch.randn(64, 100)
            with torch.no_grad():
                imgs = G(z)  # ML101
            save_image(imgs, "fake.png")
            """,
        "models.py": """
            from torch import nn

            class Generator(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.net = nn.Sequential(nn.Linear(100, 256), nn.BatchNorm1d(256), nn.Linear(256, 784), nn.Tanh())

                def forward(self, z):
                    return self.net(z).view(-1, 1, 28, 28)
            """,
    },
    "distillation teacher in train": """
        import torch
        import torch.nn.functional as F
        from torchvision.models import resnet18, resnet50

        def distill(loader, epochs):
            teacher = resnet50(weights="DEFAULT").cuda()
            student = resnet18(num_classes=1000).cuda()
            opt = torch.optim.SGD(student.parameters(), 0.1)
            for _ in range(epochs):
                student.train()
                for x, y in loader:
                    with torch.no_grad():
                        t = teacher(x)  # ML101
                    s = student(x)
                    loss = F.kl_div(F.log_softmax(s / 4, 1), F.softmax(t / 4, 1), reduction="batchmean")
                    opt.zero_grad()
                    loss.backward()
                    opt.step()
        """,
    "ema evaluation no eval": """
        import copy
        import torch
        from torchvision.models import resnet18

        def main(loader, val):
            model = resnet18()
            ema = copy.deepcopy(model)
            opt = torch.optim.SGD(model.parameters(), 0.1)
            for epoch in range(10):
                model.train()
                for x, y in loader:
                    loss = torch.nn.functional.cross_entropy(model(x), y)
                    opt.zero_grad()
                    loss.backward()
                    opt.step()
                    for a, b in zip(ema.parameters(), model.parameters()):
                        a.data.mul_(0.999).add_(b.data, alpha=0.001)
                hits = 0
                with torch.no_grad():
                    for x, y in val:
                        hits += (ema(x).argmax(1) == y).sum().item()  # ML101
                print(hits)
        """,
    "phase loop grad on in val": """
        import torch
        from torchvision import models

        def train_model(model, dataloaders, criterion, optimizer, num_epochs=25):
            for epoch in range(num_epochs):
                for phase in ['train', 'val']:
                    if phase == 'train':
                        model.train()
                    else:
                        model.eval()
                    running_loss = 0.0
                    for inputs, labels in dataloaders[phase]:
                        optimizer.zero_grad()
                        outputs = model(inputs)  # ML201
                        loss = criterion(outputs, labels)
                        if phase == 'train':
                            loss.backward()
                            optimizer.step()
                        running_loss += loss.item() * inputs.size(0)
                    print(phase, running_loss)
        """,
    "hydra, wrong": """
        import hydra
        import torch
        from hydra.utils import instantiate

        @hydra.main(config_path="conf", config_name="config")
        def main(cfg):
            model = instantiate(cfg.model)
            ckpt = torch.load(cfg.ckpt, weights_only=True)
            model.load_state_dict(ckpt["model"])
            model.cuda()
            loader = instantiate(cfg.data)
            with torch.no_grad():
                for batch in loader:
                    print(model(batch["x"].cuda()).argmax(-1))  # ML101

        if __name__ == "__main__":
            main()
        """,
}

RULES = ("ML101", "ML102", "ML103", "ML109", "ML201", "ML202", "ML204")


@pytest.mark.parametrize("files", SILENT.values(), ids=SILENT)
def test_right(lint: Lint, files: str | Mapping[str, str]) -> None:
    lint(files, rules=RULES)


@pytest.mark.parametrize("files", FOUND.values(), ids=FOUND)
def test_wrong(lint: Lint, files: str | Mapping[str, str]) -> None:
    lint(files, rules=RULES)
