"""Functions and operators below ``mindspore.ops.functional`` and its neighbours that older programs import.

Most say in a function what Python says by itself (``make_tuple(a, b)``); some have no effect here and say so once.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from msnb import ops
from msnb.api.compiler_hints import constexpr as _primexpr  # noqa: F401 - a name of MindSpore's ops.primitive
from msnb.api.python_op import PyFunc as PyFunc
from msnb.api.transforms.custom_gradient import InsertGradientOf as InsertGradientOf
from msnb.api.transforms.scan import scan
from msnb.api.transforms.vjp_jvp_vmap import jvp, vjp
from msnb.as_mindspore.differences import IN_TURN
from msnb.as_mindspore.private.argument_checks import check_bool
from msnb.base import ArgumentError, AttributeValueError, DTypeError, ShapeError, events
from msnb.core import DType, Tensor, dtypes
from msnb.dataset.string_tensor import string
from msnb.nn.cells.cell import Cell
from msnb.nn.layers.recurrent_cells import lstm_gates
from msnb.numpy.scipy.linalg import solve_triangular
from msnb.numpy.scipy.optimize import linear_sum_assignment
from msnb.ops.definition.type_inference import need_ints, normal_axis, operand_lines
from msnb.ops.elementwise.identity_and_effects import tell_summary
from msnb.ops.mindspore.array_primitives import ARRAYS, NEEDED
from msnb.ops.mindspore.primitive_classes import Primitive
from msnb.ops.mindspore.primitives.own_primitives import (
    PrimitiveWithCheck as PrimitiveWithCheck,
    PrimitiveWithInfer as PrimitiveWithInfer,
    prim_attr_register as prim_attr_register,
)
from msnb.ops.sparse.compressed_rows import CSRTensor
from msnb.ops.sparse.coordinates import COOTensor
from msnb.ops.sparse.row_tensor import RowTensor
from msnb.ops.special.gamma_functions import LOWER, slope_by_parameter


def add_flags(fn: Any = None, **flags: bool) -> Any:
    """A function, Cell or decorator of one, with flags of MindSpore's compiler: ``@add_flags(has_effect=True)``. They
    are kept as ``_func_graph_flags``; effects of a program are found without them."""
    if fn is None:
        return lambda found: add_flags(found, **flags)
    home = fn.__func__ if hasattr(fn, "__func__") else fn
    object.__setattr__(home, "_func_graph_flags", {**getattr(home, "_func_graph_flags", {}), **flags})
    return fn


class _VirtualDataset(Primitive):
    """A mark for programs on many devices: the inputs, as a tuple."""

    fn = staticmethod(lambda *inputs: inputs)


def is_sequence_value_unknown(values: Any) -> bool:
    """True where a number of a tuple, such as a shape, is known only when the program runs."""
    return any(not isinstance(value, int) for value in values)


def switch(condition: Any, first: Any, second: Any) -> Any:
    """``first`` where the condition holds, else ``second``."""
    return first if condition else second


def typeof(value: Any) -> Any:
    """The type of a value; of a tensor, its dtype and shape."""
    return value._type if isinstance(value, Tensor) else value.__class__


def mixed_precision_cast(dst_dtype: Any, x: Any) -> Any:
    """Floats of a tensor, or of a structure of tensors, in another dtype."""
    if isinstance(x, (tuple, list)):
        return type(x)([mixed_precision_cast(dst_dtype, v) for v in x])
    return x.astype(dst_dtype) if isinstance(x, Tensor) and x.dtype.is_float else x


class _OfNetwork(Cell):
    def __init__(self, fn: Callable[..., Any]) -> None:
        super().__init__()
        self.fn = fn


class Jvp(_OfNetwork):
    """``Jvp(network)(*inputs, v)``: the outputs and their tangents."""

    def construct(self, *inputs: Any) -> Any:
        return jvp(self.fn, inputs[:-1], inputs[-1])


class Vjp(_OfNetwork):
    """``Vjp(network)(*inputs, v)``: the outputs and the gradients of the inputs."""

    def construct(self, *inputs: Any) -> Any:
        outputs, pull = vjp(self.fn, *inputs[:-1])
        v = inputs[-1]
        found = pull(*v) if isinstance(v, tuple) else pull(v)
        return outputs, found[0] if len(inputs) == 2 and isinstance(found, tuple) else found


# ---- functions that are the call of an operator class ----


def padding(x: Any, pad_dim_size: int = 8) -> Any:
    """The last axis, of size 1, filled up with zeros to ``pad_dim_size``."""
    return ARRAYS["Padding"][0](x, pad_dim_size)


def unique_with_pad(x: Any, pad_num: Any) -> Any:
    """(different elements as they come, filled up with ``pad_num`` to the size of x; the place of each element)."""
    return ARRAYS["UniqueWithPad"][0](x, pad_num)


def approximate_equal(x: Any, y: Any, tolerance: float = 1e-5) -> Any:
    """Where two tensors differ by less than ``tolerance``."""
    return ARRAYS["ApproximateEqual"][0](x, y, tolerance)


def expand(input_x: Any, size: Any) -> Any:
    """``input_x`` with axes of size 1 repeated; -1 keeps an axis."""
    return ops.broadcast_to(input_x, tuple(size.tolist()) if isinstance(size, Tensor) else tuple(size))


def bidense(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Any:
    """``input1`` [..., a], ``weight`` [out, a, b] and ``input2`` [..., b] multiplied to [..., out], plus a bias."""
    found = ops.einsum("...a,oab,...b->...o", input1, weight, input2)
    return found if bias is None else found + bias


def poisson(shape: Any, mean: Any, seed: int | None = None) -> Any:
    """Poisson numbers in float32, in the shape that ``shape`` and that of ``mean`` broadcast to."""
    rate = ops.broadcast_to(mean, np.broadcast_shapes(tuple(shape), mean.shape))
    return ops.random_poisson((), rate, seed, dtypes.float32)


def fills(x: Any, value: Any) -> Any:
    """A tensor of the shape and dtype of ``x``, filled with one number."""
    return ops.full(x.shape, value.item() if isinstance(value, Tensor) else value, dtype=x.dtype)


def top_k(input_x: Any, k: int, sorted: bool = True) -> tuple[Any, Any]:
    """The largest ``k`` along the last axis and their int32 places (an older name of ``topk``)."""
    values, places = ops.topk(input_x, k, None, True, sorted)
    return values, places.astype(dtypes.int32)


def coo2csr(row_indices: Any, height: int) -> Any:
    """Pointers of compressed rows [height + 1] for the rows, in order, of entries."""
    return ops.searchsorted(row_indices, ops.arange(height + 1, dtype=row_indices.dtype)).astype(row_indices.dtype)


def csr2coo(indptr: Any, nnz: int) -> Any:
    """The row of each of ``nnz`` entries of compressed rows."""
    return (ops.searchsorted(indptr, ops.arange(nnz, dtype=indptr.dtype), right=True) - 1).astype(indptr.dtype)


def row_tensor_add(row_tensor: Any, dense: Any) -> Any:
    """A dense tensor with the rows of a RowTensor added to it."""
    return row_tensor.to_dense() + dense


def move_to(input: Any, to: str = "CPU", blocking: bool = True) -> Any:
    """A tensor, or numbers as one, in the memory of a device, ``blocking`` or not: it is there when it is read."""
    return (input if isinstance(input, Tensor) else Tensor(input)).move_to(to, blocking)


def scalar_cast(input_x: Any, input_y: Any) -> Any:
    """A number of Python as the one of a dtype: whole, with a fraction, or a bool."""
    kind = dtypes.as_dtype(input_y)
    return bool(input_x) if kind is dtypes.bool_ else (float if kind.is_float else int)(input_x)


def hastype(value: Any, kind: Any) -> bool:
    """Whether ``typeof(value)`` is ``kind``; numbers of Python have the types int64, float64 and bool_."""
    numbers = {int: dtypes.int64, float: dtypes.float64, bool: dtypes.bool_}
    own = typeof(value)
    return bool(own == kind or numbers.get(own) == kind)


def reduced_shape(shape: tuple[int, ...], axis: Any) -> tuple[int, ...]:
    """A shape after a reduction that keeps its axes: they have size 1."""
    axes = {a % len(shape) for a in ((axis,) if isinstance(axis, int) else axis)}
    return tuple(1 if i in axes else size for i, size in enumerate(shape))


def _with(values: Any, index: Any, value: Any) -> Any:
    """A copy of a tuple, list or dictionary with one element replaced."""
    if isinstance(values, dict):
        return {**values, index: value}
    found = list(values)
    found[index] = value
    return type(values)(found)


def hyper_add(x: Any, y: Any) -> Any:
    """Sums of the tensors of two structures."""
    return type(x)([hyper_add(a, b) for a, b in zip(x, y)]) if isinstance(x, (tuple, list)) else ops.add(x, y)


def stop_gradient_(input: Any) -> None:
    """From here on no gradient goes through ``input``: it is a constant."""
    input.copy_(ops.stop_gradient(input))


def _method(name: str) -> Callable[..., Any]:
    def call(input: Any, *args: Any, **named: Any) -> Any:
        return getattr(input, name)(*args, **named)

    call.__name__, call.__doc__ = name, f"``input.{name}(...)``, which writes ``input``."
    return call


_WRITING = (
    "bernoulli_", "clamp_", "erfinv_", "exponential_", "normal_", "put_", "random_", "tanh_", "uniform_", "zero_",
)  # fmt: skip
globals().update({name: _method(name) for name in _WRITING})
inplace_sigmoid: Callable[..., Any] = _method("sigmoid_")
_ON_NUMBERS = ("add", "eq", "floordiv", "ge", "gt", "le", "lt", "mod", "mul", "ne", "pow", "sub")
globals().update({f"scalar_{name}": getattr(operator, name) for name in _ON_NUMBERS})
globals().update({f"augassign_{name}": getattr(operator, name) for name in ("add", "floordiv", "mod", "mul", "sub")})
augassign_div = scalar_div = operator.truediv
scalar_log, scalar_max, scalar_min, scalar_uadd, scalar_usub = math.log, max, min, operator.pos, operator.neg
bool_and, bool_or, bool_not, bool_eq = operator.and_, operator.or_, operator.not_, operator.eq
string_concat, string_eq, list_equal, tuple_equal = operator.add, operator.eq, operator.eq, operator.eq
scalar_bool = tensor_bool = bool
core = add_flags
_nd_transpose: Callable[..., Any] = lambda a: ops.swapaxes(a, -1, -2)
matrix_set_diag: Callable[..., Any] = lambda input_x, diagonal, k=0, alignment="RIGHT_LEFT": (
    ops.matrix_set_diag(input_x, diagonal, k, alignment))  # fmt: skip
is_, is_not, make_slice, shape_mul = operator.is_, operator.is_not, slice, math.prod
tuple_getitem = list_getitem = dict_getitem = operator.getitem
switch_layer: Callable[..., Any] = lambda index, layers: layers[index]  # the Cell that a tensor chooses
tuple_len = list_len = ms_len = len
is_sequence_shape_unknown: Callable[..., bool] = lambda values: False  # a length is always known here
in_dict: Callable[..., bool] = lambda key, values: key in values
not_in_dict: Callable[..., bool] = lambda key, values: key not in values
tuple_reversed: Callable[..., Any] = lambda values: values[::-1]
tail: Callable[..., Any] = lambda values: values[1:]
make_tuple: Callable[..., Any] = lambda *values: values
make_list: Callable[..., Any] = lambda *values: [*values]
tuple_div: Callable[..., Any] = lambda x, y: tuple([a // b for a, b in zip(x, y)])  # whole quotients
TopTypeof: Callable[..., Any] = lambda: typeof  # the primitive of it
make_dict: Callable[..., Any] = lambda keys, values: dict(zip(keys, values))
dyn_shape: Callable[..., Any] = lambda input_x: ops.cast(Tensor(input_x.shape), dtypes.int64)
dict_setitem = list_setitem = tuple_setitem = _with
make_coo_tensor: Callable[..., Any] = lambda indices, values, dense_shape: COOTensor(indices, values, dense_shape)
make_row_tensor: Callable[..., Any] = lambda indices, values, dense_shape: RowTensor(indices, values, dense_shape)
make_csr_tensor, make_sparse_tensor, make_row_tensor_inner = CSRTensor, make_coo_tensor, make_row_tensor
globals().update({f"{kind}_tensor_get_{part}": operator.attrgetter("shape" if part == "dense_shape" else part)
                  for kind in ("coo", "csr", "row") for part in ("indices", "values", "dense_shape")})  # fmt: skip
csr_tensor_get_indptr: Callable[..., Any] = operator.attrgetter("indptr")
soft_shrink, pows, floordiv, floormod = ops.softshrink, ops.pow, ops.floor_divide, ops.floor_mod
matrix_determinant, log_matrix_determinant, accumulate_n, deepcopy = ops.det, ops.slogdet, ops.addn, ops.identity
shape_, reshape_, tensor_range, tensor_slice, tensor_muls = ops.shape, ops.reshape, ops.range, ops.slice, ops.mul
tensor_exp, tensor_expm1, tensor_floordiv = ops.exp, ops.expm1, ops.floor_divide
tensor_ge, tensor_gt, tensor_le, tensor_lt = ops.ge, ops.gt, ops.le, ops.lt


# ---- operators: the calls of classes that are made below ----


def _summary(self: Primitive, name: str, value: Any) -> None:
    """A value for the SummaryRecord that is open."""
    if not isinstance(name, str) or not isinstance(value, Tensor):
        kinds = f"{type(name).__name__} and {type(value).__name__}"
        raise ArgumentError(f"ops.{self.name} takes a name, a str, and a tensor, not {kinds}.")
    if not name:
        raise AttributeValueError(f"ops.{self.name}: the name is empty.")
    if not events.listeners.get("summary value"):
        events.notice(f"ops.{self.name}: no SummaryRecord is open, nothing reads its record.", self.name)
    plugin = self.name.removesuffix("Summary").lower()
    tell_summary(plugin, name, value)


def _first(self: Primitive, *inputs: Any) -> Any:
    """The first input: shapes that change need no mark here."""
    return inputs[0]


def _float_status(self: Primitive, *inputs: Any) -> Any:
    """The overflow flag of an Ascend chip: zeros."""
    told = f"ops.{self.name} changes nothing: this device keeps no overflow flag; amp.all_finite(grads) tells it."
    events.notice(told, "npu float status")
    return ops.zeros((8,), dtype=dtypes.float32)


def _while_loop(self: Primitive, cond_func: Callable[..., Any], loop_func: Callable[..., Any], init_val: Any) -> Any:
    """``value = loop_func(value)`` while the condition of the value holds."""
    value = init_val
    while cond_func(value):
        value = loop_func(value)
    return value


def _fori_loop(
    self: Primitive, lower: Any, upper: Any, loop_func: Callable[..., Any], init_val: Any, unroll: bool = True
) -> Any:
    """``value = loop_func(i, value)`` for i from ``lower`` to below ``upper``."""
    value = init_val
    for i in range(lower, upper):
        value = loop_func(i, value)
    return value


def _scan(
    self: Primitive, loop_func: Callable[..., Any], init: Any, xs: Any, length: int | None = None, unroll: bool = True
) -> Any:
    """``state, y = loop_func(state, x)`` over xs; the last state and all y."""
    count = len(xs) if length is None else length
    state, found = init, []
    for i in range(count):
        state, y = loop_func(state, None if xs is None else xs[i])
        found.append(y)
    return state, found


def _lstm(self: Primitive, x: Any, h: Any, c: Any, w: Any) -> tuple[Any, ...]:
    """Layers of long short-term memory whose weights lie in one row: all W_ih, all W_hh, projections, biases.

    Returns:
        Outputs [time, n, directions * hidden], the last h and c, and two tensors that stand for MindSpore's workspace.
    """
    size, hidden, layers, has_bias, bidirectional, _, proj = self._given().values()
    rows, out, ways = 4 * hidden, proj or hidden, 2 if bidirectional else 1
    shapes = [(rows, size), (rows, out), (proj, hidden), (rows * has_bias,)]
    width = layers * ways * sum(math.prod(shape) for shape in shapes)
    second = layers * ways * rows * has_bias  # biases of W_hh, which may follow and are not read
    if x.shape[-1] != size or h.shape[0] != layers * ways or w.size not in (width, width + second):
        told = f"LSTM: x must have {size} features, h {layers * ways} rows and the weights {width} numbers."
        raise ShapeError(told, operands=operand_lines(x._type, h._type, w._type, names=("x", "h", "w")))
    flat, parts = w.reshape((-1,)), []
    for shape in shapes:
        count = math.prod(shape) * layers * ways
        parts.append(flat[:count].reshape((layers * ways, *shape)))
        flat = flat[count:]
    ends, y = [], x
    for first in range(0, layers * ways, ways):
        found = [_one_way(y, h[i], c[i], [p[i] for p in parts], i > first) for i in range(first, first + ways)]
        y = ops.concat([way[2] for way in found], -1)
        ends += found
    nothing = ops.zeros((1, 1), dtype=x.dtype)
    return y, ops.stack([end[0] for end in ends], 0), ops.stack([end[1] for end in ends], 0), nothing, nothing


def _one_way(x: Any, h: Any, c: Any, weights: list[Any], backward: bool) -> tuple[Any, ...]:
    """(last h, last c, outputs) of one direction of one layer."""
    ih, hh, project, bias = weights

    def turn(h: Any, c: Any, gates: Any, hh: Any, *projection: Any) -> tuple[Any, ...]:
        h, c = lstm_gates(gates, ops.matmul(h, hh), c)
        h = ops.matmul(h, projection[0]) if projection else h
        return h, c, h

    gates = ops.matmul(x, ih.T)
    inner = [hh.T, project.T] if project.shape[0] else [hh.T]
    return scan(turn, (h, c), [gates + bias if bias.shape[0] else gates], inner, backward)


def _in_turn(self: Any, *inputs: Any) -> Any:
    """The operator, once for each time that an index comes back: a row begins with what the one before it has left."""
    op, attrs, at, grad, indices = type(self).fn, self._given(), self.at, inputs[self.at - 1], inputs[self.at]
    if indices.shape[0] == 0:
        return op(*inputs, **attrs)
    ids = ops.gather(indices, order := ops.argsort(indices, stable=True), 0)
    nth = ops.gather(ops.arange(ids.shape[0]) - ops.searchsorted(ids, ids), ops.argsort(order), 0)

    def once(turn: Any) -> Any:
        """Rows of another turn count as zeros of one of this turn."""
        here = nth == turn
        rows = ops.where(here.reshape((-1, *(1,) * (grad.ndim - 1))), grad, 0)
        places = ops.where(here, indices, indices[ops.argmax(here.astype(dtypes.int32), 0)])
        return op(*inputs[: at - 1], rows, places, *inputs[at + 1 :], **attrs)

    turn, last = ops.ones_like(nth[0]), nth.max()
    found = once(0)
    while turn <= last:
        found = once(turn)
        turn = turn + 1
    return found


def as_strided(input: Any, size: Any, stride: Any, storage_offset: int = 0) -> Any:
    """Numbers picked by steps, as a tensor of its own and no view.

    Args:
        input: tensor, whose numbers stand in a row. size: the shape of the result.
        stride, storage_offset: element [i, j, ...] is number storage_offset + i * stride[0] + j * stride[1] + ...

    Raises:
        ValueError: not as many sizes as steps, or a place outside ``input``. TypeError: no integers.

    Examples:
        >>> import msnb as ms
        >>> as_strided(ms.Tensor([0, 1, 2, 3]), (3, 2), (1, 1)).tolist()
        [[0, 1], [1, 2], [2, 3]]
    """
    need_ints("as_strided", size=size, stride=stride, storage_offset=storage_offset)
    if len(size) != len(stride):
        raise ShapeError(f"as_strided: {len(size)} sizes and {len(stride)} strides.")
    places = np.full(tuple(size), storage_offset)
    for step, axis in zip(stride, np.indices(places.shape)):
        places += step * axis
    if places.size and not 0 <= places.min() <= places.max() < input.size:
        raise ShapeError("as_strided: a place lies outside the tensor.", operands=operand_lines(input._type))
    return ops.gather(ops.reshape(input, (-1,)), Tensor(places), 0)


def _concat_offset(self: Primitive, *xs: Any) -> Any:
    """Where each of the tensors begins in their concatenation, [tensors, axes] of int64."""
    shapes = [x.shape for x in (xs[0] if isinstance(xs[0], (tuple, list)) else xs)]
    axis = normal_axis("ConcatOffset", self.attrs["axis"], len(shapes[0]))
    if len({(*s[:axis], *s[axis + 1 :]) for s in shapes}) > 1:
        raise ShapeError(f"ConcatOffset: shapes that differ along other axes than {axis}: {shapes}.")
    starts = np.zeros((len(shapes), len(shapes[0])), np.int64)
    starts[1:, axis] = np.cumsum([s[axis] for s in shapes[:-1]])
    return Tensor(starts)


def _argmin(self: Primitive, x: Any, axis: int = -1) -> Any:
    """The places of the least numbers along an axis, int32."""
    return ops.argmin(x, axis).astype(dtypes.int32)


def _same_type_shape(self: Primitive, x: Any, y: Any) -> Any:
    """``x``, if ``y`` is a tensor of its dtype and shape; raises TypeError or ValueError."""
    if not isinstance(x, Tensor) or not isinstance(y, Tensor):
        raise ArgumentError(f"SameTypeShape takes two tensors, not {type(x).__name__} and {type(y).__name__}.")
    lines = operand_lines(x._type, y._type, names=("x", "y"))
    if x.dtype != y.dtype:
        raise DTypeError("SameTypeShape: the dtypes differ.", operands=lines)
    if x.shape != y.shape:
        raise ShapeError("SameTypeShape: the shapes differ.", operands=lines)
    return x


def _is_of_type(self: Primitive, found: Any, type_: Any) -> bool:
    """Whether a value (IsInstance) or a type (IsSubClass) is of a type or of a kind of types of MindSpore."""
    of_value = self.name == "IsInstance"
    own = (found._type if isinstance(found, Tensor) else type(found)) if of_value else found
    for given in (type_,) if of_value else (own, type_):
        if given is None or getattr(given, "__module__", "") == "builtins":
            raise ArgumentError(f"{self.name} takes a type of MindSpore, as mstype.int_, not {given!r}.")
    if isinstance(type_, DType) and own in _PYTHON:
        return _PYTHON[own](type_)
    return own == type_ or (isinstance(type_, type) and isinstance(own, type_)) or (own is str and type_ == string)


_PYTHON: dict[Any, Callable[[DType], bool]] = {
    int: lambda d: d.is_int, float: lambda d: d.is_float, bool: lambda d: d is dtypes.bool_, str: lambda d: False,
}  # fmt: skip


def _assigned(self: Primitive, cost_matrix: Any, dimension_limit: Any, maximize: Any) -> Any:
    """Rows and columns of the assignment with the least, or the largest, sum: ``scipy.optimize``'s."""
    if not isinstance(maximize, Tensor):
        return linear_sum_assignment(cost_matrix, maximize, dimension_limit)
    costs = cost_matrix.astype(dtypes.float64)
    return linear_sum_assignment(ops.where(maximize, -costs, costs), False, dimension_limit)


