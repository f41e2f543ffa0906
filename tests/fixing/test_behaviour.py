"""What a fix is for: the same program, run before and after it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
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
