"""A call with its arguments as origins, whatever it is written like: directly, through `partial`, with `**options`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from modellint.static.origins.values import Origin
from modellint.static.project import FunctionInfo
from modellint.static.project.facts import parameters


@dataclass(frozen=True, slots=True, eq=False)
class CallView:
    """A call as one may ask for its arguments. `opaque`: some of them are out of sight (`*args`, `**options`)."""

    origin: Origin
    callee: Origin
    positional: tuple[Origin, ...]
    keywords: Mapping[str, Origin]
    opaque: bool

    @property
    def node(self) -> ast.Call:
        """The call."""
        assert isinstance(self.origin.node, ast.Call)
        return self.origin.node

    @property
    def dotted(self) -> str:
        """The qualified name of what is called, empty where it is not known."""
        return self.callee.symbol.dotted if self.callee.symbol is not None else ""

    def argument(self, name: str, position: int | None = None) -> Origin | None:
        """Return an argument by keyword or by position."""
        if name in self.keywords:
            return self.keywords[name]
        if position is not None and position < len(self.positional):
            return self.positional[position]
        return None

    def every(self) -> Iterator[Origin]:
        """Yield all arguments in sight."""
        yield from self.positional
        yield from self.keywords.values()

    def bound_to(self, function: FunctionInfo, skip: int) -> dict[str, Origin]:
        """Return the parameters of `function` that this call gives, after the first `skip` ones."""
        node = function.node
        if node is None:
            return {}
        order = [a.arg for a in node.args.posonlyargs + node.args.args][skip:]
        bound = dict(zip(order, self.positional, strict=False))
        accepted = {argument.arg for argument, _ in parameters(function)}
        bound.update({name: value for name, value in self.keywords.items() if name in accepted})
        return bound
