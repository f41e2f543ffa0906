"""The words by which models, and what runs them, are recognised where nothing better is known."""

from __future__ import annotations

import ast
import re

from modellint.static.project.names import last_name

_MAKES = (
    r"(?!_*(get|build|make|create|load|read|define|setup|construct|convert|compile|prepare|save|export|wrap|instantiate|"
    r"import)_)"
)
"""What the name of a function that makes a model begins with, or does something else with one."""

MODEL_NAME = re.compile(
    rf"^{_MAKES}_*(\w*_)?"
    r"(model|net|network|module|backbone|encoder|decoder|generator|discriminator|classifier|detector|"
    r"segmenter|(vision|visual|text|image|audio|video)_?tower|predictor_model|teacher|student|policy|actor|critic|agent_net|ema_model|unet|vae|resnet|bert|gpt|vit|clip|"
    r"dqn|\w?cnn|c?rnn|lstm|mlp|g[cn]n|gat|gan|vgg\d*|inception(_?v\d)?|alexnet|(dense|mobile|efficient)net\w*|"
    r"net[A-Z]\w?|net_[a-zA-Z]|\w+Net|\w*model\d*|G|D|G_\w+|D_\w+|(model|net|network)_(with|and)_(loss|crit\w*))$"
)
"""Names that people give to models, not to what makes them; only used where nothing better is known of a call."""

HELD_MODEL = re.compile(
    rf"^{_MAKES}_*(\w+_)?(model|net|network|backbone|generator|discriminator|actor|critic|policy|dqn|unet|vae)$|"
    r"^net[A-Z]\w?$"
)
"""Those by which objects of any kind hold a model: `trainer.model(x)`. A tokenizer has a decoder, an array a clip."""

NO_MODEL_NAME = re.compile(
    r"(fn|func|function|cls|class|type|op|factory|builder|callback|closure|transforms?|tfms?|crit(erion)?|loss\w*|"
    r"metric\w*|optim\w*|scheduler|logger|tokenizer|processor|collate\w*|progress|bar|partial|getter|hook|act|norm|layer)$",
    re.I,
)
"""Names that people give to other things that are called."""

NOT_MODELS = re.compile(
    r"optim|sched|scaler|sampler|loader|dataset|criterion|loss|trainer|logger|writer|args|opt$|cfg|config|_mode$", re.I
)
"""Names of objects that work with models and are none, in parts of longer names."""

OPTIONS = re.compile(r"(^|_)(args|opts?|options|cfg|conf|config|flags|hparams?|hps|params)$", re.I)
"""Names of what holds the options of a program: an attribute of it that is called `model` is the name of one."""

PREPARING_CLASS = re.compile(r"Tokeni[sz]er|Processor|FeatureExtractor")
"""Classes that prepare data: what they call on themselves runs no model, whatever the method's name."""

LOOKS_ALIKE = frozenset("paddle paddlenlp mxnet mindspore jittor oneflow megengine chainer mlx".split())
"""Packages whose models have `train()`, `eval()` and a `no_grad` of their own."""

OTHER_FRAMEWORKS = LOOKS_ALIKE | frozenset("tensorflow tf_keras keras jax flax haiku MNN".split())
"""Packages of networks that have neither torch's modes nor its autograd."""

SWITCHES_OFF = frozenset({"no_grad", "inference_mode"})
"""What switches autograd off, whatever it is given."""

GRAD_SWITCHES = SWITCHES_OFF | {"set_grad_enabled", "enable_grad"}
"""What torch switches autograd with, on or off."""

ESTIMATORS = frozenset("sklearn xgboost lightgbm catboost cyanure statsmodels cv2 dlib mediapipe insightface".split())
"""Packages whose models are no networks, or none of Python."""

FORWARD_METHOD = re.compile(
    r"^_?(forward\w*|\w+_forward|encode\w*|decode\w*|predict\w*|infer\w*|generate\w*|sample(?!r)\w*|embed\w*|extract\w*|"
    r"classif\w*|detect\w*|segment\w*|evaluat\w*|validat\w*|test_\w+|transcrib\w*|translat\w*|synthes\w*|reconstruct\w*|score\w*|"
    r"recogni[sz]e\w*|beam_search\w*|greedy_\w+|track(_(frame|mask|object)s?)?|"
    r"\w+_step|\w+_infer(ence)?|\w+_predict|get_\w*(features?|embeddings?|logits|outputs?)|"
    r"get_(action|value|prob(abilitie)?|q_?value|prediction)s?(_and_\w+)?|run|act|__call__)$"
)
"""Methods of a model out of sight that run it, by their names."""

PHASE = re.compile(
    r"^(val|valid|validate|validation|test|testing|eval|evaluate|evaluation|dev|infer|inference|predict)$"
)
"""What the part of the work is called that is no training."""

LOSS_METHOD = re.compile(
    r"^_?((get|compute|calculate|calc|forward|batch|train|training|val|validation|eval|test)_)?(loss(es)?|nll|elbo)$"
)
"""Methods of a model that run it on a batch and return its loss, or take a loss of what it gave before."""


def asks_for_a_loss(call: ast.Call) -> bool:
    """Tell whether a call asks a model, by its name, for a loss: `net.loss(batch)`."""
    func = call.func
    if not isinstance(func, ast.Attribute) or LOSS_METHOD.match(func.attr) is None:
        return False
    return MODEL_NAME.match(last_name(func.value) or "") is not None


METRIC = re.compile(
    r"accura|metric|score|\biou|_iou|iou_|miou|f1|auc|precision|recall|bleu|wer\b|psnr|ssim|eval|correct|meter|"
    r"save|write|dump|imshow|imwrite|plot|draw|visuali|decode|nms|postprocess|report|submit|to_csv|confusion|"
    r"^(add|log)_(scalars?|images?|figure|histogram|audio|video)$",
    re.I,
)
"""Names of functions that are given predictions, or publish them."""

WRITES = re.compile(
    r"^_*(save|write|dump|imshow|imwrite|plot|draw|visuali[sz]e|to_csv)(_|$)|(^|_)(imshow|imwrite)$", re.I
)
"""Names of functions that write down what they are given, or show it: nobody differentiates that."""

FINDS = frozenset({"max", "min", "sort", "topk", "median", "mode", "kthvalue", "cummax", "cummin"})
"""Functions and methods that give numbers, and where they stand: `best, places = scores.max(1)`."""

KEEPS = frozenset("append appendleft extend insert add update setdefault put".split())
"""Methods by which a container keeps what it is given."""

KEEPS_GRAPH = re.compile(
    r"loss|crit(?!ic)|nll|(?<![a-z])b?ce(?![a-z])|cross_entropy|mse|kl_div|objective|penalty|mean|sum", re.I
)
"""Functions whose result is taken to keep the graph of what they are given: losses, and means and sums of them."""

_KEEPER = re.compile(r"(metrics?|meters?|evaluators?|scorers?|confusion\w*|confmat)$", re.I)


def is_metric(name: str, node: ast.Call) -> bool:
    """Tell whether a call gives predictions to a metric: the method says so, or what it is called on."""
    if METRIC.search(name):
        return True
    return isinstance(node.func, ast.Attribute) and _KEEPER.search(last_name(node.func.value) or "") is not None
