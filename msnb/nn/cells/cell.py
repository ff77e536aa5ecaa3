"""Cell: a network or a piece of one. It owns Parameters and other Cells, and ``construct`` says what it computes.

    net(x)  --eager-->            hooks, then construct as plain Python
            --GRAPH_MODE, top-->  msnb.api.call_cell: capture once, run the compiled program from then on
            --being captured-->   the converted twin of construct, its nodes under the scope "LeNet5/conv1"

Flags that a user may change between calls (training, hooks, the compute dtype) are read through the engine, so that
capture turns each into a guard.
Source: `mindspore.nn.Cell`
"""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial, wraps
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any, TypeVar

from msnb.api.graph_mode import call_cell
from msnb.api.transforms.custom_gradient import custom_vjp
from msnb.api.transforms.forward_pass import note_call
from msnb.api.transforms.recompute import recomputed
from msnb.base import ArgumentError, MissingName, MsnbError, ShapeError, in_graph_mode
from msnb.base.errors import StackError
from msnb.core import Parameter, Tensor, slot, step_undo
from msnb.core.microbatch_scope import stage_scope
from msnb.core.parameter import NameScope
from msnb.core.shard_annotation import sharding, unplaced
from msnb.eager.autocast import casting
from msnb.eager.composite_programs import runs_whole
from msnb.eager.dispatch import EagerEngine
from msnb.nn.cells.argument_hints import explains_arguments, note_empty_result
from msnb.nn.cells.cell_flags import CellFlags
from msnb.nn.cells.cell_state import CellState, _Buffer
from msnb.nn.cells.cell_tree import adopt_cell, adopt_parameter, leave_cell, like_mindspore, owned, resettle, uproot
from msnb.nn.cells.hooks import CellHooks, after_hook, after_pre_hook, with_backward_hooks, with_backward_pre_hooks
from msnb.nn.cells.mixed_precision import CellPrecision, cast_floats

if TYPE_CHECKING:
    from msnb.nn.cells.frozen_program import FrozenPrograms
from msnb.ops.elementwise.identity_and_effects import assign

Self = TypeVar("Self", bound="Cell")


def _takes(old: Any, value: Any) -> bool:
    """Is ``value`` what a Parameter takes over (``self.w = self.w + x``, ``self.count = 5``)? A Parameter is not."""
    if not isinstance(old, Parameter) or isinstance(value, Parameter):
        return False
    return isinstance(value, Tensor) or (not old.shape and isinstance(value, (int, float)))


def _without_arguments(kind: type[Cell]) -> Any:
    """The ``__init__`` of a layer that has none: the arguments of a Cell are for the classes that are made of it."""

    def none(self: Cell) -> None:
        Cell.__init__(self)

    explained = explains_arguments(none, kind.__name__)

    @wraps(none)
    def init(self: Cell, *args: Any, **kwargs: Any) -> None:
        (explained if type(self) is kind else Cell.__init__)(self, *args, **kwargs)

    return init


