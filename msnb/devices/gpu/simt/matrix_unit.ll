; What warps do together on the matrix unit, and copies that take their time. matrix_unit.py tells the idea.
; Lane l of a warp: g = l div 4, t = l mod 4. Fragments as in the PTX ISA, "Matrix Fragments for mma.m16n8k16".

@unit.turn = internal global [1024 x i32] zeroinitializer
@unit.words = internal global [2048 x [6 x i32]] zeroinitializer
@unit.rows = internal global [2048 x ptr] zeroinitializer
@unit.count = internal global [1024 x i32] zeroinitializer
@unit.group = internal global [1024 x i32] zeroinitializer
@unit.copies = internal global [65536 x { ptr, i32, i32, i32, [16 x i8] }] zeroinitializer

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

; a thread begins: nothing is asked, nothing is on its way
define internal void @unit.begin() noinline {
  %t = load i32, ptr @simt.thread
  %turn = getelementptr i32, ptr @unit.turn, i32 %t
  %count = getelementptr i32, ptr @unit.count, i32 %t
  %group = getelementptr i32, ptr @unit.group, i32 %t
  store i32 0, ptr %turn
  store i32 0, ptr %count
  store i32 0, ptr %group
  ret void
}

; two places for what a thread shows the others, in turns: who is one meeting ahead does not disturb those behind
define internal i32 @unit.next() noinline {
  %t = load i32, ptr @simt.thread
  %at = getelementptr i32, ptr @unit.turn, i32 %t
  %old = load i32, ptr %at
  %new = xor i32 %old, 1024
  store i32 %new, ptr %at
  %place = add i32 %new, %t
  ret i32 %place
}

; the place of lane 0 in this turn
define internal i32 @unit.warp() noinline {
  %t = load i32, ptr @simt.thread
  %at = getelementptr i32, ptr @unit.turn, i32 %t
  %turn = load i32, ptr %at
  %warp = and i32 %t, -32
  %place = add i32 %turn, %warp
  ret i32 %place
}

; ---- mma.m16n8k16 ----

define internal void @unit.give(i32 %a0, i32 %a1, i32 %a2, i32 %a3, i32 %b0, i32 %b1) noinline {
  %place = call i32 @unit.next()
  %p0 = getelementptr [6 x i32], ptr @unit.words, i32 %place
  %p1 = getelementptr i32, ptr %p0, i32 1
  %p2 = getelementptr i32, ptr %p0, i32 2
  %p3 = getelementptr i32, ptr %p0, i32 3
  %p4 = getelementptr i32, ptr %p0, i32 4
  %p5 = getelementptr i32, ptr %p0, i32 5
  store i32 %a0, ptr %p0
  store i32 %a1, ptr %p1
  store i32 %a2, ptr %p2
  store i32 %a3, ptr %p3
  store i32 %b0, ptr %p4
  store i32 %b1, ptr %p5
  ret void
}

; element k of a row of A (first word 0 or 1) or a column of B (first word 4) in lanes 4 i to 4 i + 3
define internal float @unit.element(i32 %warp, i32 %i, i32 %first, i32 %step, i32 %k, i1 %brain) noinline {
  %four = mul i32 %i, 4
  %k.low = and i32 %k, 7
  %k.lane = lshr i32 %k.low, 1
  %lane = add i32 %four, %k.lane
  %place = add i32 %warp, %lane
  %k.high = lshr i32 %k, 3
  %more = mul i32 %k.high, %step
  %word = add i32 %first, %more
  %row = getelementptr [6 x i32], ptr @unit.words, i32 %place
  %at = getelementptr i32, ptr %row, i32 %word
  %pair = load i32, ptr %at
  %odd = and i32 %k, 1
  %shift = mul i32 %odd, 16
  %bits = lshr i32 %pair, %shift
  br i1 %brain, label %bfloat16, label %float16
bfloat16:
  %high = shl i32 %bits, 16
  %wide = bitcast i32 %high to float
  ret float %wide
float16:
  %low = trunc i32 %bits to i16
  %half = bitcast i16 %low to half
  %found = fpext half %half to float
  ret float %found
}

; c + the sum over k of A[row, k] B[k, column]; word of A: 0 for row i, 1 for row i + 8
define internal float @unit.dot(i32 %warp, i32 %i, i32 %first, i32 %column, float %c, i1 %brain) noinline {
entry:
  br label %each
each:
  %k = phi i32 [ 0, %entry ], [ %k.next, %each ]
  %sum = phi double [ 0.0, %entry ], [ %sum.next, %each ]
  %a = call float @unit.element(i32 %warp, i32 %i, i32 %first, i32 2, i32 %k, i1 %brain)
  %b = call float @unit.element(i32 %warp, i32 %column, i32 4, i32 1, i32 %k, i1 %brain)
  %a.d = fpext float %a to double
  %b.d = fpext float %b to double
  %ab = fmul double %a.d, %b.d
  %sum.next = fadd double %sum, %ab
  %k.next = add i32 %k, 1
  %more = icmp ult i32 %k.next, 16
  br i1 %more, label %each, label %done
done:
  %c.d = fpext float %c to double
  %total = fadd double %c.d, %sum.next
  %found = fptrunc double %total to float
  ret float %found
}

