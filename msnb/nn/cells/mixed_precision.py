"""Mixed precision: which cells and which operations compute in half, and how values get there.

    cell     arguments --cast--> construct in half --cast--> output      ``to_float``, levels O1 to O3 of ms.amp
    op       operands  --cast--> op                --cast--> result      an Autocast rides on the engine of a Cell

A half has 11 (float16) or 8 (bfloat16) digits of 24: products and activations bear it, long sums and small differences
do not. So weights stay in float32 (their copies are cast where they are used, and gradients come back in float32),
sums inside an operation are formed in float32, and norms and losses are left alone.

What a Cell does is marked on it (``_way``), so that one guard per Cell tells whether a compiled program is still right.
"""

from __future__ import annotations

from typing import Any, TypeVar

from msnb.base import DTypeError
from msnb.core import DType, ShardRequest, Tensor, as_dtype, dtypes, pytree
from msnb.eager.autocast import HALVES, Autocast
from msnb.ops.elementwise.cast import cast
from msnb.ops.tensor.properties import place_and_dtype

Self = TypeVar("Self", bound="CellPrecision")


def cast_floats(value: Any, dtype: DType) -> Any:
    """A tree of values with every float tensor in ``dtype``."""
    if isinstance(value, Tensor):
        return cast(value, dtype) if value.dtype.is_float and value.dtype is not dtype else value
    if not isinstance(value, (tuple, list, dict)):
        return value
    leaves, shape = pytree.flatten(value)
    return pytree.unflatten(shape, [cast_floats(leaf, dtype) for leaf in leaves])


def need_float_dtype(what: str, dtype: Any, legal: tuple[DType, ...] = dtypes.FLOATS) -> DType:
    """The dtype, checked.

    Raises:
        TypeError: not one of ``legal``.
    """
    found = as_dtype(dtype)
    if found not in legal:
        raise DTypeError(f"{what} takes one of {', '.join(t.name for t in legal)}, got {found.name}.")
    return found


def _converted(x: Tensor, place: str | None, kind: DType | None) -> Tensor:
    """On another device, and where it is of floats in another dtype."""
    moved = x if place is None else x.move_to(place)
    return moved if kind is None or not x.dtype.is_float else cast(moved, kind)


class CellPrecision:
    """The part of Cell that knows in which dtypes it computes."""

    _way: str = ""
    _hook_mark: str = ""
    _constructs: int = 0
    _recompute: bool = False
    _sharding: ShardRequest | None = None
    _compute_dtype: DType | None = None
    _output_dtype: DType | None = None
    _autocast: Autocast | None = None

    def set_precision(
        self, compute: DType | None = None, output: DType | None = None, rule: Autocast | None = None
    ) -> None:
        """How this Cell alone computes: the dtype of its float arguments, of its outputs, and the rule for its ops."""
        self.__dict__.update(_compute_dtype=compute, _output_dtype=output, _autocast=rule)
        self._mark()

    @property
    def has_precision(self) -> bool:
        """Was a precision set on this very Cell?"""
        return self._compute_dtype is not None or self._output_dtype is not None or self._autocast is not None

    def _note_construct(self) -> None:
        """This very Cell has another ``construct`` from now on: what was compiled before is of the old one."""
        self.__dict__["_constructs"] = self._constructs + 1
        self._mark()

    def _mark(self) -> None:
        """One word for all that makes a call of this Cell more than its construct."""
        own = f"construct {self._constructs}" if self._constructs else ""
        marks = [self._hook_mark, "recompute" if self._recompute else "", own]
        if self.has_precision:
            rule = "" if self._autocast is None else self._autocast.key
            marks.append(f"{self._compute_dtype}>{self._output_dtype} {rule}")
        marks.append("" if self._sharding is None else str(self._sharding))
        self.__dict__["_way"] = " ".join(m for m in marks if m)

    def to_float(self: Self, dst_type: Any) -> Self:
        """Compute in another float type: float arguments and trained Parameters are converted where they are used.

        Parameters keep their own dtype (batch norms use them in it); gradients come back in it. Operations on what is
        converted follow the ordinary promotion.

        Args:
            dst_type: a float dtype, here and in all Cells below.

        Raises:
            TypeError: not a float dtype.

        Source: `mindspore.nn.Cell` (to_float)

        Examples:
            >>> import msnb as ms
            >>> ms.nn.Dense(2, 1).to_float(ms.float16)(ms.ops.ones((1, 2))).dtype
            Float16
        """
        dtype = need_float_dtype("to_float", dst_type)
        rule = Autocast(dtype, weights=True) if dtype in HALVES else None
        for _, cell in self.cells_and_names():  # type: ignore[attr-defined]
            cell.set_precision(dtype, None, rule)
        return self

    def to(
        self: Self, target: Any = None, dtype: Any = None, non_blocking: bool = False, *, device: str | None = None,
    ) -> Self:  # fmt: skip
        """Convert Parameters and buffers of floats, here and below, to another dtype, and all of them to a device.

        Optimizers that hold the Parameters have the new ones. ``to_float`` keeps them and converts where it computes.

        Args:
            target, dtype, device: as of ``Tensor.to``.
            non_blocking: accepted; a copy is complete when it is used, in any case.

        Raises:
            TypeError: not a float dtype.

        Source: `mindspore.nn.Cell` (to)

        Examples:
            >>> import msnb as ms
            >>> ms.nn.Dense(2, 1).to(ms.float16).weight.dtype
            Float16
        """
        place, kind = place_and_dtype(target, dtype, device, None)
        if kind is not None:
            need_float_dtype("to", kind)
        for held in self.get_parameters():  # type: ignore[attr-defined]
            held._from_tensor(_converted(held.value(), place, kind), None)
        for _, cell in self.cells_and_names():  # type: ignore[attr-defined]
            buffers = {name: cell.__dict__[name] for name in cell._buffer_names}
            cell.__dict__.update({name: _converted(x, place, kind) for name, x in buffers.items() if x is not None})
        return self

    def cast_inputs(self, inputs: Any, dst_type: Any) -> Any:
        """The float tensors among ``inputs`` in ``dst_type``.

        Args:
            inputs: a tuple (or any tree) of values.
            dst_type: a float dtype.

        Returns:
            A tree like ``inputs``.

        Raises:
            TypeError: not a float dtype.

        Examples:
            >>> import msnb as ms
            >>> ms.nn.ReLU().cast_inputs((ms.Tensor([1.0]), 2), ms.float16)[0].dtype
            Float16
        """
        return cast_floats(inputs, need_float_dtype("cast_inputs", dst_type))

    def compute(self, tensor: Any) -> Any:
        """A Parameter in the dtype that ``to_float`` asked for: layers write ``self.compute(self.weight)``."""
        if self._compute_dtype is None or tensor is None:
            return tensor
        return cast_floats(tensor, self._compute_dtype)
