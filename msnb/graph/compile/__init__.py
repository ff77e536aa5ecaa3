"""The compiler: passes over graphs, each with its law, and the way from a captured graph to a program."""

from msnb.graph.compile.pipeline import CompiledProgram, StageRecord, compile_graph, optimise
from msnb.graph.compile.rewriting import PASSES, Case, Log, Pass, Rewrite, register_pass
from msnb.graph.compile.symbolic_passes import SymbolicPasses, SymbolicSource

__all__ = [
    "PASSES", "Case", "CompiledProgram", "Log", "Pass", "Rewrite", "StageRecord", "SymbolicPasses",
    "SymbolicSource", "compile_graph", "optimise", "register_pass",
]  # fmt: skip
