"""An expression together with where it stands and what the variables around it are bound to."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from modellint.static.project import FunctionInfo, Symbol

ELEMENT = "*"
"""The step from a collection to any of its elements."""
APPENDED = "+"
"""The place of what was put behind the others: an index that is asked for is none of it."""

Step: TypeAlias = "int | str"
"""From a collection to one of its elements: an index, a key (as `repr` writes it), or `ELEMENT`."""


@dataclass(frozen=True, slots=True, eq=False)
class Activation:
    """One call of a function. `bindings` holds the parameters and loop variables that are known, `receiver` is `self`.

    `outer` is the activation of the function around it, `key` tells two activations apart, `depth` counts the calls;
    `call` is the call itself.
    """

    key: tuple[object, ...] = ()
    bindings: Mapping[str, Origin] = field(default_factory=dict)
    receiver: Origin | None = None
    outer: Activation | None = None
    depth: int = 0
    call: Origin | None = None

    @property
    def identity(self) -> tuple[object, ...]:
        """What makes two activations the same, with the objects and the functions around them."""
        receiver = self.receiver
        if receiver is None and self.outer is None:
            return (self.key, self.depth)
        whose = None if receiver is None else (receiver.scope, receiver.key, receiver.activation.identity)
        return (self.key, self.depth, whose, self.outer and self.outer.identity)

    def bind(self, name: str, value: Origin) -> Activation:
        """Return the same activation with one more variable bound."""
        key = (*self.key, (name, ast.dump(value.node) if value.node is not None else ""))
        return replace(self, key=key, bindings={**self.bindings, name: value})


EVERYWHERE = Activation()
"""A call of which nothing is known."""


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """The expression `node` of the function `scope` in one activation, and then the elements along `path`.

    `symbol` is set where the expression is the name of a definition or of something outside the project. `names` are
    the variables and attributes that the value went through on the way to whoever asked. `unsure`: it comes from here
    only under a condition, about the mode or the split, of which nothing is known.
    """

    node: ast.expr | None
    scope: FunctionInfo
    activation: Activation = EVERYWHERE
    path: tuple[Step, ...] = ()
    symbol: Symbol | None = None
    names: frozenset[str] = frozenset()
    unsure: bool = False

    @property
    def key(self) -> tuple[object, ...]:
        """What makes two origins the same."""
        return id(self.node), self.activation.key, self.path, self.symbol and self.symbol.dotted

    def at(self, node: ast.expr | None, *names: str) -> Origin:
        """Return the expression `node` of the same activation, without a path."""
        known = self.names.union(names) if names else self.names
        return Origin(node, self.scope, self.activation, (), None, known, self.unsure)

    def along(self, path: tuple[Step, ...], names: frozenset[str] = frozenset(), unsure: bool = False) -> Origin:
        """Return the element along `path` of this one."""
        known = self.names | names if names else self.names
        unsure = self.unsure or unsure
        return Origin(self.node, self.scope, self.activation, self.path + path, self.symbol, known, unsure)

    def like(self, other: Origin) -> Origin:
        """Return this with the rest of the path of `other`, and what is known of the way to it."""
        return self.along(other.path, other.names, other.unsure)
