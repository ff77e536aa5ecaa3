"""MindSpore's answers of ``numpy``, of methods, and how Parameters look.

    numpy                                           places and sums of int32 are int32, counts float32, several results
                                                    stand in a list
    x.median() x.nansum() x.cumsum() x.take(i) ...  as the functions of differences
    x.argmin() x.argsort() x.sort() x.topk(k)
    x.searchsorted(v) x.count_nonzero()             places are int32
    x.stride()                                      a list
    x.real() x.imag()                               methods
    x.type()                                        a word
    x.untyped_storage() x.data_ptr()                the memory of the tensor
    x.data                                          the tensor, without a gradient
    ~x                                              bool: which elements are 0
    [1] in x                                        False: numbers and tensors are in a tensor
    x.dot(other=y) x.pow(exponent=2) ...            MindSpore's keywords
    print(parameter)                                its name, shape, dtype
    Tensor(1j)                                      complex128
    cell.cells()                                    has a length, is read twice

Functions stand in the table of differences. One class of Tensors serves both worlds, so its attributes are exchanged
while the alias holds and come back with ``uninstall``.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

import msnb.numpy as mnp
from msnb import nn, ops
from msnb.as_mindspore.type_names import UntypedStorage
from msnb.base import AttributeValueError
from msnb.core import Parameter, Tensor, dtypes, slot
from msnb.core.random import Generator
from msnb.core.storage import host_array
from msnb.dataset.pipeline.dataset import Dataset
from msnb.eager.dispatch import EagerEngine
from msnb.nn.cells.cell import Cell
from msnb.ops.definition.keyword_aliases import ValuesAndIndices, in_own_words, worded
from msnb.ops.mindspore.primitive_results import unique as unique_pair
from msnb.train.metrics.metric import MAE, MSE


def int32(x: Any) -> Any:
    """Places as MindSpore gives them."""
    return x.astype(dtypes.int32)


def placed(fn: Callable[..., Any], of_values: bool = False) -> Any:
    """``fn`` with int32 places; ``of_values``: what it gives is values, and places behind them or none."""

    def call(*args: Any, **named: Any) -> Any:
        found = fn(*args, **named)
        if isinstance(found, tuple):
            return (*found[:of_values], *map(int32, found[of_values:]))
        return found if of_values else int32(found)

    call.__name__, call.__doc__ = fn.__name__, f"``{fn.__name__}`` with int32 places."
    call.__signature__ = inspect.signature(fn)  # type: ignore[attr-defined]
    return call


_OF_PLACES = (mnp.argmin, mnp.count_nonzero, mnp.searchsorted, mnp.digitize, mnp.diag_indices, mnp.tril_indices,
              mnp.triu_indices, mnp.tril_indices_from, mnp.triu_indices_from, mnp.unravel_index)  # fmt: skip
(argmin, count_nonzero, searchsorted, digitize, diag_indices, tril_indices, triu_indices, tril_indices_from,
 triu_indices_from, unravel_index) = [placed(fn) for fn in _OF_PLACES]  # fmt: skip


def unique(x: Any, return_inverse: bool = False) -> Any:
    """The different numbers in the order in which they come, and with ``return_inverse`` int32 places among them."""
    values, places = unique_pair(mnp.array(x))
    return (values, int32(places).reshape(-1)) if return_inverse else values


def bincount(x: Any, weights: Any = None, minlength: int = 0, length: int | None = None) -> Any:
    """``numpy.bincount`` in float32."""
    return mnp.bincount(x, weights, minlength, length).astype(dtypes.float32)


def indices(dimensions: Any, dtype: Any = dtypes.int32, sparse: bool = False) -> Any:
    """``numpy.indices`` as a list of grids."""
    found = mnp.indices(dimensions, dtype, sparse)
    return list(found) if sparse else [found[i] for i in range(len(dimensions))]


def take(a: Any, indices: Any, axis: int | None = None, mode: str = "clip") -> Any:
    """``numpy.take``; "clip" takes the nearest of the places from -n to n - 1, of which those below 0 count from the
    back."""
    x, places = mnp.array(a), mnp.array(indices)
    if mode == "clip":
        n = x.size if axis is None else x.shape[axis]
        places, mode = ops.clip(places, -n, n - 1), "raise"
    return ops.take(x, places, axis, mode)


def _listed(fn: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arys: Tensor, **options: Any) -> Any:
        found = fn(*arys, **options)
        return list(found) if isinstance(found, tuple) else found

    call.__doc__ = f"``numpy.{fn.__name__}``; of several arrays a list."
    return call


_LISTED = (mnp.atleast_1d, mnp.atleast_2d, mnp.atleast_3d, mnp.meshgrid)
atleast_1d, atleast_2d, atleast_3d, meshgrid = map(_listed, _LISTED)


def _parted(fn: Callable[..., Any]) -> Callable[..., Any]:
    """``fn``, which gives a list of what lies between the places that a tuple or list names."""

    def call(x: Any, indices_or_sections: Any, *axis: Any, **named: Any) -> Any:
        found = fn(x, indices_or_sections, *axis, **named)
        return list(found) if isinstance(indices_or_sections, (tuple, list)) else found

    call.__name__, call.__doc__ = fn.__name__, f"``numpy.{fn.__name__}``; between named places a list."
    return call


_PARTS = (mnp.split, mnp.array_split, mnp.hsplit, mnp.vsplit, mnp.dsplit)
split, array_split, hsplit, vsplit, dsplit = map(_parted, _PARTS)


def _whole(fn: Callable[..., Any]) -> Callable[..., Any]:
    def call(tup: Any) -> Any:
        return tup if isinstance(tup, Tensor) else fn(tup)

    call.__doc__ = f"``numpy.{fn.__name__}``; one array is no sequence of arrays: it stays as it is."
    return call


column_stack, dstack, hstack, vstack = map(_whole, (mnp.column_stack, mnp.dstack, mnp.hstack, mnp.vstack))


_WIDE = (dtypes.float64, dtypes.complex64, dtypes.complex128)
_HALVES = (dtypes.float16, dtypes.bfloat16)


def _typed(fn: Callable[..., Any], kind: Callable[[Any, Any], Any] | None, what: str) -> Callable[..., Any]:
    """``fn`` whose result has the dtype that ``kind`` finds for its first operand and that of msnb; without a kind it
    is computed in float32 for float16."""
    form = inspect.signature(fn)

    def call(*args: Any, **named: Any) -> Any:
        given = form.bind(*args, **named)
        first = next(iter(given.arguments))
        x = mnp.array(given.arguments[first])
        if kind is None and x.dtype in _HALVES:
            given.arguments[first] = x.astype(dtypes.float32)
        found = fn(*given.args, **given.kwargs)
        return found if kind is None or given.arguments.get("dtype") else found.astype(kind(x.dtype, found.dtype))

    call.__name__, call.__doc__ = fn.__name__, f"``numpy.{fn.__name__}``{what}."
    call.__signature__ = form  # type: ignore[attr-defined]
    return call


def _sum_of_integers(x: Any, found: Any) -> Any:
    return dtypes.int32 if found is dtypes.int64 and x is not dtypes.int64 else found


def _product_of_integers(x: Any, found: Any) -> Any:
    return dtypes.uint32 if x in (dtypes.uint8, dtypes.uint16) else _sum_of_integers(x, found)


def _float_of(x: Any, found: Any) -> Any:
    return found if x.differentiable and x is not dtypes.bfloat16 else dtypes.float32


def _ceiling_of(x: Any, found: Any) -> Any:
    return dtypes.float32 if x is dtypes.float16 else _float_of(x, found)


def _dtype_of_first(x: Any, found: Any) -> Any:
    return found if x.differentiable else x


cumsum, nancumsum = [_typed(fn, _sum_of_integers, "; of int32 in int32") for fn in (mnp.cumsum, mnp.nancumsum)]
cumprod = _typed(mnp.cumprod, _product_of_integers, "; of int32 in int32, of bytes in uint32")
fix, sign, trunc = [_typed(fn, _float_of, "; of integers in float32") for fn in (mnp.fix, mnp.sign, mnp.trunc)]
ceil = _typed(mnp.ceil, _ceiling_of, "; of integers and halves in float32")
cov, corrcoef, norm, nanmean, nanvar, nanstd, unwrap, gradient = [
    _typed(fn, None, "; of float16 in float32")
    for fn in (mnp.cov, mnp.corrcoef, mnp.norm, mnp.nanmean, mnp.nanvar, mnp.nanstd, mnp.unwrap, mnp.gradient)
]
copysign, nansum = [_typed(fn, _dtype_of_first, "; of integers in their dtype") for fn in (mnp.copysign, mnp.nansum)]
intersect1d = placed(mnp.intersect1d, True)


def polyval(p: Any, x: Any) -> Any:
    """``numpy.polyval``; all but float64 and complex tensors counts as float32."""
    kept = [isinstance(v, Tensor) and v.dtype in _WIDE for v in (p, x)]
    return mnp.polyval(*(v if k else mnp.array(v).astype(dtypes.float32) for k, v in zip(kept, (p, x))))


def arctan2(x1: Any, x2: Any, dtype: Any = None) -> Any:
    """``numpy.arctan2``; of float16 and integers in float32."""
    kinds = [x.dtype for x in (x1, x2) if isinstance(x, Tensor)]
    if dtype is None and dtypes.float16 in kinds and any(k.is_int for k in kinds):
        return mnp.arctan2(*(x.astype(dtypes.float32) if isinstance(x, Tensor) else x for x in (x1, x2)))
    return mnp.arctan2(x1, x2, dtype=dtype)


def heaviside(x1: Any, x2: Any, dtype: Any = None) -> Any:
    """``numpy.heaviside`` in the dtype that both operands have together."""
    common = mnp.result_type(mnp.array(x1), mnp.array(x2)) if dtype is None else dtype
    return mnp.heaviside(x1, x2).astype(common)


def float_power(x1: Any, x2: Any, dtype: Any = None) -> Any:
    """``numpy.float_power`` in float32 unless an operand is float64 or complex."""
    wide = any(isinstance(x, Tensor) and x.dtype in _WIDE for x in (x1, x2))
    found = mnp.float_power(x1, x2, dtype=dtype)
    return found if wide or dtype is not None else found.astype(dtypes.float32)


def squeeze(a: Any, axis: Any = None) -> Any:
    """``numpy.squeeze``; axes of another size than 1 stay."""
    return answers().squeeze(mnp.array(a), axis)


def answers() -> Any:
    """The module of ``ops``'s answers, which reads this one."""
    return importlib.import_module("msnb.as_mindspore.answers")


