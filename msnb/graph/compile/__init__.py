"""The compiler: passes over graphs, each with its law, and the way from a captured graph to a program."""

from msnb.graph.compile.history import Log, Rewrite
from msnb.graph.compile.passrecord import PASSES, Case, Pass, register_pass
from msnb.graph.compile.pipeline import Compiled, StageRecord, compile_graph, optimise

__all__ = [
    "PASSES", "Case", "Compiled", "Log", "Pass", "Rewrite", "StageRecord", "compile_graph", "optimise", "register_pass",
]  # fmt: skip
