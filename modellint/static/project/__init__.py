"""What the checked project defines: modules, classes and functions, and how names lead from one to another."""

from modellint.static.project.facts import ClassInfo, FunctionInfo, ModuleInfo
from modellint.static.project.index import Project, Symbol
from modellint.static.project.scanning import function_of, scan

__all__ = ["ClassInfo", "FunctionInfo", "ModuleInfo", "Project", "Symbol", "function_of", "scan"]
