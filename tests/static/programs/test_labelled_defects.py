"""What a held-out set of labelled defects and correct scripts taught: the correct code of each kind first."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

HEAD = """
import torch
from torch import nn
from torchvision.models import resnet18
"""

PARTLY = """
class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.table = nn.Embedding(10, width)
        self.body = nn.Linear(width, 2)

    def forward(self, x, frozen=False):
{forward}

def evaluate(path, loader):
    net = Net(4)
    net.load_state_dict(torch.load(path, weights_only=True))
    net.eval()
    return [net(x).argmax(-1).tolist() for x in loader]{mark}
"""


@pytest.mark.parametrize(
    ("forward", "mark"),
    [
        ("with torch.no_grad():\n    return self.body(self.table(x))", ""),
        ("if not self.training:\n    with torch.no_grad():\n        return self.body(x)\nreturn self.body(x)", ""),
        ("torch.set_grad_enabled(self.training)\nreturn self.body(self.table(x))", ""),
        ("if frozen:\n    return self.body(x)\nwith torch.no_grad():\n    x = self.body(x)\nreturn x", ""),
        ("with torch.set_grad_enabled(not frozen):\n    x = self.table(x)\nreturn self.body(x)", "  # ML201"),
        ("with torch.no_grad():\n    x = self.table(x)\nreturn self.body(x)", "  # ML201"),
        (
            "with torch.autocast('cuda'):\n    x = self.table(x)\nwith torch.no_grad():\n    x = x + x\nreturn x",
            "  # ML201",
        ),
    ],
)
def test_gradients_are_switched_for_a_part_of_the_forward(lint: Lint, forward: str, mark: str) -> None:
    indented = "\n".join(f"        {line}" for line in forward.split("\n"))
    lint(HEAD + PARTLY.format(forward=indented, mark=mark), rules=["ML201"])


WRITTEN = """
def train(net, optimizer, loader, test_loader, writer):
    for step, (x, y) in enumerate(loader):
        loss = nn.functional.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        writer.add_scalar("loss", loss, step)
        for test_x, test_y in test_loader:
            test_loss = {forward}
            writer.add_scalar("test loss", test_loss, step)

def main(loader, test_loader, writer):
    net = resnet18(num_classes=2)
    train(net, torch.optim.Adam(net.parameters()), loader, test_loader, writer)