define internal { float, float, float, float } @unit.take(float %c0, float %c1, float %c2, float %c3, i1 %brain) noinline {
  %warp = call i32 @unit.warp()
  %thread = load i32, ptr @simt.thread
  %lane = and i32 %thread, 31
  %g = lshr i32 %lane, 2
  %t = and i32 %lane, 3
  %n0 = mul i32 %t, 2
  %n1 = add i32 %n0, 1
  %d0 = call float @unit.dot(i32 %warp, i32 %g, i32 0, i32 %n0, float %c0, i1 %brain)
  %d1 = call float @unit.dot(i32 %warp, i32 %g, i32 0, i32 %n1, float %c1, i1 %brain)
  %d2 = call float @unit.dot(i32 %warp, i32 %g, i32 1, i32 %n0, float %c2, i1 %brain)
  %d3 = call float @unit.dot(i32 %warp, i32 %g, i32 1, i32 %n1, float %c3, i1 %brain)
  %r0 = insertvalue { float, float, float, float } poison, float %d0, 0
  %r1 = insertvalue { float, float, float, float } %r0, float %d1, 1
  %r2 = insertvalue { float, float, float, float } %r1, float %d2, 2
  %r3 = insertvalue { float, float, float, float } %r2, float %d3, 3
  ret { float, float, float, float } %r3
}

; ---- ldmatrix: lane 8 m + r shows row r of matrix m, 16 bytes ----

define internal void @unit.show(ptr %row, i32 %site, i1 %checks) noinline {
entry:
  %place = call i32 @unit.next()
  %at = getelementptr ptr, ptr @unit.rows, i32 %place
  br i1 %checks, label %ask, label %keep
ask:
  %asked = call ptr @simt.access(ptr %row, i64 16, i64 16, i32 %site, i32 0)
  br label %keep
keep:
  %found = phi ptr [ %row, %entry ], [ %asked, %ask ]
  store ptr %found, ptr %at
  ret void
}

; this lane's two elements of matrix m: of row g at 2 t, or, transposed, of column g at 2 t
define internal i32 @unit.pair(i32 %m, i1 %turned) noinline {
  %warp = call i32 @unit.warp()
  %thread = load i32, ptr @simt.thread
  %lane = and i32 %thread, 31
  %g = lshr i32 %lane, 2
  %t = and i32 %lane, 3
  %two = mul i32 %t, 2
  %two.1 = add i32 %two, 1
  %first = mul i32 %m, 8
  %place = add i32 %warp, %first
  %row.0 = select i1 %turned, i32 %two, i32 %g
  %row.1 = select i1 %turned, i32 %two.1, i32 %g
  %column.0 = select i1 %turned, i32 %g, i32 %two
  %column.1 = select i1 %turned, i32 %g, i32 %two.1
  %place.0 = add i32 %place, %row.0
  %place.1 = add i32 %place, %row.1
  %at.0 = getelementptr ptr, ptr @unit.rows, i32 %place.0
  %at.1 = getelementptr ptr, ptr @unit.rows, i32 %place.1
  %p.0 = load ptr, ptr %at.0
  %p.1 = load ptr, ptr %at.1
  %e.0 = getelementptr i16, ptr %p.0, i32 %column.0
  %e.1 = getelementptr i16, ptr %p.1, i32 %column.1
  %low = load i16, ptr %e.0
  %high = load i16, ptr %e.1
  %low.w = zext i16 %low to i32
  %high.w = zext i16 %high to i32
  %up = shl i32 %high.w, 16
  %found = or i32 %up, %low.w
  ret i32 %found
}

define internal { i32, i32, i32, i32 } @unit.matrices(i1 %turned) noinline {
  %d0 = call i32 @unit.pair(i32 0, i1 %turned)
  %d1 = call i32 @unit.pair(i32 1, i1 %turned)
  %d2 = call i32 @unit.pair(i32 2, i1 %turned)
  %d3 = call i32 @unit.pair(i32 3, i1 %turned)
  %r0 = insertvalue { i32, i32, i32, i32 } poison, i32 %d0, 0
  %r1 = insertvalue { i32, i32, i32, i32 } %r0, i32 %d1, 1
  %r2 = insertvalue { i32, i32, i32, i32 } %r1, i32 %d2, 2
  %r3 = insertvalue { i32, i32, i32, i32 } %r2, i32 %d3, 3
  ret { i32, i32, i32, i32 } %r3
}

; ---- cp.async: what is read now lands when the thread waits for its group; until then NaNs lie there ----

