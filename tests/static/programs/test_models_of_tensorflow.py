"""A file that computes with TensorFlow, and imports no torch, runs models of TensorFlow: a project may serve both."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

FILES = {
    "keras_client.py": """
    import tensorflow as tf

    class KerasClient:
        def batches(self, data):
            for x in data:
                yield {MADE}

        def test(self, data, model):
            results = model.evaluate(self.batches(data)){MARK}
            return results["accuracy"]
    """,
    "run.py": """
    from transformers import AutoModelForSequenceClassification
    from keras_client import KerasClient

    def test(data, config):
        model = AutoModelForSequenceClassification.from_config(config)
        model.load_state_dict(config.weights)
        return KerasClient().test(data, model)
    """,
}


@pytest.mark.parametrize(
    ("made", "mark"), [("tf.convert_to_tensor(x)", ""), ("tf.io.gfile.GFile(x).read()", "  # ML101")]
)
def test_a_model_that_is_handed_to_it(lint: Lint, made: str, mark: str) -> None:
    files = {name: text.replace("{MADE}", made).replace("{MARK}", mark) for name, text in FILES.items()}
    lint(files, rules=["ML101", "ML201"])
