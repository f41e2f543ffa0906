"""A text where a truth value belongs: `pretrained="false"` is true."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from modellint.catalog import ActiveRule
from modellint.diagnostic import Confidence, Severity
from modellint.static.context import FileContext, Finding
from modellint.static.guards import values_of
from modellint.static.naming import snake
from modellint.static.origins import Origin
from modellint.static.project import ClassInfo, FunctionInfo
from modellint.static.project.facts import called_name, parameters
from modellint.static.project.names import last_name
from modellint.static.project.trees import walk

_WORD = re.compile(r"^\s*(true|false|yes|no|on|off|0|1|t|f|y|n)\s*$", re.I)
_ENVIRONMENT = re.compile(r"(^|\.)(environ\.get|getenv)$")
"""What reads a variable of the environment, always a text."""
_NONE = re.compile(r"^\s*(none|null)\s*$", re.I)
_FLAG = re.compile(
    r"(^|_)(pretrain\w*|imagenet|eval|evaluate|train|training|test|infer\w*|freeze|frozen|resume|determin\w*|strict|"
    r"use_weights|load_weights|half|amp|compile)(_|$)"
)


def detect(context: FileContext, rule: ActiveRule) -> Iterator[Finding]:
    """Report truth values written as texts.

    The detector's options: `keywords` are arguments that are truth values wherever they are given, `methods` maps the
    last names of methods, and `functions` the qualified names of functions, to the position of such an argument, which
    `named` calls by name: elsewhere, a mode is a text.
    """
    keywords = set(rule.rule.detector_options["keywords"])
    methods: Mapping[str, int] = rule.rule.detector_options["methods"]
    functions: Mapping[str, int] = rule.rule.detector_options["functions"]
    named = set(rule.rule.detector_options["named"])
    known_names = {name.rsplit(".", 1)[-1] for name in functions}
    for scope in context.scopes:
        for call in scope.calls:
            name = called_name(context.module, call)
            for keyword in call.keywords if name != "dict" else ():  # a dict is judged where it is handed over
                if keyword.arg is not None and keyword.arg in keywords:
                    yield from _judge(context, scope, call, keyword.arg, keyword.value, keyword.value)
            spread = [keyword.value for keyword in call.keywords if keyword.arg is None]
            if any(_holds_flag(scope, options, keywords) for options in spread):  # equivalent: saves the search
                yield from _spread(context, scope, call, keywords)
            position = methods.get(name or "") if isinstance(call.func, ast.Attribute) else None
            if position is None and name in known_names:  # equivalent: saves the look
                position = functions.get(context.qualified(scope, call.func) or "")
            if position is not None:
                if position < len(call.args):
                    yield from _judge(context, scope, call, "", call.args[position], call.args[position])
                for keyword in call.keywords:
                    if keyword.arg is not None and keyword.arg in named:
                        yield from _judge(context, scope, call, keyword.arg, keyword.value, keyword.value)
            if name == "add_argument":
                yield from _parsed(context, call)


def _holds_flag(scope: FunctionInfo, options: ast.expr, keywords: set[str]) -> bool:
    """Tell whether options are written as a dict, here or at the top of the file, that has one of `keywords`."""
    queue, seen = [options], set[ast.expr]()
    while queue:
        value = queue.pop()
        if value in seen:  # `options = dict(options, name="a")`
            continue
        seen.add(value)
        if isinstance(value, ast.Dict):
            names = {key.value for key in value.keys if isinstance(key, ast.Constant)}
            if not keywords.isdisjoint(names):
                return True
        elif isinstance(value, ast.Call) and last_name(value) == "dict":  # equivalent: saves the search
            if any(keyword.arg in keywords for keyword in value.keywords):
                return True
            queue += value.args
        elif isinstance(value, ast.Name):
            queue += values_of(scope, value.id) or values_of(scope.module.body, value.id)
    return False


def _spread(context: FileContext, scope: FunctionInfo, call: ast.Call, keywords: set[str]) -> Iterator[Finding]:
    """Judge the options that a dict in sight hands over: `create_model(name, **options)`."""
    for view in context.resolver.views(Origin(call, scope)):
        for name, given in view.keywords.items():
            if name in keywords and isinstance(given.node, ast.Constant):
                yield from _judge(context, scope, call, name, given.node, call)
        return


def _judge(
    context: FileContext, scope: FunctionInfo, call: ast.Call, name: str, value: ast.expr, place: ast.expr
) -> Iterator[Finding]:
    text = _text(scope, value)
    if text is None or not (_WORD.match(text) or (name == "pretrained" and _NONE.match(text))):
        return
    if _expects_text(context, scope, call, name):
        return
    written = "=".join(filter(None, (name, repr(text))))
    yield Finding(context.site(place), {"written": written, "why": "any text that is not empty is true"})


def _text(scope: FunctionInfo, value: ast.expr) -> str | None:
    """Return the text that `value` is, itself, by default, or through a variable that is assigned once."""
    if isinstance(value, ast.Constant):
        return value.value if isinstance(value.value, str) else None
    if isinstance(value, ast.Call) and len(value.args) == 2 and _ENVIRONMENT.search(ast.unparse(value.func)):
        return _text(scope, value.args[1])
    if isinstance(value, ast.Name):
        own = {argument.arg for argument, _ in parameters(scope)}
        for function in (scope, scope.module.body):
            given = values_of(function, value.id)
            if given:
                only = given[0] if len(given) == 1 else None
                return None if only is None or isinstance(only, ast.Name) else _text(function, only)
            if value.id in own:
                return None
    return None


def _expects_text(context: FileContext, scope: FunctionInfo, call: ast.Call, name: str) -> bool:
    """Tell whether a callee of the project handles texts for this argument, or is out of sight and may do so."""
    symbol = context.project.resolve_in(scope, call.func)
    if symbol is None:
        return name != "pretrained" and not isinstance(call.func, ast.Attribute)
    target = symbol.target
    if isinstance(target, ClassInfo):
        target = context.project.method(target, "__init__")
    if isinstance(target, FunctionInfo):
        return _reads_text(target, name)
    return target is None and not context.knowledge.is_library(symbol.dotted)


def _reads_text(function: FunctionInfo, name: str) -> bool:
    for argument, default in parameters(function):
        if argument.arg == name and isinstance(default, ast.Constant) and isinstance(default.value, str):
            return True
        if argument.arg == name and argument.annotation is not None and "str" in ast.unparse(argument.annotation):
            return True
    for node in walk(function.node) if function.node is not None else ():
        asked = node.left if isinstance(node, ast.Compare) else node.func if isinstance(node, ast.Call) else None
        if isinstance(asked, ast.Attribute):
            asked = asked.value  # `pretrained.lower()`
        if isinstance(asked, ast.Name) and asked.id == name:
            return True
        if isinstance(node, ast.Call) and "bool" in (last_name(node) or ""):
            if any(isinstance(a, ast.Name) and a.id == name for a in node.args):
                return True
    return False


def _parsed(context: FileContext, call: ast.Call) -> Iterator[Finding]:
    """`add_argument("--pretrained", type=bool)`: the text `False` of the command line becomes True."""
    flags = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    kind = next((k.value for k in call.keywords if k.arg == "type"), None)
    if not (isinstance(kind, ast.Name) and kind.id == "bool") or any(k.arg == "nargs" for k in call.keywords):
        return
    flag = next((f for f in flags if f.startswith("--")), flags[0] if flags else "")
    if _FLAG.search(snake(flag.lstrip("-").replace("-", "_"))):
        why = f"`{flag} False` on the command line is true: bool() of any text that is not empty"
        yield Finding(context.site(call), {"written": "type=bool", "why": why}, Confidence.LIKELY, Severity.WARNING)
