"""Poolings: the largest value of each window or the mean, and their gradients, without atomics.

    max_pool2d        a thread for each window; of NaN the first stays
    max_pool2d_grad   1. which place of each window won: the first that equals y, or is NaN
                      2. a thread for each element of x adds up dy of the windows that it has won
    max_pool2d_pick   dx at the winner of each window
    avg_pool2d        sums in float32 for floats of two bytes, divided by the count of the window
    avg_pool2d_grad   a thread for each element adds up the shares of the windows that see it

Sums are in the order of the reference bodies: that of the places of a window.
"""

from __future__ import annotations

from collections.abc import Callable

from msnb.core import DType, dtypes
from msnb.devices.gpu.codegen.gpu_target import GpuTarget
from msnb.devices.gpu.kernels.kernel_builder import KernelBuilder, ThreadCode
from msnb.devices.gpu.kernels.kernel_operands import accumulator, alignment, operands, results
from msnb.devices.gpu.kernels.windows.window_walk import ImagePlace, WindowPlace, WindowWalk
from msnb.devices.gpu.program.lowered_node import KernelPart, LoweredNode, ViewOf
from msnb.devices.llvm.emitter import literal, type_name
from msnb.ir.graph import Node, type_of
from msnb.ops.definition.record import Op
from msnb.ops.spatial.pooling_records import AVG_POOL2D, AVG_POOL2D_GRAD, MAX_POOL2D, MAX_POOL2D_GRAD, MAX_POOL2D_PICK


def recipe(node: Node, view_of: ViewOf, target: GpuTarget) -> LoweredNode | None:
    """How poolings over rows and columns run."""
    make = _MAKERS.get(node.op)
    if make is None or any(t.weak for t in operands(node)):
        return None
    first, out = type_of(node.inputs[0]), type_of(node.out)
    images = out if node.op.name == "avg_pool2d_grad" else first
    windows = {"avg_pool2d_grad": first, "max_pool2d_grad": type_of(node.inputs[-1])}.get(node.op.name, out)
    itemsize = max(t.dtype.itemsize for t in (*operands(node), *results(node)))
    walk = WindowWalk(node, images, windows, itemsize, min(alignment(v, view_of) for v in node.inputs))
    workspace = node.op.name == "max_pool2d_grad"
    builder = KernelBuilder(node.op.name, operands(node), results(node), workspace=workspace, target=target)
    make(builder, node, walk)
    return LoweredNode(list(node.inputs), [KernelPart(builder.made(), list(range(len(node.inputs))), [0])])


def _value(
    e: ThreadCode, walk: WindowWalk, dtype: DType, base: str, seen: WindowPlace, other: float, images: bool
) -> str:
    """What lies at a place of a window in the dtype of sums; ``other`` where there is nothing."""
    wide = accumulator(dtype)
    found = walk.read(e, dtype, base, seen.spot, images)
    with e.wide(walk.lanes):
        value = e.cast(found, dtype, wide)
        if not seen.inside:
            return value
        kind = e.t(type_name(wide))
        return e.ins(
            f"select i1 {seen.inside}, {kind} {value}, {kind} {e.const(literal(other, wide), type_name(wide))}"
        )


def _kind(e: ThreadCode, walk: WindowWalk, scalar: str) -> str:
    with e.wide(walk.lanes):
        return e.t(scalar)


def _constant(e: ThreadCode, walk: WindowWalk, text: str, scalar: str) -> str:
    with e.wide(walk.lanes):
        return e.const(text, scalar)


def _store(
    e: ThreadCode, walk: WindowWalk, value: str, dtypes_: tuple[DType, DType], at: ImagePlace, images: bool
) -> None:
    place = walk.index(e, at, images)
    with e.wide(walk.lanes):
        e.put(dtypes_[1], e.cast(value, *dtypes_), e.result(), place)


# ---- the largest ----


def _max(builder: KernelBuilder, node: Node, walk: WindowWalk) -> None:
    dtype = type_of(node.out).dtype
    wide = accumulator(dtype)
    scalar = type_name(wide)

    def work(e: ThreadCode, unit: str) -> None:
        at = walk.spot(e, unit, seen=False)
        kind = _kind(e, walk, scalar)

        def one(seen: WindowPlace, now: list[str]) -> list[str]:
            # outside of the image the nearest place inside is read, which the window sees as well
            value = _value(e, walk, dtype, e.source(0), seen._replace(inside=""), 0.0, True)
            with e.wide(walk.lanes):
                above = e.ins(f"fcmp ult {kind} {now[0]}, {value}")
                number = e.ins(f"fcmp ord {kind} {now[0]}, {now[0]}")
                test = e.ins(f"and {e.t('i1')} {above}, {number}")
                return [e.ins(f"select {e.t('i1')} {test}, {kind} {value}, {kind} {now[0]}")]

        lowest = _constant(e, walk, literal(float("-inf"), wide), scalar)
        found = walk.forwards(e, at, [(kind, lowest)], one)[0]
        _store(e, walk, found, (wide, dtype), at, False)

    builder.units(walk.units(False), walk.kind, work)


