"""The passes, one page each. Importing this package registers them."""

from msnb.graph.compile.passes import algebraic_simplification, constant_folding, cse, dce, inline, reassociation
from msnb.graph.compile.passes.channels_last import rewrite

__all__ = ["algebra", "cse", "dce", "fold", "inline", "layout", "regroup"]