def full_like(a: Any, fill_value: Any, dtype: Any = None, shape: Any = None) -> Any:
    """``numpy.full_like``; a tensor or a list to fill with brings its dtype."""
    own = isinstance(fill_value, (Tensor, list, tuple)) and dtype is None
    return mnp.full_like(a, fill_value, mnp.array(fill_value).dtype if own else dtype, shape)


# ---- attributes ----

_IN_WORDS = (
    "addbmm", "addmm", "addmm_", "addmv", "allclose", "baddbmm", "bmm", "dot", "expand_as", "float_power",
    "gather", "gather_nd", "inner", "isclose", "logaddexp", "matmul", "mm", "multiply", "new_ones",
    "new_zeros", "ormqr", "pow", "remainder", "scatter_add", "scatter_add_", "scatter_div", "scatter_max",
    "scatter_min", "scatter_mul", "scatter_sub", "select", "split", "sub", "swapdims", "tile",
)  # fmt: skip
_OF_METHODS = {
    "multiply": {"value": "other"}, "select": {"condition": "dim", "y": "index"},
    "float_power": {"other": "exponent"}, "expand_as": {"x": "other"},
    "scatter_add": {"indices": "axis", "updates": "index"}, "scatter_add_": {"indices": "axis", "updates": "index"},
}  # fmt: skip
_PLACES = ("argsort", "sort", "topk", "top_k")
_AS_FUNCTIONS = (
    "median", "nanmedian", "nansum", "cummin", "squeeze", "outer", "count_nonzero", "lu_solve", "xlogy", "cov",
    "copysign", "cross", "argmax", "argmin", "lstsq", "multinomial",
)  # fmt: skip
_set_own = Parameter.set_data
_before: dict[tuple[type, str], Any] = {}


