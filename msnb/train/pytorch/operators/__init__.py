"""What each operator of ATen is here: tables from its name to a template, or to a rule that writes the text.

A key is the operator with its overload ("min.dim") or without ("min"); the in-place operators (``relu_``) are looked up
without their underscore. Source: https://docs.pytorch.org/docs/stable/torch.compiler_ir.html
"""

from msnb.train.pytorch.operators import indexing, mathematics, networks, reductions, shapes

OPERATORS = {**mathematics.TABLE, **reductions.TABLE, **shapes.TABLE, **indexing.TABLE, **networks.TABLE}
