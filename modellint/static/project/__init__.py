"""What the checked project defines: modules, classes and functions, and how names lead from one to another."""

from modellint.static.project.facts import ClassInfo, FunctionInfo, ModuleInfo, scan
from modellint.static.project.index import Project, Symbol

__all__ = ["ClassInfo", "FunctionInfo", "ModuleInfo", "Project", "Symbol", "scan"]
