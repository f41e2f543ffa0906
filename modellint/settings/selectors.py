"""Which rules a selector means, and which rules run in the end."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from modellint.catalog import Rule
from modellint.catalog.document import suggestion

_PREFIX = re.compile(r"[A-Z]{1,6}[0-9]{0,4}$")
_EXACT = 100
# A run in which a file or a model could not be looked at must not look like a clean one, whatever is
# selected; only ignoring these rules silences them.
ALWAYS = frozenset({"ML002", "ML003"})


def specificity(selector: str, rule: Rule) -> int | None:
    """Return how closely `selector` means `rule` (larger is closer), None where it does not."""
    if selector in (rule.code, rule.name):
        return _EXACT
    if selector == "ALL":
        return 0
    if _PREFIX.match(selector) and rule.code.startswith(selector):
        return 10 + len(selector)
    return 5 if selector == rule.family else None


def closest(selectors: Iterable[str], rule: Rule) -> int:
    """Return the largest specificity among `selectors`, -1 where none means `rule`."""
    return max((found for s in selectors if (found := specificity(s, rule)) is not None), default=-1)


def complaint(selector: str, rules: Mapping[str, Rule]) -> str | None:
    """Return what is wrong with `selector`, None where it means at least one rule."""
    if any(specificity(selector, rule) is not None for rule in rules.values()) or selector == "ALL":
        return None
    known = {word for rule in rules.values() for word in (rule.code, rule.name, rule.family)} | {"ALL"}
    hint = suggestion(selector, sorted(known)) or suggestion(selector.upper(), sorted(known))
    return f"{selector!r} means no rule{hint}"


@dataclass(frozen=True, slots=True)
class Selection:
    """What the configuration files say about which rules run; `switched` holds single rules by code."""

    select: Sequence[str] | None = None
    extend: Sequence[str] = ()
    ignore: Sequence[str] = ()
    strict: bool = False
    switched: Mapping[str, bool] | None = None

    def chosen(
        self,
        rules: Mapping[str, Rule],
        select: Sequence[str] | None = None,
        extend: Sequence[str] = (),
        ignore: Sequence[str] = (),
    ) -> frozenset[str]:
        """Return the codes that run; the arguments are the command line's, which beats the files."""
        return frozenset(rule.code for rule in rules.values() if self._runs(rule, select, extend, ignore))

    def _runs(self, rule: Rule, select: Sequence[str] | None, extend: Sequence[str], ignore: Sequence[str]) -> bool:
        refused = closest(self.ignore, rule)
        switched = (self.switched or {}).get(rule.code)
        if switched is False:
            refused = _EXACT
        wanted = self._selected((*(select or ()), *extend), rule)
        if wanted >= 0:
            runs = wanted >= refused
        elif select is not None:
            runs = False
        else:
            runs = self._wanted(rule, bool(switched)) > refused
        if closest(ignore, rule) >= max(wanted, 0):
            runs = False
        elif rule.code in ALWAYS and refused <= 0:
            runs = True
        return runs

    def _wanted(self, rule: Rule, switched: bool) -> int:
        if switched:
            return _EXACT + 1
        by_default = 0 if self.select is None and (rule.enabled or self.strict) else -1
        return max(by_default, self._selected((*(self.select or ()), *self.extend), rule))

    def _selected(self, selectors: Sequence[str], rule: Rule) -> int:
        """Like `closest`, but a rule that is off by default is meant only by its own name or by ALL."""
        found = closest(selectors, rule)
        if rule.enabled or self.strict or found == _EXACT:
            return found
        return 0 if "ALL" in selectors else -1
