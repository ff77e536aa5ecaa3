"""jit: a function compiled on its first call, called compiled from then on, and compiled again only with a reason.

    call -> version 1: guards hold?  --yes--> gather inputs -> run -> write state -> replay outside writes -> result
                 | no (the number of the guard that failed)
            version 2 ...
                 | no
            capture, compile, explain: "recompiled: k 2 -> 7, cell [3] line 4"

Asserts of the program raise before anything is written, so a failed call changes nothing.

Threads: calls of one function queue (they read and write the same Parameters), calls of different functions do not. One
capture at a time: while it runs, the user's objects are on loan, so every other call waits until they are back.
"""

from __future__ import annotations

import contextlib
import functools
import types
import weakref
from collections.abc import Callable, Sequence
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from msnb.api.compile_report import timing_table
from msnb.api.graph_breaks import GraphBreak, GraphBreaks, run_plainly
from msnb.api.input_signature import InputSignature, declared_axes
from msnb.api.recompile_limit import OFTEN, STREAK, Deferral, RecompileLimit, run_uncompiled
from msnb.api.size_templates import BoundSizes, SizeTemplates
from msnb.base import CaptureError, compile_timing, events, reraise_interrupt
from msnb.base.threads import fork_locks
from msnb.core import AbsentGroup, Tensor, current, make, slot, step_undo
from msnb.core.shard_annotation import IGNORED
from msnb.core.storage.packed_storage import kept_of
from msnb.eager.autocast import worn_by
from msnb.eager.dispatch import EagerEngine, eager
from msnb.eager.recorded_calls import call_recorded, tracked_inputs
from msnb.eager.recording import is_eager
from msnb.graph.capture import CAPTURING, CapturedProgram, captures, trace
from msnb.graph.capture.frontend.code_places import Place, is_importable, places_of, put_back
from msnb.graph.compile import CompiledProgram, SymbolicSource, compile_graph
from msnb.parallel.context import get_auto_parallel_context, wanted

if TYPE_CHECKING:
    from msnb.base.compile_timing import Times

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R", covariant=True)
MOST_BYTES = 1 << 28  # of the versions of one function, about
FEW = 4  # versions that are tried one after the other
_OTHER_DEVICES = -2
_UNCOMPILED = (
    "a function compiled with jit is called by a network in mixed precision that runs eagerly: it follows the rule of "
    "that network and runs operation by operation."
)

_BY_HAND = (
    "hybrid_parallel: such programs place their own collectives, so nothing is planned; ms.parallel.plan(...).run() "
    "runs all ranks in this process, Engine.map gives each one of its own. Here the program runs as one rank alone."
)
_UNPLANNED = (
    "a function compiled with jit is called inside an eager gradient: there it runs on one device. Compile the whole "
    "step (the function that calls value_and_grad) to run it as a plan."
)


class Version:
    """One compiled program of a function: what it assumes, why it was made, how long that took.

    Attributes:
        number: 1 for the first.
        bytes: about how much memory it takes, without arenas and results.
        captured: the graph as captured, with its guards.
        run: buffers in, buffers out: the compiled program, or its plan over several devices.
        plan: that plan, None on one device; key: the parallel context that it was made for.
        reason: why the versions before it did not fit.
        seconds: of capture and of compilation.
        bound: the template that it was made of and its sizes, None where it was captured for what came.
    """

    def __init__(
        self, number: int, captured: CapturedProgram, run: Any, reason: str, seconds: tuple[float, float],
        times: tuple[compile_timing.Times, compile_timing.Times] | None = None,
    ) -> None:  # fmt: skip
        self.number: int = number
        self.reason: str = reason
        self.seconds: tuple[float, float] = seconds
        self.captured: CapturedProgram = captured
        self.run: Any = run
        self.key: str | None = wanted.key
        self.plan: Any = getattr(run, "plan", None)
        self.times: tuple[Times, Times] = (compile_timing.Times(), compile_timing.Times()) if times is None else times
        self.check: Callable[..., Any] = captured.check
        self.calls = 0
        self.bound: BoundSizes | None = None
        self.bytes: int = _bytes(captured, run)

    @cached_property
    def compiled(self) -> CompiledProgram:
        """The program of one device; of a plan it is made when somebody wants to look at it."""
        if isinstance(self.run, CompiledProgram):
            return self.run
        return compile_graph(self.captured.noted, name=self.captured.noted.name)

    def __str__(self) -> str:
        capture, compile_ = (1000 * s for s in self.seconds)
        lines = [f"version {self.number}: {self.reason}"]
        lines.append(f"  captured in {capture:.1f} ms, compiled in {compile_:.1f} ms, called {self.calls} times")
        if self.plan is not None:
            lines.append(f"  runs as {self.plan!r}")
        lines += [
            f"  guard: {guard}{'' if guard.where is None else f'   # {guard.where}'}" for guard in self.captured.guards
        ]
        lines += [f"  at capture only: {what}{at}" for what, at in self.captured.notes.items()]
        return "\n".join(lines)


