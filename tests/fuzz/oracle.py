"""What a program must give: msnb's names over NumPy, with transforms that are plain loops and forward mode.

The text of a program that says ``import msnb as ms`` is run a second time with this module in msnb's place. There are
no graphs, no kernels and no reverse mode here, and Parameters are plain boxes. What this module does not know how to
judge (draws in the lanes of ``vmap``, backward hooks ...) it answers with ``Unjudged``; the modes are then compared
with each other only. Draws and first weights are msnb's own, taken eagerly one after the other.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np

import msnb
from tests.fuzz.duals import HALVES, Dual, Rounding, call, epsilon, is_float, number, strip

float32, float64, int32, int64 = np.float32, np.float64, np.int32, np.int64
float16, bfloat16 = HALVES
int8, uint8, int16, bool_ = np.int8, np.uint8, np.int16, np.bool_


class Unjudged(BaseException):
    """The program does something about which this module has no opinion."""


TIE, TIE_OF_HALVES = 1e-9, 8
"""How close two numbers are a tie: a part of them, in half precision so many of their last places."""


class World:
    """What transforms must tidy up or forbid: Parameters, cells with buffers, lanes under way."""

    params: list[Parameter] = []
    cells: list[Cell] = []
    lanes = 0
    levels: list[int] = []
    wobble = 0
    rng = np.random.default_rng(0)
    tied = False  # a branch was decided by two numbers so close that the order of a sum may decide it

    @classmethod
    def begin(cls, wobble: int, draw: int = 0) -> None:
        cls.params, cls.cells, cls.lanes, cls.levels = [], [], 0, []
        cls.wobble, cls.rng, cls.tied = wobble, np.random.default_rng(draw), False
        Rounding.rng = np.random.default_rng(draw) if draw else None

    @classmethod
    def data(cls, value: Any) -> Any:
        """Numbers that enter, a few ulp off where that is wanted."""
        if not cls.wobble or not is_float(value.dtype):
            return value
        by = cls.rng.uniform(-1, 1, value.shape) * cls.wobble * epsilon(value.dtype)
        return (value * (1 + by)).astype(value.dtype)

    @classmethod
    def settle(cls, level: int) -> None:
        """The transform of this level has ended: no state keeps its slopes."""
        for p in [*cls.params, *(b for c in cls.cells for b in c.__dict__["_buffers"].values())]:
            p.v = strip(p.v, level)


def value_of(x: Any) -> Any:
    return x.v if isinstance(x, Tensor) else x


class Tensor:
    """A box with a value; ``x[i] = v`` gives the box another one."""

    def __init__(self, data: Any, dtype: Any = None) -> None:
        if isinstance(data, Tensor):
            data = data.v
        if isinstance(data, Dual):
            self.v: Any = data if dtype is None else call("astype", data, dtype=dtype)
        else:
            array = np.array(data, np.float32 if isinstance(data, float) and dtype is None else dtype)
            self.v = World.data(array) if isinstance(data, np.ndarray) else array

    shape = property(lambda self: number(self.v).shape)
    dtype = property(lambda self: number(self.v).dtype)
    T = property(lambda self: _op("transpose", self))

    def asnumpy(self) -> Any:
        return number(self.v)

    def __str__(self) -> str:
        return str(self.asnumpy())

    def __format__(self, spec: str) -> str:
        return str(self)

    def __len__(self) -> int:
        return int(self.shape[0])

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        if self.dtype != bool:
            raise Unjudged("the truth of a number")
        World.tied = World.tied or getattr(self, "is_tied", False)
        return bool(self.asnumpy())

    def __getitem__(self, index: Any) -> Tensor:
        return _op("get", self, index=_index(index))

    def __setitem__(self, index: Any, value: Any) -> None:
        value = value_of(value)
        value = call("astype", value, dtype=self.dtype)
        self.v = call("set", self.v, value, index=_index(index))

    def reshape(self, *shape: Any) -> Tensor:
        return _op("reshape", self, shape=shape[0] if isinstance(shape[0], tuple) else shape)

    def sum(self, axis: Any = None, keepdims: bool = False) -> Tensor:
        return _op("sum", self, axis=None if axis == () else axis, keepdims=keepdims)

    def mean(self, axis: Any = None, keepdims: bool = False) -> Tensor:
        total = self.sum(axis, keepdims)
        return total / (max(1, number(self.v).size) / max(1, number(total.v).size))

    def max(self) -> Tensor:
        mask = number(self.v) == number(self.v).max()
        return (self * boxed((mask / mask.sum()).astype(self.dtype))).sum()

    def astype(self, dtype: Any) -> Tensor:
        return _op("astype", self, dtype=dtype)

    def cumsum(self, axis: int) -> Tensor:
        return _op("cumsum", self, axis=axis)

    def copy(self) -> Tensor:
        return boxed(self.v)

    clone = copy

    def register_hook(self, hook: Callable[[Tensor], Any]) -> None:
        """A hook that scales the gradient scales the slopes."""
        if World.lanes:
            raise Unjudged("a hook in the lanes of vmap")
        if not isinstance(self.v, Dual) and World.levels:
            raise Unjudged("a hook on what does not depend on the variables")
        if not isinstance(self.v, Dual):
            self.__dict__.setdefault("hooks", []).append(hook)  # it stays with the tensor
        else:
            if isinstance(self.v.value, Dual) or len(World.levels) > 1:
                raise Unjudged("a hook under two derivatives")
            self.v = Dual(self.v.level, self.v.value, [value_of(hook(boxed(s))) for s in self.v.slopes])

    def __hash__(self) -> int:
        return id(self)


def _index(index: Any) -> Any:
    if isinstance(index, tuple):
        return tuple(_index(i) for i in index)
    return number(index.v) if isinstance(index, Tensor) else index


def boxed(value: Any) -> Tensor:
    """A tensor of a value that was computed."""
    out = Tensor.__new__(Tensor)
    out.v = value
    return out


def _op(name: str, *args: Any, **attrs: Any) -> Tensor:
    return boxed(call(name, *map(value_of, args), **attrs))


def _binary(name: str, swapped: bool = False) -> Any:
    def method(a: Tensor, b: Any) -> Any:
        if not isinstance(b, Tensor | int | float):
            raise Unjudged("arithmetic with what is neither tensor nor number")
        return _op(name, b, a) if swapped else _op(name, a, b)

    return method


def _compared(how: Any, a: Any, b: Any) -> Tensor:
    out = boxed(how(a, b))
    if is_float(a.dtype):
        tie = TIE_OF_HALVES * epsilon(a.dtype) if a.dtype in HALVES else TIE
        a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
        with np.errstate(all="ignore"):
            out.is_tied = bool(np.any(np.abs(a - b) <= tie * (1 + np.abs(a))))
    return out


for _name, _symbol in {
    "add": "add", "sub": "sub", "mul": "mul", "div": "truediv", "matmul": "matmul",
    "floordiv": "floordiv", "mod": "mod", "and": "and", "or": "or", "xor": "xor",
}.items():  # fmt: skip
    setattr(Tensor, f"__{_symbol}__", _binary(_name))
    setattr(Tensor, f"__r{_symbol}__", _binary(_name, swapped=True))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    _compare = {"lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal}
    _ufunc = _compare.get(_name, np.not_equal)
    setattr(Tensor, f"__{_name}__", lambda a, b, f=_ufunc: _compared(f, number(value_of(a)), number(value_of(b))))
Tensor.__neg__ = lambda self: _op("neg", self)  # type: ignore[attr-defined]
Tensor.__abs__ = lambda self: _op("abs", self)  # type: ignore[attr-defined]


class Parameter(Tensor):
    def __init__(self, data: Any, name: str = "Parameter", requires_grad: bool = True) -> None:
        super().__init__(of_tensor(data))
        self.name, self.requires_grad = name, requires_grad
        World.params.append(self)

    def value(self) -> Tensor:
        """What it is now."""
        return boxed(self.v)

    def clone(self) -> Tensor:
        """Another Parameter: no gradient goes from it to this one."""
        return boxed(number(self.v))


def _in_place(name: str) -> Any:
    """``p += x`` writes a Parameter; of any other tensor it makes a new one."""
    return lambda p, x: _assign(p, _op(name, p, x))


for _name, _symbol in {"add": "add", "sub": "sub", "mul": "mul", "div": "truediv"}.items():
    setattr(Parameter, f"__i{_symbol}__", _in_place(_name))


# ---- cells ---------------------------------------------------------------------------------------


class Cell:
    """Attributes, children, buffers, train mode, forward hooks."""

    def __init__(self) -> None:
        self.__dict__.update(_buffers={}, _before=[], _after=[], training=False)
        World.cells.append(self)

    def __getattr__(self, name: str) -> Any:
        buffers = self.__dict__.get("_buffers", {})
        if name in buffers:
            return buffers[name]
        raise AttributeError(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self._buffers or name in self.__dict__:
            _writing()
        if name in self._buffers:
            if of_tensor(value).shape != self._buffers[name].shape:
                raise Unjudged("a buffer of another shape")
            self._buffers[name] = boxed(call("astype", value_of(value), dtype=self._buffers[name].dtype))
        else:
            self.__dict__[name] = value

    def register_buffer(self, name: str, value: Tensor) -> None:
        self._buffers[name] = value

    def children(self) -> list[Cell]:
        held = [v for v in self.__dict__.values() if isinstance(v, Cell | list)]
        return [c for v in held for c in (v if isinstance(v, list) else [v]) if isinstance(c, Cell)]

    def get_parameters(self) -> list[Parameter]:
        own = [v for v in self.__dict__.values() if isinstance(v, Parameter)]
        return own + [p for c in self.children() for p in c.get_parameters()]

    def trainable_params(self) -> list[Parameter]:
        return [p for p in self.get_parameters() if p.requires_grad]

    def set_train(self, mode: bool = True) -> Cell:
        self.__dict__["training"] = mode
        for child in self.children():
            child.set_train(mode)
        return self

    def register_forward_pre_hook(self, hook: Any) -> None:
        self._before.append(hook)

    def register_forward_hook(self, hook: Any) -> None:
        self._after.append(hook)

    def register_backward_hook(self, hook: Any) -> None:
        raise Unjudged("a backward hook")

    def __call__(self, *args: Any) -> Any:
        for hook in self._before:
            changed = hook(self, args)
            args = args if changed is None else changed if isinstance(changed, tuple) else (changed,)
        out = self.construct(*args)
        for hook in self._after:
            changed = hook(self, args, out)
            out = out if changed is None else changed
        return out


class CellList(Cell):
    def __init__(self, cells: list[Cell]) -> None:
        super().__init__()
        self.__dict__["all"] = list(cells)

    def __iter__(self) -> Any:
        return iter(self.all)

    def __getitem__(self, i: int) -> Cell:
        return self.all[i]


def _taken(real: Any, name: str) -> Parameter:
    p = getattr(real, name)
    return Parameter(Tensor(p.asnumpy()), name=p.name, requires_grad=p.requires_grad)


class Dense(Cell):
    def __init__(self, *args: Any, dtype: Any) -> None:
        super().__init__()
        real = msnb.nn.Dense(*args, dtype=_dtype(dtype))
        self.weight, self.bias = _taken(real, "weight"), _taken(real, "bias")

    def construct(self, x: Tensor) -> Tensor:
        return x @ self.weight.T + self.bias


class BatchNorm1d(Cell):
    def __init__(self, features: int, dtype: Any) -> None:
        super().__init__()
        real = msnb.nn.BatchNorm1d(features, dtype=_dtype(dtype))
        self.gamma, self.beta = _taken(real, "gamma"), _taken(real, "beta")
        self.moving_mean, self.moving_variance = _taken(real, "moving_mean"), _taken(real, "moving_variance")

    def construct(self, x: Tensor) -> Tensor:
        mean, variance = self.moving_mean, self.moving_variance
        if self.training:
            mean = x.mean(0)
            variance = ((x - mean) * (x - mean)).mean(0)
            n = x.shape[0]
            for moving, now, factor in ((self.moving_mean, mean, 1), (self.moving_variance, variance, n / (n - 1))):
                _writing()
                moving.v = np.asarray(number(moving.v) * 0.9 + number(now.v) * 0.1 * factor, moving.dtype)
        return (x - mean) / _op("sqrt", variance + 1e-5) * self.gamma + self.beta


class Dropout(Cell):
    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def construct(self, x: Tensor) -> Tensor:
        return ops.dropout(x, self.p) if self.training else x


nn = types.SimpleNamespace(Cell=Cell, CellList=CellList, Dense=Dense, BatchNorm1d=BatchNorm1d, Dropout=Dropout)

# ---- operations ----------------------------------------------------------------------------------


def _dtype(dtype: Any) -> Any:
    return getattr(msnb, np.dtype(dtype).name)


def _writing(p: Tensor | None = None) -> None:
    if World.lanes and not getattr(p, "is_lane", False):
        raise Unjudged("state written in the lanes of vmap")


def printed(*args: Any) -> None:
    """A print; one program prints once for all lanes."""
    if World.lanes:
        raise Unjudged("a print in the lanes of vmap")
    print(*args)


class Trace(list[Any]):
    """A list of Python's own that is written to."""

    def append(self, item: Any) -> None:
        _writing()
        super().append(item)