class ReductionResult(ValuesAndIndices):
    """What ``x.max(1)`` gives: MindSpore's PyNative mode has the pair, its Graph mode the values alone. It is the pair
    to what takes it apart, and the values to what computes with it, which no pair does."""

    def computes(self) -> bool:
        return True

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.values, name)

    def __msnb_tensor__(self) -> Any:
        return self.values

    def __add__(self, other: Any) -> Any:
        if isinstance(other, tuple) and not isinstance(other, ReductionResult):
            return tuple(self) + other
        return self.values + other


def _of_values(name: str, turned: bool = False) -> Callable[..., Any]:
    fn = getattr(operator, name)
    if turned:
        return lambda self, other: fn(other, self.values)
    return lambda self, *other: fn(self.values, *other)


for _name in ("lt", "le", "gt", "ge", "neg", "abs", "invert"):
    setattr(ReductionResult, f"__{_name}__", _of_values(_name))
for _name in ("sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_", "xor"):
    setattr(ReductionResult, f"__{_name.rstrip('_')}__", _of_values(_name))
    setattr(ReductionResult, f"__r{_name.rstrip('_')}__", _of_values(_name, True))
ReductionResult.__radd__ = _of_values("add", True)  # type: ignore[attr-defined]


def _extremes(name: str) -> Callable[..., Any]:
    """``x.max`` and ``x.min``: along an axis that is given by its place, ``ReductionResult``."""
    method = getattr(Tensor, name)

    @functools.wraps(method, ("__name__", "__qualname__", "__doc__"))
    def call(self: Tensor, *args: Any, **named: Any) -> Any:
        found = method(self, *args, **named)
        return ReductionResult(*found) if args and type(found) is ValuesAndIndices else found

    return call


