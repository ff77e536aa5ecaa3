"""Networks: Cell, layers, losses, initializers."""

from msnb.nn.cell import Cell as Cell
