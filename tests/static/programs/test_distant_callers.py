"""Whole projects are checked: what a script does wrong shows two files further, where nothing names the script."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

MODELS = """
        import torch.nn as nn
        from layers import Scorer

        class Ranker(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.scorer = Scorer(width)

            def forward(self, x):
                return self.scorer(x)

            def batch_test(self, x):
                return self.scorer(x)
"""

LAYERS = """
        import torch.nn as nn

        class Scorer(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.conv = nn.Linear(width, 1)
                self.dropout = nn.Dropout(0.3)

            def forward(self, x):
                return self.dropout(self.conv(x))
"""

CORPUS = """
        import torch

        class Corpus:
            def __init__(self, batches):
                self.batches = batches

            def get_validation_pred(self, model):
                ranks = []
                for batch in self.batches:
                    scores = model.batch_test(batch)
                    ranks.append(scores.view(-1).sort()[1].tolist())
                print("ranks", sum(ranks, []))
"""

SCRIPT = """
        import torch
        from corpus import Corpus
        from models import Ranker

        def evaluate(path):
            ranker = Ranker(8)
            ranker.load_state_dict(torch.load(path, weights_only=True))
            {READY}
            with torch.no_grad():
                Corpus(torch.load("batches.pt", weights_only=True)).get_validation_pred(ranker){MARK}

        evaluate("ranker.pt")
"""


@pytest.mark.parametrize("ready", [True, False], ids=["put into eval()", "left in training mode"])
@pytest.mark.parametrize("check", [None, ["evaluate.py"]], ids=["all files", "the script"])
def test_a_script_whose_evaluator_is_given_the_model(lint: Lint, ready: bool, check: list[str] | None) -> None:
    script = SCRIPT.replace("{READY}", "ranker.eval()" if ready else "ranker.cuda()")
    script = script.replace("{MARK}", "" if ready else "  # ML101")
    lint({"evaluate.py": script, "corpus.py": CORPUS, "models.py": MODELS, "layers.py": LAYERS}, check=check)


def test_one_cause_is_told_once_where_the_caller_is_found(lint: Lint) -> None:
    corpus = CORPUS.replace("import torch\n", "import torch\n        from models import Ranker\n")
    script = SCRIPT.replace("{READY}", "ranker.cuda()").replace("{MARK}", "  # ML101")
    lint({"evaluate.py": script, "corpus.py": corpus, "models.py": MODELS, "layers.py": LAYERS})


OWNER = """
        import torch
        from corpus import Corpus
        from models import Ranker

        class Run:
            def __init__(self, path, batches):
                self.net = Ranker(8)
                self.net.load_state_dict(torch.load(path, weights_only=True))
                self.corpus = Corpus(batches)

            def evaluate(self):
                {READY}
                with torch.no_grad():
                    self.corpus.get_validation_pred(self.net){MARK}

        Run("ranker.pt", torch.load("batches.pt", weights_only=True)).evaluate()
"""


@pytest.mark.parametrize("ready", [True, False], ids=["put into eval()", "left in training mode"])
def test_an_object_that_is_handed_the_model(lint: Lint, ready: bool) -> None:
    owner = OWNER.replace("{READY}", "self.net.eval()" if ready else "self.net.cuda()")
    owner = owner.replace("{MARK}", "" if ready else "  # ML101")
    lint({"run.py": owner, "corpus.py": CORPUS, "models.py": MODELS, "layers.py": LAYERS})
