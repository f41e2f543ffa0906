"""`.modellint.yaml`, `[tool.modellint]` and the command line become `Settings`."""

from modellint.settings.documents import NAMES, SCHEMA
from modellint.settings.model import ModelSettings, Overrides, Settings
from modellint.settings.resolver import Resolver, SettingsError

__all__ = ["NAMES", "SCHEMA", "ModelSettings", "Overrides", "Resolver", "Settings", "SettingsError"]
