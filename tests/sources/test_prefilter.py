"""Files in which no rule can find anything are told by their bytes."""

from __future__ import annotations

from modellint.sources import Prefilter

PREFILTER = Prefilter(["torch", "timm"], [(("eval",), ("no_grad", "load")), (("dropout",),)])


def test_a_file_without_a_library_is_not_wanted() -> None:
    assert not PREFILTER.wants(b"frame.eval('a + b').dropout")


def test_a_library_alone_is_not_enough() -> None:
    assert not PREFILTER.wants(b"import torch\nx = torch.ones(3)")


def test_half_of_a_group_is_not_enough() -> None:
    assert not PREFILTER.wants(b"import torch\nwith torch.no_grad(): pass")


def test_one_word_or_one_whole_group_is_enough() -> None:
    assert PREFILTER.wants(b"import torch\nmodel.eval()")
    assert PREFILTER.wants(b"import timm\nmodel.load(no_grad)")


def test_a_rule_without_words_wants_every_file_of_a_library() -> None:
    prefilter = Prefilter(["torch"], [()])
    assert prefilter.wants(b"import torch")
    assert not prefilter.wants(b"import numpy")


def test_without_rules_nothing_is_wanted() -> None:
    assert not Prefilter(["torch"], []).wants(b"import torch\nmodel.eval()")


def test_a_word_of_a_library_alone_is_not_enough_without_its_name() -> None:
    assert not PREFILTER.wants(b"frame.eval('a + b').load(no_grad)")


def test_calls_that_only_torch_has_stand_for_its_name() -> None:
    assert PREFILTER.wants(b"from mine import trainer\nself.model.eval()\nwith no_grad(): load()")
    assert PREFILTER.wants(b"def evaluate(model, x, device):\n    model(x.to(device))")
    assert not PREFILTER.wants(b"def evaluate(model, x, form):\n    model(x.to(form))")


def test_they_stand_for_no_other_library() -> None:
    assert not Prefilter(["timm"], [(("dropout",),)]).wants(b"model.eval().dropout")


def test_what_is_done_with_the_answers_of_a_model_speaks_of_torch() -> None:
    assert PREFILTER.wants(b"from nets import restore\nprint(restore(eval_file)(x).argmax(1), dropout)")
    assert not PREFILTER.wants(b"from nets import restore\nprint(restore(eval_file)(x).argmax, dropout)")