class Cell(CellState, CellHooks, CellPrecision, CellFlags):
    """A network or a layer. Subclass it, make Parameters and Cells in ``__init__``, compute in ``construct``.

    Args:
        auto_prefix: whether Cells inside get this Cell's names in front of theirs.
        flags: attributes to set.

    Attributes:
        training: False until ``set_train()``; layers such as Dropout ask for it.

    Raises:
        AttributeError: a Parameter or Cell is assigned before ``super().__init__()``.
        TypeError: something else is assigned over a Parameter or a Cell.

    Examples:
        >>> import msnb as ms
        >>> class Net(ms.nn.Cell):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.w = ms.Parameter([2.0])
        ...     def construct(self, x):
        ...         return x * self.w
        >>> Net()(ms.Tensor([3.0])).tolist()
        [6.0]
    """

    training: bool
    pipeline_stage: Any = None  # the stage of a parallel plan that runs it; else it follows its neighbours
    _ready = False
    _placed = False
    _scope_name = ""
    _auto_prefix = True
    _runs_whole = False
    _frozen: FrozenPrograms | None = None  # what evaluation runs instead (GraphCell)
    _workings = frozenset({"assigns_parameters", "has_precision", "set_precision"})  # not in ``dir``
    _is_step = False  # all that a call writes, or nothing: a training step, an update

    def __init__(self, auto_prefix: bool = True, flags: dict[str, Any] | None = None) -> None:
        self.__dict__.update(
            _ready=True, _name_scope=NameScope(), _buffer_names={}, _auto_prefix=auto_prefix, _way="", training=False
        )
        if flags:
            self.add_flags(**flags)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Arguments that do not fit a class of msnb are explained; what users write keeps Python's own words. What
        ``__slots__`` names lies in the ``__dict__`` too, where Parameters and Cells are looked for."""
        super().__init_subclass__(**kwargs)
        for name in [n for n, kept in vars(cls).items() if isinstance(kept, MemberDescriptorType)]:
            delattr(cls, name)
        if not cls.__module__.startswith("msnb."):
            return
        if cls.__init__ is Cell.__init__:
            cls.__init__ = _without_arguments(cls)  # type: ignore[method-assign]
        elif "__init__" in vars(cls):
            cls.__init__ = explains_arguments(cls.__init__, cls.__name__)  # type: ignore[method-assign]

    # ---- attributes ----

    assigns_parameters = True

    def __setattr__(self, name: str, value: Any) -> None:
        old: Any = self.__dict__.get(name)
        if _takes(old, value):
            self._take(name, old, value)
            return
        if name == "construct":
            self._note_construct()
            if getattr(value, "__msnb_fn__", None) is self:
                value = type(value)(self.construct, value.name)  # `net.construct = jit(net)`: the construct that it had
        if isinstance(value, (Parameter, Cell, _Buffer)):
            self._need_init(name)
            if isinstance(old, Cell) and old is not value:
                leave_cell(self, old)
            self._adopt(name, value)
        elif isinstance(old, (Parameter, Cell)) and value is not None:
            self._refuse(name, old, value)
        elif isinstance(value, (tuple, list)) and self._ready:
            self._name_by_number(value)
            for i, item in enumerate(() if isinstance(getattr(type(self), name, None), property) else value):
                self._adopt(f"{name}.{i}", item)
        object.__setattr__(self, name, value)

    def _take(self, name: str, old: Parameter, value: Any) -> None:
        """``self.w = self.w + x``: the Parameter takes the value."""
        if old.shape != getattr(value, "shape", ()):
            raise ShapeError(
                f"{type(self).__name__}.{name} is a Parameter of shape {list(old.shape)}, the value assigned has shape "
                f"{list(value.shape)}.",
                hint="assign a value of its shape, or a new Parameter.",
            )
        assign(old, value)

    def _adopt(self, name: str, value: Any) -> None:
        if isinstance(value, Parameter) and self._auto_prefix:
            adopt_parameter(self, name, value)
        elif isinstance(value, Cell):
            value._need_init("")
            adopt_cell(self, name, value)
        elif isinstance(value, _Buffer):
            self._buffer_names[name] = True

    def _need_init(self, name: str) -> None:
        if not self._ready:
            what = f"assigning {type(self).__name__}.{name}" if name else "using it"
            raise AttributeError(f"{type(self).__name__}: call super().__init__() in __init__ before {what}.")

    def _refuse(self, name: str, old: Any, value: Any) -> None:
        kind = "Parameter" if isinstance(old, Parameter) else "Cell"
        way = f"self.{name}.set_data(...) or ops.assign" if kind == "Parameter" else "another attribute name"
        raise TypeError(
            f"{type(self).__name__}.{name} is a {kind} and cannot become a {value.__class__.__name__}; use {way}, or "
            f"`del` it first."
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self._need_init(name) if name == "_buffer_names" else None
        if name in self.__dict__:  # ``cell.__getattr__(name)``, as programs of MindSpore write
            return self.__dict__[name]
        own = [n for n in self.__dict__ if not n.startswith("_")]
        raise MissingName(type(self).__name__, name, "Cell", lambda: dir(self), own)

    def __delattr__(self, name: str) -> None:
        self.__dict__.get("_buffer_names", {}).pop(name, None)
        if isinstance(self.__dict__.get(name), Cell):
            leave_cell(self, self.__dict__[name])
        object.__delattr__(self, name)
        if name == "construct":
            self._note_construct()

    def __deepcopy__(self: Self, memo: dict[Any, Any]) -> Self:
        """A copy is the root of a network of its own: its names start at itself."""
        outermost = memo.setdefault("msnb.copied", self) is self
        new: Self = object.__new__(type(self))
        memo[id(self)] = new
        for name, value in self.__dict__.items():
            new.__dict__[name] = copy.deepcopy(value, memo)
        if outermost:
            del memo["msnb.copied"]
            uproot(new)
        return new

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        resettle([(self, self._prefix)])

    def insert_child_to_cell(self, child_name: str, child_cell: Cell | None) -> None:
        """Same as ``setattr(self, child_name, child_cell)`` for a name that is free, or has a Cell.

        Raises:
            KeyError: the name is taken, empty or contains a dot. TypeError: not a Cell or None.
        """
        self._insert(child_name, child_cell, Cell, "insert_child_to_cell", True)

    def insert_param_to_cell(
        self, param_name: str, param: Parameter | None, check_name_contain_dot: bool = True
    ) -> None:
        """Same as ``setattr(self, param_name, param)`` for a name that is free, or has a Parameter.

        Raises:
            KeyError: the name is taken, empty or contains a dot. TypeError: not a Parameter or None.
        """
        self._insert(param_name, param, Parameter, "insert_param_to_cell", check_name_contain_dot)

    def _insert(self, name: str, value: Any, kind: type, asked: str, no_dots: bool) -> None:
        self._need_init(name)
        if not isinstance(name, str):
            raise TypeError(f"an attribute name must be a str, got {name!r}.")
        if not name or (no_dots and "." in name):
            raise KeyError(f"{asked} takes a name without dots, got {name!r}.")
        if not isinstance(self.__dict__.get(name), (kind, type(None))):
            raise KeyError(f"{type(self).__name__} has an attribute {name!r} already.")
        if value is not None and not isinstance(value, kind):
            raise TypeError(f"{asked} takes a {kind.__name__}, not {type(value).__name__}.")
        setattr(self, name, value)

    # ---- running ----

    def construct(self, *args: Any, **kwargs: Any) -> Any:
        """What this Cell computes; subclasses write it.

        Raises:
            NotImplementedError: the subclass did not.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no construct(); write `def construct(self, x): ...` (PyTorch calls it forward)."
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Tensor:
        """Run the network on tensors; gives what ``construct`` returns (type checkers are told: a Tensor)."""
        if not self._ready:
            self._need_init("")
        engine = slot.engine
        if not isinstance(engine, EagerEngine):
            stage = engine.read(self, "pipeline_stage")
            with engine.scoped(self.scope_name if stage is None else f"{stage_scope(stage)}/{self.scope_name}"):
                return self._run(engine, args, kwargs)  # type: ignore[no-any-return]
        if self._frozen is not None and (found := self._frozen.run(self, args, kwargs)) is not None:
            return found[0]  # type: ignore[no-any-return]
        if in_graph_mode():
            return call_cell(self, args, kwargs)  # type: ignore[no-any-return]
        if self._is_step:
            return step_undo.step(self._at_once, engine, args, kwargs)  # type: ignore[no-any-return]
        return self._run(engine, args, kwargs)  # type: ignore[no-any-return]

    def _at_once(self, engine: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A step in eager mode; the optimizers of this package run as one program there."""
        if self._runs_whole and runs_whole():
            return call_cell(self, args, kwargs)
        return self._run(engine, args, kwargs)

    def _run(self, engine: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if engine.read(self, "_way") == "":
            return self._computed(engine, args, kwargs)
        args, kwargs = engine.given((args, kwargs))
        for hook in self._forward_pre_hooks:
            args, kwargs = after_pre_hook(engine, hook, self, args, kwargs)
        out = self._precisely(engine, args, kwargs)
        for hook in self._forward_hooks:
            out = after_hook(engine, hook, self, args, kwargs, out)
        return with_backward_pre_hooks(self, self._backward_pre_hooks, out) if self._backward_pre_hooks else out

    def _precisely(self, engine: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """``construct`` in the dtypes that are asked for, and so that it can be computed again."""
        if self._compute_dtype is not None:
            args, kwargs = cast_floats(args, self._compute_dtype), cast_floats(kwargs, self._compute_dtype)
        with casting(engine, self._autocast) if self.has_precision else nullcontext():
            if self._recompute:
                out = recomputed(partial(self._computed_here, kwargs), args, self.scope_name)
            else:
                out = self._computed_here(kwargs, *args)
        return out if self._output_dtype is None else cast_floats(out, self._output_dtype)

    def _computed_here(self, kwargs: dict[str, Any], *args: Any) -> Any:
        if self._sharding is None:
            return self._computed(slot.engine, args, kwargs)
        return slot.engine.sharded(self._sharding, partial(self._computed, slot.engine), (args, kwargs), {})

    def _computed(self, engine: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        run = self._with_own_gradient(engine) if hasattr(type(self), "bprop") else engine.convert(self.construct)
        if self._backward_hooks:
            return with_backward_hooks(self, self._backward_hooks, run, args, kwargs)
        try:
            out = run(*args, **kwargs)
            if out is None:
                note_empty_result(self)
            return out
        except MsnbError:
            raise
        except RecursionError:
            raise self._too_deep() from None
        except TypeError:
            wrong = self._wrong_arity(args, kwargs)
            if wrong is None:
                raise
            raise wrong from None

    def _too_deep(self) -> StackError:
        """The error for a stack that is full: raised again further out until there is room for it."""
        return StackError(
            f"{type(self).__name__} is called in calls nested deeper than Python's stack goes "
            f"({sys.getrecursionlimit()} frames).",
            hint="hold the Cells in a list and call them in a loop (nn.SequentialCell), look for one that calls itself "
            "without end, or raise sys.setrecursionlimit.",
        )

    def _with_own_gradient(self, engine: Any) -> Callable[..., Any]:
        """``construct`` with the gradients that the Cell's ``bprop`` gives, of ``internal_params`` too."""
        return custom_vjp(engine.convert(self.construct), self.bprop, self.__dict__.get("internal_params", ()))

    def _wrong_arity(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ArgumentError | None:
        """The error for arguments that do not fit ``construct``; None when they do (the mistake is elsewhere)."""
        signature = inspect.signature(self.construct)
        try:
            signature.bind(*args, **kwargs)
        except TypeError as error:
            words = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
            call = signature.replace(parameters=words, return_annotation=signature.empty)
            return ArgumentError(
                f"{type(self).__name__} is called as {type(self).__name__}{call}: {error}.",
                operands=[*(f"argument {i}: {_shown(a)}" for i, a in enumerate(args)),
                          *(f"{k}: {_shown(a)}" for k, a in kwargs.items())],
                hint="construct says which arguments a Cell takes.",
            )  # fmt: skip
        return None

    # ---- flags ----

    @property
    def scope_name(self) -> str:
        """The step of the path that this Cell's nodes carry: its attribute name (behind that of the list or dict that
        holds it), at the root its class."""
        return self._scope_name or type(self).__name__

    @property
    def _only_holds(self) -> bool:
        """True for lists and dicts of Cells: they do not run, so they are no step of a path themselves."""
        return False

    @property
    def cls_name(self) -> str:
        """The name of the class."""
        return type(self).__name__

    def set_train(self: Self, mode: bool = True) -> Self:
        """Set ``training`` here and in all Cells below."""
        for _, cell in self.cells_and_names():
            cell.__dict__["training"] = bool(mode)
        return self

    def set_grad(self: Self, requires_grad: bool = True) -> Self:
        """Kept as ``requires_grad`` for MindSpore programs, whose gradients behind a call are of its forward pass."""
        self.__dict__["requires_grad"] = bool(requires_grad)
        if like_mindspore():
            others = tuple(hook for hook in self._forward_pre_hooks if hook is not note_call)
            self._set_hooks("_forward_pre_hooks", (*others, note_call) if requires_grad else others)
        return self

    def recompute(self, mode: bool = True, **kwargs: Any) -> None:
        """Compute this Cell again in the backward pass instead of keeping what it computed on the way.

        Only the arguments (and state) of the call are kept until then. Values and gradients do not change: random
        draws are the same ones, running statistics move once.

        Args:
            mode: False takes it back.
            **kwargs: MindSpore's settings for parallel training, kept in ``recompute_config``.

        Raises:
            TypeError: ``mode`` is not a bool.

        Source: `mindspore.nn.Cell` (recompute)

        Examples:
            >>> import msnb as ms
            >>> net = ms.nn.Dense(2, 1)
            >>> net.recompute()
            >>> ms.grad(lambda x: net(x).sum())(ms.ops.ones((1, 2))).shape
            (1, 2)
        """
        if not isinstance(mode, bool):
            raise TypeError(f"recompute takes mode=True or False, got {mode!r}.")
        self.__dict__["recompute_config"] = {"mode": mode, **kwargs}
        self.__dict__["_recompute"] = mode
        self._mark()

    def shard(self: Self, in_strategy: Any, out_strategy: Any = None, parameter_plan: dict[str, Any] | None = None,
              device: str = "Ascend", level: int = 0) -> Self:  # fmt: skip
        """Ask for a layout of this Cell's inputs, results and Parameters over devices; what is inside follows.

        Args:
            in_strategy: per input a tuple of split counts, one per axis; or a Layout; or None for any.
            out_strategy: the same for the results.
            parameter_plan: name of a Parameter, as seen from this Cell ("fc.weight") or its own -> its split.
            device, level: others than the default have no effect, which is said once.

        Returns:
            The Cell itself. It has an effect in programs that are planned (semi_auto_parallel, auto_parallel).

        Raises:
            TypeError: something else. KeyError: no Parameter has such a name.

        Source: `mindspore.nn.Cell` (shard)

        Examples:
            >>> import msnb as ms
            >>> net = ms.nn.Dense(16, 8).shard(((4, 1),), parameter_plan={"weight": (2, 1)})
            >>> ms.parallel.plan(net, ms.ops.ones((8, 16)), device_num=8).strategies["Dense/matmul"]
            ((4, 1), (1, 2))
        """
        unplaced(device, level)
        weights = {self._parameter_named(name).name: split for name, split in (parameter_plan or {}).items()}
        self.__dict__["_sharding"] = sharding(type(self).__name__, in_strategy, out_strategy, weights, must=False)
        self._mark()
        return self

    def _parameter_named(self, name: str) -> Parameter:
        own: Any = self
        path = name.removeprefix("self.")
        for step in path.split("."):
            own = own[int(step)] if step.isdigit() else getattr(own, step, None)
        named = {path: own} if isinstance(own, Parameter) else {p.name: p for p in self.get_parameters()}
        if path not in named:
            raise KeyError(f"{type(self).__name__}.shard: no Parameter is called {name!r}; legal: {', '.join(named)}.")
        return named[path]

    def apply(self: Self, fn: Callable[[Cell], Any]) -> Self:
        """Call ``fn`` on every Cell below and then on this one."""
        for _, cell in reversed(list(self.cells_and_names())):
            fn(cell)
        return self

    def init_parameters_data(self, auto_parallel_mode: bool = False) -> dict[Parameter, Parameter]:
        """Parameters have their data from the start: each maps to itself."""
        return {param: param for param in self.get_parameters()}

    # ---- how it looks ----

    def extend_repr(self) -> str:
        """What stands between the parentheses of a layer without Cells; subclasses write it."""
        return ""

    def __dir__(self) -> list[str]:
        """What users may call: neither how layers work inside, nor how an optimizer makes its step."""
        return [name for name in super().__dir__() if name not in self._workings]

    def __repr__(self) -> str:
        lines = [f"  ({name}): " + repr(cell).replace("\n", "\n  ") for name, cell in owned(self, Cell)]
        inside = self.extend_repr()
        if not lines:
            return f"{type(self).__name__}({inside})"
        return "\n".join([f"{type(self).__name__}({inside}", *lines, ")"])


def _shown(x: Any) -> str:
    return repr(x._type) if isinstance(x, Tensor) else type(x).__name__
