"""The simulator of kernels: right ones give right numbers and no word, each planted fault gives its sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import simt_kernels as text

pytest.importorskip("llvmlite")

from msnb.base.errors import DeviceError
from msnb.devices.gpu.simt import KernelFault, SimtModule


def launched(module: SimtModule, name: str, grid: Any, block: Any, *args: Any, fixed: int = 1, **options: Any) -> None:
    """A launch with arrays for pointers; the first ``fixed`` arrays may only be read."""
    arrays = [a for a in args if isinstance(a, np.ndarray)]
    buffers = [(a.ctypes.data, a.nbytes, i >= fixed) for i, a in enumerate(arrays)]
    raw = [a.ctypes.data if isinstance(a, np.ndarray) else a for a in args]
    full = [(*size, 1, 1)[:3] for size in (grid, block)]
    module.launch(name, *full, raw, **{"buffers": buffers, **options})


def fault(name: str, code: str, grid: Any, block: Any, *args: Any, **options: Any) -> str:
    """What a kernel is told."""
    with pytest.raises(KernelFault) as caught:
        launched(SimtModule(code), name, grid, block, *args, **options)
    return caught.value.message()


def floats(count: int) -> np.ndarray:
    return np.arange(count, dtype=np.float32)


def aligned(count: int) -> np.ndarray:
    """Floats at a multiple of 64 bytes."""
    raw = np.zeros(count + 16, np.float32)
    first = -raw.ctypes.data % 64 // 4
    return raw[first : first + count]


@pytest.fixture(scope="module")
def right() -> SimtModule:
    return SimtModule(text.RIGHT)


# ---- right kernels -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("checks", [True, False])
def test_a_vector_with_a_tail(checks: bool) -> None:
    module = SimtModule(text.RIGHT, checks=checks)
    x, y, z = floats(1000), floats(1000) * 2, np.zeros(1000, np.float32)
    launched(module, "add", (4,), (256,), x, y, z, 1000, fixed=2)
    np.testing.assert_array_equal(z, x + y)
    found = module.statistics["add"]
    assert (found.launches, found.loaded, found.stored) == (1, 8000 * checks, 4000 * checks)


@pytest.mark.parametrize("checks", [True, False])
def test_a_sum_through_shared_memory(checks: bool) -> None:
    module = SimtModule(text.RIGHT, checks=checks)
    x, out = floats(2048), np.zeros(8, np.float32)
    launched(module, "block_sum", (8,), (256,), x, out, 2048)
    np.testing.assert_array_equal(out, x.reshape(8, 256).sum(1))
    if checks:
        found = module.statistics["block_sum"]
        assert (found.loaded, found.stored, found.shared_stored) == (8192, 32, 8 * 4 * (256 + 255))


def test_a_sum_by_shuffles(right: SimtModule) -> None:
    x, out = floats(128), np.zeros(128, np.float32)
    launched(right, "warp_sum", (2,), (64,), x, out, 128)
    np.testing.assert_array_equal(out.reshape(4, 32), np.broadcast_to(x.reshape(4, 32).sum(1)[:, None], (4, 32)))


def test_a_transpose_through_a_tile(right: SimtModule) -> None:
    x, out = floats(48 * 48), np.zeros(48 * 48, np.float32)
    launched(right, "transpose", (3, 3), (16, 16), x, out, 48)
    np.testing.assert_array_equal(out.reshape(48, 48), x.reshape(48, 48).T)


def test_atomics_of_all_threads(right: SimtModule) -> None:
    out = np.zeros(2, np.float32)
    launched(right, "count", (5,), (64,), out, fixed=0)
    assert out.view(np.int32)[0] == 320 and out[1] == 160
    assert right.statistics["count"].updated == 320 * 8


def test_vectors_of_four(right: SimtModule) -> None:
    x, out = aligned(256), aligned(256)
    x[:] = floats(256)
    launched(right, "quads", (2,), (32,), x, out)
    np.testing.assert_array_equal(out, x)


def test_bounds_are_not_asked_for_without_buffers(right: SimtModule) -> None:
    x, out = floats(2048), np.zeros(8, np.float32)
    launched(right, "block_sum", (8,), (256,), x, out, 2048, buffers=None)
    np.testing.assert_array_equal(out, x.reshape(8, 256).sum(1))


@pytest.mark.parametrize(
    ("mode", "lane", "clamp", "want"),
    [
        ("up", 1, 0, [0, *range(31)]),
        ("down", 2, 31, [*range(2, 32), 30, 31]),
        ("idx", 5, 31, [5] * 32),
        ("idx", 1, 0x181F, [8 * (i // 8) + 1 for i in range(32)]),  # segments of 8 lanes
        ("up", 3, 0x1800, [i - 3 if i % 8 >= 3 else i for i in range(32)]),
    ],
)
def test_shuffles_by_the_rules_of_ptx(mode: str, lane: int, clamp: int, want: list[int]) -> None:
    body = f"""
  %v = call i32 @llvm.nvvm.shfl.sync.{mode}.i32(i32 -1, i32 %t, i32 {lane}, i32 {clamp})
  %q = getelementptr i32, ptr %b0, i64 %i
  store i32 %v, ptr %q, align 4"""
    out = np.zeros(32, np.int32)
    launched(SimtModule(text.DECLARED + text.kernel("k", 1, body, more="")), "k", (1,), (32,), out, fixed=0)
    assert out.tolist() == want


def test_arguments_constants_private_memory_and_mathematics() -> None:
    body = """
  %own = alloca [2 x float], align 4
  store float %f, ptr %own, align 4
  %own1 = getelementptr float, ptr %own, i64 1
  %c = getelementptr [2 x float], ptr addrspace(4) @table, i64 0, i64 1
  %two = load float, ptr addrspace(4) %c, align 4
  store float %two, ptr %own1, align 4
  %a = load float, ptr %own, align 4
  %e = load float, ptr %own1, align 4
  %r = call float @llvm.nvvm.rcp.rn.f(float %a)
  %x = call float @llvm.nvvm.ex2.approx.ftz.f(float %e)
  %y = call float @llvm.fma.f32(float %r, float %x, float 1.0)
  %g = fptrunc double %h to float
  %z = fadd float %y, %g
  %k32 = sext i16 %k to i32
  %kf = sitofp i32 %k32 to float
  %sum = fadd float %z, %kf
  %16 = fptrunc float %sum to bfloat
  %q = getelementptr bfloat, ptr %b0, i64 %i
  store bfloat %16, ptr %q, align 2""".replace("%16", "%low")
    code = text.DECLARED + "@table = addrspace(4) constant [2 x float] [float 1.0, float 2.0]\n"
    code += text.kernel("k", 1, body, more=", float %f, double %h, i16 %k")
    out = np.zeros(1, np.uint16)
    launched(SimtModule(code), "k", (1,), (1,), out, 0.5, 100.25, -3, fixed=0)
    assert (out.astype(np.uint32) << 16).view(np.float32)[0] == np.float32(106.0)  # 1/0.5 * 2**2 + 1 + 100.25 - 3


def test_open_shared_memory_has_the_size_of_the_launch() -> None:
    body = f"""
  %p = getelementptr i32, ptr addrspace(3) @open, i32 %t
  store i32 %t, ptr addrspace(3) %p, align 4
  {text.BARRIER}
  %r = xor i32 %t, 1
  %o = getelementptr i32, ptr addrspace(3) @open, i32 %r
  %v = load i32, ptr addrspace(3) %o, align 4
  %q = getelementptr i32, ptr %b0, i64 %i
  store i32 %v, ptr %q, align 4"""
    code = text.DECLARED + "@open = external addrspace(3) global [0 x i32], align 16\n"
    code += text.kernel("k", 1, body, more="")
    out = np.zeros(32, np.int32)
    launched(SimtModule(code), "k", (1,), (32,), out, fixed=0, shared_bytes=128)
    assert out.tolist() == [i ^ 1 for i in range(32)]
    told = fault("k", code, (1,), (32,), out, fixed=0, shared_bytes=64)
    assert "thread (16, 0, 0) stores 4 bytes" in told and "0 bytes behind the end of shared memory @open" in told


def test_helpers_that_are_inlined_may_wait() -> None:
    code = text.DECLARED + """
