"""What a fix is for: the same program, run before and after it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any

import pytest

from tests.fixing.conftest import Fixed

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

HEAD = """
import torch
import torch.nn.functional as F
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(64, 64)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(self.fc(x))
"""


def program(code: str) -> dict[str, Any]:
    """Run `code` and return its names."""
    names: dict[str, Any] = {"__name__": "app"}
    torch.manual_seed(0)
    exec(compile(code, "app.py", "exec"), names)
    return names


def same_answer_twice(predict: Callable[[Any], Any]) -> bool:
    x = torch.randn(8, 64)
    return bool(torch.equal(predict(x), predict(x)))


RANDOM = {
    "ML101": """
        def predict(x):
            torch.manual_seed(0)
            net = Net()
            net.load_state_dict(torch.load(PATH, weights_only=True))
            torch.seed()
            with torch.no_grad():
                return net(x).softmax(-1)
        """,
    "ML102": """
        def predict(x, net=Net()):
            net.eval
            with torch.no_grad():
                return net(x)
        """,
    "ML104": """
        class Block(nn.Module):
            def forward(self, x):
                return F.dropout(x, 0.5)

        block = Block().eval()

        def predict(x):
            return block(x)
        """,
    "ML105": """
        class Block(nn.Module):
            def forward(self, x):
                return nn.Dropout(0.5)(x)

        block = Block().eval()

        def predict(x):
            return block(x)
        """,
    "ML106": """
        class Stack(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = [nn.Linear(64, 64), nn.Dropout(0.5)]

            def forward(self, x):
                for layer in self.layers:
                    x = layer(x)
                return x

        stack = Stack().eval()

        def predict(x):
            return stack(x)
        """,
    "ML107": """
        class Frozen(Net):
            def train(self, mode=True):
                super().train()
                return self

        frozen = Frozen().eval()

        def predict(x):
            return frozen(x)
        """,
}


@pytest.mark.parametrize("code", sorted(RANDOM))
def test_answers_are_random_before_and_equal_after(code: str, fixed: Fixed, tmp_path: Path) -> None:
    checkpoint = tmp_path / "net.pt"
    torch.save(program(HEAD)["Net"]().state_dict(), checkpoint)
    text = HEAD + f"\nPATH = {str(checkpoint)!r}\n" + dedent(RANDOM[code])
    assert not same_answer_twice(program(text)["predict"])
    assert same_answer_twice(program(fixed(text, code))["predict"])


def test_attention_drops_in_training_only(fixed: Fixed) -> None:
    text = HEAD + dedent(
        """
        class Attention(nn.Module):
            def forward(self, x):
                return F.scaled_dot_product_attention(x, x, x, dropout_p=0.5)

        attention = Attention()

        def predict(x):
            return attention(x[None, None])
        """
    )
    assert not same_answer_twice(program(text + "\nattention.eval()\n")["predict"])
    after = program(fixed(text, "ML104"))
    assert not same_answer_twice(after["predict"]), "in training mode it still drops"
    after["attention"].eval()
    assert same_answer_twice(after["predict"])


def test_registered_modules_are_saved_and_trained(fixed: Fixed) -> None:
    text = HEAD + dedent(RANDOM["ML106"])
    assert list(program(text)["stack"].state_dict()) == []
    after = program(fixed(text, "ML106"))["stack"]
    assert list(after.state_dict()) == ["layers.0.weight", "layers.0.bias"]
    assert len(list(after.parameters())) == 2


def test_eval_raises_before_and_works_after(fixed: Fixed) -> None:
    text = HEAD + dedent(
        """
        class Policy(Net):
            def train(self):
                super().train()
        """
    )
    with pytest.raises(TypeError):
        program(text)["Policy"]().eval()
    policy = program(fixed(text, "ML107", unsafe=False))["Policy"]()
    assert policy.eval() is policy
    assert (policy.drop.training, policy.train().drop.training) == (False, True)


GRADIENTS = {
    "ML201": """
        def predict(x, net=Net()):
            net.eval()
            out = net(x)
            print(out.argmax(1).tolist())
            return out
        """,
    "ML203": """
        def predict(x, net=Net()):
            torch.no_grad()
            out = net(x)
            return out
        """,
}


@pytest.mark.parametrize("code", sorted(GRADIENTS))
def test_a_graph_is_kept_before_and_none_after(code: str, fixed: Fixed) -> None:
    text = HEAD + dedent(GRADIENTS[code])
    x = torch.randn(2, 64)
    assert program(text)["predict"](x).grad_fn is not None
    assert program(fixed(text, code))["predict"](x).grad_fn is None


def test_a_context_manager_that_is_only_named_raises_before_and_works_after(fixed: Fixed) -> None:
    text = HEAD + dedent(
        """
        def predict(x, net=Net()):
            with torch.no_grad:
                return net(x)
        """
    )
    x = torch.randn(2, 64)
    with pytest.raises((TypeError, AttributeError)):
        program(text)["predict"](x)
    assert program(fixed(text, "ML203", unsafe=False))["predict"](x).grad_fn is None


def test_a_checkpoint_that_runs_code_is_refused_after(fixed: Fixed, tmp_path: Path) -> None:
    witness = tmp_path / "ran"
    checkpoint = tmp_path / "evil.pt"
    torch.save(Evil(str(witness)), checkpoint)
    text = f"import torch\n\ndef load():\n    return torch.load({str(checkpoint)!r}, weights_only=False)\n"
    program(text)["load"]()
    assert witness.exists()
    witness.unlink()
    with pytest.raises(Exception, match=r"[Ww]eights"):
        program(fixed(text, "ML403"))["load"]()
    assert not witness.exists()


class Evil:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (Path(self.path),)


LOADER = (
    HEAD
    + """
from torch.utils.data import DataLoader, TensorDataset

samples = torch.randn(10, 64)

def predict(net, samples):
    loader = DataLoader(TensorDataset(samples), batch_size=4, OPTION)
    net.eval()
    labels = []
    with torch.no_grad():
        for (x,) in loader:
            labels += net(x).argmax(1).tolist()
    return labels
"""
)


def in_order(names: dict[str, Any]) -> list[int]:
    """Return the label of each sample, all of them asked in one batch."""
    with torch.no_grad():
        labels: list[int] = names["net"].eval()(names["samples"]).argmax(1).tolist()
    return labels


def labels_of(text: str) -> tuple[list[int], list[int]]:
    """Run a program; return what it predicts, and the labels in the order of the samples."""
    names = program(text + "\nnet = Net()\n")
    return names["predict"](names["net"], names["samples"]), in_order(names)


@pytest.mark.parametrize(("code", "option"), [("ML306", "shuffle=True"), ("ML405", "shuffle='False'")])
def test_the_order_of_the_predictions_is_another_before_and_that_of_the_samples_after(
    code: str, option: str, fixed: Fixed
) -> None:
    text = LOADER.replace("OPTION", option)
    shuffled, labels = labels_of(text)
    assert shuffled != labels
    assert sorted(shuffled) == sorted(labels), "the same ones, in another order"
    predicted, labels = labels_of(fixed(text, code))
    assert predicted == labels


def test_the_last_samples_get_no_prediction_before_and_one_after(fixed: Fixed) -> None:
    text = LOADER.replace("OPTION", "drop_last=True")
    predicted, labels = labels_of(text)
    assert predicted == labels[:8]
    predicted, labels = labels_of(fixed(text, "ML307"))
    assert predicted == labels


def test_a_text_for_strict_refuses_the_checkpoint_before_and_loads_it_after(fixed: Fixed) -> None:
    text = HEAD + dedent(
        """
        def load(net, state):
            missing, unexpected = net.load_state_dict(state, strict="False")
            return missing
        """
    )
    names = program(text)
    state = names["Net"]().state_dict()
    del state["fc.bias"]
    with pytest.raises(RuntimeError, match=r"fc\.bias"):
        names["load"](names["Net"](), state)
    after = program(fixed(text, "ML405"))
    assert after["load"](after["Net"](), state) == ["fc.bias"]


def test_inference_mode_keeps_the_values_and_no_versions_of_them(fixed: Fixed, tmp_path: Path) -> None:
    checkpoint = tmp_path / "net.pt"
    torch.save(program(HEAD)["Net"]().state_dict(), checkpoint)
    text = HEAD + dedent(
        f"""
        def predict(x):
            net = Net()
            net.load_state_dict(torch.load({str(checkpoint)!r}, weights_only=True))
            net.eval()
            with torch.no_grad():
                return net(x).argmax(1)
        """
    )
    x = torch.randn(8, 64)
    before, after = program(text)["predict"](x), program(fixed(text, "ML205"))["predict"](x)
    assert (before.is_inference(), after.is_inference()) == (False, True)
    assert torch.equal(before, after)


CLIP = """
import torch
from torch import nn

def create_model_and_transforms(name, pretrained=None):
    def crop(image):
        left = int(torch.randint(0, 33, ()))
        return image[left : left + 32]

    def centre(image):
        return image[16:48]

    return nn.Linear(32, 4), crop, centre
"""
"""A stand-in for open_clip: a model, what prepares an image for training, what prepares it for use."""


def test_an_image_is_cropped_at_random_before_and_in_the_centre_after(
    fixed: Fixed, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = ModuleType("open_clip")
    exec(compile(CLIP, "open_clip.py", "exec"), library.__dict__)
    monkeypatch.setitem(sys.modules, "open_clip", library)
    text = dedent(
        """
        import open_clip
        import torch

        model, preprocess, _ = open_clip.create_model_and_transforms("ViT-B-32", pretrained="openai")

        def predict(image):
            model.eval()
            with torch.no_grad():
                return model(preprocess(image)).softmax(-1)
        """
    )
    image = torch.randn(64)
    before = program(text)["predict"]
    assert not all(torch.equal(before(image), before(image)) for _ in range(20))
    after = program(fixed(text, "ML305"))
    assert torch.equal(after["predict"](image), after["predict"](image))
    assert torch.equal(after["predict"](image), after["model"](image[16:48]).softmax(-1))
