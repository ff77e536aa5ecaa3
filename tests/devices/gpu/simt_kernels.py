"""Kernels written by hand for the tests of the simulator: right ones, and ones with a planted fault."""

from __future__ import annotations

DECLARED = """
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.laneid()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare void @llvm.nvvm.bar.warp.sync(i32)
declare float @llvm.nvvm.shfl.sync.bfly.f32(i32, float, i32, i32)
declare i32 @llvm.nvvm.shfl.sync.up.i32(i32, i32, i32, i32)
declare i32 @llvm.nvvm.shfl.sync.down.i32(i32, i32, i32, i32)
declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32)
declare float @llvm.nvvm.rcp.rn.f(float)
declare float @llvm.nvvm.ex2.approx.ftz.f(float)
declare float @llvm.fma.f32(float, float, float)
"""
BARRIER = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)"


def kernel(name: str, pointers: int, body: str, shared: str = "", more: str = ", i64 %n") -> str:
    """A kernel of some pointers (%b0, %b1 ... when cast) and ``more``; %t, %b, %d and %i are what is usual."""
    listed = ", ".join(f"ptr addrspace(1) %a{i}" for i in range(pointers))
    casts = "\n".join(f"  %b{i} = addrspacecast ptr addrspace(1) %a{i} to ptr" for i in range(pointers))
    held = f"@{name}.shared = internal addrspace(3) global {shared} undef, align 16\n" if shared else ""
    base = f"  %s = addrspacecast ptr addrspace(3) @{name}.shared to ptr\n" if shared else ""
    return f"""{held}
define ptx_kernel void @{name}({listed}{more}) {{
entry:
{casts}
{base}  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %d = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %m = mul i32 %b, %d
  %j = add i32 %m, %t
  %i = zext i32 %j to i64
{body}
  ret void
}}
"""


ADD = """
  %in = icmp ult i64 %i, {limit}
  br i1 %in, label %go, label %end
go:
  %p0 = getelementptr float, ptr %b0, i64 %i
  %p1 = getelementptr float, ptr %b1, i64 %i
  %p2 = getelementptr float, ptr %b2, i64 %i
  %x = load float, ptr %p0, align 4
  %y = load float, ptr %p1, align 4
  %z = fadd float %x, %y
  store float %z, ptr %p2, align 4
  br label %end
end:"""

# the sum of a block by halves in shared memory; {first} and {step} are barriers, or nothing
BLOCK_SUM = """
  %p0 = getelementptr float, ptr %b0, i64 %i
  %x = load float, ptr %p0, align 4
  %mine = getelementptr float, ptr %s, i32 %t
  store float %x, ptr %mine, align 4
  {first}
  %half0 = lshr i32 %d, 1
  br label %turn
turn:
  %half = phi i32 [ %half0, %entry ], [ %half.next, %met ]
  %in = icmp ult i32 %t, %half
  br i1 %in, label %add, label %met0
add:
  %k = add i32 %t, %half
  %other = getelementptr float, ptr %s, i32 %k
  %u = load float, ptr %mine, align 4
  %v = load float, ptr %other, align 4
  %w = fadd float %u, %v
  store float %w, ptr %mine, align 4
  br label %met0
met0:
  {step}
  br label %met
met:
  %half.next = lshr i32 %half, 1
  %more = icmp ne i32 %half.next, 0
  br i1 %more, label %turn, label %last
last:
  %zero = icmp eq i32 %t, 0
  br i1 %zero, label %put, label %end
put:
  %sum = load float, ptr %s, align 4
  %q = getelementptr float, ptr %b1, i32 %b
  store float %sum, ptr %q, align 4
  br label %end
end:"""

WARP_SUM = """
  %p0 = getelementptr float, ptr %b0, i64 %i
  %x = load float, ptr %p0, align 4
  br label %turn
turn:
  %lane = phi i32 [ 16, %entry ], [ %lane.next, %turn ]
  %acc = phi float [ %x, %entry ], [ %acc.next, %turn ]
  %other = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %acc, i32 %lane, i32 31)
  %acc.next = fadd float %acc, %other
  %lane.next = lshr i32 %lane, 1
  %more = icmp ne i32 %lane.next, 0
  br i1 %more, label %turn, label %done
done:
  %q = getelementptr float, ptr %b1, i64 %i
  store float %acc.next, ptr %q, align 4"""

# 16 x 16 tiles of an n x n matrix, in rows of 17 so that columns lie in different banks
TRANSPOSE = """
  %ty = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %by = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
  %n32 = trunc i64 %n to i32
  %x0 = mul i32 %b, 16
  %y0 = mul i32 %by, 16
  %x = add i32 %x0, %t
  %y = add i32 %y0, %ty
  %row = mul i32 %y, %n32
  %from = add i32 %row, %x
  %p = getelementptr float, ptr %b0, i32 %from
  %v = load float, ptr %p, align 4
  %in = getelementptr [17 x float], ptr %s, i32 %ty, i32 %t
  store float %v, ptr %in, align 4
  {barrier}
  %out = getelementptr [17 x float], ptr addrspace(3) @transpose.shared, i32 %t, i32 %ty
  %w = load float, ptr addrspace(3) %out, align 4
  %x1 = add i32 %y0, %t
  %y1 = add i32 %x0, %ty
  %row1 = mul i32 %y1, %n32
  %to = add i32 %row1, %x1
  %q = getelementptr float, ptr %b1, i32 %to
  store float %w, ptr %q, align 4"""

RIGHT = "".join(
    [
        DECLARED,
        kernel("add", 3, ADD.format(limit="%n")),
        kernel("block_sum", 2, BLOCK_SUM.format(first=BARRIER, step=BARRIER), "[256 x float]"),
        kernel("warp_sum", 2, WARP_SUM),
        kernel("transpose", 2, TRANSPOSE.format(barrier=BARRIER), "[16 x [17 x float]]"),
        kernel(
            "count",
            1,
            "  %old = atomicrmw add ptr %b0, i32 1 monotonic, align 4\n"
            "  %p = getelementptr float, ptr %b0, i32 1\n"
            '  %o = atomicrmw fadd ptr %p, float 0.5 syncscope("device") monotonic, align 4',
            more="",
        ),
        kernel(
            "quads",
            2,
            "  %p = getelementptr <4 x float>, ptr %b0, i64 %i\n"
            "  %q = getelementptr <4 x float>, ptr %b1, i64 %i\n"
            "  %v = load <4 x float>, ptr %p, align 16\n"
            "  store <4 x float> %v, ptr %q, align 16",
            more="",
        ),
    ]
)

FAULTS = {
    "past_the_end": DECLARED + kernel("add", 3, ADD.format(limit="1000000")),
    "no_first_barrier": DECLARED
    + kernel("block_sum", 2, BLOCK_SUM.format(first="", step=BARRIER), "[256 x float]"),
    "no_step_barrier": DECLARED + kernel("block_sum", 2, BLOCK_SUM.format(first=BARRIER, step=""), "[256 x float]"),
    "no_tile_barrier": DECLARED + kernel("transpose", 2, TRANSPOSE.format(barrier=""), "[16 x [17 x float]]"),
}  # fmt: skip
