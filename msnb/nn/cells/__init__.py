"""Cell, containers of Cells, and what a Cell knows of itself: state, tree, hooks, flags."""

from msnb.nn.cells.cell import Cell
from msnb.nn.cells.cell_tree import like_mindspore, put_last

__all__ = ["Cell", "like_mindspore", "put_last"]
