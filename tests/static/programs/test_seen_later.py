"""More shapes that public repositories were wrongly reported for, and their neighbours that are wrong."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

STEP = """
from {library} import Experiment

class Parity(Experiment):
    def {method}(self, batch):
        self.model.eval()
        out = self.model(batch.x)  # {mark}
        self.accuracy(out.argmax(-1).tolist(), batch.y)
"""

PARTS = """
import torch
from torch import nn

class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(8, 8)
        self.dropout = nn.Dropout(0.5)
        self.eval()

    def {method}(self, sentences):
        out = self.dropout(self.rnn(sentences)[0])  # {mark}
        for sentence, vector in zip(sentences, out):
            sentence.set_embedding({use})
"""

STACK = """
import torch
from torch import nn
from zoo import load_layers

def generate(ids):
    model = nn.Sequential({layers})
    with torch.no_grad():
        return model(ids)[0].argmax(-1).tolist()  # {mark}
"""

DRAWS = """
import torch
from torch import nn

class {name}(nn.Module):
    {about}
    def __init__(self):
        super().__init__()
        self.halting = nn.Linear(8, 1)

    def forward(self, x, state):
        {body}
"""

LOSS = """
import torch

class Executor:
    def __init__(self, model, loss):
        self.model = model
        self.loss = loss.cuda() if loss is not None else None

    def step(self, x, y):
        loss = self.loss(self.model(x), y)
        loss.backward()

    def score(self, x, y):
        with torch.no_grad():
            print(self.loss(self.model(x), y).item())

    def train(self):
        self.model.train()
        if {test}:
            self.loss.train()

    def eval(self):
        self.model.eval()
        if self.loss is not None:
            self.loss.eval()

def fit(model, loss, train, val):
    executor = Executor(model, loss)
    for epoch in range(10):
        executor.train()
        for x, y in train:
            executor.step(x, y)
        executor.eval()
        for x, y in val:
            executor.score(x, y)
"""

SPEECH = """
import torch
from torch import nn

