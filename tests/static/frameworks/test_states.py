"""Context managers, wrappers, hooks and mixed mode, as libraries have them."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

RULES = ["ML101", "ML103", "ML201", "ML202", "ML204"]

SILENT = {
    "MONAI's eval_mode switches mode and gradients": """
        import torch
        from monai.networks import eval_mode
        from monai.networks.nets import UNet

        def evaluate(loader):
            net = UNet(spatial_dims=2, in_channels=1, out_channels=2, channels=(4, 8), strides=(2,))
            net.load_state_dict(torch.load("unet.pt", weights_only=True))
            with eval_mode(net):
                for batch in loader:
                    print(net(batch).argmax(1))
    """,
    "behind it the network trains again": """
        import torch
        from monai.networks.utils import eval_mode
        from monai.networks.nets import UNet

        def train(loader, test, optimizer, criterion):
            net = UNet(spatial_dims=2, in_channels=1, out_channels=2, channels=(4, 8), strides=(2,))
            net.train()
            for epoch in range(3):
                for x, y in loader:
                    loss = criterion(net(x), y)
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                with eval_mode(net):
                    for x in test:
                        print(net(x).argmax(1))
    """,
    "an adapter that trains": """
        from peft import LoraConfig, get_peft_model
        from transformers import AutoModelForCausalLM

        def train(loader, optimizer):
            model = AutoModelForCausalLM.from_pretrained("gpt2")
            model = get_peft_model(model, LoraConfig(lora_dropout=0.1))
            for batch in loader:
                loss = model(**batch).loss
                loss.backward()
                optimizer.step()
    """,
    "an adapter that was put into eval": """
        import torch
        from peft import LoraConfig, get_peft_model, set_peft_model_state_dict
        from transformers import AutoModelForCausalLM

        def predict(batch):
            model = AutoModelForCausalLM.from_pretrained("gpt2")
            model = get_peft_model(model, LoraConfig(lora_dropout=0.1))
            set_peft_model_state_dict(model, torch.load("adapter.pt", weights_only=True))
            model.eval()
            with torch.no_grad():
                return model(**batch).logits.argmax(-1)
    """,
    "an adapter without dropout on a model in eval": """
        import torch
        from peft import LoraConfig, PromptTuningConfig, get_peft_model, set_peft_model_state_dict
        from transformers import AutoModelForCausalLM

        def predict(batch):
            base = AutoModelForCausalLM.from_pretrained("gpt2")
            model = get_peft_model(base, LoraConfig(r=8))
            other = get_peft_model(base, PromptTuningConfig(num_virtual_tokens=8))
            set_peft_model_state_dict(model, torch.load("adapter.pt", weights_only=True))
            set_peft_model_state_dict(other, torch.load("prompt.pt", weights_only=True))
            with torch.no_grad():
                return model(**batch).logits.argmax(-1), other(**batch).logits.argmax(-1)
    """,
    "an adapter whose configuration is not in sight": """
        import torch
        from peft import LoraConfig, get_peft_model, set_peft_model_state_dict
        from transformers import AutoModelForCausalLM

        def predict(batch, **options):
            model = get_peft_model(AutoModelForCausalLM.from_pretrained("gpt2"), LoraConfig(**options))
            set_peft_model_state_dict(model, torch.load("adapter.pt", weights_only=True))
            with torch.no_grad():
                return model(**batch).logits.argmax(-1)
    """,
    "a sum of what was computed without gradients": """
        import torch
        from project.metrics import Accuracy
        from torchvision.models import resnet18

        def evaluate(model, loader, metric):
            model.eval()
            with torch.no_grad():
                for x, y in loader:
                    metric.update(model(x), y)
            return metric.compute()

        def main(folds):
            total = 0
            model = resnet18(weights="DEFAULT")
            metric = Accuracy()
            for loader in folds:
                total += evaluate(model, loader, metric)
            print(total / len(folds))
    """,
    "a head put in before eval()": """
        import torch
        from torch import nn
        from torchvision.models import resnet50

        def predict(x):
            model = resnet50(weights="DEFAULT")
            model.fc = nn.Sequential(nn.Dropout(0.5), nn.Linear(2048, 10))
            model.load_state_dict(torch.load("fine.pt", weights_only=True))
            model.eval()
            with torch.no_grad():
                return model(x).argmax(-1)
    """,
    "a head without a mode put in behind eval()": """
        import torch
        from torch import nn
        from torchvision.models import resnet50

        def embed(x):
            model = resnet50(weights="DEFAULT")
            model.eval()
            model.fc = nn.Identity()
            with torch.no_grad():
                return model(x).numpy()
    """,
    "DataParallel around a model in eval": """
        import torch
        from transformers import AutoModelForSequenceClassification

        def predict(batch):
            model = torch.nn.DataParallel(AutoModelForSequenceClassification.from_pretrained("bert"))
            with torch.no_grad():
                return model(**batch).logits.argmax(-1)
    """,
    "the steps of a Lightning module": """
        import lightning as L
        import torch
        from torch import nn

        class Net(L.LightningModule):
            def __init__(self):
                super().__init__()
                self.model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))

            def forward(self, x):
                return self.model(x)

            def training_step(self, batch, index):
                return nn.functional.cross_entropy(self(batch[0]), batch[1])

            def validation_step(self, batch, index):
                predicted = self(batch[0]).argmax(-1)
                self.log("accuracy", (predicted == batch[1]).float().mean().item())

            def predict_step(self, batch, index):
                return self(batch[0]).argmax(-1)
    """,
    "a Lightning callback": """
        import pytorch_lightning as pl

        class Show(pl.Callback):
            def on_validation_epoch_end(self, trainer, pl_module):
                print(pl_module.net(trainer.batch).argmax(-1))
    """,
    "a fairseq task": """
        from fairseq.tasks import FairseqTask

        class Task(FairseqTask):
            def valid_step(self, sample, model, criterion):
                loss, size, log = criterion(model, sample)
                predicted = model(sample).argmax(-1)
                return loss, size, {"correct": (predicted == sample["y"]).sum().item()}
    """,
    "a prediction_step of the trainer of transformers with no_grad": """
        import torch
        from transformers import Trainer

        class Own(Trainer):
            def prediction_step(self, model, inputs, prediction_loss_only, ignore_keys=None):
                with torch.no_grad():
                    logits = model(**inputs).logits
                return None, logits.argmax(-1), inputs["labels"]
    """,
    "its loss": """
        from transformers import Trainer

        class Own(Trainer):
            def compute_loss(self, model, inputs, return_outputs=False):
                outputs = model(**inputs)
                accuracy = (outputs.logits.argmax(-1) == inputs["labels"]).float().mean().item()
                self.log({"accuracy": accuracy})
                return outputs.loss
    """,
    "a pipeline of one's own, under the no_grad of its base": """
        from diffusers import StableDiffusionXLPipeline
        from transformers import T5EncoderModel

        class Own(StableDiffusionXLPipeline):
            def __init__(self, *args, **kwargs):
                super().__init__(*args, **kwargs)
                self.t5 = T5EncoderModel.from_pretrained("t5-base")

            def encode_prompt(self, ids):
                return self.t5(ids).last_hidden_state.cpu().numpy()
    """,
    "a Brain of speechbrain": """
        import speechbrain as sb

        class ASR(sb.Brain):
            def compute_forward(self, batch, stage):
                return self.modules.model(batch.sig).argmax(-1).tolist()

            def evaluate_batch(self, batch, stage):
                return self.compute_forward(batch, stage)
    """,
    "a layer without a mode": """
        import torch
        from monai.networks.blocks import Warp

        def evaluate(loader):
            warp = Warp()
            with torch.no_grad():
                for image, field in loader:
                    print(warp(image, field).mean().item())
    """,
    "turns of a Monte Carlo estimate": """
        import torch
        from torchvision.models import resnet18

        def score(args, loader):
            model = resnet18(weights="DEFAULT")
            model.train()
            with torch.no_grad():
                for x in loader:
                    draws = [model(x).softmax(-1) for mc in range(args.draws)]
                    print(torch.stack(draws).var(0).sum().item())
    """,
    "what ran before a training loop of which the loss is out of sight": """
        import torch
        from project.train import make_loss
        from torchvision.models import resnet18

        encoder = resnet18(weights="DEFAULT").eval()
        shape = encoder(torch.zeros(1, 3, 8, 8)).shape
        model, loader, optimizer = make_loss(shape)
        for x in loader:
            loss = model.step(x)
            loss.backward()
            optimizer.step()
    """,
    "generate() of a model of which nothing is known": """
        from project.models import build

        def answer(ids):
            model = build("large")
            model.eval()
            print(model.generate(ids).tolist())
    """,
    "a trainer's train() is no mode": """
        from torchvision.models import resnet18
        import torch
        from project.trainer import Trainer

        def main(x):
            model = resnet18(weights="DEFAULT").eval()
            trainer = Trainer(model)
            trainer.train()
            with torch.no_grad():
                return model(x).argmax(-1)
    """,
    "a Lightning module that was put into evaluation mode after its training": """
        import lightning as L
        import torch
        from torch import nn

        class Net(L.LightningModule):
            def __init__(self):
                super().__init__()
                self.model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))

            def forward(self, x):
                return self.model(x)

            def training_step(self, batch, index):
                return nn.functional.cross_entropy(self(batch[0]), batch[1])

        class Table:
            def fit(self, loader):
                self.net = Net()
                self.trainer = L.Trainer(max_epochs=10)
                self.trainer.fit(self.net, loader)
                self.net.eval()

            def predict(self, loader):
                rows = []
                for x in loader:
                    with torch.no_grad():
                        rows.append(self.net(x).cpu().numpy())
                return rows

        def main(loader):
            table = Table()
            table.fit(loader)
            return table.predict(loader)
    """,
    "lightning's freeze() is eval() without gradients": """
        import lightning as L
        from torch import nn

        class Net(L.LightningModule):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))

            def forward(self, x):
                return self.body(x)

        def predict(x):
            net = Net.load_from_checkpoint("best.ckpt")
            net.freeze()
            return net(x).argmax(-1)
    """,
}

FOUND = {
    "behind MONAI's eval_mode the network is as before": """
        import torch
        from monai.networks import eval_mode
        from monai.networks.nets import UNet

        def evaluate(loader, x):
            net = UNet(spatial_dims=2, in_channels=1, out_channels=2, channels=(4, 8), strides=(2,))
            net.load_state_dict(torch.load("unet.pt", weights_only=True))
            with eval_mode(net):
                for batch in loader:
                    print(net(batch).argmax(1))
            with torch.no_grad():
                return net(x).argmax(1)  # ML101
    """,
    "an adapter put on a model in eval": """
        import torch
        from peft import LoraConfig, get_peft_model, set_peft_model_state_dict
        from transformers import AutoModelForCausalLM

        def predict(batch):
            model = AutoModelForCausalLM.from_pretrained("gpt2")
            model = get_peft_model(model, LoraConfig(lora_dropout=0.1))
            set_peft_model_state_dict(model, torch.load("adapter.pt", weights_only=True))
            with torch.no_grad():
                return model(**batch).logits.argmax(-1)  # ML101
    """,
    "an adapter loaded to be trained": """
        import torch
        from peft import PeftModel
        from transformers import AutoModelForCausalLM

        def predict(batch):
            base = AutoModelForCausalLM.from_pretrained("gpt2")
            model = PeftModel.from_pretrained(base, "adapter", is_trainable=True)
            with torch.no_grad():
                return model(**batch).logits.argmax(-1)  # ML101
    """,
    "a head with dropout put in behind eval()": """
        import torch
        from torch import nn
        from torchvision.models import resnet50

        def predict(x):
            model = resnet50(weights="DEFAULT")
            model.eval()
            model.fc = nn.Sequential(nn.Dropout(0.5), nn.Linear(2048, 10))
            model.load_state_dict(torch.load("fine.pt", weights_only=True))
            with torch.no_grad():
                return model(x).argmax(-1)  # ML101
    """,
    "a prediction_step that records autograd": """
        from transformers import Trainer

        class Own(Trainer):
            def prediction_step(self, model, inputs, prediction_loss_only, ignore_keys=None):
                logits = model(**inputs).logits  # ML201
                return None, logits.argmax(-1), inputs["labels"]
    """,
    "a pipeline of one's own that forgets no_grad": """
        from diffusers import DiffusionPipeline
        from transformers import T5EncoderModel

        class Own(DiffusionPipeline):
            def __init__(self):
                super().__init__()
                self.t5 = T5EncoderModel.from_pretrained("t5-base")

            def __call__(self, ids):
                return self.t5(ids).last_hidden_state.cpu().numpy()  # ML201
    """,
    "a Lightning module is in training mode after its training": """
        import lightning as L
        import torch
        from torch import nn

        class Net(L.LightningModule):
            def __init__(self):
                super().__init__()
                self.model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))

            def forward(self, x):
                return self.model(x)

            def training_step(self, batch, index):
                return nn.functional.cross_entropy(self(batch[0]), batch[1])

        class Table:
            def fit(self, loader):
                self.net = Net()
                self.trainer = L.Trainer(max_epochs=10)
                self.trainer.fit(self.net, loader)
                print("trained")

            def predict(self, loader):
                rows = []
                for x in loader:
                    with torch.no_grad():
                        rows.append(self.net(x).cpu().numpy())  # ML101
                return rows

        def main(loader):
            table = Table()
            table.fit(loader)
            return table.predict(loader)
    """,
    "a step called by hand": """
        import lightning as L
        import torch
        from torch import nn

        class Net(L.LightningModule):
            def __init__(self):
                super().__init__()
                self.model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))

            def forward(self, x):
                return self.model(x)

            def predict_step(self, batch, index):
                return self(batch[0]).argmax(-1)

        def predict(x):
            net = Net.load_from_checkpoint("best.ckpt")
            with torch.no_grad():
                return net(x).argmax(-1)  # ML101
    """,
    "lightning's unfreeze() undoes freeze()": """
        import lightning as L
        import torch
        from torch import nn

        class Net(L.LightningModule):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))

            def forward(self, x):
                return self.body(x)

        def predict(x):
            net = Net.load_from_checkpoint("best.ckpt")
            net.freeze()
            net.unfreeze()
            with torch.no_grad():
                return net(x).argmax(-1)  # ML101
    """,
}


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT)
def test_right(lint: Lint, text: str) -> None:
    lint(text, rules=RULES)


@pytest.mark.parametrize("text", FOUND.values(), ids=FOUND)
def test_wrong(lint: Lint, text: str) -> None:
    lint(text, rules=RULES)
