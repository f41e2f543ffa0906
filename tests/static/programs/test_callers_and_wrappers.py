"""Callers of callers, what decorators wrap, tables of classes, and what looks like a switch: correct code first."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

HEAD = """
import torch
from torch import nn
from torchvision.models import resnet18
"""

WRAPPED = {
    "helpers.py": """
    import functools

    def requires(name):
        def decorate(function):
            @functools.wraps(function)
            def wrapper(*args, **kwargs):
                check(name)
                return function(*args, **kwargs)
            return wrapper
        return decorate
    """,
    "detector.py": """
    import torch
    from torchvision.models import resnet18
    from helpers import requires

    class Detector:
        @requires("torchvision")
        def __init__(self, path):
            self.net = resnet18()
            self.net.load_state_dict(torch.load(path, weights_only=True))
            {ready}

        @requires("torch")
        def infer(self, images):
            return [self.net(image).argmax(-1).tolist() for image in images]{mark}
    """,
}


@pytest.mark.parametrize(
    ("ready", "mark"),
    [
        ("self.net.requires_grad_(False).eval()", ""),
        ("self.net.eval()", "  # ML201"),
        ("pass", "  # ML101,ML201"),
    ],
)
def test_a_decorated_constructor_builds_what_it_wraps(lint: Lint, ready: str, mark: str) -> None:
    files = {name: text.replace("{ready}", ready).replace("{mark}", mark) for name, text in WRAPPED.items()}
    lint(files, rules=["ML101", "ML201"], check=["detector.py"])


TABLE = """
class Plain(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        return self.layer(x)

class Noisy(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        return self.drop(x)

class Loud(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.norm = nn.BatchNorm1d(4)

    def forward(self, x):
        return self.norm(x)

ENCODERS = {table}

class Net(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.encoder = ENCODERS[args.encoder](args)

    def forward(self, x):
        return self.encoder(x)

def evaluate(args, batches):
    net = Net(args)
    net.load_state_dict(torch.load(args.path, weights_only=True))
    with torch.no_grad():
        return [net(x).argmax(-1).tolist() for x in batches]{mark}
"""


@pytest.mark.parametrize(
    ("table", "mark"),
    [
        ('{"plain": Plain}', ""),
        ('{"plain": Plain, "noisy": Noisy}', ""),
        ("load_table()", ""),
        ('{"noisy": Noisy, "loud": Loud}', "  # ML101"),
    ],
)
def test_a_part_comes_out_of_a_table_of_classes(lint: Lint, table: str, mark: str) -> None:
    lint(HEAD + TABLE.replace("{table}", table).replace("{mark}", mark), rules=["ML101"])


ENTERED = """
def predict(path, images):
    net = resnet18()
    net.load_state_dict(torch.load(path, weights_only=True))
    net.eval()
    with {context}:
        return [net(image).argmax(-1).tolist() for image in images]{mark}
"""


@pytest.mark.parametrize(
    ("context", "mark"),
    [
        ("torch.autograd.no_grad()", ""),
        ("torch.autograd.grad_mode.set_grad_enabled(False)", ""),
        ("torch.autograd.set_detect_anomaly(False)", "  # ML201"),
        ("torch.autograd.profiler.profile()", "  # ML201"),
    ],
)
def test_not_everything_under_torch_autograd_switches_it(lint: Lint, context: str, mark: str) -> None:
    lint(HEAD + ENTERED.format(context=context, mark=mark), rules=["ML201"])


DETECTION = """
from torchvision.models.detection import {name}

def fit(images, held_out, optimizer):
    net = {name}({given})
    for _ in range(9):
        net.train()
        for image, target in images:
            loss = sum(net({call}).values())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            for image, target in held_out:
                print(sum(net({asked}).values()).item()){mark}
"""


@pytest.mark.parametrize(
    ("name", "asked", "mark"),
    [
        ("fasterrcnn_resnet50_fpn", "image, target", ""),
        ("ssd300_vgg16", "image, targets=target", ""),
        ("fasterrcnn_resnet50_fpn", "image", "  # ML101"),
    ],
)
def test_a_detector_gives_its_losses_in_training_mode_alone(lint: Lint, name: str, asked: str, mark: str) -> None:
    text = DETECTION.format(name=name, given='weights="DEFAULT"', call="image, target", asked=asked, mark=mark)
    lint(HEAD + text, rules=["ML101"])


FROZEN = {
    "features.py": """
    import torch
    from torch import nn
    from torchvision.models import inception_v3

    class Features(nn.Module):
        def __init__(self, blocks=(3,), requires_grad=False):
            super().__init__()
            self.blocks = nn.ModuleList()
            self.blocks.append(nn.Sequential(nn.Conv2d(3, 8, 3), nn.MaxPool2d(3)))
            {freeze}

        def forward(self, x):
            for block in self.blocks:
                x = block(x)
            return x
    """,
    "score.py": """
    from features import Features

    def evaluate(batches):
        net = Features()
        net.eval()
        return [net(x).cpu().numpy() for x in batches]{mark}
    """,
}


@pytest.mark.parametrize(
    ("freeze", "mark"),
    [
        ("for p in self.parameters():\n                p.requires_grad = requires_grad", ""),
        ("for p in self.parameters():\n                p.requires_grad = False", ""),
        ("self.note = requires_grad", "  # ML201"),
    ],
)
def test_a_constructor_freezes_what_it_builds(lint: Lint, freeze: str, mark: str) -> None:
    files = {name: text.replace("{freeze}", freeze).replace("{mark}", mark) for name, text in FROZEN.items()}
    lint(files, rules=["ML201"], check=["score.py"])


APPLIED = """
def prepare(path, steps, images):
    net = resnet18()
    net.load_state_dict(torch.load(path, weights_only=True))
    net.eval()
    for step in steps[:-1]:
        net = step.apply(net, 1)
    return net
"""


def test_a_model_that_is_given_to_an_apply_does_not_run(lint: Lint) -> None:
    lint(HEAD + APPLIED, rules=["ML201"])


SCALED = """
class Engine:
    def __init__(self, scaler, optimizer):
        self.net = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))
        self.scaler = scaler
        self.optimizer = optimizer

    def train(self, x, y):
        self.net.train()
        loss = nn.functional.mse_loss(self.scaler.inverse_transform(self.net(x)), y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def evaluate(self, x, y):
        {ready}
        loss = nn.functional.mse_loss(self.scaler.inverse_transform(self.net(x)), y){mark}
        return loss.item()

def main(scaler, optimizer, batches, held_out):
    engine = Engine(scaler, optimizer)
    for _ in range(9):
        for x, y in batches:
            engine.train(x, y)
        for x, y in held_out:
            print(engine.evaluate(x, y))
"""


@pytest.mark.parametrize(
    ("ready", "mark"),
    [
        ("self.net.eval()\n        torch.set_grad_enabled(False)", ""),
        ("self.net.eval()", "  # ML201"),
    ],
)
def test_a_scaler_does_not_carry_one_batch_into_the_next(lint: Lint, ready: str, mark: str) -> None:
    text = SCALED.replace("{ready}", ready).replace("{mark}", mark)
    lint(HEAD + text, rules=["ML201"])


LOSS = """
class Model:
    def __init__(self, net, optimizer):
        self.net = net
        self.optimizer = optimizer

    def fit(self, batches):
        for x, y in batches:
            self.net.train()
            loss, _ = self._loss_and_metrics(x, y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    def predict(self, x):
        with torch.no_grad():
            self.net.eval()
            return self.net(x).numpy()

    def {name}(self, x, y):
        with torch.no_grad():
            {ready}
            return self._loss_and_metrics(x, y)[1]{mark}

    def _loss_and_metrics(self, x, y):
        out = self.net(x)
        return nn.functional.mse_loss(out, y), out.argmax(-1).float().mean().item()
"""


@pytest.mark.parametrize(
    ("name", "ready", "mark"),
    [
        ("evaluate", "self.net.eval()", ""),
        ("refresh", "self.net.to(x.device)", ""),
        ("evaluate", "self.net.to(x.device)", "  # ML101"),
    ],
)
def test_a_helper_that_computes_a_loss_serves_training_and_evaluation(
    lint: Lint, name: str, ready: str, mark: str
) -> None:
    text = LOSS.replace("{name}", name).replace("{ready}", ready).replace("{mark}", mark)
    lint(HEAD + text, rules=["ML101"])


FAR = {
    "model.py": """
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 4)
            self.drop = nn.Dropout(0.1)

        def forward(self, x):
            return self.drop(self.layer(x))

        def predict(self, x):
            return self(x)
    """,
    "metrics.py": """
    def evaluate(model, batches):
        return [model.predict(x).argmax(-1).tolist() for x in batches]{mark}
    """,
    "main.py": """
    import torch
    from model import Net
    from metrics import *

    if __name__ == "__main__":
        net = Net()
        net.load_state_dict(torch.load("net.pt", weights_only=True))
        {ready}
        print(evaluate(net, [torch.ones(4)]))
    """,
}


@pytest.mark.parametrize(
    ("ready", "mark"),
    [
        ("net.eval()\n        torch.set_grad_enabled(False)", ""),
        ("net.eval()", "  # ML201"),
        ("torch.set_grad_enabled(False)", "  # ML101"),
    ],
)
def test_a_call_leads_to_a_model_in_a_file_that_is_not_checked(lint: Lint, ready: str, mark: str) -> None:
    files = {name: text.replace("{ready}", ready).replace("{mark}", mark) for name, text in FAR.items()}
    lint(files, rules=["ML101", "ML201"], check=["metrics.py"])


TWO_MODELS = {
    "engine.py": """
    import torch

    def evaluate(net, scorer, batches):
        net.eval()
        found = [net(x) for x in batches]
        with torch.no_grad():
            return [scorer(one).argmax(-1).tolist() for one in found]
    """,
    "main.py": """
    import torch
    from torchvision.models import resnet18
    from engine import evaluate

    def run(path, batches):
        net, scorer = resnet18(), resnet18()
        net.load_state_dict(torch.load(path, weights_only=True))
        scorer.load_state_dict(torch.load(path, weights_only=True))
        scorer.eval()
        {around}
        return evaluate(net, scorer, batches){mark}
    """,
}


@pytest.mark.parametrize(
    ("around", "mark"), [("torch.set_grad_enabled(False)", ""), ("batches = list(batches)", "  # ML201")]
)
def test_one_call_leads_to_two_models(lint: Lint, around: str, mark: str) -> None:
    files = {name: text.replace("{around}", around).replace("{mark}", mark) for name, text in TWO_MODELS.items()}
    lint(files, rules=["ML201"], check=["main.py"])


OTHERS = """
def set_embeddings(docs, embed_model, device):
    import {library}

    embed_model.eval()
    for doc in docs:
        doc.embedding = embed_model({library}.Tensor(doc.blob)).numpy(){mark}
"""


@pytest.mark.parametrize(("library", "mark"), [("paddle", ""), ("torch", "  # ML201")])
def test_a_function_imports_another_framework(lint: Lint, library: str, mark: str) -> None:
    lint("from torch import nn\n" + OTHERS.format(library=library, mark=mark), rules=["ML201"])


SCRIPT = """
import torch
from torch.utils.data import DataLoader
from data import TestSet
from model import Net

net = Net()
net.load_state_dict(torch.load("net.pt", weights_only=True))
loader = DataLoader(TestSet("test.mat"), batch_size=8, shuffle=True){mark}
losses = []
for x, y in loader:
    loss = torch.nn.functional.mse_loss(net(x), y)
    {rest}
    losses.append(loss.item())
print(sum(losses))
"""


@pytest.mark.parametrize(
    ("file", "rest", "mark"),
    [
        ("evaluate.py", "loss.backward()", ""),
        ("plot_losses.py", "pass", ""),
        ("train.py", "pass", ""),
        ("evaluate.py", "pass", "  # ML306"),
        ("test_net.py", "pass", "  # ML306"),
    ],
)
def test_a_script_named_for_evaluation_reads_a_loader(lint: Lint, file: str, rest: str, mark: str) -> None:
    lint({file: SCRIPT.replace("{rest}", rest).replace("{mark}", mark)}, rules=["ML306"])


HOOKED = """
class Embedder:
    def __init__(self, path):
        self.net = resnet18()
        self.net.load_state_dict(torch.load(path, weights_only=True))
        self.net{ready}

    def get_vector(self, image):
        kept = torch.zeros(512)

        def copy(module, given, output):
            {hook}

        handle = self.net.avgpool.register_forward_hook(copy)
        self.net(image){mark}
        handle.remove()
        return kept
"""


@pytest.mark.parametrize(
    ("ready", "hook", "mark"),
    [
        (".requires_grad_(False).eval()", "kept.copy_(output.data)", ""),
        (".eval()", "self.last = output", ""),
        (".eval()", "kept.copy_(output.data)", "  # ML201"),
        (".eval()", "kept.copy_(output.detach().flatten())", "  # ML201"),
    ],
)
def test_a_forward_runs_for_a_hook(lint: Lint, ready: str, hook: str, mark: str) -> None:
    lint(HEAD + HOOKED.format(ready=ready, hook=hook, mark=mark), rules=["ML201"])


AGENT = """
class Agent{base}:
    def __init__(self, actor, critic, optimizer):
        self.actor, self.critic, self.optimizer = actor, critic, optimizer

    def policy_of(self, state):
        {around}

    def {name}(self, state, action):
        value = self.critic(state, action){mark}
        return value{use}

    def train(self, batch):
        self.optimizer.zero_grad()
        loss = (self.critic(batch.state, batch.action) - batch.value).pow(2).mean()
        loss.backward()
        self.optimizer.step()
"""
UNDER = "with torch.no_grad():\n            return self.actor(state).argmax(-1).numpy()"


@pytest.mark.parametrize(
    ("around", "name", "use", "mark"),
    [
        ("return state", "value_of", "[0].item()", ""),
        (UNDER, "value_of", "[0]", ""),
        (UNDER, "update_value", "[0].item()", ""),
        (UNDER, "value_of", "[0].item()", "  # ML201"),
    ],
)
def test_a_number_beside_a_method_that_switches_autograd_off(
    lint: Lint, around: str, name: str, use: str, mark: str
) -> None:
    lint(HEAD + AGENT.format(base="", around=around, name=name, use=use, mark=mark), rules=["ML201"])


HANDLER = """
from zoo import Speaker, Voice

class Handler:
    def initialize(self, folder):
        self.voice = Voice(80)
        self.voice.load_state_dict(torch.load(folder + "/voice.pt", weights_only=True))
        self.voice{ready}
        self.load_speaker(folder)

    def load_speaker(self, folder):
        self.speaker = Speaker(80)
        self.speaker.load_state_dict(torch.load(folder + "/speaker.pt", weights_only=True))
        self.speaker{other}

    def inference(self, data):
        with torch.no_grad():
            mel = self.speaker.infer(data){mark}
            return self.voice.infer(mel)
"""


@pytest.mark.parametrize(
    ("ready", "other", "mark"),
    [
        (".eval()", ".eval()", ""),
        (".to('cuda')", ".to('cuda')", ""),
        (".eval()", ".to('cuda')", "  # ML101"),
    ],
)
def test_one_of_two_models_is_readied(lint: Lint, ready: str, other: str, mark: str) -> None:
    lint(HEAD + HANDLER.format(ready=ready, other=other, mark=mark), rules=["ML101"])


SERVICE = """
class Service{base}:
    def __init__(self, net):
        self.net = net

    def {name}(self, image):
        found = self.net([image]){mark}
        labels = list(found[0]["labels"].cpu().numpy())
        return labels, found[0]["boxes"].{cut}
"""


@pytest.mark.parametrize(
    ("base", "name", "cut", "mark"),
    [
        ("(nn.Module)", "predict", "cpu().detach().numpy()", ""),
        ("", "predict", "cpu()", ""),
        ("", "boxes_of", "cpu().detach().numpy()", ""),
        ("", "predict", "cpu().detach().numpy()", "  # ML201"),
    ],
)
def test_a_service_detaches_what_it_predicts(lint: Lint, base: str, name: str, cut: str, mark: str) -> None:
    lint(HEAD + SERVICE.format(base=base, name=name, cut=cut, mark=mark), rules=["ML201"])


PHASES = """
import torch
from torch.utils.data import DataLoader

def fit(net, train_set, val_set, optimizer):
    {name} = {{"train": DataLoader(train_set, shuffle=True), "val": DataLoader(val_set{option})}}{mark}
    for phase in ["train", "val"]:
        net.train(phase == "train")
        for x, y in {name}[phase]:
            with torch.set_grad_enabled(phase == "train"):
                loss = torch.nn.functional.mse_loss(net(x), y)
            if phase == "train":
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
"""


@pytest.mark.parametrize(
    ("name", "option", "mark"),
    [
        ("trainval_loaders", "", ""),
        ("train_loaders", ", shuffle=True", ""),
        ("trainval_loaders", ", shuffle=True", "  # ML306"),
        ("train_val_loaders", ", shuffle=True", "  # ML306"),
    ],
)
def test_loaders_of_both_phases_are_not_those_of_training(lint: Lint, name: str, option: str, mark: str) -> None:
    lint(PHASES.format(name=name, option=option, mark=mark), rules=["ML306"])


FORWARD_TRAINS = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        {first}
        return self.drop(x)

def predict(path, x):
    net = Net()
    net.load_state_dict(torch.load(path, weights_only=True))
    net.eval()
    with torch.no_grad():
        return net(x).argmax(-1).tolist(){mark}
"""


@pytest.mark.parametrize(
    ("first", "mark"),
    [("x = x.float()", ""), ("self.train(self.training)", ""), ("self.train()", "  # ML101")],
)
def test_a_forward_that_calls_train_itself(lint: Lint, first: str, mark: str) -> None:
    lint(HEAD + FORWARD_TRAINS.format(first=first, mark=mark), rules=["ML101"])


TEXT = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        return self.layer(x)

    {switch}
    def generate(self, x):
        for _ in range(8):
            x = torch.cat((x, torch.multinomial(self(x).softmax(-1), 1))){mark}
        return x

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x, y in batches():
    loss = nn.functional.mse_loss(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
{then}
"""


@pytest.mark.parametrize(
    ("switch", "then", "mark"),
    [
        ("@torch.no_grad()", "print(net.generate(torch.zeros(4)).tolist())", ""),
        ("# sampled", "start = net.generate(torch.zeros(4))", "  # ML201"),  # multinomial() in it: nothing learns of it
        ("# sampled", "with torch.no_grad():\n    print(net.generate(torch.zeros(4)).tolist())", ""),
        ("# sampled", "print(net.generate(torch.zeros(4)).tolist())", "  # ML201"),
    ],
)
def test_a_script_prints_what_it_has_trained(lint: Lint, switch: str, then: str, mark: str) -> None:
    lint(HEAD + TEXT.format(switch=switch, then=then, mark=mark), rules=["ML201"])


LOOP = """
def training_loop(net, optimizer, x_train, y_train, {held}, y_held):
    for epoch in range(1000):
        loss = nn.functional.mse_loss(net(x_train), y_train)
        {around}
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

net = nn.Sequential(nn.Linear(1, 13), nn.Tanh(), nn.Linear(13, 1))
training_loop(net, torch.optim.SGD(net.parameters(), lr=1e-3), *data())
"""


@pytest.mark.parametrize(
    ("held", "around", "mark"),
    [
        ("t_u_val", "with torch.no_grad():\n            print(nn.functional.mse_loss(net(t_u_val), y_held))", ""),
        ("max_val", "print(nn.functional.mse_loss(net(max_val), y_held))", ""),
        ("t_u_val", "print(nn.functional.mse_loss(net(t_u_val), y_held))  # ML201", ""),
    ],
)
def test_held_out_data_beside_a_step_of_training(lint: Lint, held: str, around: str, mark: str) -> None:
    lint(HEAD + LOOP.format(held=held, around=around) + mark, rules=["ML201"])


STEPS = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(4, 2)

    def training_step(self, batch):
        return (batch - self.encoder(batch)).pow(2).mean()

    def validation_step(self, batch):
        loss = (batch - self.encoder(batch)).pow(2).mean(){mark}
        return {{"loss": loss}}

    def validation_epoch_end(self, outputs):
        losses = [x["loss"] for x in outputs]
        return {{"loss": torch.stack(losses).mean(){cut}}}

def evaluate(net, loader):
    return net.validation_epoch_end([net.validation_step(batch) for batch in loader])

def fit(net, loader, val_loader, optimizer):
    for batch in loader:
        loss = net.training_step(batch)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    {around}
    return result

net = Net()
print(fit(net, *loaders(), torch.optim.SGD(net.parameters(), lr=0.1)))
"""


@pytest.mark.parametrize(
    ("cut", "around", "mark"),
    [
        (".item()", "with torch.no_grad():\n        result = evaluate(net, val_loader)", ""),
        (".item()", "result = evaluate(net, val_loader)", "  # ML201"),
    ],
)
def test_a_method_that_is_not_run_makes_numbers(lint: Lint, cut: str, around: str, mark: str) -> None:
    lint(HEAD + STEPS.format(cut=cut, around=around, mark=mark), rules=["ML201"])


FROZEN_BY_NAME = """
class Shift(nn.Conv2d):
    def __init__(self):
        super().__init__(3, 3, 1)
        self.table = nn.Embedding(4, 4)
        self.weights = nn.Parameter(torch.ones(4))
        {own}
        self.table.{table}
        self.weights.requires_grad = False

    def tell(self):
        return self.{asked}
"""


@pytest.mark.parametrize(
    ("own", "table", "asked"),
    [
        ("self.requires_grad = False", "weight.requires_grad = False", "requires_grad"),
        ("self.requires_grad_(False)", "requires_grad_(False)", "weights"),
        ("self.requires_grad = False  # ML203", "requires_grad = False  # ML203", "weights"),
    ],
)
def test_an_attribute_of_a_built_module_freezes_nothing(lint: Lint, own: str, table: str, asked: str) -> None:
    lint(HEAD + FROZEN_BY_NAME.format(own=own, table=table, asked=asked), rules=["ML203"])
