"""Modes that a library sets: by a method of its models that a helper calls, in the project of the library itself."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

RECOGNISE = """
        import torch
        from fairseq import checkpoint_utils, utils

        def prepare(args, models):
            for model in models:
                model.METHOD(need_attn=args.print_alignment)
                if args.fp16:
                    model.half()

        def main(args, batches):
            models, options, task = checkpoint_utils.load_model_ensemble_and_task([args.path])
            prepare(args, models)
            for batch in batches:
                with torch.no_grad():
                    print(models[0](**batch).argmax(-1)){MARK}
"""


def test_a_helper_readies_models_by_a_method_of_the_library(lint: Lint) -> None:
    lint(RECOGNISE.replace("METHOD", "make_generation_fast_").replace("{MARK}", ""))


@pytest.mark.parametrize("method", ["max_positions", "get_targets"])
def test_other_methods_ready_nothing(lint: Lint, method: str) -> None:
    lint(RECOGNISE.replace("METHOD", method).replace("{MARK}", "  # ML101"))


TASK = {
    "fairseq/__init__.py": "",
    "fairseq/tasks/__init__.py": "from .fairseq_task import FairseqTask\n",
    "fairseq/tasks/fairseq_task.py": """
        class FairseqTask:
            def __init__(self, cfg):
                self.cfg = cfg

            def valid_step(self, sample, model, criterion):
                raise NotImplementedError
    """,
    "fairseq/tasks/pictures.py": """
        from torchvision.models import resnet18
        from LIBRARY import FairseqTask

        class PictureTask(FairseqTask):
            def __init__(self, cfg):
                super().__init__(cfg)
                self.judge = resnet18(weights="DEFAULT")

            def METHOD(self, sample, model, criterion):
                return self.judge(sample["pictures"]).argmax(-1).tolist(){MARK}
    """,
}


def _task(library: str, method: str, mark: str = "") -> dict[str, str]:
    return {
        name: text.replace("LIBRARY", library).replace("METHOD", method).replace("{MARK}", mark)
        for name, text in TASK.items()
    }


@pytest.mark.parametrize("library", ["fairseq.tasks", "fairseq.tasks.fairseq_task"])
def test_in_a_fork_of_a_library_its_trainer_calls_the_same_methods(lint: Lint, library: str) -> None:
    lint(_task(library, "valid_step"), possible=True)


def test_other_methods_of_a_fork_are_judged(lint: Lint) -> None:
    lint(_task("fairseq.tasks", "valid_scores", "  # ML101,ML201"), possible=True)


def test_a_class_of_the_same_name_in_another_package_is_no_library(lint: Lint) -> None:
    files = _task("speechlib.tasks", "valid_step", "  # ML101,ML201")
    lint({name.replace("fairseq/", "speechlib/"): text for name, text in files.items()}, possible=True)