"""


@pytest.mark.parametrize(
    "forward",
    [
        "measure(test_y)",
        "nn.functional.cross_entropy(net(test_x), test_y)  # ML201",
    ],
)
def test_a_loss_that_is_only_written_down(lint: Lint, forward: str) -> None:
    lint(HEAD + WRITTEN.format(forward=forward), rules=["ML201"])


SHOWN = """
def train(net, optimizer, loader, writer):
    net.train()
    for step, (x, y) in enumerate(loader):
        loss = nn.functional.mse_loss(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            {shown}

if __name__ == "__main__":
    net = resnet18(num_classes=2)
    train(net, torch.optim.Adam(net.parameters()), batches(), make_writer())
"""


@pytest.mark.parametrize(
    "shown",
    [
        "with torch.no_grad(): writer.add_image('shown', net(x[:1])[0].detach())",
        "self_made = net(x[:1]).detach()",
        "writer.add_image('shown', net(x[:1])[0].detach(), step)  # ML201",
    ],
)
def test_what_is_shown_amid_training(lint: Lint, shown: str) -> None:
    lint(HEAD + SHOWN.format(shown=shown), rules=["ML201"])


PICKLED = """
loaded = torch.load("net.pth").to("cuda"){switch}
for name in ("a", "b"):
    out = loaded(read(name)){mark}
    save(out.detach().squeeze(0).cpu(), name)
"""


@pytest.mark.parametrize(
    ("switch", "mark"),
    [
        ("['table']", ""),
        ("['kind']", ""),
        (".eval().requires_grad_(False)", ""),
        ("", "  # ML201"),
        (".eval()", "  # ML201"),
    ],
)
def test_what_can_be_called_of_a_file_is_a_model(lint: Lint, switch: str, mark: str) -> None:
    code = PICKLED.format(switch=switch, mark=mark)
    lint(
        HEAD + (code.replace("loaded(read(name))", "loaded[name]") if "table" in switch else code),
        rules=["ML201"],
    )


KEYWORDS = """
class Evaluator:
    def __init__(self, *args, **kwargs):
        self.options = kwargs["options"]
        self.{kept} = kwargs["{kept}"].to(self.options.device)
        {ready}

    def predict(self, x):
        return self.{kept}(x).argmax(-1).tolist(){mark}
"""


@pytest.mark.parametrize(
    ("kept", "ready", "mark"),
    [
        ("table", "pass", ""),
        ("model", "self.model.eval().requires_grad_(False)", ""),
        ("model", "self.model.eval()", "  # ML201"),
    ],
)
def test_a_model_among_the_keywords(lint: Lint, kept: str, ready: str, mark: str) -> None:
    lint(HEAD + KEYWORDS.format(kept=kept, ready=ready, mark=mark), rules=["ML201"])


GLOBALS = """
encoder = None
ready = False

def start(path):
    global encoder{shared}
    encoder = resnet18()
    encoder.load_state_dict(torch.load(path, weights_only=True))
    encoder.eval()
    ready = True

def predict(x):
    if not ready:
        raise RuntimeError("not started")
    {switch}
    return encoder(x).detach().cpu().numpy(){mark}
"""


@pytest.mark.parametrize(
    ("shared", "switch", "mark"),
    [
        ("", "pass", ""),  # the variable of the module stays as it is: nothing behind the raise is ever reached
        (", ready", "torch.set_grad_enabled(False)", ""),
        (", ready", "pass", "  # ML201"),
    ],
)
def test_a_flag_that_another_function_sets(lint: Lint, shared: str, switch: str, mark: str) -> None:
    lint(HEAD + GLOBALS.format(shared=shared, switch=switch, mark=mark), rules=["ML201"])


NAMED_PARTS = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.names = ["first", "second"]
        for name in self.names:
            self.add_module(name, nn.Sequential(nn.Linear(3, 3), nn.{layer}(3)))
        self.pool = nn.AvgPool1d(3)

    def forward(self, x):
        for name in self.names:
            x = self._modules[name](x)
        return x

    def extract(self, x):
        for name in self.names:
            x = self._modules[name](x){mark}
        return self.pool(x)

net = Net()
net.load_state_dict(torch.load("net.pt", weights_only=True))
with torch.no_grad():
    print(net.extract(torch.ones(3, 3)).argmax())
"""


@pytest.mark.parametrize(("layer", "mark"), [("LayerNorm", "  # ML101:info"), ("BatchNorm1d", "  # ML101")])
def test_parts_picked_by_name(lint: Lint, layer: str, mark: str) -> None:
    lint(HEAD + NAMED_PARTS.format(layer=layer, mark=mark), rules=["ML101"])


NEW_HEAD = """
net = resnet18(weights="DEFAULT")
for p in net.parameters():
    p.requires_grad = False
{put} = {layer}
fit(net)
net.eval()
print(net(torch.ones(1, 3, 224, 224)).argmax(1).tolist()){mark}
"""


@pytest.mark.parametrize(
    ("put", "layer", "mark"),
    [
        ("net.fc", "nn.Identity()", ""),
        ("net.fc", "nn.Sequential(nn.Flatten(), nn.ReLU())", ""),
        ("net.fc", "nn.Linear(512, 2).requires_grad_(False)", ""),
        ("other.fc", "nn.Linear(512, 2)", ""),
        ("net.fc", "nn.Linear(512, 2)", "  # ML201"),
        ("net.layer4[1]", "nn.Sequential(nn.Conv2d(512, 512, 3), nn.ReLU())", "  # ML201"),
        ("net.layer4._modules['1']", "nn.Conv2d(512, 512, 3)", "  # ML201"),
    ],
)
def test_a_new_head_of_a_frozen_model_learns(lint: Lint, put: str, layer: str, mark: str) -> None:
    lint(HEAD + NEW_HEAD.format(put=put, layer=layer, mark=mark), rules=["ML201"])


HALF = """
class Worker:
    def __init__(self, model, vocoder):
        self.model = model
        self.vocoder = vocoder

    def predict(self, texts):
        for text in texts:
            mel = self.model.inference(text){mark}
            {between}
            with torch.no_grad():
                yield self.vocoder.infer(mel).data.cpu().numpy()
"""


@pytest.mark.parametrize(("between", "mark"), [("self.log.append(mel)", ""), ("self.count = 1", "  # ML201")])
def test_what_is_used_without_gradients_alone(lint: Lint, between: str, mark: str) -> None:
    lint(HEAD + HALF.format(between=between, mark=mark), rules=["ML201"])


ONE_OF_SEVERAL = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(self.fc(x))
{method}

def score(model, x):
    return model.predict(x).argmax(-1).tolist(){mark}

def main(path, trees, x):
    net = Net()
    net.load_state_dict(torch.load(path, weights_only=True))
    for model in (trees, net):
        print(score(model, x))
"""


@pytest.mark.parametrize(
    ("method", "mark"),
    [
        ("", ""),
        ("\n    def __getattr__(self, name):\n        return getattr(self.fc, name)", "  # ML101"),
    ],
)
def test_a_method_that_a_class_in_sight_lacks(lint: Lint, method: str, mark: str) -> None:
    lint(HEAD + ONE_OF_SEVERAL.format(method=method, mark=mark), rules=["ML101"])


REMARKS = """
class Line(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)

    def forward(self, x):
        return self.fc(x)

def evaluate(path, loader):
    line = Line()
    {load}
    net = resnet18(weights="DEFAULT")
    {switch}
    with torch.no_grad():
        for x in loader:
            print(line(net(x)).argmax(-1)){mark}
"""


@pytest.mark.parametrize(
    ("load", "switch", "mark"),
    [
        ("fit(line)", "net.eval()", ""),
        ("line.load_state_dict(torch.load(path, weights_only=True))", "net.eval()", ""),
        ("line.load_state_dict(torch.load(path, weights_only=True))", "net = nn.Identity()", "  # ML101:info"),
    ],
)
def test_what_needs_no_remark(lint: Lint, load: str, switch: str, mark: str) -> None:
    lint(HEAD + REMARKS.format(load=load, switch=switch, mark=mark), rules=["ML101"])


DRAWN = """
class Line(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Sequential(nn.Linear(4, 2), nn.{layer})

    def forward(self, x):
        return self.fc(x)

@torch.no_grad()
def visualize(model, images):
    return model(images).argmax(-1).tolist(){mark}

def train(model, optimizer, loader, val_dataset):
    model.train()
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(visualize(model, val_dataset.images))

line = Line()
train(line, torch.optim.Adam(line.parameters()), batches(), images())
"""


@pytest.mark.parametrize(("layer", "mark"), [("ReLU()", ""), ("Dropout(0.5)", "  # ML101")])
def test_the_caller_knows_that_the_model_has_no_mode(lint: Lint, layer: str, mark: str) -> None:
    lint(HEAD + DRAWN.format(layer=layer, mark=mark), rules=["ML101"])


def test_words_of_a_translation_model_are_no_forward(lint: Lint) -> None:
    lint(
        """
        from fairseq.models.roberta import XLMRModel

        model = XLMRModel.from_pretrained("xlmr", checkpoint_file="model.pt")
        model.eval()

        def numbers(text: str):
            return model.encode(text).tolist()

        def features(tokens):
            return model.extract_features(tokens).argmax(-1).tolist()  # ML201
        """,
        rules=["ML201"],
    )


def test_a_script_says_nothing_of_other_callers(lint: Lint) -> None:
    evaluation = (
        HEAD
        + """
def evaluate(path, loader, net=None):
    if net is None:
        net = resnet18()
        net.load_state_dict(torch.load(path, weights_only=True))
    net.eval()
    return [net(x).argmax(-1).tolist() for x in loader]{mark}

if __name__ == "__main__":
    options = parser.parse_args()
    with torch.no_grad():
        print(evaluate(options.path, options.loader))
"""
    )
    other = (
        HEAD
        + """
import evaluation

def train(net, optimizer, loader, held_out):
    for x, y in loader:
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        {call}

if __name__ == "__main__":
    net = resnet18()
    train(net, torch.optim.Adam(net.parameters()), batches(), batches())
"""
    )
    switched = "with torch.no_grad(): print(evaluation.evaluate(None, held_out, net=net))"
    lint({"evaluation.py": evaluation.format(mark=""), "train.py": other.format(call=switched)}, rules=["ML201"])
    bare = "print(evaluation.evaluate(None, held_out, net=net))"
    lint(
        {"evaluation.py": evaluation.format(mark="  # ML201"), "train.py": other.format(call=bare)},
        rules=["ML201"],
        check=["evaluation.py"],
    )


def test_a_script_that_trains_nothing_predicts(lint: Lint) -> None:
    code = (
        HEAD
        + """
net = resnet18()
net.load_state_dict(torch.load("net.pt", weights_only=True))
net.eval()
features = net(torch.ones(1, 3, 224, 224)){mark}
{more}
"""
    )
    lint(code.format(mark="", more="features.sum().backward()"), rules=["ML201"])
    lint(code.format(mark="  # ML201", more="features = features.view(-1)"), rules=["ML201"])


ACTING = """
from collections import namedtuple

SavedAction = namedtuple("SavedAction", ["log_prob", "value"])

class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 2), nn.Linear(4, 1)
        self.saved_actions = []

    def forward(self, x):
        return self.body(x).softmax(-1), self.head(x)

model = Policy()
optimizer = torch.optim.Adam(model.parameters())

def select_action(state):
    probs, value = model(state)
    drawn = torch.distributions.Categorical(probs)
    action = drawn.sample()
    model.saved_actions.append(SavedAction(drawn.log_prob(action), value))
    return action.item()

def finish(returns):
    losses = [-log_prob * (r - value) for (log_prob, value), r in zip(model.saved_actions, returns)]
    optimizer.zero_grad()
    torch.stack(losses).sum().backward()
    optimizer.step()

for state, returns in episodes():
    select_action(state)
    finish(returns)
"""


def test_what_is_saved_for_the_loss_keeps_its_graph(lint: Lint) -> None:
    lint(HEAD + ACTING, rules=["ML201"])


COUNTED = {
    "model.py": """
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = nn.ModuleDict({"a": nn.Linear(4, 2), "b": nn.Dropout(0.1)})

        def forward(self, x):
            return self.parts["b"](self.parts["a"](x))

        def evaluation_step(self, batch):
            outputs = self(batch)
            self.update_metrics(outputs)
            return outputs

        def refresh(self, batch):
            return self(batch)
    """,
    "predictor.py": """
    class Predictor:
        def __init__(self, model):
            self.model = model

        def batch_evaluation(self, dataset, collect=False):
            self.model.eval()
            predictions = []
            for batch in dataset:
                preds = self.model.{step}(batch){mark}
                if collect:
                    predictions.append(preds.detach().cpu().numpy())
            return self.model.get_metrics(), predictions
    """,
    "trainer.py": """
    from predictor import Predictor

    class Trainer:
        def __init__(self, model, optimizer):
            self.model = model
            self.optimizer = optimizer

        def train(self, training_set, validation_set):
            with training_set.batches(size=4) as batches:
                for batch in batches:
                    loss = self.model(batch).mean()
                    self.optimizer.zero_grad()
                    loss.backward()
                    self.optimizer.step()
                self.evaluation(validation_set)

        def evaluation(self, dataset):
            {around}
            return Predictor(self.model).batch_evaluation(dataset)
    """,
}


@pytest.mark.parametrize(
    ("step", "around", "mark"),
    [
        ("evaluation_step", "self.model.requires_grad_(False)", ""),
        ("evaluation_step", "torch.set_grad_enabled(False)", ""),
        ("refresh", "dataset = list(dataset)", ""),
        ("evaluation_step", "dataset = list(dataset)", "  # ML201"),
    ],
)
def test_a_model_that_evaluates_keeps_the_numbers_itself(lint: Lint, step: str, around: str, mark: str) -> None:
    values = {"{step}": step, "{around}": around, "{mark}": mark}
    files = {}
    for name, text in COUNTED.items():
        for word, value in values.items():
            text = text.replace(word, value)
        files[name] = text
    files["trainer.py"] = "import torch\n" + files["trainer.py"].replace("\n    ", "\n")
    lint(files, rules=["ML201"], check=["predictor.py"])


OUT = {
    "evaluator.py": """
    def measure(model, batches):
        return [model(x).argmax(-1).tolist() for x in batches]{mark}
    """,
    "engine.py": """
    from evaluator import measure

    def evaluate(model, batches):
        return measure(model, batches)
    """,
    "main.py": """
    import torch
    from torchvision.models import resnet18
    from engine import evaluate

    def main(path, batches):
        net = resnet18()
        net.load_state_dict(torch.load(path, weights_only=True))
        {ready}
        print(evaluate(net, batches))
    """,
}


@pytest.mark.parametrize(
    ("ready", "mark"),
    [
        ("net.eval()\n        torch.set_grad_enabled(False)", ""),
        ("net.train()\n        torch.set_grad_enabled(False)", "  # ML101"),
        ("net.eval()", "  # ML201"),
        ("pass", "  # ML101,ML201"),
    ],
)
def test_callers_of_callers_in_other_files_tell_the_mode(lint: Lint, ready: str, mark: str) -> None:
    files = {name: text.replace("{ready}", ready).replace("{mark}", mark) for name, text in OUT.items()}
    lint(files, rules=["ML101", "ML201"], check=["evaluator.py"])


ENTERED = """
def predict(path, training_set, eval_data, trainer):
    net = resnet18()
    net.load_state_dict(torch.load(path, weights_only=True))
    with {context}:
        return [net(x).argmax(-1).tolist() for x in training_set]{mark}
"""


@pytest.mark.parametrize(
    ("context", "mark"),
    [
        ("trainer.inference(net)", ""),
        ("trainer.evaluation_mode(net)", ""),
        ("frozen(net)", ""),
        ("training_set.open()", "  # ML101,ML201"),
        ("eval_data.loader(4)", "  # ML101,ML201"),
    ],
)
def test_the_name_of_the_data_says_nothing_of_a_mode(lint: Lint, context: str, mark: str) -> None:
    lint(HEAD + ENTERED.format(context=context, mark=mark), rules=["ML101", "ML201"])


ASKED = {
    "model.py": """
    import torch
    from torch import nn

    class Model(nn.Module):
        def forward_on_instance(self, x):
            return self.forward_on_instances([x])[0]

        def forward_on_instances(self, xs):
            {switch}
            return [self(x) for x in xs]
    """,
    "predictor.py": """
    class Predictor:
        def __init__(self, model):
            model.eval()
            self.model = model

        def predict(self, x):
            return self.model.forward_on_instance(x).argmax(-1).tolist(){mark}
    """,
}


@pytest.mark.parametrize(("switch", "mark"), [("torch.set_grad_enabled(False)", ""), ("xs = list(xs)", "  # ML201")])
def test_the_method_switches_autograd_off_through_another(lint: Lint, switch: str, mark: str) -> None:
    files = {name: text.replace("{switch}", switch).replace("{mark}", mark) for name, text in ASKED.items()}
    lint(files, rules=["ML201"], check=["predictor.py"])


ANSWERED = {
    "evaluation.py": """
    import torch

    def validate(net, xs):
        {switch}
        return [net(x) for x in xs]
    """,
    "model.py": """
    from torch import nn
    from evaluation import validate

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Linear(3, 3)

        def forward(self, x):
            return self.body(x)

        def validate_on(self, xs):
            if len(xs) > 1:
                {answer}
            return self(xs[0])
    """,
    "predictor.py": """
    class Predictor:
        def __init__(self, model):
            model.eval()
            self.model = model

        def predict(self, xs):
            return self.model.validate_on(xs).argmax(-1).tolist(){mark}
    """,
}


@pytest.mark.parametrize(
    ("switch", "answer", "mark"),
    [
        ("torch.set_grad_enabled(False)", "return validate(self, xs)", ""),
        ("xs = list(xs)", "return validate(self, xs)", "  # ML201"),
        ("torch.set_grad_enabled(False)", "self.score = validate", "  # ML201"),
        ("torch.set_grad_enabled(False)", "validate(self, xs[:1])", "  # ML201"),
    ],
)
def test_the_method_gives_what_a_function_does_without_autograd(
    lint: Lint, switch: str, answer: str, mark: str
) -> None:
    filled = {"{switch}": switch, "{answer}": answer, "{mark}": mark}
    files = dict(ANSWERED)
    for place, text in filled.items():
        files = {name: program.replace(place, text) for name, program in files.items()}
    lint(files, rules=["ML201"], check=["predictor.py"])
