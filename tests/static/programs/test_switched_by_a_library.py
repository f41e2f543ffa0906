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