def _eig(self: Primitive, x: Any) -> Any:
    """Eigenvalues and, with ``compute_v``, eigenvectors."""
    check_bool(self.attrs["compute_v"], "compute_v", "Eig")
    values, vectors = ops.eig(x)
    return values, vectors if self.attrs["compute_v"] else ops.zeros((), dtype=values.dtype)


def _triangular(self: Primitive, a: Any, b: Any) -> Any:
    """The x with a x = b, where a is a triangle."""
    return solve_triangular(a, b, self.attrs["trans"], self.attrs["lower"], self.attrs["unit_diagonal"])


_SIZES = ("input_size", "hidden_size", "num_layers", "has_bias", "bidirectional", "dropout")


def _operator(name: str, call: Callable[..., Any], **defaults: Any) -> type[Primitive]:
    members = {"__call__": call, "defaults": defaults, "__doc__": call.__doc__, "__module__": "msnb.ops"}
    return type(name, (Primitive,), members)


_OPERATORS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    **dict.fromkeys(("ScalarSummary", "TensorSummary", "ImageSummary", "HistogramSummary"), (_summary, {})),
    **dict.fromkeys(("NPUAllocFloatStatus", "NPUGetFloatStatus", "NPUClearFloatStatus"), (_float_status, {})),
    **dict.fromkeys(("IsInstance", "IsSubClass"), (_is_of_type, {})),
    "GpuConvertToDynamicShape": (_first, {}), "ConvertToDynamic": (_first, {"is_dynamic_rank": False}),
    "AddV2": (lambda self, x, y: ops.add(x, y), {}), "ReLUV3": (lambda self, x: ops.relu(x), {}),
    "RangeV2": (lambda self, start, limit, delta, **attrs: ops.range(start, limit, delta).astype(start.dtype),
                {"maxlen": 1000000}),
    "Load": (lambda self, variable, u=None: ops.identity(variable), {}),
    "ConcatOffset": (_concat_offset, {"N": 2, "axis": 0}), "ArgminV2": (_argmin, {}),
    "LSTM": (_lstm, {**dict.fromkeys(_SIZES, NEEDED), "proj_size": 0}), "SameTypeShape": (_same_type_shape, {}),
    "IgammaGradA": (lambda self, a, x: slope_by_parameter(LOWER, a, x).astype(a.dtype), {}),
    "Eig": (_eig, {"compute_v": True}), "LinearSumAssignment": (_assigned, {}),
    "TransposeView": (lambda self, x, perm: ops.transpose(x, perm), {}),
    "TransposeExtView": (lambda self, x, dim0, dim1: ops.swapaxes(x, dim0, dim1), {}),
    "SelectView": (lambda self, x, dim, index: x.select(dim, index), {}),
    "SolveTriangular": (_triangular, {"lower": False, "unit_diagonal": False, "trans": "N"}),
    "WhileLoop": (_while_loop, {}), "ForiLoop": (_fori_loop, {}), "Scan": (_scan, {}),
}  # fmt: skip
globals().update({name: _operator(name, call, **defaults) for name, (call, defaults) in _OPERATORS.items()})
globals().update({name: type(name, (getattr(ops, name),), {"__call__": _in_turn, "at": at, "__module__": "msnb.ops"})
                  for name, at in ((f"SparseApply{kind}", at) for kind, at in IN_TURN.items())})  # fmt: skip

