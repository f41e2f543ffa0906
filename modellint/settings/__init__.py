"""`.modellint.yaml`, `[tool.modellint]` and the command line become `Settings`."""

from modellint.settings.documents import SCHEMA
from modellint.settings.model import ModelSettings, Overrides, Settings
from modellint.settings.resolver import Resolver, SettingsError

__all__ = ["SCHEMA", "ModelSettings", "Overrides", "Resolver", "Settings", "SettingsError"]
