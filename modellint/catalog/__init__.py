"""The catalogue: YAML files under `rules/` become `Rule` and `Framework` objects."""

from modellint.catalog.document import DocumentError, Problem, load_yaml, validate
from modellint.catalog.framework import Framework, load_frameworks
from modellint.catalog.page import Example
from modellint.catalog.rule import ActiveRule, Rule, clashes, load_rule, load_rules, rules_folder

__all__ = [
    "ActiveRule",
    "DocumentError",
    "Example",
    "Framework",
    "Problem",
    "Rule",
    "clashes",
    "load_frameworks",
    "load_rule",
    "load_rules",
    "load_yaml",
    "rules_folder",
    "validate",
]
