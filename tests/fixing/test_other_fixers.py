"""Fixes of the rules about autograd and weights: what they leave alone, and what they write."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent

from tests.fixing.conftest import Fixed, fix_folder


class TestNoGradWithoutEffect:
    def test_what_trains_yields_or_defines_behind_it(self, fixed: Fixed) -> None:
        code = """
            import torch

            def train(model, x):
                torch.no_grad()
                model(x).backward()

            def stream(model, loader):
                torch.no_grad()
                for x in loader:
                    yield model(x)

            def nothing(model):
                print(model)
                torch.no_grad()
            """
        assert fixed(code, "ML203") == dedent(code)

    def test_the_block_ends_with_the_last_computation(self, fixed: Fixed) -> None:
        code = '''
            import torch

            def predict(model, x):
                # inference
                torch.no_grad()  # saves memory
                out = model(
                    x,
                )
                text = """
                untouched"""

                # the answer
                answer = out.argmax(1)
                other = text
                return answer, other
            '''
        assert fixed(code, "ML203") == dedent(
            '''
            import torch

            def predict(model, x):
                # inference
                with torch.no_grad():  # saves memory
                    out = model(
                        x,
                    )
                    text = """
                untouched"""

                    # the answer
                    answer = out.argmax(1)
                other = text
                return answer, other
            '''
        )

    def test_a_variable_that_nothing_reads_becomes_the_block(self, fixed: Fixed) -> None:
        code = """
            import torch

            def predict(model, x):
                guard = torch.no_grad()
                return model(x).argmax(1)
            """
        assert "    with torch.no_grad():\n        return model(x).argmax(1)\n" in fixed(code, "ML203")

    def test_a_whole_program_is_switched(self, fixed: Fixed) -> None:
        code = """
            import torch

            torch.no_grad()

            def predict(model, x):
                return model(x)
            """
        assert "\ntorch.set_grad_enabled(False)\n" in fixed(code, "ML203")

    def test_two_space_indentation_stays(self, fixed: Fixed) -> None:
        code = """
            import torch

            def predict(model, x):
              torch.inference_mode()
              for y in x:
                print(model(y))
            """
        assert "  with torch.inference_mode():\n    for y in x:\n      print(model(y))\n" in fixed(code, "ML203")

    def test_only_the_call_is_safe(self, fixed: Fixed) -> None:
        code = """
            import torch

            def predict(model, x):
                torch.no_grad()
                with torch.no_grad:
                    return model(x)
            """
        assert fixed(code, "ML203", unsafe=False) == dedent(code).replace("no_grad:", "no_grad():")

    def test_a_cell_is_where_the_block_ends(self, tmp_path: Path) -> None:
        cells = [
            ["import torch\n", "torch.no_grad()\n", "%time\n", "y = model(x)"],
            ["z = model(y)\n"],
            ["torch.no_grad()\n", "model(z)"],
        ]
        book = {"cells": [{"cell_type": "code", "source": source} for source in cells]}
        (tmp_path / "a.ipynb").write_text(json.dumps(book))
        (tmp_path / ".modellint.yaml").write_text("select: [ML203]\n")
        fix_folder(tmp_path)
        new = [cell["source"] for cell in json.loads((tmp_path / "a.ipynb").read_text())["cells"]]
        assert new[0] == ["import torch\n", "with torch.no_grad():\n", "    %time\n", "    y = model(x)"]
        assert new[1:] == cells[1:], "the last value of a cell is shown, which a block would prevent"


class TestMissingNoGrad:
    def test_a_program_is_wrapped_no_further_than_it_must(self, fixed: Fixed) -> None:
        code = """
            import torch as th
            from torchvision.models import resnet18

            model = resnet18(weights="DEFAULT").eval()

            # the first
            a = model(th.zeros(1, 3, 8, 8)).argmax(1)
            b = model(th.ones(1, 3, 8, 8)).argmax(1)
            print(a, b)
            """
        assert fixed(code, "ML201").endswith(
            dedent(
                """
                # the first
                with th.no_grad():
                    a = model(th.zeros(1, 3, 8, 8)).argmax(1)
                    b = model(th.ones(1, 3, 8, 8)).argmax(1)
                print(a, b)
                """
            )
        )

    def test_a_function_that_trains_too_is_not_decorated(self, fixed: Fixed) -> None:
        code = """
            import torch

            def fit(model, loader, val_loader, optimizer, loss_fn):
                for epoch in range(10):
                    model.train()
                    for x, y in loader:
                        loss_fn(model(x), y).backward()
                        optimizer.step()
                    model.eval()
                    total = 0.0
                    for x, y in val_loader:
                        total += loss_fn(model(x), y).item()
                    print(total)
            """
        assert "            with torch.no_grad():\n                total += loss_fn(model(x), y).item()" in fixed(
            code, "ML201"
        )

    def test_other_decorators_stay_outside(self, fixed: Fixed) -> None:
        code = """
            from __future__ import annotations

            import click
            from torchvision.models import resnet18

            @click.command()
            def predict(image):
                model = resnet18(weights="DEFAULT").eval()
                print(model(image).argmax(-1).item())
            """
        new = fixed(code, "ML201")
        assert "annotations\n\nimport torch\nimport click\n" in new
        assert "@click.command()\n@torch.no_grad()\ndef predict" in new

    def test_a_models_own_method_may_serve_training(self, fixed: Fixed) -> None:
        code = """
            import torch
            from torch import nn

            class Captioner(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.encoder = nn.Linear(4, 4)

                def forward(self, x):
                    return self.predict(x)

                def predict(self, x):
                    return self.encoder(x).argmax(1)

            def main(x):
                model = Captioner()
                model.load_state_dict(torch.load("a.pt", weights_only=True))
                model.eval()
                print(model.predict(x))
            """
        assert "@torch.no_grad()\n    def" not in fixed(code, "ML201")

    def test_what_else_runs_between_two_forwards_keeps_its_gradients(self, fixed: Fixed) -> None:
        code = """
            from attacks import attack
            from torchvision.models import resnet18

            model = resnet18(weights="DEFAULT").eval()
            x = load()
            print(model(x).argmax(1))
            x = attack(x)
            print(model(x).argmax(1))
            """
        assert fixed(code, "ML201") == dedent(code)


class TestStringForBool:
    def test_a_text_that_is_used_elsewhere(self, fixed: Fixed) -> None:
        code = """
            import timm

            WANTED = "false"
            model = timm.create_model("resnet18", pretrained=WANTED)
            print(f"pretrained: {WANTED.upper()}")
            """
        assert fixed(code, "ML405") == dedent(code)

    def test_a_text_says_what_was_meant(self, fixed: Fixed) -> None:
        code = """
            import timm

            a = timm.create_model("resnet18", pretrained="False")
            b = timm.create_model("yes", pretrained='yes', num_classes=3)
            """
        new = fixed(code, "ML405", unsafe=False)
        assert 'timm.create_model("resnet18", pretrained=False)' in new
        assert 'timm.create_model("yes", pretrained=True, num_classes=3)' in new


class TestUnsafeLoad:
    def test_a_whole_model_would_no_longer_load(self, fixed: Fixed) -> None:
        code = """
            import torch

            def load(path):
                net = torch.load(path, weights_only=False)
                return net.eval()

            other = torch.load("b.pt", weights_only=False).to("cpu")

            try:
                state = torch.load("c.pt", weights_only=True)
            except TypeError:
                state = torch.load("c.pt")
            """
        assert fixed(code, "ML403") == dedent(code)

    def test_a_model_that_this_file_saves_whole(self, fixed: Fixed) -> None:
        code = """
            import torch

            torch.save(net, "net.ckpt")
            again = torch.load("net.ckpt")

            torch.save(net.state_dict(), "net.pt")
            torch.save(checkpoint, "all.pt")
            """
        loads = """
            net.load_state_dict(torch.load("net.pt"))
            everything = torch.load("all.pt")
            """
        fresh = dedent(loads).replace('")', '", weights_only=True)')
        assert fixed(code + loads, "ML403") == dedent(code) + fresh

    def test_each_layout(self, fixed: Fixed) -> None:
        code = """
            import torch

            a = torch.load("a.pt")
            b = torch.load("b.pt", map_location="cpu", weights_only=False)  # all
            c = torch.load(
                "c.pt",
                map_location="cpu",
            )
            d = torch.load(*a)
            """
        assert fixed(code, "ML403") == dedent(
            """
            import torch

            a = torch.load("a.pt", weights_only=True)
            b = torch.load("b.pt", map_location="cpu", weights_only=True)  # all
            c = torch.load(
                "c.pt",
                map_location="cpu",
                weights_only=True,
            )
            d = torch.load(*a)
            """
        )


class TestLoadersAndPreprocesses:
    def test_a_call_that_builds_the_training_loader_too(self, fixed: Fixed) -> None:
        code = """
            import torch
            from torch.utils.data import DataLoader

            def make(data):
                return DataLoader(data, batch_size=8, shuffle=True)

            @torch.no_grad()
            def evaluate(model, data):
                model.eval()
                return [model(x).argmax(1) for x, _ in make(data)]
            """
        assert fixed(code, "ML306") == dedent(code)

    def test_a_switch_that_is_decided_elsewhere_and_a_loader_that_is_handed_out(self, fixed: Fixed) -> None:
        code = """
            import torch
            from torch.utils.data import DataLoader

            def provide(data, flag):
                shuffle = flag != "test"
                loader = DataLoader(data, batch_size=8, shuffle=shuffle)
                return data, loader

            def make(data):
                loader = DataLoader(data, batch_size=8, shuffle=True)
                return data, loader

            def both(train, test):
                train_loader = DataLoader(train, batch_size=8, shuffle=True)
                test_loader = DataLoader(test, batch_size=8, shuffle=True)
                return train_loader, test_loader

            @torch.no_grad()
            def evaluate(model, data, train):
                model.eval()
                known = [model(x).argmax(1) for x, _ in provide(data, "val")[1]]
                found = [model(x).argmax(1) for x, _ in make(data)[1]]
                _, test_loader = both(train, data)
                return known, found, [model(x).argmax(1) for x, _ in test_loader]
            """
        before = "test_loader = DataLoader(test, batch_size=8, shuffle=True)"
        assert fixed(code, "ML306") == dedent(code).replace(before, before.replace("True", "False"))

    def test_both_preprocesses_are_in_use(self, fixed: Fixed) -> None:
        code = """
            import open_clip
            import torch

            def embed(image):
                model, augment, prepare = open_clip.create_model_and_transforms("RN50", pretrained="openai")
                model.eval()
                print(prepare)
                with torch.no_grad():
                    return model.encode_image(augment(image).unsqueeze(0))
            """
        assert fixed(code, "ML305") == dedent(code).replace("augment(image)", "prepare(image)")


class TestWhatHoldsNoWeights:
    def test_a_file_of_data_is_left_to_a_person(self, fixed: Fixed) -> None:
        code = """
            import torch

            def cached(folder, dev_dataset_path):
                parts = {"train": torch.load(folder / "train_dataset"), "dev": torch.load(dev_dataset_path)}
                data = torch.load("numbers.pt")
                return parts, data
            """
        assert fixed(code, "ML403") == dedent(code)

    def test_what_a_model_loads_are_weights_whatever_the_folder_is_called(self, fixed: Fixed) -> None:
        code = """
            import torch

            def restore(net, opt):
                net.load_state_dict(torch.load("saved/%s.pth" % opt.dataset_name))
            """
        assert fixed(code, "ML403") == dedent(code).replace("dataset_name)", "dataset_name, weights_only=True)")

    def test_weights_below_a_folder_of_data(self, fixed: Fixed) -> None:
        code = """
            import torch

            def restore(model, data_dir):
                state = torch.load(data_dir / "best.pt")
                model.load_state_dict(state)
            """
        assert fixed(code, "ML403") == dedent(code).replace('"best.pt")', '"best.pt", weights_only=True)')
