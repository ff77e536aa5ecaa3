"""ms.amp: mixed precision for a whole network, and the scaling of losses.

    level  half precision                                     float32
    O0     nothing                                            everything
    O1     cells and operators of the white list              everything else
    O2     everything else                                    cells of the black list (norms)
    O3     everything                                         nothing
    auto   operators of the white list                        operators of the black list; of mixed operands all others

Parameters stay in float32 at every level, and so does what the network gives back (but for auto). The Cells of the
network are marked, not wrapped: names, checkpoints and ``isinstance`` are as before. See
``msnb.nn.cells.mixed_precision``. Source: `mindspore.amp`
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from types import FunctionType
from typing import Any

from msnb import nn
from msnb.base import ArgumentError, AttributeValueError, events, missing_names
from msnb.core import dtypes
from msnb.eager.autocast import HALVES, Autocast
from msnb.nn.cells.cell import Cell
from msnb.nn.cells.mixed_precision import need_float_dtype
from msnb.nn.training.loss_scale import all_finite
from msnb.ops.definition.record import Op
from msnb.ops.mindspore.primitive_classes import Primitive, primitive
from msnb.train.loss_scale_manager import DynamicLossScaleManager, FixedLossScaleManager, LossScaleManager
from msnb.train.loss_scaler import DynamicLossScaler, LossScaler, StaticLossScaler

__all__ = [
    "DynamicLossScaleManager", "DynamicLossScaler", "FixedLossScaleManager", "LossScaleManager", "LossScaler",
    "StaticLossScaler", "all_finite", "auto_mixed_precision", "build_train_network", "custom_mixed_precision",
    "get_black_list", "get_white_list",
]  # fmt: skip
missing_names.answer_for(__name__)

LEVELS = ("O0", "O1", "O2", "O3", "auto")

_WHITE: list[Any] = [
    nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.Conv1dTranspose, nn.Conv2dTranspose, nn.Conv3dTranspose, nn.Dense,
    nn.LSTMCell, nn.RNNCell, nn.GRUCell, nn.PReLU, *map(primitive, ("Conv2D", "MatMul", "BatchMatMul", "ReLU")),
]  # fmt: skip
_BLACK: list[Any] = [nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.LayerNorm]
# operators that grow fast, divide, or add up many small things
_AUTO_WHITE = ("conv2d", "matmul", "einsum")
_AUTO_BLACK = (
    "power", "acos", "asin", "cosh", "sinh", "tan", "erfinv", "exp", "exp2", "expm1", "log", "log1p", "log2", "log10",
    "reciprocal", "rsqrt", "softplus", "sum", "prod", "var", "cumsum", "cumprod",
    "batch_norm", "batch_norm_train", "layer_norm", "rms_norm", "group_norm", "instance_norm", "softmax", "log_softmax",
    "cross_entropy",
)  # fmt: skip
_RECORDS = {"Conv2D": "conv2d", "MatMul": "matmul", "BatchMatMul": "matmul", "ReduceSum": "sum", "ReduceProd": "prod"}
_RECORDS |= {"CumSum": "cumsum", "CumProd": "cumprod"}


def get_white_list() -> list[Any]:
    """The cells and operators that level O1 computes in half precision: a copy, to be changed and given to
    ``custom_mixed_precision``.

    Source: `mindspore.amp.get_white_list`

    Examples:
        >>> import msnb as ms
        >>> ms.nn.Dense in ms.amp.get_white_list()
        True
    """
    return list(_WHITE)


def get_black_list() -> list[Any]:
    """The cells that level O2 leaves in float32: a copy, to be changed and given to ``custom_mixed_precision``.

    Source: `mindspore.amp.get_black_list`

    Examples:
        >>> import msnb as ms
        >>> ms.nn.LayerNorm in ms.amp.get_black_list()
        True
    """
    return list(_BLACK)


def auto_mixed_precision(network: Any, amp_level: str = "O0", dtype: Any = dtypes.float16) -> Any:
    """Let a network compute in mixed precision.

    Args:
        network: the network; its Cells are marked in place. With "auto" also a function.
        amp_level: "O0" (nothing changes), "O1", "O2", "O3" or "auto"; see the head of ``msnb.train.amp``.
        dtype: ms.float16 or ms.bfloat16.

    Returns:
        The same network; of a function, one that computes so.

    Raises:
        TypeError: ``network`` is not a Cell, or another dtype. ValueError: another level.

    Source: `mindspore.amp.auto_mixed_precision`

    Examples:
        >>> import msnb as ms
        >>> net = ms.amp.auto_mixed_precision(ms.nn.Dense(2, 3), "O2", ms.bfloat16)
        >>> net.weight.dtype, net(ms.ops.ones((1, 2))).dtype
        (Float32, Float32)
    """
    is_function = amp_level == "auto" and isinstance(network, FunctionType)
    half = _checked("auto_mixed_precision", nn.Cell() if is_function else network, dtype)
    if amp_level not in LEVELS:
        raise AttributeValueError(f"amp_level={amp_level!r} is not legal; legal: {', '.join(map(repr, LEVELS))}.")
    if amp_level == "O1":
        _by_white_list(network, half, _WHITE)
    elif amp_level == "O2":
        _by_black_list(network, half, _BLACK)
    elif amp_level == "O3":
        _by_black_list(network, half, ())
    elif amp_level == "auto":
        rule = Autocast(half, _AUTO_WHITE, _AUTO_BLACK, widest=True)
        if is_function:
            return _by_rule(network, rule)
        network.set_precision(None, None, rule)
    return network


def _by_rule(fn: Callable[..., Any], rule: Autocast) -> Callable[..., Any]:
    net = nn.Cell()
    net.construct = fn  # type: ignore[method-assign]
    net.set_precision(None, None, rule)

    @wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        return net(*args, **kwargs)

    return call


def custom_mixed_precision(
    network: Cell, *, white_list: Any = None, black_list: Any = None, dtype: Any = dtypes.float16
) -> Cell:
    """Mixed precision by a list of one's own.

    Args:
        network: the network; its Cells are marked in place.
        white_list: cells and operators in half precision, all others in float32; start from ``get_white_list()``.
        black_list: or those in float32, all others in half precision; start from ``get_black_list()``.
        dtype: ms.float16 or ms.bfloat16.

    Returns:
        The same network.

    Raises:
        ValueError: none or both of the lists. TypeError: an entry is neither a Cell class nor an operator.

    Source: `mindspore.amp.custom_mixed_precision`

    Examples:
        >>> import msnb as ms
        >>> black = [*ms.amp.get_black_list(), ms.nn.Flatten]
        >>> net = ms.amp.custom_mixed_precision(ms.nn.Dense(2, 3), black_list=black)
    """
    half = _checked("custom_mixed_precision", network, dtype)
    if (white_list is None) == (black_list is None):
        raise AttributeValueError("custom_mixed_precision takes either white_list= or black_list=.")
    if white_list is not None:
        _by_white_list(network, half, _checked_list("white_list", white_list))
    else:
        _by_black_list(network, half, _checked_list("black_list", black_list))
    return network


def _checked(what: str, network: Any, dtype: Any) -> dtypes.DType:
    if not isinstance(network, Cell):
        raise ArgumentError(f"{what} takes a Cell, not a {type(network).__name__}.")
    return need_float_dtype(f"{what}(dtype=)", dtype, HALVES)


def _checked_list(what: str, entries: Any) -> Sequence[Any]:
    if not isinstance(entries, (list, tuple)):
        raise ArgumentError(f"{what} is a list of Cell classes and operators, not {type(entries).__name__}.")
    for entry in entries:
        if not _is_cell(entry) and not _is_operator(entry):
            raise ArgumentError(
                f"{what} holds {entry!r}, which is neither a Cell class nor an operator.",
                hint="for instance [nn.Dense, ops.MatMul].",
            )
    _records(entries)
    return entries


def _is_cell(entry: Any) -> bool:
    return isinstance(entry, type) and issubclass(entry, Cell)


def _is_operator(entry: Any) -> bool:
    return isinstance(entry, Op) or isinstance(entry, type) and issubclass(entry, Primitive)


def _records(entries: Iterable[Any]) -> list[str]:
    """The names of the op records that the operators of a list are."""
    found = []
    for entry in entries:
        if _is_cell(entry):
            continue
        record = entry if isinstance(entry, Op) else entry.fn
        name = record.name if isinstance(record, Op) else _RECORDS.get(entry.__name__)
        if name is None:
            raise ArgumentError(
                f"{entry.__name__} is made of several operators; a list of precision holds single ones.",
                hint="list the operators it is made of, for instance ops.exp, or put it into a Cell and list that.",
            )
        found.append(name)
    return found


def _by_white_list(network: Cell, half: dtypes.DType, white: Sequence[Any]) -> None:
    cells = tuple(entry for entry in white if _is_cell(entry))
    inside = Autocast(half, weights=True)
    if isinstance(network, cells):
        _mark_all(network, half, inside)
        network.set_precision(half, dtypes.float32, inside)
        return
    for cell in _outermost(network, cells):
        _mark_all(cell, half, inside)
        cell.set_precision(half, dtypes.float32, inside)
    network.set_precision(None, dtypes.float32, Autocast(half, _records(white), back=True))


def _by_black_list(network: Cell, half: dtypes.DType, black: Sequence[Any]) -> None:
    cells = tuple(entry for entry in black if _is_cell(entry))
    rule = Autocast(half, black=_records(black), weights=True)
    _mark_all(network, half, rule)
    for cell in [network] if isinstance(network, cells) else _outermost(network, cells):
        _mark_all(cell, dtypes.float32, None)
        cell.set_precision(dtypes.float32, half, None)
    compute = dtypes.float32 if isinstance(network, cells) else half
    network.set_precision(compute, dtypes.float32, None if isinstance(network, cells) else rule)


def _outermost(cell: Cell, kinds: tuple[type, ...]) -> list[Cell]:
    """The Cells below of these kinds that are not inside another one of them."""
    found: list[Cell] = []
    for child in cell.cells():
        found += [child] if isinstance(child, kinds) else _outermost(child, kinds)
    return found


def _mark_all(cell: Cell, dtype: dtypes.DType, rule: Autocast | None) -> None:
    for _, each in cell.cells_and_names():
        each.set_precision(dtype, None, rule)


# ---- a training step ----

_SCALED: dict[str, Any] = {"O2": DynamicLossScaleManager}
AS_THE_LEVEL_SAYS: Any = type("AsTheLevelSays", (), {"__repr__": lambda self: "<as the level says>"})()


class _LossInFloat32(nn.WithLossCell):
    """A loss is computed in float32, whatever the network gives."""

    def construct(self, data: Any, label: Any) -> Any:
        return self._loss_fn(
            self.cast_inputs(self._backbone(data), dtypes.float32), self.cast_inputs(label, dtypes.float32)
        )


def build_train_network(
    network: Cell, optimizer: Any, loss_fn: Any = None, level: str = "O0", boost_level: str = "O0", *,
    keep_batchnorm_fp32: bool | None = None, loss_scale_manager: Any = AS_THE_LEVEL_SAYS,
) -> Cell:  # fmt: skip
    """One step of training in mixed precision.

    Args:
        network: the network; without ``loss_fn`` it gives the loss.
        optimizer: the optimizer of its weights.
        loss_fn: a function of the network's output and the label, computed in float32.
        level: as in ``auto_mixed_precision``, in float16.
        boost_level: "O0", the only one.
        keep_batchnorm_fp32: O2 with False halves the norms too, O3 with True leaves them in float32.
        loss_scale_manager: scales the loss; O2 has a DynamicLossScaleManager unless given (None: no scale).

    Returns:
        A Cell: TrainOneStepWithLossScaleCell where steps that overflow are left out, else TrainOneStepCell.

    Raises:
        TypeError, ValueError: a part or setting that is not legal.

    Source: `mindspore.amp.build_train_network`

    Examples:
        >>> import msnb as ms
        >>> net = ms.nn.Dense(2, 1)
        >>> sgd = ms.nn.SGD(net.trainable_params(), 0.1)
        >>> step = ms.amp.build_train_network(net, sgd, ms.nn.MSELoss(), "O2")
        >>> loss, overflow, scale = step(ms.ops.ones((4, 2)), ms.ops.ones((4, 1)))
    """
    need_boost(boost_level)
    apply_level(network, level, keep_batchnorm_fp32)
    manager = chosen_manager(level, loss_scale_manager)
    if loss_fn is not None:
        network = with_loss(network, loss_fn, level)
    return step_cell(network, optimizer, manager)


def with_loss(network: Cell, loss_fn: Any, level: str) -> Cell:
    """A network and its loss, which is computed in float32."""
    return (nn.WithLossCell if level == "O0" else _LossInFloat32)(network, loss_fn)


def need_boost(level: Any) -> None:
    """Raise ValueError for a boost_level other than O0."""
    if level != "O0":
        raise AttributeValueError(f"boost_level={level!r} is not part of msnb; legal: 'O0'.")


def apply_level(network: Cell, level: Any, keep_batchnorm_fp32: Any = None) -> None:
    """Mark the network for a level; ``keep_batchnorm_fp32`` moves the norms."""
    if keep_batchnorm_fp32 is not None and not isinstance(keep_batchnorm_fp32, bool):
        raise ArgumentError(f"keep_batchnorm_fp32 must be a bool, got {keep_batchnorm_fp32!r}.")
    if keep_batchnorm_fp32 is not None and level in ("O2", "O3"):
        level = "O2" if keep_batchnorm_fp32 else "O3"
    auto_mixed_precision(network, level)


def chosen_manager(level: str, given: Any) -> Any:
    """The manager of the loss scale: the one given, else the level's."""
    if given is AS_THE_LEVEL_SAYS:
        return _SCALED[level]() if level in _SCALED else None
    if given is not None and not isinstance(given, LossScaleManager):
        raise ArgumentError(
            f"loss_scale_manager must be a LossScaleManager or None, not {type(given).__name__}.",
            hint="ms.amp.DynamicLossScaleManager() or ms.amp.FixedLossScaleManager(1024).",
        )
    return given


def step_cell(network: Cell, optimizer: Any, manager: Any) -> Cell:
    """A training step whose loss is scaled as the manager says."""
    update = None if manager is None else manager.get_update_cell()
    if update is not None:
        return nn.TrainOneStepWithLossScaleCell(network, optimizer, update)
    scale = 1.0 if manager is None else float(manager.get_loss_scale())
    if scale != 1.0 and getattr(optimizer, "loss_scale", scale) != scale:
        events.refuse(AttributeValueError(
            f"the loss is scaled by {scale:g} and the optimizer divides by {optimizer.loss_scale:g}.",
            hint=f"make the optimizer with loss_scale={scale:g}, or let the manager drop steps that overflow.",
        ))  # fmt: skip
    return nn.TrainOneStepCell(network, optimizer, scale)
