"""Code that serves several libraries asks a model whether it is one of torch."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

VALIDATE = """
        import torch
        from torch import nn
        from torchvision.models import resnet18
        from lib import is_torch_available, open_session

        def validate(reference, session, inputs):
            if ASKED:
                THERE
            else:
                outputs = reference(inputs){MARK}
            print("differs by", abs(outputs - session.run(inputs)).max())

        def main():
            model = resnet18(weights="DEFAULT").eval()
            validate(model, open_session(), torch.zeros(1, 3, 224, 224))

        if __name__ == "__main__":
            main()
"""

CAREFUL = """with torch.no_grad():
                    outputs = reference(inputs)"""


@pytest.mark.parametrize(
    "asked",
    [
        "isinstance(reference, nn.Module)",
        "isinstance(reference, torch.nn.Module)",
        "is_torch_available() and isinstance(reference, nn.Module)",
        "HAS_TORCH and isinstance(reference, torch.nn.Module)",
    ],
)
def test_the_other_branch_is_about_no_model_of_torch(lint: Lint, asked: str) -> None:
    lint(VALIDATE.replace("ASKED", asked).replace("THERE", CAREFUL).replace("{MARK}", ""))


def test_what_a_model_of_torch_does_is_told_of(lint: Lint) -> None:
    careless = "outputs = reference(inputs)  # ML201"
    asked = "isinstance(reference, nn.Module)"
    lint(VALIDATE.replace("ASKED", asked).replace("THERE", careless).replace("{MARK}", ""))


@pytest.mark.parametrize("asked", ["isinstance(reference, nn.Module) and FAST", "isinstance(reference, nn.Sequential)"])
def test_other_questions_leave_it_open(lint: Lint, asked: str) -> None:
    lint(VALIDATE.replace("ASKED", asked).replace("THERE", CAREFUL).replace("{MARK}", "  # ML201"))
