"""What training is given: the data sets of its loaders, those that are called so, and the inputs of its forwards."""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterable, Iterator

from modellint.static.context import FileContext
from modellint.static.datapath.consumption import EVALUATION, TRAINING
from modellint.static.datapath.held_out import placed, shuffles
from modellint.static.datapath.loaders import Loader, is_loader, names_held_out, names_training
from modellint.static.guards import own
from modellint.static.naming import snake
from modellint.static.origins import Origin
from modellint.static.project.names import written_name

_DATA = re.compile(r"(^|_)(tr|trn|train(ing)?)_?(data)?_?(sub)?(data|sets?|ds)$")


def training_data(
    context: FileContext, found: Iterable[Loader], known: Container[ast.AST], patterns: Iterable[str]
) -> Iterator[Origin]:
    """Yield the data sets that serve training: of the loaders `found`, and of what this file makes for it besides.

    Calls that are `known` construct loaders of which is seen what runs over them.
    """
    for loader in found:
        kinds = {use.kind for use in loader.uses}
        data = loader.view.argument("dataset", 0)
        if data is not None and (TRAINING in kinds or (EVALUATION not in kinds and loader.is_named_for_training)):
            yield data
    patterns = tuple(patterns)
    for scope in context.scopes:
        for node in own(scope, ast.Assign):
            if isinstance(node.value, ast.Call) and any(_DATA.search(snake(written_name(t))) for t in node.targets):
                yield Origin(node.value, scope)
    for scope in context.scopes_calling({name for name in context.callees if "oader" in name}):
        called = {call: name for name, call in placed(scope)}
        for call in scope.calls:
            name = called.get(call, "")
            if call in known or not (names_training(name) or (shuffles(call) and not names_held_out(name))):
                continue
            for view in context.resolver.views(Origin(call, scope)):
                data = view.argument("dataset", 0)
                if data is not None and is_loader(context.resolver, view, patterns):
                    yield data