define internal float @pair(float %x) alwaysinline {
  %o = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %x, i32 1, i32 31)
  %r = fadd float %x, %o
  ret float %r
}
""" + text.kernel("k", 1, """
  %p = getelementptr float, ptr %b0, i64 %i
  %x = load float, ptr %p, align 4
  %r = call float @pair(float %x)
  store float %r, ptr %p, align 4""", more="")  # fmt: skip
    x = floats(32)
    launched(SimtModule(code), "k", (1,), (32,), x, fixed=0)
    assert x.tolist() == [1.0 + 4 * (i // 2) for i in range(32)]


# ---- planted faults ------------------------------------------------------------------------------------------------


def test_a_lane_out_of_range() -> None:
    x, y, z = floats(1000), floats(1000), np.zeros(1000, np.float32)
    told = fault("add", text.FAULTS["past_the_end"], (4,), (256,), x, y, z, 1000, fixed=2)
    assert told.startswith("kernel add, block (3, 0, 0), thread (232, 0, 0) loads 4 bytes at ")
    assert "0 bytes behind the end of buffer 0 (4000 bytes" in told and "load float, ptr %p0, align 4" in told


def test_a_vector_that_straddles_the_end() -> None:
    told = fault("quads", text.RIGHT, (1,), (32,), aligned(128), aligned(126))
    assert "thread (31, 0, 0) stores 16 bytes at byte 496 of buffer 1 (504 bytes" in told and "out of bounds" in told


def test_a_write_to_what_is_only_read() -> None:
    x, y, z = floats(256), floats(256), floats(256)
    told = fault("add", text.RIGHT, (1,), (256,), x, y, z, 256, fixed=3)
    assert "thread (0, 0, 0) stores 4 bytes at byte 0 of buffer 2" in told and "may only read" in told


def test_a_misaligned_vector() -> None:
    told = fault("quads", text.RIGHT, (1,), (16,), aligned(80)[1:65], aligned(64))
    assert "thread (0, 0, 0) loads 16 bytes at byte 0 of buffer 0" in told
    assert "is not aligned; expected a multiple of 16." in told


@pytest.mark.parametrize("name", ["no_first_barrier", "no_step_barrier"])
def test_a_missing_barrier(name: str) -> None:
    told = fault("block_sum", text.FAULTS[name], (2,), (64,), floats(128), np.zeros(2, np.float32), 128)
    assert "of shared memory @block_sum.shared, which thread (" in told and "a race; expected a barrier" in told


def test_a_tile_without_a_barrier() -> None:
    """Which thread runs first does not matter: what is read before it is written is found at the write, or earlier."""
    told = fault(
        "transpose", text.FAULTS["no_tile_barrier"], (1, 1), (16, 16), floats(256), np.zeros(256, np.float32), 16
    )
    assert "a race; expected a barrier" in told or "no thread of the block has written" in told


def test_a_race_of_readers_with_a_later_writer() -> None:
    """Thread 0 reads, thread 1 writes: on the host the read comes first, and it is a race all the same."""
    body = """
  %k = and i64 %i, 1
  %first = icmp eq i64 %k, 0
  br i1 %first, label %read, label %write