def _bytes(captured: CapturedProgram, run: Any) -> int:
    """A node with its values, types and guards takes about 4 KB; tables and constants take what they say."""
    nodes = [node for _, node in captured.outline.walk()]
    image = getattr(getattr(run, "executable", None), "image", None)
    tables = 0 if image is None else 2 * image.table.nbytes
    datas = [getattr(node.attrs.get("value"), "data", None) for node in nodes]
    return (1 << 14) + 4096 * len(nodes) + tables + sum(getattr(data, "nbytes", 0) for data in datas)


_WORKINGS = frozenset({"breaks", "graph_for", "limit", "signature"})  # not in ``dir`` and completion


class CompiledFunction(Generic[P, R]):
    """A function that runs as compiled graphs.

    Args:
        fn: a function, method, Cell or other callable.
        whole: refuse a call that needs values of tensors while it is captured.

    Attributes:
        versions: the compiled programs, the one used last first.
    """

    def __init__(
        self, fn: Callable[P, R], name: str = "", signature: InputSignature | None = None, whole: bool = False
    ) -> None:
        self.signature = signature
        functools.update_wrapper(self, fn, updated=())
        self.__msnb_fn__ = fn
        self.name: str = name or getattr(fn, "__name__", type(fn).__name__)
        self.breaks: GraphBreaks = GraphBreaks(self.name, whole)
        self.versions: list[Version] = []
        self.limit: RecompileLimit = RecompileLimit()
        self._made = self._bound = 0
        self._by_types: weakref.WeakValueDictionary[tuple[Any, ...], Version] = weakref.WeakValueDictionary()
        self._templates = SizeTemplates()
        self._queue = fork_locks.lock()

    @overload
    def __get__(self, owner: None, kind: type | None = None) -> CompiledFunction[P, R]: ...
    @overload
    def __get__(
        self: CompiledFunction[Concatenate[Any, Q], R], owner: object, kind: type | None = None
    ) -> Callable[Q, R]: ...
    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        return self if owner is None else types.MethodType(self, owner)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        engine = slot.engine
        if engine is not eager:
            if not is_eager(engine):
                return engine.convert(self.__msnb_fn__)(*args, **kwargs)  # type: ignore[no-any-return]
            if worn_by(engine) is not None:
                events.notice(_UNCOMPILED, key="jit under a rule of precision")
                return self.__msnb_fn__(*args, **kwargs)
        try:
            with self._queue:
                version, inputs, held = self._fitting(args, kwargs)
                version.calls += 1
                if engine.__class__ is not EagerEngine:
                    self._told(engine, version, inputs, args, kwargs)
                    if not isinstance(engine, EagerEngine):
                        return self._recorded(version, inputs, args, kwargs, held)  # type: ignore[no-any-return]
                if step_undo.log.entries is not None:
                    return _in_step(self.__msnb_fn__, version, inputs, held)  # type: ignore[no-any-return]
                found = version.captured.finish(version.run(inputs), held)
                if step_undo.log.late is not None:
                    step_undo.raise_late()
                return found  # type: ignore[no-any-return]
        except GraphBreak:
            run: Callable[..., Any] = run_plainly
        except Deferral:
            run = run_uncompiled
        return run(self.__msnb_fn__, args, kwargs)  # type: ignore[no-any-return]

    def __reduce__(self) -> str | tuple[Any, ...]:
        """By name where that finds it; else what was compiled travels, and is compiled again where it arrives."""
        if is_importable(self):
            return str(getattr(self, "__qualname__", ""))
        function = self.__msnb_fn__
        return _arrived, (function, self.name, self.signature, self.breaks.whole, places_of(function))

    @property
    def plan(self) -> Any:
        """The plan that the last call ran as; None on one device (``ms.set_auto_parallel_context``)."""
        return self.versions[0].plan if self.versions else None

    # ---- versions ----

    def _fitting(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], needed: bool = False
    ) -> tuple[Version, list[Any], list[Any]]:
        """The version whose guards hold, compiled now if there is none, and what its guards gathered.

        Raises:
            Deferral: there is none, none is ``needed``, and the call's structure has not come often enough.
        """
        if captures:  # objects of the user are on loan to another thread's capture
            with CAPTURING:
                pass
        if len(self.versions) > FEW:
            self._turn_to(_types(args))
        failed: list[tuple[int, Version]] = []
        for first in self.versions:  # the hot path
            found = _checked(first, args, kwargs) if first.key == wanted.key else _OTHER_DEVICES
            if found.__class__ is tuple:
                return first, *found
            failed.append((found, first))
            break
        for version in self._templates.candidates(args, kwargs, self.versions):
            found = _checked(version, args, kwargs) if version.key == wanted.key else _OTHER_DEVICES
            if found.__class__ is tuple:
                self.versions = [version, *(v for v in self.versions if v is not version)]
                self._by_types[_types(args)] = version
                return version, *found
            failed.append((found, version))
        version = self._by_types[_types(args)] = self.breaks.compiled(self._compile, args, kwargs, failed, needed)
        found = _checked(version, args, kwargs)
        if not isinstance(found, tuple):
            raise CaptureError(
                f"{version.captured.guards[found]} held while {self.name} was captured and does not any more: code "
                "that is not converted changed it (set_train, a hook), which a program cannot do at each call.",
                hint="call that outside of the compiled function.",
            )
        return version, *found

    def _turn_to(self, types: tuple[Any, ...]) -> None:
        """The version that ran arguments of these types the last time comes first."""
        near = self._by_types.get(types)
        if near is not None and near is not self.versions[0] and near in self.versions:
            self.versions.remove(near)
            self.versions.insert(0, near)

    def _compile(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], failed: Sequence[tuple[int, Version]], needed: bool
    ) -> Version:
        with CAPTURING:
            start = perf_counter()
            with compile_timing.collected() as capturing:
                given = self._bound_again(args, kwargs, failed)
                if given is None and not needed and not self.breaks.whole and self.limit.defers(args, kwargs):
                    raise Deferral
                reason = _reason(args, kwargs, failed)
                captured, bound = given or self._captured(args, kwargs, failed)
                again = given is not None
            middle = perf_counter()
            with compile_timing.collected() as compiling:
                symbolic = self._templates.source(bound) if again and bound is not None else None
                run = self._program(captured, args, kwargs, symbolic)
            end = perf_counter()
        self._made += 1
        self._bound += again
        seconds = (middle - start, end - middle)
        reason = reason.replace("recompiled", "bound to other sizes", 1) if again else reason
        version = Version(self._made, captured, run, reason, seconds, (capturing, compiling))
        self.versions = _bounded([version, *self.versions])
        if bound is not None:
            version.bound, self._templates.versions[bound] = bound, version
        if again:
            return version
        if self.limit.add(sum(1 for _ in captured.outline.walk())):
            events.notice(_many(self.name, self.limit.versions, reason), key=f"versions of {self.name} {id(self)}")
        events.emit("compiled", fn=self, version=version, reason=reason, seconds=end - start)
        return version

    def _bound_again(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], failed: Sequence[tuple[int, Version]]
    ) -> tuple[CapturedProgram, BoundSizes] | None:
        """A program that is bound to the sizes of a call, and its template; None where something is to be captured."""
        known = wanted.key is None and (declared_axes(self.signature, self.__msnb_fn__, args, kwargs) or failed)
        return self._templates.bind(args, kwargs) if known else None

    def _captured(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], failed: Sequence[tuple[int, Version]]
    ) -> tuple[CapturedProgram, BoundSizes | None]:
        """The captured program of a call, and what it is bound to."""
        declared = declared_axes(self.signature, self.__msnb_fn__, args, kwargs)
        if wanted.key is None and (failed or declared):
            versions = [version.captured for _, version in failed if version.key == wanted.key]
            made = self._templates.capture(self.__msnb_fn__, args, kwargs, self.name, versions, declared)
            if made is not None:
                return made
        return trace(self.__msnb_fn__, args, kwargs, self.name), None

    def _program(
        self, captured: CapturedProgram, args: tuple[Any, ...], kwargs: dict[str, Any], symbolic: SymbolicSource | None
    ) -> Any:
        """What runs the captured graph."""
        if wanted.key is None or get_auto_parallel_context("parallel_mode") == "data_parallel":
            if any(node.marks for _, node in captured.outline.walk()):
                events.notice(IGNORED, key="shard")
        if wanted.key is None:
            if isinstance(current(), AbsentGroup):
                events.notice(_BY_HAND, key="hybrid_parallel")
            program = compile_graph(captured.given, name=self.name, packs=True, symbolic=symbolic).build()
            captured.settle(program.forms)
            return program
        from msnb.parallel.engine.planned_function import PlannedFunction  # planning is loaded when it is asked for

        return PlannedFunction(captured, args, kwargs, self.name)

    # ---- inside a gradient ----

    def graph_for(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> tuple[Any, list[Any], Any]:
        """The program for these arguments as data.

        Returns:
            The graph, one tensor (or Python number) per param, and ``finish(tensors)``, which takes the graph's
            outputs, writes state and gives the function's result.
        """
        kwargs = kwargs or {}
        with self.breaks.refused(), self._queue:
            version, buffers, held = self._fitting(args, kwargs, needed=True)
        tensors = self._operands(version, buffers, args, kwargs)
        return version.captured.graph, tensors, lambda outs: version.captured.finish_tensors(outs, held)

    def _operands(
        self, version: Version, buffers: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> list[Any]:
        """The tensors behind the gathered buffers: the user's own objects, so that a gradient finds them."""
        owners = version.captured.owners(args, kwargs)
        params = version.captured.noted.params
        return [
            owner if isinstance(owner, Tensor) else _entered(b, p.type) for owner, b, p in zip(owners, buffers, params)
        ]

    def _told(
        self, engine: Any, version: Version, buffers: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        """An engine that notes what is read (``recompute``) hears of all that the program reads and writes."""
        if hasattr(engine, "hear"):
            for x in self._operands(version, buffers, args, kwargs):
                engine.hear(x)

    def _recorded(
        self, version: Version, buffers: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any], held: list[Any]
    ) -> Any:
        tensors = self._operands(version, buffers, args, kwargs)
        wrt = tracked_inputs(tensors)
        if not wrt:
            return version.captured.finish(version.run(buffers), held)
        if version.plan is not None:
            events.notice(_UNPLANNED, key="plan inside an eager gradient")
        outs = call_recorded(version.captured.graph, tensors, wrt)
        return version.captured.finish_tensors(outs, held)

    def explain(self, timing: bool = False) -> str:
        """Every version: why it was made, its guards, its times; with ``timing`` where its compile time went."""
        if not self.versions and not self.breaks.found:
            return f"{self.name} has not been compiled yet: call it first."
        ordered = sorted(self.versions, key=lambda v: v.number)
        if timing:
            return "\n\n".join(timing_table(self.name, v) for v in ordered)
        rest = [text for text in (str(self._templates), str(self.breaks), str(self.limit)) if text]
        return f"{self.name}\n" + "\n".join([*map(str, ordered), *rest])

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name not in _WORKINGS]

    def __repr__(self) -> str:
        return f"<jit {self.name}: {len(self.versions)} version{'s' * (len(self.versions) != 1)}>"


def prepare(program: CompiledFunction[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Compile a function for these arguments and do not run it: a call like it finds its program ready.

    Raises:
        MsnbError: what a call would raise before it runs.
    """
    with contextlib.suppress(GraphBreak), program._queue:  # it runs as Python: there is nothing to prepare
        program._fitting(args, kwargs, needed=True)


def _in_step(fn: Any, version: Version, inputs: list[Any], held: list[Any]) -> Any:
    """A call of ``fn`` inside an eager step (``core.step_undo``): the update that ends it writes all at once, and in
    place."""
    if not getattr(fn, "_is_step", False):
        for _, owner in version.captured.written:
            step_undo.note(held[owner])
        return version.captured.finish(version.run(inputs), held)
    program: Any = getattr(version.run, "executable", None)
    outs: list[Any] | None = None
    if hasattr(program, "lent"):
        program.lent = False
    try:
        outs = version.run(inputs)
        found = version.captured.finish(outs, held)
        step_undo.commit()
    except BaseException:
        if getattr(program, "wrote", False) if outs is None else _is_stored(version.captured, outs, held):
            step_undo.commit()
        raise
    step_undo.raise_late()
    return found


def _bounded(versions: list[Version]) -> list[Version]:
    """Those used last that fit into ``MOST_BYTES`` together, the newest in any case."""
    room = MOST_BYTES
    for k, version in enumerate(versions):
        room -= version.bytes
        if room < 0 and k:
            return versions[:k]
    return versions


def _many(name: str, versions: int, reason: str) -> str:
    """What is told of a function that is compiled again and again."""
    why = reason.removeprefix("recompiled: ")
    return (
        f"{name} has been compiled {versions} times, the last time because of {why}. From here on a call that fits no "
        f"version runs as Python, operation by operation, until its like comes {STREAK} times in a row or {OFTEN} "
        "times in all (fullgraph=True compiles each). Sizes that only tensor operations read are symbols by "
        "themselves; for the others: Pad or crop to a few sizes (drop_remainder=True for the last batch), pass what "
        f"changes as a Tensor, or make the function once, not in a loop; ms.explain({name}) lists the versions and why "
        "each was made."
    )


def _is_stored(captured: CapturedProgram, outs: list[Any], held: list[Any]) -> bool:
    """True when state has its new values: they are put in place all at once."""
    at, owner = captured.written[0] if captured.written else (0, 0)
    kept = kept_of(held[owner]) if captured.written else None
    return bool(captured.written) and (held[owner]._data if kept is None else kept.array) is outs[at]


def _arrived(
    function: Callable[..., Any], name: str, signature: Any, whole: bool, places: list[Place]
) -> CompiledFunction[..., Any]:
    """A pickled function where it arrives, its code placed where errors and capture look for its text."""
    put_back(places)
    return CompiledFunction(function, name, signature, whole)


def _entered(buffer: Any, type_: Any) -> Any:
    """A gathered buffer as an operand: a Python number stays one."""
    return buffer if type_.weak else make(buffer, type_)


def _types(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple([a._type if isinstance(a, Tensor) else None for a in args])


def _checked(version: Version, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the guards gathered, or the number of the one that failed."""
    try:
        return version.check(args, kwargs)
    except Exception as error:
        reraise_interrupt(error)
        guards = version.captured.guards
        return next((i for i, g in enumerate(guards) if not g.holds(args, kwargs)), len(guards) - 1)


def _reason(args: tuple[Any, ...], kwargs: dict[str, Any], failed: Sequence[tuple[int, Version]]) -> str:
    """Why the nearest version (the one whose guards held longest) does not fit."""
    if not failed:
        return "first call"
    number, version = max(failed, key=lambda f: f[0] / max(len(f[1].captured.guards), 1))
    if number < 0:
        return f"recompiled: the {'parallel context' if number == _OTHER_DEVICES else 'device'} changed"
    return f"recompiled: {version.captured.guards[number].change(args, kwargs)}"


@overload
def jit(function: Callable[P, R], **options: Any) -> CompiledFunction[P, R]: ...
@overload
def jit(function: None = None, **options: Any) -> Callable[[Callable[P, R]], CompiledFunction[P, R]]: ...
def jit(function: Any = None, **options: Any) -> Any:
    """Compile a function, method or Cell; use it as ``@ms.jit`` or ``ms.jit(fn)``.

    Args:
        function: what to compile (``fn=`` is the same). Of a class of Cells it is ``construct``.
        **options: ``name`` for messages. ``fullgraph=True`` refuses a function that needs values of tensors while it is
            captured (``x.asnumpy()``, NumPy, pickle); without it such a call runs as Python, and a notice tells where
            and why. MindSpore's ``capture_mode``, ``jit_level``, ``backend`` and ``jit_config`` are accepted and change
            nothing here; nor does ``dynamic``: an axis that is met with a second size becomes a symbol by itself.
            ``input_signature``: a Tensor per argument, for instance
            ``ms.Tensor(shape=[None, 8], dtype=ms.float32)``; its open axes are symbols from the first call on.

    Returns:
        A CompiledFunction, which is called like ``function``; ``ms.explain`` tells what it compiled and why.

    Raises:
        TypeError: an unknown option, or ``function`` cannot be called; at a call with ``fullgraph=True``, a value that
            is needed while the function is captured.

    Source: `mindspore.jit`

    Examples:
        >>> import msnb as ms
        >>> twice = jit(lambda x: x + x)
        >>> twice(ms.Tensor([1.0, 2.0])).tolist()
        [2.0, 4.0]
    """
    fn = options.pop("fn", function)
    unknown = set(options) - _OPTIONS
    if unknown:
        raise TypeError(f"jit has no option {sorted(unknown)[0]!r}; it takes {', '.join(sorted(_OPTIONS))}.")
    if fn is None:
        return lambda f: jit(f, **options)
    if isinstance(fn, CompiledFunction):
        return fn
    if isinstance(fn, type) and hasattr(fn, "construct"):
        fn.construct = jit(fn.construct, **options)
        return fn
    if not callable(fn):
        raise TypeError(f"jit compiles a function, method or Cell, not {type(fn).__name__}.")
    said = options.get("input_signature")
    signature = InputSignature(said if isinstance(said, (list, tuple)) else [said]) if said is not None else None
    return CompiledFunction(fn, options.get("name", ""), signature, bool(options.get("fullgraph", False)))


_OPTIONS = {
    "name", "capture_mode", "jit_level", "dynamic", "fullgraph", "backend", "jit_config", "mode", "input_signature",
    "hash_args", "compile_once",
}  # fmt: skip
