"""What programs of MindSpore set on Cells for its compiler and its runtime.

    add_flags_recursive(fp16=True)    the dtype to compute in, here and below          to_float
    set_inputs                        which axes change                                api.input_signature
    compile                           the time of compilation                          api.graph_mode
    set_comm_fusion, set_jit_config   kept as attributes; planner and compiler decide themselves

Source: `mindspore.nn.Cell`
"""

from __future__ import annotations

from typing import Any, TypeVar

from msnb.api.cell_inputs import declare_inputs, declared_inputs
from msnb.api.graph_mode import compile_cell
from msnb.core import dtypes

Self = TypeVar("Self", bound="CellFlags")
_DTYPES = {"fp16": dtypes.float16, "fp32": dtypes.float32}


class CellFlags:
    """The part of Cell that takes settings by keyword."""

    def add_flags(self: Self, **flags: Any) -> Self:
        """Set attributes by keyword."""
        for name, value in flags.items():
            setattr(self, name, value)
        return self

    def add_flags_recursive(self: Self, **flags: Any) -> Self:
        """Set attributes here and in all Cells below. ``fp16=True`` and ``fp32=True`` say in which dtype to compute.

        Source: `mindspore.nn.Cell` (add_flags_recursive)

        Examples:
            >>> import msnb as ms
            >>> net = ms.nn.Dense(2, 1).add_flags_recursive(fp16=True)
            >>> net(ms.ops.ones((1, 2))).dtype
            Float16
        """
        cell: Any = self
        for _, part in cell.cells_and_names():
            part.add_flags(**flags)
        for name, dtype in _DTYPES.items():
            if flags.get(name):
                cell.to_float(dtype)
        return self

    def get_flags(self) -> dict[str, Any]:
        """The attributes that are plain settings: bools, numbers and words."""
        return {name: value for name, value in self.__dict__.items()
                if name[:1] != "_" and isinstance(value, (bool, int, float, str))}  # fmt: skip

    def set_inputs(self, *inputs: Any, **kwargs: Any) -> None:
        """Say which axes of the arguments change: such an axis is a symbol in the program from the first call on.

        Args:
            *inputs: per argument a Tensor, ``ms.Tensor(shape=[None, 8], dtype=ms.float32)`` where axes change.
            **kwargs: the same by name. In graph mode a tensor of another dtype, rank or fixed size is refused.

        Source: `mindspore.nn.Cell` (set_inputs)

        Examples:
            >>> import msnb as ms
            >>> net = ms.nn.Dense(8, 2)
            >>> net.set_inputs(ms.Tensor(shape=[None, 8], dtype=ms.float32))
        """
        declare_inputs(self, inputs, kwargs)

    def get_inputs(self) -> tuple[Any, ...] | None:
        """What ``set_inputs`` said of the positional arguments; None: nothing."""
        said = declared_inputs(self)
        return None if said is None else said[0]

    _dynamic_shape_inputs: property = property(get_inputs)  # MindSpore's programs read it of a network that they wrap

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile the Cell for these arguments, in either mode, and do not run it.

        Without arguments a Cell that needs some is compiled at its first call.

        Source: `mindspore.nn.Cell` (compile)

        Examples:
            >>> import msnb as ms
            >>> ms.nn.Dense(8, 2).compile(ms.ops.ones((1, 8)))
        """
        if args or kwargs or not _takes_arguments(self):
            compile_cell(self, args, kwargs)

    def set_comm_fusion(self: Self, fusion_type: int, recurse: bool = True) -> Self:
        """Which gradients travel together, kept on the Parameters as ``comm_fusion``; plans choose their buckets."""
        cell: Any = self
        for param in cell.get_parameters(recurse):
            param.comm_fusion = fusion_type
        return self

    def set_jit_config(self, jit_config: Any) -> None:
        """Kept as ``jit_config``; ``set_context(jit_level=...)`` says how programs are compiled."""
        self.__dict__["jit_config"] = jit_config


def _takes_arguments(cell: Any) -> bool:
    code = getattr(type(cell).construct, "__code__", None)
    return code is None or code.co_argcount + code.co_kwonlyargcount > 1
