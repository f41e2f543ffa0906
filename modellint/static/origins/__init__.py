"""Where a value comes from: followed backwards, on demand, through names, calls, attributes and files."""

from modellint.static.origins.calls import CallView, is_generator, is_parameter
from modellint.static.origins.resolver import Resolver
from modellint.static.origins.values import EVERYWHERE, Activation, Origin

__all__ = ["EVERYWHERE", "Activation", "CallView", "Origin", "Resolver", "is_generator", "is_parameter"]