def _narrow(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method whose places are int32; values that it gives with them stay."""

    @functools.wraps(method)
    def call(self: Tensor, *args: Any, **named: Any) -> Any:
        found = method(self, *args, **named)
        return ValuesAndIndices(found[0], int32(found[1])) if isinstance(found, tuple) else int32(found)

    return call


def _searchsorted(self: Tensor, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """``ops.searchsorted`` with NumPy's words and int32 places."""
    return ops.searchsorted(self, v, side=side, sorter=sorter, out_int32=True)


def _stride(self: Tensor, dim: int | None = None) -> Any:
    """Elements from one to the next along every axis, or along ``dim``."""
    steps = _before[Tensor, "stride"](self)
    return list(steps) if dim is None else steps[dim]


def _in_words(name: str) -> Callable[..., Any]:
    """A method that takes MindSpore's keywords."""
    method = getattr(Tensor, name)
    form = [*inspect.signature(getattr(Tensor, name.rstrip("_"))).parameters.values()][1:]
    own = frozenset(p.name for p in form if p.kind is not p.VAR_POSITIONAL)

    @functools.wraps(method)
    def call(self: Tensor, *args: Any, **named: Any) -> Any:
        given = {_OF_METHODS.get(name, {}).get(word, word): value for word, value in named.items()}
        return method(self, *args, **in_own_words(name, own, given) if given else {})

    return call


def _type(self: Tensor, dtype: Any = None) -> Any:
    """The values with another dtype; without one, the dtype's name."""
    return repr(self.dtype) if dtype is None else self.astype(dtype)


def _set_dtype(self: Tensor, dtype: Any) -> Any:
    """Convert the tensor itself; gives the dtype."""
    return self.assign_value(self.astype(dtype)).dtype


def _set_data(self: Parameter, data: Any, slice_shape: bool = False) -> Any:
    """Another value, of the parameter's dtype whatever its own is: 1.7 goes into an integer as 1."""
    return _set_own(self, (data if isinstance(data, Tensor) else Tensor(data)).astype(self.dtype), slice_shape)


def _storage(self: Tensor) -> UntypedStorage:
    """The memory of the tensor as bytes."""
    return UntypedStorage(self)


def _address(self: Tensor) -> int:
    """Where the elements begin, on the CPU."""
    return UntypedStorage(self).data_ptr()


def _view(self: Tensor, *shape: Any, dtype: Any = None, **named: Any) -> Any:
    """Another shape; with a dtype, the bytes read as numbers of it, in PyNative mode."""
    if dtype is None and not (shape and isinstance(shape[0], dtypes.DType)):
        return self.reshape(*shape, **named)
    return Tensor(self.asnumpy().view((dtype or shape[0]).numpy))


def _with_place(name: str) -> Callable[..., Any]:
    """``argmax_with_value``; of all elements without axes, their place is 0."""
    return lambda self, axis=0, keep_dims=False: getattr(answers(), name)(self, axis, keep_dims)


def _diag(self: Tensor, diagonal: int | None = None) -> Any:
    """``ops.diag``; with ``diagonal`` as ``mint.diag``."""
    return answers().diag(self) if not diagonal else ops.diag(self, diagonal)


def _looks(self: Parameter) -> str:
    shape, wants = tuple(self.shape), self.requires_grad
    return f"Parameter (name={self.name}, shape={shape}, dtype={self.dtype!r}, requires_grad={wants})"


def _cells(self: Cell) -> Any:
    """The Cells directly inside this one, each once."""
    return self.name_cells().values()


def _step(self: Generator, step: Any) -> tuple[Any, Any]:
    """The seed and how many draws there were before, int64; ``step`` more are counted."""
    before = self.state.astype(dtypes.int64)
    ops.assign(self.state, ops.stack((before[0], before[1] + step)).astype(self.state.dtype))
    return before[0], before[1]


def _repeat(self: Any, *repeats: Any, axis: Any = None) -> Any:
    """The tensor side by side with itself, as ``tile`` makes it; with ``axis=``, as before 2.5: every element."""
    if axis is not None:
        return self.repeat_interleave(*repeats, axis)
    return self.tile(*repeats) if isinstance(repeats[0], (tuple, list)) else self.tile(repeats)


def _contains(self: Any, element: Any) -> Any:
    """``element in x`` of a number or tensor; no list and no array is in a tensor."""
    return not isinstance(element, (list, tuple, np.ndarray)) and _before[Tensor, "__contains__"](self, element)


def _data(self: Any) -> Any:
    """The tensor itself, whose elements may be written; in a gradient and in a program its values, without one."""
    return self if isinstance(slot.engine, EagerEngine) else ops.stop_gradient(self)


def _index_add(self: Any, *operands: Any, **words: Any) -> Any:
    """``index_add``, which writes into the tensor."""
    return answers().index_add(self, *operands, **words)


def _add_rows(self: Any, values: Any) -> None:
    """The sum of all numbers and how many rows they are: the divisor of a mean error."""
    self._sum += float(np.sum(values, dtype=np.float64))
    self._count += len(values)


def _update_cell_prefix(self: Cell) -> None:
    """Tells the Cell and those in it where they stand: ``param_prefix``."""
    for name, cell in self.cells_and_names():
        object.__setattr__(cell, "_param_prefix", name)


def _counted() -> Any:
    """How many rows a dataset has, batches where it is batched: counted once, a program may write another number."""
    found = functools.cached_property(lambda self: self.get_dataset_size())
    found.__set_name__(Dataset, "dataset_size")
    return found


def _check_names(self: Cell) -> None:
    """Raises ValueError where two Parameters have one name."""
    seen: set[str] = set()
    for place, param in self.parameters_and_names():
        if param.name in seen:
            raise AttributeValueError(f"the name of {place}, {param.name!r}, is another Parameter's too.")
        seen.add(param.name)


_OF_PARAMETERS = {
    "param_info": property(lambda self: self), "obj": property(lambda self: self), "inited_param": None,
    "comm_fusion": 1, "key": -1, "requires_aggr": True, "cache_enable": False, "sliced": False, "is_init": False,
    "is_in_parallel": False, "parallel_optimizer_comm_recompute": False, "has_init": False, "init_mode": None,
    "is_param_init": False,
}  # fmt: skip
"""What MindSpore's Parameters and their ``param_info`` say of a new one."""


def exchange(on: bool) -> None:
    """MindSpore's attributes, or msnb's again."""
    if on == bool(_before):
        return
    host_array.DEFAULTS["c"] = np.complex128 if on else np.complex64
    if not on:
        for (owner, name), value in _before.items():
            if value is None:
                delattr(owner, name)
            else:
                setattr(owner, name, value)
        _before.clear()
        return
    theirs: dict[type, dict[str, Any]] = {
        Tensor: {
            **{name: _narrow(getattr(Tensor, name)) for name in _PLACES},
            **{name: worded(getattr(answers(), name)) for name in _AS_FUNCTIONS},
            **{name: _in_words(name) for name in _IN_WORDS}, "max": _extremes("max"), "min": _extremes("min"),
            "argmax_with_value": _with_place("max"), "argmin_with_value": _with_place("min"),
            "untyped_storage": _storage, "storage": _storage, "data_ptr": _address, "set_dtype": _set_dtype,
            "searchsorted": _searchsorted, "stride": _stride, "type": _type, "diag": _diag, "view": _view,
            "cumsum": worded(cumsum), "bincount": worded(bincount), "index_add": _index_add, "repeat": _repeat,
            "take": worded(lambda self, index, axis=None, mode="clip": take(self, index, axis, mode)),
            "to_coo": lambda self: answers().dense_to_sparse_coo(self), "real": lambda self: ops.real(self),
            "round": lambda self, decimals=0: answers().round(self, decimals=decimals),
            "imag": lambda self: ops.imag(self), "__invert__": lambda self: ops.logical_not(self),
            "data": property(_data, lambda self, value: self.assign_value(value)), "__contains__": _contains,
            "has_init": False,
        },
        Cell: {
            "cells": _cells, "update_cell_prefix": _update_cell_prefix, "check_names": _check_names,
            "param_prefix": property(lambda self: getattr(self, "_param_prefix", "")),
            "set_data_parallel": lambda self: None,  # of automatic parallelism alone
        },
        Parameter: {"__repr__": _looks, "__str__": _looks, "set_data": _set_data, **_OF_PARAMETERS},
        nn.Embedding: {"init_tensor": property(lambda self: self.embedding_table.value())},
        Dataset: {"dataset_size": _counted(), "children": property(Dataset.children)},
        Generator: {"_step": _step}, MAE: {"add": _add_rows}, MSE: {"add": _add_rows},
    }  # fmt: skip
    for owner, name, value in [(owner, *entry) for owner, table in theirs.items() for entry in table.items()]:
        _before[owner, name] = getattr(owner, name, None)
        setattr(owner, name, value)