read:
  %x = load float, ptr %b0, align 4
  %q = getelementptr float, ptr %b0, i64 1
  store float %x, ptr %q, align 4
  br label %end
write:
  store float 1.0, ptr %b0, align 4
  br label %end
end:"""
    told = fault("k", text.DECLARED + text.kernel("k", 1, body, more=""), (1,), (2,), floats(4), fixed=0)
    assert "thread (1, 0, 0) stores 4 bytes at byte 0 of buffer 0" in told
    assert "which thread (0, 0, 0) has loaded in the same launch: a race" in told


def test_the_same_value_twice_is_a_race() -> None:
    code = text.DECLARED + text.kernel("k", 1, "  store float 1.0, ptr %b0, align 4", more="")
    told = fault("k", code, (1,), (2,), floats(1), fixed=0)
    assert "which thread (0, 0, 0) has stored in the same launch: a race" in told


def test_a_race_between_blocks() -> None:
    body = """
  %q = getelementptr float, ptr %b0, i32 %t
  store float 1.0, ptr %q, align 4"""
    told = fault("k", text.DECLARED + text.kernel("k", 1, body, more=""), (3,), (4,), floats(4), fixed=0)
    assert told.startswith("kernel k, block (1, 0, 0), thread (0, 0, 0) stores 4 bytes at byte 0 of buffer 0")
    assert "which block (0, 0, 0) has stored: a race; expected that what one block writes, no other" in told


def test_a_race_between_blocks_of_readers_and_a_writer() -> None:
    body = """
  %last = icmp eq i32 %b, 2
  br i1 %last, label %write, label %read
read:
  %x = load float, ptr %b0, align 4
  br label %end
write:
  store float 1.0, ptr %b0, align 4
  br label %end
end:"""
    told = fault("k", text.DECLARED + text.kernel("k", 1, body, more=""), (3,), (1,), floats(4), fixed=0)
    assert "block (2, 0, 0)" in told and "has loaded: a race; expected that what one block writes" in told


def test_an_atomic_and_a_plain_access() -> None:
    body = """
  %old = atomicrmw add ptr %b0, i32 1 monotonic, align 4
  %x = load i32, ptr %b0, align 4"""
    told = fault("k", text.DECLARED + text.kernel("k", 1, body, more=""), (1,), (2,), floats(4), fixed=0)
    assert "has " in told and "a race" in told


def test_a_barrier_that_some_do_not_reach() -> None:
    body = f"""
  %low = icmp ult i32 %t, 40
  br i1 %low, label %wait, label %end
wait:
  {text.BARRIER}
  br label %end