_METHODS = {
    "chunk_view": "chunk", "split_view": "split", "unsqueeze_view": "unsqueeze", "index_fill_ext": "index_fill",
    "array_to_scalar": "item", **{name: name for name in ("new_ones", "new_zeros", "relu_", "copy", "contiguous")},
}
_NORMS = {"vector_norm_ext": ops.vector_norm, "matrix_norm_ext": ops.matrix_norm, "linalg_norm": ops.norm}
globals().update({name: getattr(Tensor, method) for name, method in _METHODS.items()}, **_NORMS)


class _Implementations(dict[Any, Callable[..., Any]]):
    """A program's table of implementations in Python for debugging, by operator class and by name; operators do not
    run them, ``get_vm_impl_fn`` hands them out."""

    def register(self, prim: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """A decorator that notes a function under a class, or under a name."""
        if not isinstance(prim, (str, type)):
            raise ArgumentError(f"register takes an operator class or a name, not {prim!r}.")

        def note(fn: Callable[..., Any]) -> Callable[..., Any]:
            self.update(dict.fromkeys((prim,) if isinstance(prim, str) else (prim, prim.__name__), fn))
            return fn

        return note


vm_impl_registry = _Implementations()


def get_vm_impl_fn(prim: Any) -> Any:
    """What was registered for an operator or a name, called with it; None where nothing was."""
    keys = (type(prim), prim.name) if isinstance(prim, Primitive) else (prim,) if isinstance(prim, str) else ()
    return next((vm_impl_registry[key](prim) for key in keys if key in vm_impl_registry), None)