class Features(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(1, 8, 3)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        return self.dropout(self.conv(x))

class Speech(nn.Module):
    def __init__(self, mult):
        super().__init__()
        self.mult = mult
        self.extractor = {part}

    def extract_features(self, x):
        with torch.no_grad():
            return self.extractor(x).argmax(-1).tolist()  # {mark}
"""

RECALL = """
import torch

@torch.no_grad()
def recall({name}, batches):
    return [{name}.encode_text(batch).argmax(-1).tolist() for batch in batches]
"""

READY = """
import torch
from transformers import AutoModelForCausalLM

@torch.no_grad()
def next_words(model, prompts):
    return [model(prompt).logits.argmax(-1).tolist() for prompt in prompts]{mark}

def load_lm(name):
    model = AutoModelForCausalLM.from_pretrained(name)
    {ready}
    return model
"""

BENCH = """
import torch
from torchvision.models import resnet18
from setup import wants_segments

model = resnet18(weights="DEFAULT")
if wants_segments():
    model.eval()
y = model(torch.randn(2, 3, 64, 64))  # {mark}
y.sum().backward()
{more}
with torch.no_grad():
    y = model(torch.randn(2, 3, 64, 64))
"""

REWARD = """
import torch

class Policy:
    def reward(self, ids):
        self.model.eval()
        with torch.no_grad():
            scores = self.model(ids).argmax(-1).tolist()
        {switch}
        self.model.eval(){mark}
        return scores
"""

ROLLOUT = """
import torch
from transformers import AutoModelForCausalLM
from tools import {tool}

class Trainer:
    def __init__(self, name):
        self.model = AutoModelForCausalLM.from_pretrained(name)
        {tool}(self.model)

    def train(self, loader, optimizer):
        self.model.train()
        for batch in loader:
            optimizer.zero_grad()
            self.model(**batch).loss.backward()
            optimizer.step()
        self.evaluate(loader)

    def evaluate(self, loader):
        with torch.no_grad():
            for batch in loader:
                print(self.model(**batch).logits.argmax(-1).tolist()){mark}
"""

TEST = """
import torch
from torchvision.models import resnet18

def {name}():
    model = resnet18(weights="DEFAULT")
    with torch.no_grad():
        print(model(torch.randn(1, 3, 64, 64)).argmax(-1).tolist()){mark}

if __name__ == "__main__":
    {name}()
"""

RULES = ["ML101", "ML103", "ML106", "ML108", "ML109", "ML201"]

AGENT = """
import torch

class Agent:
    def batch_act(self, batch):
        if self.is_training:
            return self.train_step(batch)
        {guard}
            output = self.eval_step(batch)
        return output
"""

RANKER = """
from agent import Agent

class Ranker(Agent):
    def eval_step(self, batch):
        self.model.eval()
        scores = self.model(batch.text)  # {mark}
        return scores.argmax(-1).tolist()
"""

TRAINER = """
class Trainer:
    def fit(self, model, optimizer, train, val):
        for epoch in range(10):
            model.train() if epoch == 0 else None
            for batch in train:
                optimizer.zero_grad()
                loss = model(batch).mean()  # {mark}
                loss.backward()
                optimizer.step()
            self.validate(model, val)

    def validate(self, model, val):
        if self.has_hook("on_eval"):
            self.call("on_validation_model_eval")
        else:
            model.eval()
        for batch in val:
            print(model(batch).detach().argmax(-1).tolist())  # ML201
        {after}
"""

INTERFACE = """
import torch
from torch import nn

class Interface(nn.Module):
    def __init__(self, modules, freeze):
        super().__init__()
        self.mods = nn.ModuleDict(modules)
        {switch}

    def forward(self, x):
        return self.mods.encoder(x)

def export(modules, x):
    model = Interface(modules, True)
    model.load_state_dict(torch.load("a.pt", weights_only=True))
    torch.jit.save(torch.jit.trace(model, x), "a.pts")  # {mark}
"""

SHARED = """
from torch import nn

class Layer(nn.Module):
    def __init__(self, shared):
        self.shared = [{first}]
        super().__init__()
        self.own = nn.Linear(8, 8)

    def upgrade(self, state):
        if "shared.weight" in state:
            self.shared = [nn.Linear(8, 8)]{mark}

    def forward(self, x):
        return self.own(self.shared[0](x))
"""

TASK = """
import torch

class Task:
    def train_step(self, sample, model, criterion, optimizer):
        model.train()
        loss = criterion(model(sample["x"]), sample["y"])
        optimizer.backward(loss)
        self.inference_metrics(sample, model)
        return loss

    def inference_metrics(self, sample, model):
        {loop}
            with torch.no_grad():
                print(model(sample["x"]).argmax(-1).tolist())  # {mark}
"""

HUB = """
import torch

def perplexities(lines):
    model = torch.hub.load("pytorch/fairseq", "transformer_lm.wmt19.en")
    model.eval()
    return [model.{call}.item() for line in lines]  # {mark}
"""

SILENT: dict[str, dict[str, str]] = {
    "the base class calls the step under no_grad": {
        "agent.py": AGENT.format(guard="with torch.no_grad():"),
        "app.py": RANKER.format(mark=""),
    },
    "the base class goes through another method of its own": {
        "agent.py": AGENT.format(guard="with torch.inference_mode():").replace("self.eval_step", "self.act_on")
        + "\n    def act_on(self, batch):\n        return self.eval_step(batch)\n",
        "app.py": RANKER.format(mark=""),
    },
    "a hook that somebody else overrides calls train()": {
        "app.py": TRAINER.format(
            mark="",
            after='if not self.has_hook("on_train"):\n            model.train()\n'
            '        else:\n            self.call("on_validation_model_train")',
        )
    },
    "only the flag of the whole is left in training mode": {
        "app.py": INTERFACE.format(switch="if freeze:\n            self.mods.eval()", mark="")
    },
    "one module in a list, registered by its owner": {"app.py": SHARED.format(first="shared", mark="")},
    "metrics of the batch, by a method named for inference": {"app.py": TASK.format(loop="if sample:", mark="")},
    "a backward that is measured": {"app.py": BENCH.format(mark="", more="print(torch.cuda.max_memory_allocated())")},
    "another adapter is put into evaluation mode": {
        "app.py": REWARD.format(switch='self.model.set_adapter("policy")', mark="")
    },
    "models without dropout": {"app.py": ROLLOUT.format(tool="disable_dropout_in_model", mark="")},
    "a test beside the code": {"app.py": TEST.format(name="_test", mark="")},
    "a loss that may be absent is switched with the model": {"app.py": LOSS.format(test="self.loss is not None")},
    "a part that a module built, in a method that is no forward": {"app.py": SPEECH.format(part="Features()", mark="")},
    "what Lightning hands over": {"app.py": RECALL.format(name="pl_module")},
    "a criterion of fairseq that evaluates": {
        "app.py": """
            from fairseq.criterions import FairseqCriterion

            class Harness(FairseqCriterion):
                def forward(self, model, sample, reduce=True):
                    model.eval()
                    out = model(sample["tokens"])
                    return {"ncorrect": (out.argmax(-1) == sample["labels"]).sum().item()}
            """,
    },
    "a seed for two forwards that are to agree": {
        "app.py": DRAWS.format(
            name="Glancing",
            about="",
            body="rand_seed = torch.randint(0, 9, (1,)).item()\n"
            "        with state.seed(rand_seed):\n            return self.halting(x)",
        )
    },
    "a step that a library's base class calls": {
        "app.py": STEP.format(library="somewhere.helpers", method="step", mark="")
    },
    "embeddings for whoever asks": {"app.py": PARTS.format(method="_add_embeddings_internal", use="vector", mark="")},
    "layers out of sight in a container": {"app.py": STACK.format(layers="*load_layers('neox')", mark="")},
    "halting by a chance that a layer predicts": {
        "app.py": DRAWS.format(
            name="Ponder",
            about="",
            body="chance = torch.sigmoid(self.halting(x))\n        return x * torch.bernoulli(chance)",
        )
    },
    "a penalty on gradients": {
        "app.py": DRAWS.format(
            name="PathLength",
            about="",
            body="y = torch.randn(x.shape)\n"
            "        return torch.autograd.grad((x * y).sum(), state, create_graph=True)[0].norm()",
        )
    },
    "views that are chosen at random, as the documentation says": {
        "app.py": DRAWS.format(
            name="Subsequence",
            about='"""Keep a random subsequence of each chain."""',
            body="start = (torch.rand(len(x)) * state).long()\n        return x[start:]",
        )
    },
    "a method of a model from the hub that does it all": {
        "app.py": HUB.format(call='score(line)["positional_scores"].mean()', mark="")
    },
}

FOUND: dict[str, dict[str, str]] = {
    "the base class leaves gradients to the step": {
        "agent.py": AGENT.format(guard="if True:"),
        "app.py": RANKER.format(mark="ML201"),
    },
    "the evaluation is not undone in the other case": {
        "app.py": TRAINER.format(mark="ML103", after='self.call("on_validation_end")')
    },
    "nothing in it was switched": {"app.py": INTERFACE.format(switch="self.frozen = freeze", mark="ML109")},
    "one module in a list that nobody else has": {
        "app.py": SHARED.format(first="nn.Linear(8, 8)", mark="  # ML106").replace(
            "[nn.Linear(8, 8)]\n        super", "[nn.Linear(8, 8)]  # ML106\n        super"
        )
    },
    "a validation within a training step": {"app.py": TASK.format(loop="for sample in self.val:", mark="ML101")},
    "a backward that is followed by a step": {
        "app.py": BENCH.format(mark="ML103", more="torch.optim.SGD(model.parameters(), 0.1).step()")
    },
    "eval() where train() was meant": {"app.py": REWARD.format(switch="print(scores)", mark="  # ML103")},
    "models that keep their dropout": {"app.py": ROLLOUT.format(tool="describe_model", mark="  # ML101")},
    "a test epoch": {"app.py": TEST.format(name="_test_epoch", mark="  # ML101")},
    "a part that a module loaded": {
        "app.py": SPEECH.format(part="timm.create_model('resnet18', pretrained=True)", mark="ML101").replace(
            "import torch\n", "import timm\nimport torch\n", 1
        )
    },
    "a step that a class of the project calls": {
        "experiment.py": """
            class Experiment:
                def run(self, loader):
                    for batch in loader:
                        self.step(batch)
            """,
        "app.py": STEP.format(library="experiment", method="step", mark="ML201"),
    },
    "layers in sight in a container": {
        "app.py": STACK.format(layers="nn.Linear(8, 8), nn.Dropout(0.1)", mark="ML401, ML101").replace("ML401, ", "")
    },
    "layers that are dropped by a constant chance": {
        "app.py": DRAWS.format(
            name="Noisy",
            about='"""Randomly drop some of the features."""',
            body="return self.halting(x) * torch.bernoulli(torch.full(x.shape, 0.9))  # ML108",
        )
    },
    "noise beside a prediction": {
        "app.py": DRAWS.format(
            name="Noisy", about="", body="return self.halting(x + 0.1 * torch.randn(x.shape))  # ML108"
        )
    },
    "a forward of a model from the hub": {"app.py": HUB.format(call="forward(line).mean()", mark="ML201")},
}


def test_a_helper_beside_the_function_that_readies_the_model(lint: Lint) -> None:
    lint(READY.format(ready="model.eval()", mark=""), rules=["ML101"])


def test_a_helper_beside_a_function_that_leaves_the_model_as_it_is(lint: Lint) -> None:
    lint(READY.format(ready="model.cuda()", mark="  # ML101"), rules=["ML101"], possible=True)


@pytest.mark.parametrize("name", SILENT)
def test_right(lint: Lint, name: str) -> None:
    lint(SILENT[name], rules=RULES)


@pytest.mark.parametrize("name", FOUND)
def test_wrong(lint: Lint, name: str) -> None:
    lint(FOUND[name], rules=RULES)