def _winner(e: ThreadCode, walk: WindowWalk, node: Node, at: ImagePlace) -> str:
    """The place of the window at a spot that won; the number of places where none did."""
    dtype = type_of(node.inputs[0]).dtype
    kind = _kind(e, walk, type_name(accumulator(dtype)))
    largest = _value(e, walk, dtype, e.source(1), WindowPlace(0, at, ""), 0.0, False)
    none = str(walk.places)

    def one(seen: WindowPlace, now: list[str]) -> list[str]:
        value = _value(e, walk, dtype, e.source(0), seen, float("-inf"), True)
        place = _word(e, seen.place)
        with e.wide(walk.lanes):
            i1, i32 = e.t("i1"), e.t("i32")
            free = e.ins(f"icmp eq {i32} {now[0]}, {e.const(none, 'i32')}")
            equal = e.ins(f"fcmp oeq {kind} {value}, {largest}")
            hit = e.ins(f"or {i1} {equal}, {e.ins(f'fcmp uno {kind} {value}, {value}')}")
            won = e.ins(f"and {i1} {free}, {hit}")
            return [e.ins(f"select {i1} {won}, {i32} {e.splat('i32', place)}, {i32} {now[0]}")]

    first = _kind(e, walk, "i32"), _constant(e, walk, none, "i32")
    return walk.forwards(e, at, [first], one)[0]


def _word(e: ThreadCode, counter: str | int) -> str:
    text = str(counter)
    return text if e.kind == "i32" or text.isdigit() else e.ins(f"trunc i64 {text} to i32")


def _max_grad(builder: KernelBuilder, node: Node, walk: WindowWalk) -> None:
    held = dtypes.uint8 if walk.places < 256 else dtypes.uint16 if walk.places < 65536 else dtypes.uint32
    room = builder.room(walk.windows.size * held.itemsize)

    def winners(e: ThreadCode, unit: str) -> None:
        at = walk.spot(e, unit, seen=False)
        found = _winner(e, walk, node, at)
        place = walk.index(e, at, False)
        with e.wide(walk.lanes):
            e.put(held, e.cast(found, dtypes.uint32, held), e.room(room), place)

    builder.units(walk.units(False), walk.kind, winners)
    dtype = type_of(node.out).dtype

    def share(e: ThreadCode, seen: WindowPlace) -> str:
        value = _value(e, walk, dtype, e.source(2), seen._replace(inside=""), 0.0, False)
        place = _word(e, seen.place)
        mine = e.ins(f"select i1 {seen.inside}, i32 {place}, i32 -1")
        won = walk.read(e, held, e.room(room), seen.spot, False)
        with e.wide(walk.lanes):
            wide = e.cast(won, held, dtypes.uint32)
            hit = e.ins(f"icmp eq {e.t('i32')} {wide}, {e.splat('i32', mine)}")
            scalar = type_name(accumulator(dtype))
            zero = e.const(literal(0, accumulator(dtype)), scalar)
            return e.ins(f"select {e.t('i1')} {hit}, {e.t(scalar)} {value}, {e.t(scalar)} {zero}")

    _gathered(builder, walk, dtype, share)


def _gathered(
    builder: KernelBuilder, walk: WindowWalk, dtype: DType, share: Callable[[ThreadCode, WindowPlace], str]
) -> None:
    """A function that adds up, for each element of the images, the shares of the windows that see it."""
    wide = accumulator(dtype)

    def work(e: ThreadCode, unit: str) -> None:
        at = walk.spot(e, unit, seen=True)
        kind = _kind(e, walk, type_name(wide))
        first = kind, _constant(e, walk, literal(0, wide), type_name(wide))
        add = lambda seen, now: [e.ins(f"fadd {kind} {now[0]}, {share(e, seen)}")]
        _store(e, walk, walk.backwards(e, at, [first], add)[0], (wide, dtype), at, True)

    builder.units(walk.units(True), walk.kind, work)