define internal void @unit.copy(ptr %to, ptr %from, i32 %size, i32 %bytes, i32 %site, i1 %checks) noinline {
entry:
  %size.w = zext i32 %size to i64
  %bytes.w = zext i32 %bytes to i64
  %reads = icmp ne i32 %bytes, 0
  br i1 %checks, label %ask, label %queue
ask:
  %site.to = add i32 %site, 1
  %asked.to = call ptr @simt.access(ptr %to, i64 %size.w, i64 %size.w, i32 %site.to, i32 1)
  br i1 %reads, label %ask.from, label %queue
ask.from:
  %asked.from = call ptr @simt.access(ptr %from, i64 %bytes.w, i64 %size.w, i32 %site, i32 0)
  br label %queue
queue:
  %to.ok = phi ptr [ %to, %entry ], [ %asked.to, %ask ], [ %asked.to, %ask.from ]
  %from.ok = phi ptr [ %from, %entry ], [ %from, %ask ], [ %asked.from, %ask.from ]
  call void @llvm.memset.p0.i64(ptr %to.ok, i8 -1, i64 %size.w, i1 false)
  %t = load i32, ptr @simt.thread
  %count.at = getelementptr i32, ptr @unit.count, i32 %t
  %count = load i32, ptr %count.at
  %group.at = getelementptr i32, ptr @unit.group, i32 %t
  %group = load i32, ptr %group.at
  %more = add i32 %count, 1
  store i32 %more, ptr %count.at
  %slot.0 = mul i32 %t, 64
  %slot.1 = and i32 %count, 63
  %slot = add i32 %slot.0, %slot.1
  %entry.at = getelementptr { ptr, i32, i32, i32, [16 x i8] }, ptr @unit.copies, i32 %slot
  %e.size = getelementptr { ptr, i32, i32, i32, [16 x i8] }, ptr %entry.at, i32 0, i32 1
  %e.group = getelementptr { ptr, i32, i32, i32, [16 x i8] }, ptr %entry.at, i32 0, i32 2
  %e.site = getelementptr { ptr, i32, i32, i32, [16 x i8] }, ptr %entry.at, i32 0, i32 3
  %e.data = getelementptr { ptr, i32, i32, i32, [16 x i8] }, ptr %entry.at, i32 0, i32 4
  store ptr %to.ok, ptr %entry.at
  store i32 %size, ptr %e.size
  store i32 %group, ptr %e.group
  store i32 %site, ptr %e.site
  call void @llvm.memset.p0.i64(ptr %e.data, i8 0, i64 16, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr %e.data, ptr %from.ok, i64 %bytes.w, i1 false)
  ret void
}

define internal void @unit.commit() noinline {
  %t = load i32, ptr @simt.thread
  %at = getelementptr i32, ptr @unit.group, i32 %t
  %old = load i32, ptr %at
  %new = add i32 %old, 1
  store i32 %new, ptr %at
  ret void
}

; all groups but the last ``left`` have landed; a copy of the last 64 that has landed has size 0
define internal void @unit.wait(i32 %left, i1 %checks) noinline {
entry:
  %t = load i32, ptr @simt.thread
  %group.at = getelementptr i32, ptr @unit.group, i32 %t
  %group = load i32, ptr %group.at
  %last = sub i32 %group, %left
  %count.at = getelementptr i32, ptr @unit.count, i32 %t
  %count = load i32, ptr %count.at
  %few = icmp ult i32 %count, 64
  %n = select i1 %few, i32 %count, i32 64
  %first = mul i32 %t, 64
  br label %each
each:
  %i = phi i32 [ 0, %entry ], [ %i.next, %next ]
  %on = icmp ult i32 %i, %n
  br i1 %on, label %look, label %done
look:
  %slot = add i32 %first, %i
  %at = getelementptr { ptr, i32, i32, i32, [16 x i8] }, ptr @unit.copies, i32 %slot
  %e.size = getelementptr { ptr, i32, i32, i32, [16 x i8] }, ptr %at, i32 0, i32 1
  %e.group = getelementptr { ptr, i32, i32, i32, [16 x i8] }, ptr %at, i32 0, i32 2
  %size = load i32, ptr %e.size
  %mine = load i32, ptr %e.group
  %some = icmp ne i32 %size, 0
  %old = icmp slt i32 %mine, %last
  %lands = and i1 %some, %old
  br i1 %lands, label %land, label %next
land:
  %e.site = getelementptr { ptr, i32, i32, i32, [16 x i8] }, ptr %at, i32 0, i32 3
  %e.data = getelementptr { ptr, i32, i32, i32, [16 x i8] }, ptr %at, i32 0, i32 4
  %site = load i32, ptr %e.site
  %to = load ptr, ptr %at
  %size.w = zext i32 %size to i64
  br i1 %checks, label %ask, label %put
ask:
  %site.to = add i32 %site, 1
  %asked = call ptr @simt.access(ptr %to, i64 %size.w, i64 1, i32 %site.to, i32 1)
  br label %put
put:
  %to.ok = phi ptr [ %to, %land ], [ %asked, %ask ]
  call void @llvm.memcpy.p0.p0.i64(ptr %to.ok, ptr %e.data, i64 %size.w, i1 false)
  store i32 0, ptr %e.size
  br label %next
next:
  %i.next = add i32 %i, 1
  br label %each
done:
  ret void
}
