"""Data on its way into a model: ML305 (random transforms), ML306 (shuffling), ML307 (dropped samples)."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

RULES = ["ML305", "ML306", "ML307"]
_HEAD = """
        import torch
        from torch import nn
        from torch.utils.data import DataLoader, Dataset, Subset, random_split
        from torchvision import datasets, transforms
"""

LEFT_TO_A_STEP = """
        def finetune(model, accelerator, optimizer, train_set, eval_set):
            def eval_step(batch):
                model.eval()
                with torch.no_grad():
                    return model(**batch).loss

            def train_step(batch):
                model.train()
                return model(**batch).loss

            for _ in range(3):
                for batch in accelerator.prepare(DataLoader(train_set, shuffle=True, drop_last=True)):
                    accelerator.backward(train_step(batch))
                    optimizer.step()
                {name} = DataLoader(eval_set, batch_size=4, drop_last=True){mark}
                losses = []
                for batch in accelerator.prepare({name}):
                    losses.append({step}(batch))
                print(torch.stack(losses).mean())
        """

SILENT = {
    "batches that are left to a step of training": LEFT_TO_A_STEP.format(
        name="extra_loader", step="train_step", mark=""
    ),
    "data that is not called held out": LEFT_TO_A_STEP.format(name="extra_loader", step="eval_step", mark=""),
    "the usual script": """
        train_tf = transforms.Compose([transforms.RandomCrop(32, padding=4), transforms.ToTensor()])
        test_tf = transforms.Compose([transforms.ToTensor()])
        trainset = datasets.CIFAR10(root="./data", train=True, transform=train_tf)
        trainloader = DataLoader(trainset, batch_size=128, shuffle=True, num_workers=2, drop_last=True)
        testset = datasets.CIFAR10(root="./data", train=False, transform=test_tf)
        testloader = DataLoader(testset, batch_size=100, shuffle=False, num_workers=2)

        def train(net, optimizer, criterion):
            net.train()
            for inputs, targets in trainloader:
                optimizer.zero_grad()
                loss = criterion(net(inputs), targets)
                loss.backward()
                optimizer.step()

        def test(net, criterion):
            net.eval()
            with torch.no_grad():
                for inputs, targets in testloader:
                    criterion(net(inputs), targets)
        """,
    "a function that builds both by a flag": """
        def build_transform(is_train, size):
            if is_train:
                return transforms.Compose([transforms.RandomResizedCrop(size), transforms.ToTensor()])
            return transforms.Compose([transforms.Resize(size), transforms.ToTensor()])

        def build_loader(root, split, size):
            dataset = datasets.ImageFolder(root, build_transform(split == "train", size))
            return DataLoader(dataset, shuffle=split == "train", drop_last=(split == "train"))

        def main(model, root):
            model.eval()
            with torch.no_grad():
                for x, _ in build_loader(root, "val", 224):
                    print(model(x).argmax(1))
        """,
    "a flag that the configuration decides": """
        def build_transform(args, split):
            if args.augment and split != "test":
                return transforms.RandomRotation(10)
            return transforms.ToTensor()

        def evaluate(model, args, split):
            model.eval()
            with torch.no_grad():
                loader = DataLoader(datasets.ImageFolder("x", build_transform(args, split)), shuffle=args.shuffle)
                return [model(x) for x, _ in loader]
        """,
    "a data set that augments its training split": """
        class Cells(Dataset):
            def __init__(self, root, split="train"):
                self.split = split
                self.augment = transforms.Compose([transforms.RandomHorizontalFlip(), transforms.RandomRotation(90)])
                self.plain = transforms.ToTensor()

            def __getitem__(self, index):
                image = self.read(index)
                if self.split == "train":
                    image = self.augment(image)
                return self.plain(image)

        @torch.no_grad()
        def predict(model, root):
            model.eval()
            return [model(x) for x in DataLoader(Cells(root, split="test"))]
        """,
    "a data set that sets its transform up by split": """
        class Cells(Dataset):
            def __init__(self, root, train=True):
                if train:
                    self.transform = transforms.Compose([transforms.RandomHorizontalFlip(), transforms.ToTensor()])
                else:
                    self.transform = transforms.ToTensor()

            def __getitem__(self, index):
                return self.transform(self.read(index))

        class Trainer:
            def __init__(self, model, root):
                self.model = model
                self.train_loader = DataLoader(Cells(root), shuffle=True, drop_last=True)
                self.val_loader = DataLoader(Cells(root, train=False))

            def train(self, optimizer, loss):
                for x, y in self.train_loader:
                    loss(self.model(x), y).backward()
                    optimizer.step()

            @torch.no_grad()
            def validate(self):
                self.model.eval()
                return [self.model(x) for x in self.val_loader]
        """,
    "accuracy on the training loader": """
        def check_accuracy(loader, model):
            model.eval()
            with torch.no_grad():
                for x, y in loader:
                    print((model(x).argmax(1) == y).sum())

        def main(model):
            tf = transforms.RandomRotation(5)
            train_loader = DataLoader(datasets.MNIST(".", train=True, transform=tf), shuffle=True)
            test_loader = DataLoader(datasets.MNIST(".", train=False))
            check_accuracy(train_loader, model)
            check_accuracy(test_loader, model)
        """,
    "one epoch function for both": """
        def run_epoch(model, loader, loss_fn, optimizer=None, train=True):
            model.train(train)
            with torch.set_grad_enabled(train):
                for x, y in loader:
                    loss = loss_fn(model(x), y)
                    if train:
                        optimizer.zero_grad()
                        loss.backward()
                        optimizer.step()

        def main(model, a, b, loss_fn, optimizer):
            first = DataLoader(a, shuffle=True, drop_last=True)
            second = DataLoader(b)
            run_epoch(model, first, loss_fn, optimizer)
            run_epoch(model, second, loss_fn, train=False)
        """,
    "samples of a generator": """
        def save_samples(model, dataset):
            loader = DataLoader(dataset, batch_size=16, shuffle=True)
            images = next(iter(loader))
            with torch.no_grad():
                return model(images)
        """,
    "monte carlo views and test-time crops": """
        flip = transforms.RandomHorizontalFlip()

        @torch.no_grad()
        def predict_tta(model, image):
            model.eval()
            return torch.stack([model(flip(image)), model(flip(image))]).mean(0)

        @torch.no_grad()
        def predict(model, image):
            model.eval()
            out = 0
            for _ in range(8):
                out = out + model(flip(image))
            return out / 8
        """,
    "augmented views, one after the other": """
        tta_transforms = [transforms.RandomRotation(10), transforms.RandomHorizontalFlip()]

        @torch.no_grad()
        def predict(model, image):
            model.eval()
            return torch.stack([model(t(image)) for t in tta_transforms]).mean(0)
        """,
    "an augmentation that an option asks for": """
        def features(model, path, args):
            flip = transforms.RandomHorizontalFlip(p=0.5 if args.flip else 0)
            loader = DataLoader(Images(path, transform=transforms.Compose([flip, transforms.ToTensor()])))
            model.eval()
            with torch.no_grad():
                return [model(x).tolist() for x in loader]
        """,
    "a loader of augmented views": """
        def predict(model, root, rounds):
            tta_set = datasets.ImageFolder(root, transforms.RandomRotation(10))
            tta_loader = DataLoader(tta_set, batch_size=8)
            model.eval()
            with torch.no_grad():
                return sum(model(x) for _ in range(rounds) for x, _ in tta_loader)
        """,
    "an option that stands for itself until it is known": """
        def predict(model, data, shuffle=None, rest=None):
            while rest:
                shuffle = shuffle or rest.pop()
                rest = rest and shuffle and rest
            model.eval()
            with torch.no_grad():
                return [model(x) for x in DataLoader(data, shuffle=shuffle)]
        """,
    "statistics of the data": """
        loader = DataLoader(datasets.ImageFolder("x"), shuffle=True, drop_last=True)
        with torch.no_grad():
            mean = sum(x.mean() for x, _ in loader)
        """,
    "contrastive pretraining draws two views": """
        augment = transforms.RandomResizedCrop(224)

        def train_step(model, image, optimizer):
            loss = (model(augment(image)) - model(augment(image))).pow(2).mean()
            loss.backward()
            optimizer.step()
        """,
    "a lightning module": """
        import lightning as L

        class Digits(L.LightningDataModule):
            def train_dataloader(self):
                return DataLoader(self.train_set, shuffle=True, drop_last=True)

            def val_dataloader(self):
                return self._make(self.val_set)

            def _make(self, dataset, shuffle=False):
                return DataLoader(dataset, shuffle=shuffle)
        """,
    "a shuffled training loader handed on out of sight": """
        from engine import train_one_epoch, evaluate

        def main(model, a, b, optimizer):
            loader = DataLoader(a, shuffle=True, drop_last=True)
            held_out = DataLoader(b)
            train_one_epoch(model, optimizer, loader)
            evaluate(model, held_out)
        """,
    "options shared by both loaders": """
        def main(model, a, b, optimizer, loss_fn):
            options = {"batch_size": 8, "num_workers": 2}
            train_loader = DataLoader(a, shuffle=True, **options)
            test_loader = DataLoader(b, **options)
            for x, y in train_loader:
                loss_fn(model(x), y).backward()
                optimizer.step()
            model.eval()
            with torch.no_grad():
                for x, y in test_loader:
                    print(model(x))
        """,
    "loaders of timm, one for each purpose": """
        import timm
        import torch
        from timm.data import create_dataset, create_loader

        def main(args, model, opt, loss_fn):
            loader_train = create_loader(create_dataset("", args.data, split="train"), SIZE, 64, is_training=True)
            loader_eval = create_loader(create_dataset("", args.data, split="val"), SIZE, 64, is_training=False)
            for x, y in loader_train:
                loss = loss_fn(model(x), y)
                opt.zero_grad()
                loss.backward()
                opt.step()
            model.eval()
            with torch.no_grad():
                for x, y in loader_eval:
                    print((model(x).argmax(1) == y).float().mean())
        """,
}

FOUND = {
    "batches that are left to a step of evaluation": LEFT_TO_A_STEP.format(
        name="eval_loader", step="eval_step", mark="  # ML307"
    ),
    "copied with the shuffle": """
        val_loader = DataLoader(datasets.CIFAR10(".", train=False), batch_size=4, shuffle=True)  # ML306

        def validate(net, criterion):
            net.eval()
            total = 0
            with torch.no_grad():
                for i, data in enumerate(val_loader, 0):
                    inputs, labels = data
                    total += criterion(net(inputs), labels).item()
            return total
        """,
    "a helper with a flag that is given wrongly": """
        def build_transform(is_train):
            if is_train:
                return transforms.Compose([transforms.RandomResizedCrop(224), transforms.ToTensor()])  # ML305
            return transforms.ToTensor()

        def main(model, root):
            loader = DataLoader(datasets.ImageFolder(root, transform=build_transform(True)))
            model.eval()
            with torch.no_grad():
                for x, _ in loader:
                    print(model(x).argmax(1))
        """,
    "the training pipeline reused for validation": """
        transform = transforms.Compose([
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
        ])
        train_set = datasets.ImageFolder("train", transform=transform)
        val_set = datasets.ImageFolder("val", transform=transform)  # ML305
        train_loader = DataLoader(train_set, shuffle=True)
        val_loader = DataLoader(val_set)

        def fit(model, optimizer, loss_fn):
            for epoch in range(10):
                model.train()
                for x, y in train_loader:
                    optimizer.zero_grad()
                    loss_fn(model(x), y).backward()
                    optimizer.step()
                model.eval()
                with torch.no_grad():
                    for x, y in val_loader:
                        print(loss_fn(model(x), y).item())
        """,
    "phases in one dictionary": """
        data_transforms = {
            "train": transforms.Compose([transforms.RandomResizedCrop(224), transforms.ToTensor()]),
            "val": transforms.Compose([transforms.RandomResizedCrop(224), transforms.ToTensor()]),  # ML305
        }
        image_datasets = {x: datasets.ImageFolder(x, data_transforms[x]) for x in ["train", "val"]}
        dataloaders = {x: DataLoader(image_datasets[x], drop_last=True) for x in ["train", "val"]}  # ML307

        def train_model(model, criterion, optimizer):
            for epoch in range(25):
                for phase in ["train", "val"]:
                    if phase == "train":
                        model.train()
                    else:
                        model.eval()
                    for inputs, labels in dataloaders[phase]:
                        optimizer.zero_grad()
                        with torch.set_grad_enabled(phase == "train"):
                            loss = criterion(model(inputs), labels)
                            if phase == "train":
                                loss.backward()
                                optimizer.step()
        """,
    "attributes of a trainer": """
        class Trainer:
            def __init__(self, model, train_set, test_set):
                self.model = model
                self.train_loader = self._loader(train_set, True)
                self.test_loader = self._loader(test_set, False)

            def _loader(self, dataset, shuffle):
                return DataLoader(dataset, batch_size=8, shuffle=shuffle, drop_last=True)  # ML307

            def train(self, optimizer, loss_fn):
                for x, y in self.train_loader:
                    loss_fn(self.model(x), y).backward()
                    optimizer.step()

            def test(self):
                self.model.eval()
                with torch.no_grad():
                    return [self.model(x) for x, _ in self.test_loader]
        """,
    "handed to an evaluation out of sight": """
        from engine import evaluate

        def main(model, test_set):
            data_loader_test = DataLoader(test_set, shuffle=True, drop_last=True)  # ML306,ML307
            evaluate(model, data_loader_test, device="cuda")
        """,
    "lightning asks for it": """
        import pytorch_lightning as pl

        class Digits(pl.LightningModule):
            def train_dataloader(self):
                return DataLoader(self.train_set, shuffle=True)

            def test_dataloader(self):
                return DataLoader(self.test_set, shuffle=True)  # ML306
        """,
    "a trainer given the loader": """
        import lightning as L

        def main(model, data):
            loader = DataLoader(data, shuffle=True)  # ML306
            return L.Trainer().predict(model, dataloaders=loader)
        """,
    "options in a dictionary": """
        def main(model, data):
            options = dict(batch_size=8, shuffle=True)
            loader = DataLoader(data, **options)  # ML306
            model.eval()
            with torch.inference_mode():
                for batch in loader:
                    yield model(batch)
        """,
    "a progress bar around it": """
        from tqdm import tqdm

        @torch.no_grad()
        def extract_features(model, data):
            model.eval()
            loader = DataLoader(data, batch_size=8, shuffle=True)  # ML306
            features = []
            for x in tqdm(loader, desc="features"):
                features.append(model(x).cpu())
            return torch.cat(features)
        """,
    "a nested pipeline in a predictor": """
        from torchvision.transforms import v2

        class Predictor:
            def __init__(self, path):
                self.model = torch.jit.load(path)
                self.model.eval()
                self.transform = v2.Compose([
                    v2.Resize(256),
                    v2.RandomApply([v2.ColorJitter(0.4)], p=0.3),  # ML305
                    v2.Compose([v2.ToTensor()]),
                ])

            def predict(self, image):
                x = self.transform(image).unsqueeze(0)
                with torch.no_grad():
                    return self.model(x).argmax(1)
        """,
    "a script from top to bottom": """
        import sys
        from PIL import Image

        preprocess = transforms.Compose([transforms.RandomCrop(224), transforms.ToTensor()])  # ML305
        model = torch.hub.load("pytorch/vision", "resnet50", pretrained=True)
        model.eval()
        image = Image.open(sys.argv[1])
        batch = torch.unsqueeze(preprocess(image), 0)
        with torch.no_grad():
            output = model(batch)
        print(output.argmax(1))
        """,
    "the training preprocess of open_clip in a data set": """
        import open_clip

        def zero_shot(root):
            model, preprocess_train, _ = open_clip.create_model_and_transforms("ViT-B-32", pretrained="openai")
            model.eval()
            dataset = datasets.ImageFolder(root, transform=preprocess_train)  # ML305
            with torch.no_grad():
                for images, _ in DataLoader(dataset, batch_size=8):
                    print(model.encode_image(images))
        """,
    "left early in a dry run only": """
        def test(args, model, test_loader):
            model.eval()
            with torch.no_grad():
                for x, y in test_loader:
                    print(model(x))
                    if args.dry_run:
                        break

        def main(args, model, data, **kwargs):
            test_loader = DataLoader(data, batch_size=8, shuffle=True, **kwargs)  # ML306
            test(args, model, test_loader)
        """,
    "the training preprocess of open_clip on a list": """
        import open_clip

        @torch.no_grad()
        def embed(images):
            parts = open_clip.create_model_and_transforms("ViT-B-32", pretrained="openai")
            m, train_preprocess = parts[0], parts[1]
            m.eval()
            batch = torch.stack([train_preprocess(image) for image in images])  # ML305
            return m.encode_image(batch)
        """,
    "the pipeline of the other split": """
        import albumentations as A

        def get_transforms(*, data):
            if data == "train":
                return A.Compose([A.Resize(8, 8), A.Transpose(p=0.5)])  # ML305
            elif data == "valid":
                return A.Compose([A.Resize(8, 8), A.Normalize()])

        class Leaves(Dataset):
            def __init__(self, frame, transform=None):
                self.frame, self.transform = frame, transform

            def __getitem__(self, index):
                image = self.frame[index]
                if self.transform:
                    image = self.transform(image=image)["image"]
                return image

        def inference(model, frame):
            loader = DataLoader(Leaves(frame, transform=get_transforms(data="train")))
            model.eval()
            with torch.no_grad():
                return [model(x).softmax(1) for x in loader]
        """,
    "kornia on the batch": """
        import kornia.augmentation as K

        augment = nn.Sequential(K.RandomHorizontalFlip(p=0.5), K.Normalize(0.5, 0.5))  # ML305

        @torch.no_grad()
        def validate(model, loader):
            model.eval()
            for x, y in loader:
                x = augment(x)
                print(model(x))
        """,
    "a split of an augmented whole": """
        def main(model, root):
            tf = transforms.Compose([transforms.RandomRotation(20), transforms.ToTensor()])  # ML305
            train_set, val_set = random_split(datasets.ImageFolder(root, tf), [800, 200])
            val_loader = DataLoader(val_set, batch_size=8)
            model.eval()
            with torch.no_grad():
                for x, y in val_loader:
                    print(model(x).argmax(1))
        """,
    "steps gathered in a list": """
        def pipeline():
            steps = [transforms.Resize(256)]
            steps.append(transforms.RandomErasing())  # ML305
            return transforms.Compose(steps)

        @torch.no_grad()
        def predict(model, image):
            model.eval()
            return model(pipeline()(image)[None])
        """,
    "in a trainer loop by epoch": """
        def main(model, train_ds, valid_ds, loss_fn, optimizer):
            train_dl = DataLoader(train_ds, batch_size=8, shuffle=True, drop_last=True)
            valid_dl = DataLoader(valid_ds, batch_size=8, shuffle=False, drop_last=True)  # ML307
            for epoch in range(3):
                model.train()
                for x, y in train_dl:
                    loss_fn(model(x), y).backward()
                    optimizer.step()
                model.eval()
                losses = []
                with torch.no_grad():
                    for x, y in valid_dl:
                        losses.append(loss_fn(model(x), y).item())
        """,
    "the forward is in a helper": """
        def evaluate(model, data, step):
            loader = DataLoader(data, batch_size=8, shuffle=True)  # ML306
            model.eval()
            with torch.no_grad():
                for batch in loader:
                    step(batch)
        """,
    "a trainer is given its loaders": """
        class Trainer:
            def __init__(self, model, train_loader, val_loader):
                self.model, self.train_loader, self.val_loader = model, train_loader, val_loader

            def train_epoch(self, optimizer):
                for x in self.train_loader:
                    self.model(x).sum().backward()
                    optimizer.step()

            def validate(self):
                self.model.eval()
                with torch.no_grad():
                    for x in self.val_loader:
                        print(self.model(x))

        def main(model, a, b):
            Trainer(model, DataLoader(a, shuffle=True), DataLoader(b, shuffle=True)).validate()  # ML306
        """,
    "loaders of a class, by key": """
        class Run:
            def __init__(self, model, sets):
                self.model = model
                self.loaders = {
                    "train": DataLoader(sets[0], shuffle=True, drop_last=True),
                    "val": DataLoader(sets[1], drop_last=True),  # ML307
                }

            @torch.no_grad()
            def test(self):
                self.model.eval()
                return [self.model(x) for x in self.loaders["val"]]
        """,
    "accelerate hands it back": """
        from accelerate import Accelerator

        def main(model, train_ds, eval_ds):
            accelerator = Accelerator()
            eval_loader = DataLoader(eval_ds, shuffle=True)  # ML306
            model, eval_loader = accelerator.prepare(model, eval_loader)
            model.eval()
            for batch in eval_loader:
                with torch.no_grad():
                    outputs = model(**batch)
                print(outputs.logits.argmax(-1))
        """,
}

ACROSS_FILES = {
    "loaders built elsewhere, in a dictionary": {
        "data.py": """
            from torch.utils.data import DataLoader

            def get_dataloaders(train_set, test_set, batch_size):
                loaders = {}
                loaders["train"] = DataLoader(train_set, batch_size, shuffle=True, drop_last=True)
                loaders["test"] = DataLoader(test_set, batch_size, shuffle=False, drop_last=True)  # ML307
                return loaders
            """,
        "eval.py": """
            import torch
            from data import get_dataloaders

            def evaluate(model, sets):
                loaders = get_dataloaders(*sets, 8)
                model.eval()
                with torch.no_grad():
                    return [model(x) for x, _ in loaders["test"]]
            """,
    },
    "transforms, data and loop in three files": {
        "transforms_.py": """
            from torchvision import transforms as T

            def get_transforms():
                train = T.Compose([T.RandomResizedCrop(224), T.ToTensor()])
                val = T.Compose([T.RandomResizedCrop(224), T.ToTensor()])  # ML305
                return train, val
            """,
        "data.py": """
            from torch.utils.data import DataLoader
            from torchvision.datasets import ImageFolder
            from transforms_ import get_transforms

            def val_loader(root):
                _, tf = get_transforms()
                return DataLoader(ImageFolder(root, tf))
            """,
        "main.py": """
            import torch
            from data import val_loader

            def test(model, root):
                model.eval()
                with torch.no_grad():
                    for x, _ in val_loader(root):
                        print(model(x).argmax(1))
            """,
    },
}


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_silent(code: str, lint: Lint) -> None:
    lint(_HEAD + code, rules=RULES)


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_found(code: str, lint: Lint) -> None:
    lint(_HEAD + code, rules=RULES)


@pytest.mark.parametrize("files", ACROSS_FILES.values(), ids=ACROSS_FILES)
def test_across_files(files: dict[str, str], lint: Lint) -> None:
    lint(files, rules=RULES)


_LOOP = """
        def evaluate(model, test_set, meter, file, seen):
            model.eval()
            total, losses, rows = 0.0, [], ""
            with torch.no_grad():
                for step, (x, y) in enumerate(DataLoader(test_set, batch_size=4, shuffle=True)):  # {mark}
                    if torch.cuda.is_available():
                        x = x.cuda()
                    out = model(x)
                    loss = nn.functional.cross_entropy(out, y, reduction="sum")
                    {line}
            return total, losses, rows
        """
_SUMS = [
    "total += loss.item()",
    "total = total + loss.item(); losses.append(loss.item())",
    "meter.update(out, y)",
    "self.total += loss.item()",
]
_ROWS = [
    "total += loss.item(); seen.append(out)",
    "total += loss.item(); seen += out.tolist()",
    "total += loss.item(); seen[step] = out",
    "total += loss.item(); seen = torch.cat([seen, out])",
    "total += loss.item(); rows += f'{out}'",
    "total += loss.item(); rows += ','",
    "total += loss.item(); file.write(str(out))",
    "total += loss.item(); seen.last = out",
    "total += loss.item(); yield out",
    "total += loss.item(); show(out)",
    "print(loss.item())",
    "total += loss.item(); print(step, out)",
    "found = out.tolist(); seen += found",
    "seen[step : step + 4] += out",
    "total += loss.item(); losses.append(out)",
    "total += loss.item(); file.update({step: out})",
]


@pytest.mark.parametrize("line", _ROWS)
def test_what_is_collected_in_another_order(line: str, lint: Lint) -> None:
    lint(_HEAD + _LOOP.format(mark="ML306:warning", line=line), rules=RULES)


@pytest.mark.parametrize("line", _SUMS)
def test_a_sum_in_another_order_is_an_info(line: str, lint: Lint) -> None:
    lint(_HEAD + _LOOP.format(mark="ML306:info", line=line), rules=RULES)
