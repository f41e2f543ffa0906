"""Calls, assignments and classes that a rule's YAML describes, without any code of its own."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import translate
from functools import cache
from typing import Any

from modellint.catalog import ActiveRule
from modellint.diagnostic import Confidence
from modellint.static.comments import says
from modellint.static.context import FileContext, Finding
from modellint.static.datapath.evidence import evaluates_by_name, infers, is_test_scope, trains, trains_by_name
from modellint.static.flow.values import Site
from modellint.static.guards import conditions, own, path_to, tied_to_mode
from modellint.static.naming import is_test_module
from modellint.static.origins import EVERYWHERE, Origin
from modellint.static.project import ClassInfo, FunctionInfo, Symbol
from modellint.static.project.names import dotted_name, last_name
from modellint.static.requirements import required

_LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_TYPES = {"bool": bool, "int": int, "float": float, "string": str, "none": type(None), "tuple": tuple}


@dataclass(frozen=True, slots=True)
class Match:
    """A place that fits the head of a pattern: a call, an assignment to an attribute, or the class `cls`.

    `prepared` is the call that `node` prepares, where that is `partial(function, ...)`.
    """

    scope: FunctionInfo
    node: ast.Call | ast.Assign | ast.ClassDef
    name: str
    written: str
    cls: ClassInfo | None = None
    prepared: ast.Call | None = None


def detect(context: FileContext, rule: ActiveRule) -> Iterator[Finding]:
    """Report what fits one of the patterns of the rule; docs/writing-rules.md describes them."""
    for pattern in rule.rule.detector_options["patterns"]:
        for match in _heads(context, pattern):
            fitting = _fits(context, pattern, match)
            if fitting is not None:
                details = {"call": match.written, "name": match.name, "value": fitting, **pattern.get("say", {})}
                confidence = Confidence(pattern.get("confidence", "certain"))
                yield Finding(_site(context, match.node), details, confidence)


def _site(context: FileContext, node: ast.Call | ast.Assign | ast.ClassDef) -> Site:
    """Return where a match stands: of a class, the line that names it."""
    site = context.site(node)
    if isinstance(node, ast.ClassDef):
        return site._replace(end_row=node.lineno, end_column=node.col_offset + len(f"class {node.name}"))
    return site


def _heads(context: FileContext, pattern: Mapping[str, Any]) -> Iterator[Match]:
    if "class" in pattern:
        yield from _classes(context, pattern["class"])
        return
    for scope in context.scopes:
        if "assign" in pattern:
            for node in own(scope, ast.Assign):
                for target in node.targets:
                    name = _matching(context, scope, target, pattern["assign"])
                    if name is not None:
                        yield Match(scope, node, name, ast.unparse(target))
            continue
        for call in scope.calls:
            if "call" in pattern:
                prepared = _prepared(call)
                func = call.func if prepared is None else prepared.func
                name = _matching(context, scope, func, pattern["call"])
                if name is not None:
                    yield Match(scope, call, name, ast.unparse(func), prepared=prepared)
            elif isinstance(call.func, ast.Attribute) and call.func.attr in pattern["method"]:
                owner = Origin(call.func.value, scope)
                if "of" not in pattern or _made_by(context, owner, pattern["of"]):
                    yield Match(scope, call, call.func.attr, ast.unparse(call.func))


def _prepared(call: ast.Call) -> ast.Call | None:
    """Return the call of `function` that `partial(function, ...)` prepares; None for any other call."""
    if last_name(call.func) != "partial" or not call.args:
        return None
    return ast.copy_location(ast.Call(call.args[0], call.args[1:], call.keywords), call)


def _classes(context: FileContext, bases: Iterable[str]) -> Iterator[Match]:
    """Yield the classes of the file that derive from one of `bases`, at any depth."""
    known = {(cls.name, cls.row): cls for cls in context.module.classes}
    for node in ast.walk(context.module.tree):
        if isinstance(node, ast.ClassDef) and (cls := known.get((node.name, node.lineno))) is not None:
            name = next((name for name in _bases(context, cls) if _any_of(tuple(bases)).match(name)), None)
            if name is not None:
                yield Match(cls.scope, node, name, cls.name, cls)


def _bases(context: FileContext, cls: ClassInfo) -> list[str]:
    """Return the qualified names of everything that `cls` derives from."""
    mine, outside = context.project.ancestry(cls)
    return [*(f"{context.project.paths.dotted(base.module.path)}.{base.name}" for base in mine[1:]), *outside]


def _matching(context: FileContext, scope: FunctionInfo, node: ast.expr, names: Iterable[str]) -> str | None:
    """Return the qualified name of `node` where it is one of `names`."""
    if dotted_name(node) is None:
        return None
    last = last_name(node)
    symbol = context.project.resolve_in(scope, node)
    if symbol is None or last is None:
        return None
    wanted = _any_of(tuple(names))
    return next((name for name in _names_of(context, symbol) if wanted.match(name)), None)


@cache
def _any_of(names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(translate, names)) or r"(?!)")


def _names_of(context: FileContext, symbol: Symbol) -> Iterator[str]:
    """Yield the names of a symbol: the one it was imported by, and for a definition the one of its place."""
    yield symbol.dotted
    module = getattr(symbol.target, "module", None)
    if module is not None:
        yield f"{context.project.paths.dotted(module.path)}.{symbol.target.name}"  # type: ignore[union-attr]


def _made_by(context: FileContext, value: Origin, names: Iterable[str]) -> bool:
    """Tell whether a value may come from a call of one of `names`."""
    wanted = _any_of(tuple(names))
    for origin in context.resolver.origins(value):
        if isinstance(origin.node, ast.Call):
            for view in context.resolver.views(origin):
                symbol = view.callee.symbol
                if symbol is not None and any(map(wanted.match, _names_of(context, symbol))):
                    return True
    return False


def _fits(context: FileContext, pattern: Mapping[str, Any], match: Match) -> str | None:
    """Return the text of the value that the conditions are about, if any; None where one of them is not met."""
    shown = ""
    if "value" in pattern:
        assert isinstance(match.node, ast.Assign)
        if not _value_fits(context, pattern["value"], Origin(match.node.value, match.scope)):
            return None
        shown = ast.unparse(match.node.value)
    made = match.prepared or match.node
    call = made if isinstance(made, ast.Call) and "arguments" in pattern else None
    view = context.resolver.view(Origin(call, match.scope)) if call is not None else None
    for name, wanted in pattern.get("arguments", {}).items():
        if view is None or view.opaque:
            return None  # what is passed cannot be read off
        given = view.argument(name, wanted.get("position"))
        if given is None:
            if wanted.get("missing") is not True or _may_be_added(match.scope, view.node):
                return None
            continue
        if wanted.get("missing") is True:
            return None
        if not _value_fits(context, wanted, given):
            return None
        shown = shown or f"{name}={ast.unparse(given.node) if given.node is not None else '...'}"
    if not all(_stands(context, match, key, wanted) for key, wanted in pattern.get("inside", {}).items()):
        return None
    if any(_stands(context, match, key, wanted) for key, wanted in pattern.get("outside", {}).items()):
        return None
    if match.cls is not None:
        if any(context.project.method(match.cls, name) is not None for name in pattern.get("lacks", ())):
            return None
        if any(name not in match.cls.methods for name in pattern.get("defines", ())):
            return None
    if "inference" in pattern and _is_inference(context, match) is not pattern["inference"]:
        return None
    if "unless-required" in pattern and required(
        context.project.root, context.module.path.parent, pattern["unless-required"]
    ):
        return None
    if pattern.get("tests") is False and is_test_module(context.module):
        return None
    if "unless-comment" in pattern and says(context.module, match.node, pattern["unless-comment"]):
        return None
    return shown


def _may_be_added(scope: FunctionInfo, call: ast.Call) -> bool:
    """Tell whether a dict that the call is given as `**options` gets further items after it was made."""
    spread = {
        keyword.value.id for keyword in call.keywords if keyword.arg is None and isinstance(keyword.value, ast.Name)
    }
    return any(
        isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name) and node.value.id in spread
        for node in (own(scope, ast.Subscript) if spread else ())
    )


def _value_fits(context: FileContext, wanted: Mapping[str, Any], value: Origin) -> bool:
    """Tell whether a value meets every condition: which constant it is, of which type, where it comes from."""
    known = context.resolver.constant(value)
    if "equals" in wanted and (known is None or not _is_one_of(known[0], wanted["equals"])):
        return False
    if "not-equals" in wanted and (known is None or _is_one_of(known[0], wanted["not-equals"])):
        return False
    if "type" in wanted and (known is None or not _has_type(known[0], wanted["type"])):
        return False
    if "matches" in wanted and not (known and isinstance(known[0], str) and re.search(wanted["matches"], known[0])):
        return False
    if "from" in wanted and not _made_by(context, value, wanted["from"]):
        return False
    return not ("not-from" in wanted and _made_by(context, value, wanted["not-from"]))


def _is_one_of(value: object, wanted: object) -> bool:
    """Compare constants by type, too: `True` is not 1."""
    listed = wanted if isinstance(wanted, list) else [wanted]
    return any(value == item and type(value) is type(item) for item in listed)


def _has_type(value: object, names: Iterable[str]) -> bool:
    return any(type(value) is _TYPES[name] for name in names)


def _stands(context: FileContext, match: Match, key: str, wanted: Any) -> bool:
    """Tell whether a match stands inside what `key` describes."""
    scope = match.scope
    if key == "function":
        return any(re.search(wanted, function.name) for function in _functions(scope))
    if key == "class":
        bodies = {n.lineno for n in path_to(scope, match.node) if isinstance(n, ast.ClassDef)}
        written = [cls for cls in context.module.classes if cls.row in bodies]
        classes = [match.cls, *written, *(function.cls for function in _functions(scope))]
        return any(cls is not None and _is_or_derives(context, cls, wanted) for cls in classes)
    if key == "forward":
        inside = any(
            f.name == "forward" and f.cls is not None and context.classes.is_module(f.cls) for f in _functions(scope)
        )
        return inside is wanted
    if key == "guard":
        return any(re.search(wanted, ast.unparse(test)) for test, _ in conditions(scope, match.node))
    if key == "training-guard":
        return tied_to_mode(scope, match.node) is wanted
    if key == "loop":
        return any(isinstance(node, _LOOPS) for node in path_to(scope, match.node)[:-1]) is wanted
    if key == "except":
        handlers = (node.type for node in path_to(scope, match.node) if isinstance(node, ast.ExceptHandler))
        return any(type_ is not None and re.search(wanted, ast.unparse(type_)) for type_ in handlers)
    decorators = [d for f in _functions(scope) if f.node is not None for d in f.node.decorator_list]
    around = [
        i.context_expr for n in path_to(scope, match.node) if isinstance(n, (ast.With, ast.AsyncWith)) for i in n.items
    ]
    used = [node.func if isinstance(node, ast.Call) else node for node in [*decorators, *around]]
    return any(_matching(context, scope, node, wanted) is not None for node in used)


def _functions(scope: FunctionInfo) -> Iterator[FunctionInfo]:
    """Yield the functions around a place, innermost first."""
    inner: FunctionInfo | None = scope
    while inner is not None and not inner.is_body:
        yield inner
        inner = inner.parent


def _is_or_derives(context: FileContext, cls: ClassInfo, names: Iterable[str]) -> bool:
    mine = f"{context.project.paths.dotted(cls.module.path)}.{cls.name}"
    return any(map(_any_of(tuple(names)).match, [mine, *_bases(context, cls)]))


def _is_inference(context: FileContext, match: Match) -> bool:
    """Tell whether the code around a match shows to be inference: by a mode, by autograd, or by its name."""
    scope = match.scope
    root = scope.node if scope.node is not None else match.node
    if is_test_scope(scope) or trains(context.resolver, scope, root, EVERYWHERE):
        return False
    named = not scope.is_body and evaluates_by_name(scope.name)
    return named or infers(context.resolver, scope, match.node, EVERYWHERE) or _serves_inference(context, scope)


def _serves_inference(context: FileContext, scope: FunctionInfo) -> bool:
    """Tell whether the top of a file, or a constructor, makes something for functions that infer; nothing trains."""
    module, resolver = context.module, context.resolver
    if scope.is_body:
        served = module.functions
    else:
        served = list(scope.cls.methods.values()) if scope.cls is not None and scope.name == "__init__" else []
    if any(trains_by_name(f.name) for f in module.functions) or trains(resolver, module.body, module.tree, EVERYWHERE):
        return False
    return any(
        evaluates_by_name(f.name) or (f.node is not None and infers(resolver, f, f.node, EVERYWHERE)) for f in served
    )