def _draw(name: str) -> Callable[..., Tensor]:
    def draw(*shape: Any, dtype: Any = None) -> Tensor:
        more = {} if dtype is None else {"dtype": _dtype(dtype)}
        if World.lanes:
            raise Unjudged("draws in the lanes of vmap")
        with msnb.set_context(mode=msnb.PYNATIVE_MODE):
            return boxed(World.data(getattr(msnb.ops, name)(*shape, **more).asnumpy()))

    return draw


def _dropout(x: Tensor, p: float = 0.5) -> Tensor:
    draws = _draw("rand")(*of_tensor(x).shape) if x.shape else _draw("rand")(())
    return ops.where(draws >= p, x * (1.0 / (1.0 - p)), 0.0)


def _assign(p: Tensor, value: Any) -> Tensor:
    _writing(p)
    if not isinstance(p, Parameter) or of_tensor(value).shape != p.shape:
        raise Unjudged("a write to what is no Parameter, or of another shape")
    p.v = call("astype", value.v, dtype=p.dtype)
    return p


def _softmax(x: Tensor, axis: int = -1) -> Tensor:
    shifted = of_tensor(x) - boxed(number(x.v).max(axis, keepdims=True))
    e = _op("exp", shifted)
    return e / e.sum(axis, keepdims=True)


