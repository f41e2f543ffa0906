"""The order in which files are checked changes nothing."""

import textwrap

import pytest

METRICS = """
    import torch

    @torch.no_grad()
    def accuracy(model, loader):
        return sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
    """
RIGHT = """
    from metrics import accuracy
    from torchvision.models import resnet18

    def main(loader):
        net = resnet18(weights="DEFAULT").eval()
        print(accuracy(net, loader))
    """
WRONG = """
    from metrics import accuracy
    from torchvision.models import resnet18

    def main(loader):
        net = resnet18(weights="DEFAULT")
        print(accuracy(net, loader))  # ML101
    """


@pytest.mark.parametrize("wrong", ["a_wrong.py", "z_wrong.py"])
@pytest.mark.parametrize("right", ["a_right.py", "z_right.py"])
def test_the_wrong_caller_is_found_before_and_after_what_it_calls(lint, wrong, right):
    files = {wrong: WRONG, "metrics.py": METRICS, right: RIGHT}
    lint({name: textwrap.dedent(files[name]) for name in sorted(files)})


SETTINGS = {
    "base.py": """
        class Settings:
            def __init__(self):
                self.flag = True

        settings = Settings()
        """,
    "package.py": """
        import base

        active = base.settings
        """,
    "app.py": """
        import torch
        import base
        import package

        def first(model, x):
            if base.settings:
                print(package.active)
            with torch.no_grad():
                return model(x).argmax(-1).tolist()

        def second(model, x):
            if package.active:
                x = x + 1
            with torch.no_grad():
                return model(x).argmax(-1).tolist()
        """,
}


def test_what_a_module_took_from_another_is_there_for_whoever_imports_only_the_first(lint):
    lint(SETTINGS, rules=["ML201"])