def _max_pick(builder: KernelBuilder, node: Node, walk: WindowWalk) -> None:
    dtype = type_of(node.out).dtype

    def work(e: ThreadCode, unit: str) -> None:
        at = walk.spot(e, unit, seen=False)
        won = _winner(e, walk, node, at)
        with e.wide(walk.lanes):
            places = [e.part("i32", won, k) for k in range(walk.lanes)]
        parts = [_picked(e, walk, at, k, dtype, place) for k, place in enumerate(places)]
        with e.wide(walk.lanes):
            value = e.joined(type_name(dtype), parts)
        _store(e, walk, value, (dtype, dtype), at, False)

    builder.units(walk.units(False), walk.kind, work)


def _picked(e: ThreadCode, walk: WindowWalk, at: ImagePlace, lane: int, dtype: DType, place: str) -> str:
    """dx at a place of the window, for one channel."""
    number = e.counter(place)
    i, j = e.count("udiv", number, walk.kernel[1]), e.count("urem", number, walk.kernel[1])
    tests, where = [e.compare("slt", number, walk.places)], []
    for d, k in enumerate((i, j)):
        corner = e.count("sub", e.count("mul", at[2 + d], walk.stride[d]), walk.before[d])
        where.append(e.count("add", corner, k))
        tests.append(e.compare("ult", where[-1], walk.size[d]))
    spot = ImagePlace(at.image, e.count("add", at.channel, lane), *where)
    return e.guarded(
        e.both(*tests),
        type_name(dtype),
        lambda: e.get(dtype, e.source(2), walk.index(e, spot, True)),
        literal(0, dtype),
    )


# ---- the mean ----


def _avg(builder: KernelBuilder, node: Node, walk: WindowWalk) -> None:
    dtype = type_of(node.out).dtype
    wide = accumulator(dtype)

    def work(e: ThreadCode, unit: str) -> None:
        at = walk.spot(e, unit, seen=False)
        kind = _kind(e, walk, type_name(wide))

        def one(seen: WindowPlace, now: list[str]) -> list[str]:
            value = _value(e, walk, dtype, e.source(0), seen, 0.0, True)
            return [e.ins(f"fadd {kind} {now[0]}, {value}")]

        first = kind, _constant(e, walk, literal(0, wide), type_name(wide))
        total = walk.forwards(e, at, [first], one)[0]
        _store(e, walk, _divided(e, walk, node, wide, at, total), (wide, dtype), at, False)

    builder.units(walk.units(False), walk.kind, work)


def _divided(e: ThreadCode, walk: WindowWalk, node: Node, wide: DType, at: ImagePlace, value: str) -> str:
    """A value by the count of the window at a spot."""
    rows, columns = (_count(e, walk, d, at[2 + d], node.attrs["count_include_pad"]) for d in (0, 1))
    count, scalar = e.count("mul", rows, columns), type_name(wide)
    number = literal(int(count), wide) if count.isdigit() else e.ins(f"sitofp {e.kind} {count} to {scalar}")
    with e.wide(walk.lanes):
        return e.ins(f"fdiv {e.t(scalar)} {value}, {e.splat(scalar, number)}")


def _count(e: ThreadCode, walk: WindowWalk, d: int, out: str, include: bool) -> str:
    """How many positions of an axis a window averages over."""
    size, kernel, before = walk.size[d], walk.kernel[d], walk.before[d]
    low, high = (-before, size + walk.after[d]) if include else (0, size)
    last = (walk.outs[d] - 1) * walk.stride[d] - before
    if -before >= low and last + kernel <= high:
        return str(kernel)
    start = e.count("sub", e.count("mul", out, walk.stride[d]), before)
    end = e.count("add", start, kernel)
    end = e.choose(e.compare("slt", end, high), end, high)
    start = e.choose(e.compare("sgt", start, low), start, low)
    return e.count("sub", end, start)


def _avg_grad(builder: KernelBuilder, node: Node, walk: WindowWalk) -> None:
    dtype = type_of(node.out).dtype
    wide = accumulator(dtype)

    def share(e: ThreadCode, seen: WindowPlace) -> str:
        value = _value(e, walk, dtype, e.source(0), seen._replace(inside=""), 0.0, False)
        part = _divided(e, walk, node, wide, seen.spot, value)
        kind = _kind(e, walk, type_name(wide))
        zero = _constant(e, walk, literal(0, wide), type_name(wide))
        return e.ins(f"select i1 {seen.inside}, {kind} {part}, {kind} {zero}")

    _gathered(builder, walk, dtype, share)


_MAKERS: dict[Op, Callable[[KernelBuilder, Node, WindowWalk], None]] = {
    MAX_POOL2D: _max,
    MAX_POOL2D_GRAD: _max_grad,
    MAX_POOL2D_PICK: _max_pick,
    AVG_POOL2D: _avg,
    AVG_POOL2D_GRAD: _avg_grad,
}