def _dropout_with_mask(x: Tensor) -> tuple[Tensor, Tensor]:
    """With keep_prob=1: everything stays, and the numbers are drawn all the same."""
    _draw("rand")(*x.shape)
    return x, boxed(np.ones_like(number(x.v)))


def _batch_norm(x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, variance: Tensor) -> tuple[Any, ...]:
    return (x - mean) / _op("sqrt", variance + 1e-5) * scale + bias, mean, variance, mean, variance


def _extreme(sign: float) -> Callable[..., Any]:
    """ReduceMax or ReduceMin over the first axis: equal elements share the gradient."""

    def reduce(x: Tensor, axis: int) -> Tensor:
        a = sign * number(x.v)
        mask = a == a.max(axis, keepdims=True)
        return (x * boxed((mask / mask.sum(axis, keepdims=True)).astype(x.dtype))).sum(axis)

    return lambda keep_dims=False: reduce


def _unique(x: Tensor) -> tuple[Tensor, Tensor]:
    """The values in the order in which they come, as MindSpore gives them."""
    values, first, places = np.unique(number(x.v), return_index=True, return_inverse=True)
    order = np.argsort(first)
    return boxed(values[order]), boxed(np.argsort(order)[places])


def _grad_operation(get_all: bool) -> Any:
    from tests.fuzz import oracle_transforms

    return oracle_transforms.gradients_of_all