end:"""
    told = fault("k", text.DECLARED + text.kernel("k", 1, body, more=""), (2,), (64,), floats(1))
    assert told.startswith(
        "kernel k, block (0, 0, 0): barrier reached by 40 of 64 threads: thread (40, 0, 0) has ended"
    )


def test_a_shuffle_whose_lane_has_ended() -> None:
    body = """
  %low = icmp ult i32 %t, 7
  br i1 %low, label %ask, label %end
ask:
  %v = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 255, i32 %t, i32 0, i32 31)
  br label %end
end:"""
    told = fault("k", text.DECLARED + text.kernel("k", 1, body, more=""), (1,), (32,), floats(1))
    assert "mask 0x000000ff names lane 7, and thread (7, 0, 0) has ended; expected all lanes" in told


def test_a_shuffle_from_a_lane_outside_its_mask() -> None:
    body = """
  %low = icmp ult i32 %t, 8
  br i1 %low, label %ask, label %end
ask:
  %v = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 255, i32 %t, i32 9, i32 31)
  br label %end
end:"""
    told = fault("k", text.DECLARED + text.kernel("k", 1, body, more=""), (1,), (32,), floats(1))
    assert "takes its value from lane 9, which the mask does not name" in told


def test_shared_memory_that_nobody_wrote() -> None:
    body = """
  %p = getelementptr float, ptr %s, i32 %t
  %x = load float, ptr %p, align 4
  %q = getelementptr float, ptr %b0, i64 %i
  store float %x, ptr %q, align 4"""
    code = text.DECLARED + text.kernel("k", 1, body, "[32 x float]", more="")
    told = fault("k", code, (1,), (32,), floats(32), fixed=0)
    assert (
        "thread (0, 0, 0) loads 4 bytes at byte 0 of shared memory @k.shared, which no thread of the block has" in told
    )
    out = floats(32)
    launched(SimtModule(code, checks=False), "k", (1,), (32,), out, fixed=0)
    assert np.isnan(out).all()


def test_shuffles_do_not_order_memory_and_a_barrier_of_the_warp_does() -> None:
    body = """
  %p = getelementptr i32, ptr %s, i32 %t
  store i32 %t, ptr %p, align 4
  {between}
  %r = xor i32 %t, 1
  %o = getelementptr i32, ptr %s, i32 %r
  %x = load i32, ptr %o, align 4
  %q = getelementptr i32, ptr %b0, i64 %i
  store i32 %x, ptr %q, align 4"""
    shuffle = "%v = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %t, i32 0, i32 31)"
    code = text.DECLARED + text.kernel("k", 1, body.format(between=shuffle), "[64 x i32]", more="")
    assert "a race; expected a barrier" in fault("k", code, (1,), (64,), floats(64), fixed=0)
    sync = "call void @llvm.nvvm.bar.warp.sync(i32 -1)"
    module = SimtModule(text.DECLARED + text.kernel("k", 1, body.format(between=sync), "[64 x i32]", more=""))
    out = np.zeros(64, np.int32)
    launched(module, "k", (1,), (64,), out, fixed=0)
    assert out.tolist() == [i ^ 1 for i in range(64)]


# ---- what the simulator refuses ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("  %x = call float @llvm.nvvm.strange.f(float 1.0)", "does not know the intrinsic llvm.nvvm.strange.f"),
        ('  %x = call float asm "ex2.approx.f32 $0, $1;", "=f,f"(float 1.0)', "cannot run assembly"),
        ("  call void @llvm.memset.p0.i64(ptr %b0, i8 0, i64 4, i1 false)", "does not watch"),
        ("  %x = nonsense", "is not LLVM IR"),
    ],
)
def test_what_has_no_stand_in(body: str, words: str) -> None:
    more = "declare float @llvm.nvvm.strange.f(float)\ndeclare void @llvm.memset.p0.i64(ptr, i8, i64, i1)\n"
    with pytest.raises(DeviceError, match=words):
        SimtModule(text.DECLARED + more + text.kernel("k", 1, body, more=""))


@pytest.mark.parametrize(
    ("name", "grid", "block", "args", "words"),
    [
        ("none", (1,), (1,), (), "there is no kernel none"),
        ("add", (1,), (1,), (1, 2), "2 arguments; expected 4"),
        ("add", (0,), (1,), (), "a grid of"),
        ("add", (1,), (1024, 2), (), "at most 1024 threads"),
    ],
)
def test_launches_that_a_gpu_refuses(
    right: SimtModule, name: str, grid: Any, block: Any, args: Any, words: str
) -> None:
    with pytest.raises(KernelFault, match=words):
        launched(right, name, grid, block, *args)
