"""What each operator of ATen is here: tables from its name to a template, or to a rule that writes the text.

A key is the operator with its overload ("min.dim") or without ("min"), behind the library if that is another
("transformers.grouped_mm_fallback"); the in-place operators (``relu_``) are looked up
without their underscore. Source: https://docs.pytorch.org/docs/stable/torch.compiler_ir.html
"""

from msnb.train.pytorch.operators import (
    elementwise_operators,
    index_operators,
    layer_operators,
    reduction_operators,
    shape_operators,
    size_operators,
)

OPERATORS = {
    **elementwise_operators.TABLE,
    **reduction_operators.TABLE,
    **shape_operators.TABLE,
    **index_operators.TABLE,
    **layer_operators.TABLE,
    **size_operators.TABLE,
}
