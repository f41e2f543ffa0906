"""Loaders of data that says itself that it is held out, over which nothing in sight runs."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

RULES = ["ML305", "ML306", "ML307"]
PROGRAM = """
        from torch.utils.data import DataLoader, RandomSampler
        from torchvision import datasets, transforms as T

        from acme.data import Scans

        class {DATA}(datasets.CIFAR10):
            def __getitem__(self, index):
                {READ}

        class {WRAPPER}:
            def __init__(self, base):
                self.base = base

            def __call__(self, x):
                {APPLY}

        def {FUNCTION}(root, split, sampler):
            tf = T.Compose([
                T.RandomCrop(32, padding=4),{MARK}
                T.ToTensor(),
            ])
            plain = T.Compose([T.CenterCrop(32), T.ToTensor()])
            {BODY}
"""
SET = "test_set = datasets.CIFAR10(root, train=False, transform=tf)"
TRAIN = "DataLoader(datasets.CIFAR10(root, train=True, transform=tf), 64, shuffle=True)"


def program(body: str, mark: str = "", **parts: str) -> str:
    given = {
        "DATA": "Images",
        "READ": "return self.transform(self.data[index])",
        "WRAPPER": "Wrapper",
        "APPLY": "return self.base(x)",
        "FUNCTION": "load",
        "BODY": body,
        "MARK": mark,
        **parts,
    }
    text = PROGRAM
    for name, value in given.items():
        text = text.replace("{" + name + "}", value)
    return text


@pytest.mark.parametrize(
    "body",
    [
        "return DataLoader(datasets.CIFAR10(root, train=True, transform=tf), 64)",
        "test_loader = DataLoader(datasets.CIFAR10(root, train=False, transform=plain), 64); return test_loader",
        "train_loader = DataLoader(datasets.CIFAR10(root, train=False, transform=tf), 64); return train_loader",
        "loader = DataLoader(datasets.CIFAR10(root, train=False, transform=tf), 64); return loader",
        "test_loader = DataLoader(datasets.CIFAR10(root, transform=tf), 64); return test_loader",
        "test_loader = DataLoader(datasets.CIFAR10(root, train=split, transform=tf), 64); return test_loader",
        "test_loader = DataLoader(datasets.CIFAR10(root, train=True, transform=tf), 64); return test_loader",
        'test_loader = DataLoader(Scans(root, split="train", transform=tf), 64); return test_loader',
        'test_loader = DataLoader(Scans(root, split="all", transform=tf), 64); return test_loader',
        'test_loader = DataLoader(Scans(root, split="test", train=True, transform=tf), 64); return test_loader',
        f"{SET}; test_loader = DataLoader(test_set, 64, shuffle=True); return test_loader",
        f"{SET}; test_loader = DataLoader(test_set, 64, True); return test_loader",
        f"{SET}; test_loader = DataLoader(test_set, 64, shuffle=split); return test_loader",
        f"{SET}; test_loader = DataLoader(test_set, 64, sampler=RandomSampler(test_set)); return test_loader",
        f"{SET}; test_loader = DataLoader(test_set, batch_sampler=sampler); return test_loader",
        f"{SET}; test_set.transform = plain; test_loader = DataLoader(test_set, 64); return test_loader",
        f"{SET}; test_aug_loader = DataLoader(test_set, 64); return test_aug_loader",
        f"{SET}; tta_test_loader = DataLoader(test_set, 64); return tta_test_loader",
        f"{SET}; test_noise_loader = DataLoader(test_set, 64); return test_noise_loader",
        f"{SET}; return DataLoader(test_set, 64), DataLoader(test_set, 64)",
        f"{SET}; return {TRAIN}, test_set",
        f"{SET}; return DataLoader(test_set, 64)",
        f"{SET}; test_loader = DataLoader(test_set, 64)\n            for x, y in test_loader: print(x.mean())",
        f"{SET}; test_loader = DataLoader(test_set, 64)\n            for x, y in test_loader: net(x).backward()",
        f"{SET}; self.test_loader = DataLoader(test_set, 64)\n            print([x for x in self.test_loader])",
        f"{SET}; loaders = {{'test': DataLoader(test_set, 64)}}\n            for x in loaders['test']: print(x)",
        "robust_set = datasets.CIFAR10(root, train=False, transform=tf); test_loader = DataLoader(robust_set, 64)",
    ],
)
def test_loaders_that_say_nothing_or_mean_it(lint: Lint, body: str) -> None:
    lint(program(body), rules=RULES)


WRAPPED = "test_loader = DataLoader(datasets.CIFAR10(root, train=False, transform=Wrapper(tf)), 64)"
READ = "test_loader = DataLoader(Images(root, train=False, transform=tf), 64)"


@pytest.mark.parametrize(
    "parts",
    [
        {"BODY": WRAPPED, "APPLY": "return self.base(x), self.base(x)"},
        {"BODY": WRAPPED, "APPLY": "return [self.base(x) for _ in range(2)]"},
        {"BODY": WRAPPED.replace("Wrapper", "TwoViews"), "WRAPPER": "TwoViews"},
        {"BODY": READ, "READ": "x = self.data[index]; return self.transform(x), self.transform(x)"},
        {"BODY": READ.replace("Images", "ImagePair"), "DATA": "ImagePair"},
        {"BODY": READ, "FUNCTION": "pretrain_loaders"},
        {"BODY": READ, "FUNCTION": "show_loaders"},
        {"BODY": READ, "FUNCTION": "adversarial"},
    ],
)
def test_views_and_tasks(lint: Lint, parts: dict[str, str]) -> None:
    lint(program("pass", **parts), rules=RULES)


@pytest.mark.parametrize(
    ("path", "name"), [("simclr.py", "load"), ("denoising/data.py", "load"), ("tests/test_data.py", "load")]
)
def test_files_about_something_else(lint: Lint, path: str, name: str) -> None:
    lint({path: program(READ, FUNCTION=name)}, rules=RULES)


@pytest.mark.parametrize(
    "body",
    [
        f"{SET}; test_loader = DataLoader(test_set, 128); return test_loader",
        f'{SET}; loaders = {{}}; loaders["test"] = DataLoader(test_set, 128); return loaders',
        f"{SET}; self.valloader = DataLoader(test_set, 128)",
        'val_loader = DataLoader(Scans(root, split="valid", transform=tf), 128); return val_loader',
        'val_loader = DataLoader(Scans(root, image_set="val2017", transform=tf), 128); return val_loader',
        "test_loader = DataLoader(datasets.CIFAR10(root, train=False, transform=Wrapper(tf)), 128)",
    ],
)
def test_crops_of_held_out_data(lint: Lint, body: str) -> None:
    lint(program(body, "  # ML305"), rules=RULES)


@pytest.mark.parametrize(
    "body",
    [
        f"{SET}  # ML305\n            return {TRAIN}, DataLoader(test_set, 128)",
        f"{SET}  # ML305\n            train, test_dl = {TRAIN}, DataLoader(test_set, 128, shuffle=False)",
        f'{SET}  # ML305\n            return {{"train": {TRAIN}, "val": DataLoader(test_set, 128, sampler=None)}}',
    ],
)
def test_crops_of_held_out_data_and_of_training_data(lint: Lint, body: str) -> None:
    lint(program(body), rules=RULES)


def test_a_function_named_for_the_loader_it_returns(lint: Lint) -> None:
    body = f"{SET}; return DataLoader(test_set, 128)"
    lint(program(body, "  # ML305", FUNCTION="get_val_loader"), rules=RULES)


@pytest.mark.parametrize(
    ("option", "mark"),
    [
        ("drop_last=False", ""),
        ("drop_last=split", ""),
        ("shuffle=True, drop_last=True", ""),
        ("shuffle=True", ""),
        ("drop_last=True", "  # ML307"),
    ],
)
def test_held_out_data_that_is_left_over(lint: Lint, option: str, mark: str) -> None:
    lint(
        program(f"val_loader = DataLoader(Scans(root, split='val'), 8, {option}); return val_loader{mark}"), rules=RULES
    )