def _broadcast(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    return x + boxed(np.zeros(shape, x.dtype))


def _gather(x: Tensor, places: Tensor, axis: int) -> Tensor:
    return x[(slice(None),) * axis + (places,)]


def _conv1d(x: Tensor, w: Tensor) -> Tensor:
    """A product for every place of the window."""
    wide, length = w.shape[2], x.shape[2] - w.shape[2] + 1
    parts = [w[:, :, i] @ x[:, :, i : i + length] for i in range(wide)]
    return sum(parts[1:], start=parts[0])  # type: ignore[no-any-return]


def _like(make: Any) -> Callable[[Tensor], Tensor]:
    return lambda x: boxed(make(number(x.v)))


def _where(cond: Any, a: Any, b: Any) -> Tensor:
    dtype = next(t.dtype for t in (a, b) if isinstance(t, Tensor))
    a, b = (value_of(t) if isinstance(t, Tensor) else np.asarray(t, dtype) for t in (a, b))
    return _op("where", a, b, cond=number(value_of(cond)))


def _named(name: str) -> Callable[..., Tensor]:
    return lambda *args, **attrs: _op(name, of_tensor(args[0]), *args[1:], **attrs)


def of_tensor(x: Any) -> Any:
    """Operators are for tensors: what Python numbers and lists become is another question."""
    if not isinstance(x, Tensor):
        raise Unjudged("an operator of what is no tensor")
    return x


ops = types.SimpleNamespace(
    **{n: _named(n) for n in ("sin", "cos", "tanh", "exp", "sqrt", "abs", "maximum", "minimum", "mul", "matmul")},
    rand=_draw("rand"), randn=_draw("randn"), dropout=_dropout, assign=_assign,
    assign_add=lambda p, value: _assign(p, p + value), assign_sub=lambda p, value: _assign(p, p - value),
    softmax=_softmax, where=_where, relu=lambda x: ops.where(x > 0, x, 0.0),
    ones_like=_like(np.ones_like), zeros_like=_like(np.zeros_like),
    stack=lambda parts, axis=0: _op("stack", *map(of_tensor, parts), axis=axis),
    cat=lambda parts, axis=0: _op("cat", *map(of_tensor, parts), axis=axis),
    cumsum=lambda x, axis: x.cumsum(axis), stop_gradient=lambda x: boxed(number(of_tensor(x).v)),
    dense=lambda x, w: x @ w.T, broadcast_to=_broadcast, gather=_gather, conv1d=_conv1d,
    ReduceMax=_extreme(1.0), ReduceMin=_extreme(-1.0), Unique=lambda: _unique, BatchNorm=lambda: _batch_norm,
    Dropout=lambda keep_prob: _dropout_with_mask, GradOperation=_grad_operation,
    StandardNormal=lambda seed: lambda shape: boxed(np.zeros(shape, np.float32)),
)  # fmt: skip


def set_seed(seed: int) -> None:
    msnb.set_seed(seed)


def __getattr__(name: str) -> Any:
    """Transforms live in a file of their own, which needs this one."""
    from tests.fuzz import oracle_transforms

    return getattr(oracle_transforms, name)
