; What runs beside a kernel on the host. native_runtime.py tells the idea, and has names for the numbers below: states
; of threads, kinds of accesses and faults, sizes of tables. Kernels call simt.access, simt.wait, simt.got and simt.end.

@simt.tid.x = global i32 0
@simt.tid.y = global i32 0
@simt.tid.z = global i32 0
@simt.ctaid.x = global i32 0
@simt.ctaid.y = global i32 0
@simt.ctaid.z = global i32 0
@simt.ntid.x = global i32 0
@simt.ntid.y = global i32 0
@simt.ntid.z = global i32 0
@simt.nctaid.x = global i32 0
@simt.nctaid.y = global i32 0
@simt.nctaid.z = global i32 0
@simt.laneid = global i32 0
@simt.warpid = global i32 0
@simt.nwarpid = global i32 0

@simt.thread = global i32 0
@simt.block = global i32 0
@simt.epoch = global i32 0
@simt.warp.epoch = global [32 x i32] zeroinitializer
@simt.granule.bits = global i64 0
@simt.open = global i32 0
@simt.regions = global ptr null
@simt.regions.n = global i64 0
@simt.poison = global ptr null
@simt.poison.n = global i64 0
@simt.arena.start = global i64 0
@simt.arena.end = global i64 0
@simt.grow = global ptr null
@simt.fault = global [8 x i64] zeroinitializer
@simt.counts = global [6 x i64] zeroinitializer
@simt.sink = global [256 x i8] zeroinitializer, align 256
@simt.pages = global [16384 x { i64, ptr }] zeroinitializer
@simt.state = global [1024 x i32] zeroinitializer
@simt.handle = global [1024 x ptr] zeroinitializer
@simt.mask = global [1024 x i32] zeroinitializer
@simt.mode = global [1024 x i32] zeroinitializer
@simt.value = global [1024 x i32] zeroinitializer
@simt.lane = global [1024 x i32] zeroinitializer
@simt.clamp = global [1024 x i32] zeroinitializer
@simt.site = global [1024 x i32] zeroinitializer
@simt.result = global [1024 x i32] zeroinitializer
@simt.goes = global [1024 x i8] zeroinitializer

declare token @llvm.coro.id(i32, ptr, ptr, ptr)
declare i64 @llvm.coro.size.i64()
declare ptr @llvm.coro.begin(token, ptr)
declare i8 @llvm.coro.suspend(token, i1)
declare ptr @llvm.coro.free(token, ptr)
declare void @llvm.coro.resume(ptr)
declare void @llvm.coro.destroy(ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare double @llvm.fabs.f64(double)
declare ptr @malloc(i64)
declare void @free(ptr)

define internal void @simt.report(i64 %what, i64 %at, i32 %site, i64 %record, i64 %which) noinline {
  %seen = load i64, ptr @simt.fault
  %unwritten = icmp eq i64 %seen, 6
  %race = icmp eq i64 %what, 4
  %better = and i1 %unwritten, %race ; memory is unwritten because a barrier is missing: the race says more
  %none = icmp eq i64 %seen, 0
  %told = or i1 %none, %better
  br i1 %told, label %first, label %end
first:
  %block = load i32, ptr @simt.block
  %thread = load i32, ptr @simt.thread
  %epoch = load i32, ptr @simt.epoch
  %site.w = zext i32 %site to i64
  %block.w = zext i32 %block to i64
  %thread.w = zext i32 %thread to i64
  %epoch.w = zext i32 %epoch to i64
  store i64 %what, ptr @simt.fault
  store i64 %at, ptr getelementptr (i64, ptr @simt.fault, i64 1)
  store i64 %site.w, ptr getelementptr (i64, ptr @simt.fault, i64 2)
  store i64 %record, ptr getelementptr (i64, ptr @simt.fault, i64 3)
  store i64 %which, ptr getelementptr (i64, ptr @simt.fault, i64 4)
  store i64 %block.w, ptr getelementptr (i64, ptr @simt.fault, i64 5)
  store i64 %thread.w, ptr getelementptr (i64, ptr @simt.fault, i64 6)
  store i64 %epoch.w, ptr getelementptr (i64, ptr @simt.fault, i64 7)
  br label %end
end:
  ret void
}

; the flags of the region that holds an access; -1 if none does
define internal i32 @simt.region(i64 %a, i64 %end) {
entry:
  %n = load i64, ptr @simt.regions.n
  %rows = load ptr, ptr @simt.regions
  br label %search
search:
  %low = phi i64 [ 0, %entry ], [ %low.next, %step ]
  %high = phi i64 [ %n, %entry ], [ %high.next, %step ]
  %more = icmp ult i64 %low, %high
  br i1 %more, label %step, label %found
step:
  %sum = add i64 %low, %high
  %mid = lshr i64 %sum, 1
  %row = getelementptr [3 x i64], ptr %rows, i64 %mid
  %start = load i64, ptr %row
  %right = icmp ule i64 %start, %a
  %mid.1 = add i64 %mid, 1
  %low.next = select i1 %right, i64 %mid.1, i64 %low
  %high.next = select i1 %right, i64 %high, i64 %mid
  br label %search
found:
  %none = icmp eq i64 %low, 0
  br i1 %none, label %outside, label %held
held:
  %at = sub i64 %low, 1
  %last = getelementptr [3 x i64], ptr %rows, i64 %at
  %end.at = getelementptr i64, ptr %last, i64 1
  %stop = load i64, ptr %end.at
  %past = icmp ugt i64 %end, %stop
  br i1 %past, label %outside, label %inside
inside:
  %flags.at = getelementptr i64, ptr %last, i64 2
  %flags = load i64, ptr %flags.at
  %flags.n = trunc i64 %flags to i32
  ret i32 %flags.n
outside:
  %open = load i32, ptr @simt.open
  %unchecked = icmp ne i32 %open, 0
  br i1 %unchecked, label %arena, label %nowhere
arena:
  %arena.end = load i64, ptr @simt.arena.end
  %arena.start = load i64, ptr @simt.arena.start
  %after = icmp uge i64 %a, %arena.start
  %before = icmp ult i64 %a, %arena.end
  %in = and i1 %after, %before
  %tiny = icmp ult i64 %a, 4096
  %bad = or i1 %in, %tiny
  %flags.open = select i1 %bad, i32 -1, i32 1
  ret i32 %flags.open
nowhere:
  ret i32 -1
}

; the records of a page of granules
define internal ptr @simt.page(i64 %page) {
entry:
  %mixed = mul i64 %page, -7046029254386353131
  %first = lshr i64 %mixed, 50
  %key = add i64 %page, 1
  br label %look
look:
  %i = phi i64 [ %first, %entry ], [ %i.next, %other ]
  %at = getelementptr { i64, ptr }, ptr @simt.pages, i64 %i
  %there = load i64, ptr %at
  %hit = icmp eq i64 %there, %key
  br i1 %hit, label %found, label %miss
miss:
  %empty = icmp eq i64 %there, 0
  br i1 %empty, label %grow, label %other
other:
  %up = add i64 %i, 1
  %i.next = and i64 %up, 16383
  br label %look
found:
  %slot = getelementptr { i64, ptr }, ptr %at, i64 0, i32 1
  %known = load ptr, ptr %slot
  ret ptr %known
grow:
  %callback = load ptr, ptr @simt.grow
  %made = call ptr %callback()
  %full = icmp eq ptr %made, null
  br i1 %full, label %none, label %keep
keep:
  %slot.new = getelementptr { i64, ptr }, ptr %at, i64 0, i32 1
  store i64 %key, ptr %at
  store ptr %made, ptr %slot.new
  ret ptr %made
none:
  ret ptr null
}

; a record against an access: 0 is fine, 1 a race inside the block, 2 a race with another block
define internal i64 @simt.clash(i64 %r, i64 %now, i1 %shared, i1 %synced) alwaysinline {
  %none = icmp eq i64 %r, 0
  br i1 %none, label %fine, label %some
some:
  %x = xor i64 %r, %now
  %x.block = lshr i64 %x, 40
  %far = icmp ne i64 %x.block, 0
  br i1 %far, label %other, label %same
other:
  %across = select i1 %shared, i64 0, i64 2
  ret i64 %across
same:
  %many = and i64 %r, 1048576
  %crowd = icmp ne i64 %many, 0
  br i1 %crowd, label %blocks, label %one
blocks:
  ret i64 2
one:
  %x.epoch = lshr i64 %x, 21
  %met = icmp ne i64 %x.epoch, 0
  %x.warp = and i64 %x, 1016800
  %near = icmp eq i64 %x.warp, 0
  %met.warp = and i1 %near, %synced
  %ordered = or i1 %met, %met.warp
  %x.thread = and i64 %x, 1048575
  %strange = icmp ne i64 %x.thread, 0
  %race = zext i1 %strange to i64
  %found = select i1 %ordered, i64 0, i64 %race
  ret i64 %found
fine:
  ret i64 0
}

; a record of reads or atomics with one more
define internal i64 @simt.joined(i64 %r, i64 %now, i1 %shared, i1 %synced) alwaysinline {
  %none = icmp eq i64 %r, 0
  br i1 %none, label %new, label %some
some:
  %x = xor i64 %r, %now
  %x.block = lshr i64 %x, 40
  %far = icmp ne i64 %x.block, 0
  br i1 %far, label %other, label %same
other:
  %crowd = or i64 %r, 1048576
  %either = select i1 %shared, i64 %now, i64 %crowd
  ret i64 %either
same:
  %many = and i64 %r, 1048576
  %kept = icmp ne i64 %many, 0
  br i1 %kept, label %old, label %one
one:
  %x.epoch = lshr i64 %x, 21
  %met = icmp ne i64 %x.epoch, 0
  %x.warp = and i64 %x, 1016800
  %near = icmp eq i64 %x.warp, 0
  %met.warp = and i1 %near, %synced
  %ordered = or i1 %met, %met.warp
  br i1 %ordered, label %new, label %together
together:
  %x.thread = and i64 %x, 1047552
  %mine = icmp eq i64 %x.thread, 0
  br i1 %mine, label %old, label %two
two:
  %head = and i64 %r, -1024
  %me = and i64 %now, 1023
  %both = or i64 %head, %me
  ret i64 %both
old:
  ret i64 %r
new:
  ret i64 %now
}

; one granule of an access: races, shared memory that nobody wrote; then the record of it
define internal void @simt.granule(i64 %g, i64 %now, i64 %turn, i1 %shared, i32 %site, i32 %kind) {
entry:
  %page = lshr i64 %g, 12
  %records = call ptr @simt.page(i64 %page)
  %full = icmp eq ptr %records, null
  br i1 %full, label %room, label %look
room:
  call void @simt.report(i64 9, i64 %g, i32 %site, i64 0, i64 0)
  ret void
look:
  %i = and i64 %g, 4095
  %w.at = getelementptr [4 x i64], ptr %records, i64 %i
  %r.at = getelementptr i64, ptr %w.at, i64 1
  %a.at = getelementptr i64, ptr %w.at, i64 2
  %w = load i64, ptr %w.at
  %r = load i64, ptr %r.at
  %a = load i64, ptr %a.at
  %turns.at = getelementptr i64, ptr %w.at, i64 3
  %turns = load i64, ptr %turns.at
  %w.turn = and i64 %turns, 65535
  %r.low = lshr i64 %turns, 16
  %r.turn = and i64 %r.low, 65535
  %a.turn = lshr i64 %turns, 32
  %w.synced = icmp ne i64 %w.turn, %turn
  %r.synced = icmp ne i64 %r.turn, %turn
  %a.synced = icmp ne i64 %a.turn, %turn
  %w.clash = call i64 @simt.clash(i64 %w, i64 %now, i1 %shared, i1 %w.synced)
  %r.clash.any = call i64 @simt.clash(i64 %r, i64 %now, i1 %shared, i1 %r.synced)
  %a.clash.any = call i64 @simt.clash(i64 %a, i64 %now, i1 %shared, i1 %a.synced)
  %loads = icmp eq i32 %kind, 0
  %atomic = icmp eq i32 %kind, 2
  %r.clash = select i1 %loads, i64 0, i64 %r.clash.any
  %a.clash = select i1 %atomic, i64 0, i64 %a.clash.any
  %wr = or i64 %w.clash, %r.clash
  %any = or i64 %wr, %a.clash
  %race = icmp ne i64 %any, 0
  br i1 %race, label %against, label %written
against:
  %by.w = icmp ne i64 %w.clash, 0
  %by.r = icmp ne i64 %r.clash, 0
  %ra.record = select i1 %by.r, i64 %r, i64 %a
  %record = select i1 %by.w, i64 %w, i64 %ra.record
  %ra.which = select i1 %by.r, i64 0, i64 2
  %which = select i1 %by.w, i64 1, i64 %ra.which
  %ra.clash = select i1 %by.r, i64 %r.clash, i64 %a.clash
  %clash = select i1 %by.w, i64 %w.clash, i64 %ra.clash
  %what = add i64 %clash, 3
  call void @simt.report(i64 %what, i64 %g, i32 %site, i64 %record, i64 %which)
  br label %note
written:
  %w.x = xor i64 %w, %now
  %a.x = xor i64 %a, %now
  %w.x.block = lshr i64 %w.x, 40
  %a.x.block = lshr i64 %a.x, 40
  %w.none = icmp ne i64 %w.x.block, 0
  %a.none = icmp ne i64 %a.x.block, 0
  %never = and i1 %w.none, %a.none
  %reads = icmp ne i32 %kind, 1
  %early = and i1 %never, %reads
  %unwritten = and i1 %early, %shared
  br i1 %unwritten, label %empty, label %note
empty:
  call void @simt.report(i64 6, i64 %g, i32 %site, i64 0, i64 0)
  br label %note
note:
  switch i32 %kind, label %stores [
    i32 0, label %is.load
    i32 2, label %is.atomic
  ]
is.load:
  %r.new = call i64 @simt.joined(i64 %r, i64 %now, i1 %shared, i1 %r.synced)
  store i64 %r.new, ptr %r.at
  %r.bits = and i64 %turns, -4294901761
  %r.up = shl i64 %turn, 16
  %r.turns = or i64 %r.bits, %r.up
  store i64 %r.turns, ptr %turns.at
  ret void
is.atomic:
  %a.new = call i64 @simt.joined(i64 %a, i64 %now, i1 %shared, i1 %a.synced)
  store i64 %a.new, ptr %a.at
  %a.bits = and i64 %turns, 4294967295
  %a.up = shl i64 %turn, 32
  %a.turns = or i64 %a.bits, %a.up
  store i64 %a.turns, ptr %turns.at
  ret void
stores:
  store i64 %now, ptr %w.at
  %w.bits = and i64 %turns, -65536
  %w.turns = or i64 %w.bits, %turn
  store i64 %w.turns, ptr %turns.at
  ret void
}

; every access: where it really goes. kind: 0 load, 1 store, 2 atomic
define ptr @simt.access(ptr %p, i64 %size, i64 %align, i32 %site, i32 %kind) noinline {
entry:
  %a = ptrtoint ptr %p to i64
  %mask = sub i64 %align, 1
  %rest = and i64 %a, %mask
  %crooked = icmp ne i64 %rest, 0
  br i1 %crooked, label %misaligned, label %find
misaligned:
  call void @simt.report(i64 1, i64 %a, i32 %site, i64 0, i64 0)
  ret ptr @simt.sink
find:
  %end = add i64 %a, %size
  %flags = call i32 @simt.region(i64 %a, i64 %end)
  %nowhere = icmp eq i32 %flags, -1
  br i1 %nowhere, label %outside, label %inside
outside:
  call void @simt.report(i64 2, i64 %a, i32 %site, i64 0, i64 0)
  ret ptr @simt.sink
inside:
  %writable = and i32 %flags, 1
  %fixed = icmp eq i32 %writable, 0
  %writes = icmp ne i32 %kind, 0
  %forbidden = and i1 %fixed, %writes
  br i1 %forbidden, label %protected, label %allowed
protected:
  call void @simt.report(i64 3, i64 %a, i32 %site, i64 0, i64 0)
  ret ptr @simt.sink
allowed:
  %bits = load i64, ptr @simt.granule.bits
  %shared.bit = and i32 %flags, 2
  %shared = icmp ne i32 %shared.bit, 0
  %row.0 = select i1 %shared, i32 3, i32 0
  %row = add i32 %row.0, %kind
  %count.at = getelementptr i64, ptr @simt.counts, i32 %row
  %count = load i64, ptr %count.at
  %counted = add i64 %count, %size
  store i64 %counted, ptr %count.at
  %block = load i32, ptr @simt.block
  %block.1 = add i32 %block, 1
  %block.w = zext i32 %block.1 to i64
  %block.s = shl i64 %block.w, 40
  %epoch = load i32, ptr @simt.epoch
  %epoch.m = and i32 %epoch, 524287
  %epoch.w = zext i32 %epoch.m to i64
  %epoch.s = shl i64 %epoch.w, 21
  %thread = load i32, ptr @simt.thread
  %thread.w = zext i32 %thread to i64
  %thread.s = shl i64 %thread.w, 10
  %now.1 = or i64 %block.s, %epoch.s
  %now.2 = or i64 %thread.w, %thread.s
  %now = or i64 %now.1, %now.2
  %warp = lshr i32 %thread, 5
  %turn.at = getelementptr i32, ptr @simt.warp.epoch, i32 %warp
  %turn.all = load i32, ptr %turn.at
  %turn.low = and i32 %turn.all, 65535
  %turn = zext i32 %turn.low to i64
  %g.first = lshr i64 %a, %bits
  %last = sub i64 %end, 1
  %g.last = lshr i64 %last, %bits
  br label %each
each:
  %g = phi i64 [ %g.first, %allowed ], [ %g.next, %each ]
  call void @simt.granule(i64 %g, i64 %now, i64 %turn, i1 %shared, i32 %site, i32 %kind)
  %g.next = add i64 %g, 1
  %more = icmp ule i64 %g.next, %g.last
  br i1 %more, label %each, label %done
done:
  ret ptr %p
}

; float64 and float32 to 16 bits: functions that the host's compiler calls and a process need not have
define internal float @simt.odd(double %x) {
  %near = fptrunc double %x to float
  %back = fpext float %near to double
  %exact = fcmp ueq double %back, %x
  br i1 %exact, label %whole, label %between
whole:
  ret float %near
between:
  %big = call double @llvm.fabs.f64(double %back)
  %size = call double @llvm.fabs.f64(double %x)
  %above = fcmp ogt double %big, %size
  %down = sext i1 %above to i32
  %bits = bitcast float %near to i32
  %low = add i32 %bits, %down
  %odd = or i32 %low, 1
  %found = bitcast i32 %odd to float
  ret float %found
}
define bfloat @__truncsfbf2(float %x) {
  %bits = bitcast float %x to i32
  %high = lshr i32 %bits, 16
  %last = and i32 %high, 1
  %bias = add i32 %last, 32767
  %near = add i32 %bits, %bias
  %rounded = lshr i32 %near, 16
  %quiet = or i32 %high, 64
  %nan = fcmp uno float %x, 0.0
  %found = select i1 %nan, i32 %quiet, i32 %rounded
  %short = trunc i32 %found to i16
  %out = bitcast i16 %short to bfloat
  ret bfloat %out
}
define bfloat @__truncdfbf2(double %x) {
  %odd = call float @simt.odd(double %x)
  %found = call bfloat @__truncsfbf2(float %odd)
  ret bfloat %found
}
define half @__truncdfhf2(double %x) {
  %odd = call float @simt.odd(double %x)
  %found = fptrunc float %odd to half
  ret half %found
}
; ---- threads, barriers, shuffles ----
; states of a thread: 0 ready, 1 at a barrier, 2 at a shuffle, 3 at a barrier of its warp, 4 ended

define internal void @simt.be(i32 %t) {
  store i32 %t, ptr @simt.thread
  %nx = load i32, ptr @simt.ntid.x
  %ny = load i32, ptr @simt.ntid.y
  %x = urem i32 %t, %nx
  %yz = udiv i32 %t, %nx
  %y = urem i32 %yz, %ny
  %z = udiv i32 %yz, %ny
  store i32 %x, ptr @simt.tid.x
  store i32 %y, ptr @simt.tid.y
  store i32 %z, ptr @simt.tid.z
  %lane = and i32 %t, 31
  %warp = lshr i32 %t, 5
  store i32 %lane, ptr @simt.laneid
  store i32 %warp, ptr @simt.warpid
  ret void
}

define void @simt.wait(i32 %state, i32 %mask, i32 %mode, i32 %value, i32 %lane, i32 %clamp, i32 %site) {
  %t = load i32, ptr @simt.thread
  %mask.at = getelementptr i32, ptr @simt.mask, i32 %t
  %mode.at = getelementptr i32, ptr @simt.mode, i32 %t
  %value.at = getelementptr i32, ptr @simt.value, i32 %t
  %lane.at = getelementptr i32, ptr @simt.lane, i32 %t
  %clamp.at = getelementptr i32, ptr @simt.clamp, i32 %t
  %site.at = getelementptr i32, ptr @simt.site, i32 %t
  %state.at = getelementptr i32, ptr @simt.state, i32 %t
  store i32 %mask, ptr %mask.at
  store i32 %mode, ptr %mode.at
  store i32 %value, ptr %value.at
  store i32 %lane, ptr %lane.at
  store i32 %clamp, ptr %clamp.at
  store i32 %site, ptr %site.at
  store i32 %state, ptr %state.at
  ret void
}

define i32 @simt.got() {
  %t = load i32, ptr @simt.thread
  %at = getelementptr i32, ptr @simt.result, i32 %t
  %found = load i32, ptr %at
  ret i32 %found
}

define void @simt.end() {
  %t = load i32, ptr @simt.thread
  %at = getelementptr i32, ptr @simt.state, i32 %t
  store i32 4, ptr %at
  ret void
}

; begin (start is a function) or go on with (start is null) every thread that is ready
define internal void @simt.sweep(ptr %start, ptr %args, i32 %n) {
entry:
  %begins = icmp ne ptr %start, null
  br label %each
each:
  %t = phi i32 [ 0, %entry ], [ %t.next, %next ]
  %state.at = getelementptr i32, ptr @simt.state, i32 %t
  %handle.at = getelementptr ptr, ptr @simt.handle, i32 %t
  br i1 %begins, label %begin, label %look
begin:
  store i32 0, ptr %state.at
  call void @simt.be(i32 %t)
  %made = call ptr %start(ptr %args)
  store ptr %made, ptr %handle.at
  br label %next
look:
  %state = load i32, ptr %state.at
  %ready = icmp eq i32 %state, 0
  br i1 %ready, label %resume, label %next
resume:
  call void @simt.be(i32 %t)
  %handle = load ptr, ptr %handle.at
  call void @llvm.coro.resume(ptr %handle)
  br label %next
next:
  %t.next = add i32 %t, 1
  %more = icmp ult i32 %t.next, %n
  br i1 %more, label %each, label %done
done:
  ret void
}

; the lanes that a thread's warp has
define internal i32 @simt.lanes(i32 %t, i32 %n) {
  %warp = and i32 %t, -32
  %left = sub i32 %n, %warp
  %short = icmp ult i32 %left, 32
  %bits = and i32 %left, 31
  %one = shl i32 1, %bits
  %low = sub i32 %one, 1
  %there = select i1 %short, i32 %low, i32 -1
  ret i32 %there
}

; whether all lanes of a thread's mask wait for the same
define internal i1 @simt.complete(i32 %t, i32 %n) {
entry:
  %state.at = getelementptr i32, ptr @simt.state, i32 %t
  %mask.at = getelementptr i32, ptr @simt.mask, i32 %t
  %mode.at = getelementptr i32, ptr @simt.mode, i32 %t
  %state = load i32, ptr %state.at
  %mask.all = load i32, ptr %mask.at
  %mode = load i32, ptr %mode.at
  %warp = and i32 %t, -32
  %there = call i32 @simt.lanes(i32 %t, i32 %n)
  %full = icmp eq i32 %mask.all, -1
  %mask.cut = and i32 %mask.all, %there
  %mask = select i1 %full, i32 %mask.cut, i32 %mask.all
  br label %each
each:
  %l = phi i32 [ 0, %entry ], [ %l.next, %next ]
  %bit = lshr i32 %mask, %l
  %in = trunc i32 %bit to i1
  br i1 %in, label %look, label %next
look:
  %u = add i32 %warp, %l
  %exists = icmp ult i32 %u, %n
  br i1 %exists, label %same, label %no
same:
  %u.state.at = getelementptr i32, ptr @simt.state, i32 %u
  %u.mask.at = getelementptr i32, ptr @simt.mask, i32 %u
  %u.mode.at = getelementptr i32, ptr @simt.mode, i32 %u
  %u.state = load i32, ptr %u.state.at
  %u.mask = load i32, ptr %u.mask.at
  %u.mode = load i32, ptr %u.mode.at
  %s.0 = icmp eq i32 %u.state, %state
  %s.1 = icmp eq i32 %u.mask, %mask.all
  %s.2 = icmp eq i32 %u.mode, %mode
  %s.3 = and i1 %s.0, %s.1
  %s = and i1 %s.2, %s.3
  br i1 %s, label %next, label %no
next:
  %l.next = add i32 %l, 1
  %more = icmp ult i32 %l.next, 32
  br i1 %more, label %each, label %yes
yes:
  ret i1 true
no:
  ret i1 false
}

; the value that a shuffle gives a thread, by the rules of PTX (shfl.sync)
define internal i32 @simt.shuffled(i32 %t, i32 %n) {
entry:
  %mask.at = getelementptr i32, ptr @simt.mask, i32 %t
  %mode.at = getelementptr i32, ptr @simt.mode, i32 %t
  %lane.at = getelementptr i32, ptr @simt.lane, i32 %t
  %clamp.at = getelementptr i32, ptr @simt.clamp, i32 %t
  %site.at = getelementptr i32, ptr @simt.site, i32 %t
  %mask = load i32, ptr %mask.at
  %mode = load i32, ptr %mode.at
  %b.all = load i32, ptr %lane.at
  %c = load i32, ptr %clamp.at
  %lane = and i32 %t, 31
  %warp = and i32 %t, -32
  %b = and i32 %b.all, 31
  %c.seg = lshr i32 %c, 8
  %seg = and i32 %c.seg, 31
  %cval = and i32 %c, 31
  %notseg = xor i32 %seg, 31
  %low = and i32 %lane, %seg
  %high.c = and i32 %cval, %notseg
  %high = or i32 %low, %high.c
  switch i32 %mode, label %idx [
    i32 0, label %bfly
    i32 1, label %down
    i32 2, label %up
  ]
bfly:
  %j.bfly = xor i32 %lane, %b
  br label %bound
down:
  %j.down = add i32 %lane, %b
  br label %bound
up:
  %j.up = sub i32 %lane, %b
  %up.in = icmp sge i32 %j.up, %high
  %j.up.or = select i1 %up.in, i32 %j.up, i32 %lane
  br label %take
idx:
  %b.seg = and i32 %b, %notseg
  %j.idx = or i32 %low, %b.seg
  br label %bound
bound:
  %j.any = phi i32 [ %j.bfly, %bfly ], [ %j.down, %down ], [ %j.idx, %idx ]
  %in = icmp sle i32 %j.any, %high
  %j.or = select i1 %in, i32 %j.any, i32 %lane
  br label %take
take:
  %j = phi i32 [ %j.up.or, %up ], [ %j.or, %bound ]
  %u = add i32 %warp, %j
  %bit = lshr i32 %mask, %j
  %named = trunc i32 %bit to i1
  %exists = icmp ult i32 %u, %n
  %fine = and i1 %named, %exists
  br i1 %fine, label %read, label %strange
strange:
  %site = load i32, ptr %site.at
  %u.w = zext i32 %u to i64
  store i32 %t, ptr @simt.thread
  call void @simt.report(i64 8, i64 %u.w, i32 %site, i64 0, i64 0)
  ret i32 -1
read:
  %value.at = getelementptr i32, ptr @simt.value, i32 %u
  %value = load i32, ptr %value.at
  ret i32 %value
}

; whose waiting has an end? 0: some may go on; 1: all have ended; 2: nobody can go on
define internal i32 @simt.settle(i32 %n) {
entry:
  br label %count
count:
  %t = phi i32 [ 0, %entry ], [ %t.next, %count ]
  %waiting = phi i32 [ 0, %entry ], [ %waiting.next, %count ]
  %ended = phi i32 [ 0, %entry ], [ %ended.next, %count ]
  %state.at = getelementptr i32, ptr @simt.state, i32 %t
  %state = load i32, ptr %state.at
  %w.1 = icmp eq i32 %state, 1
  %w = zext i1 %w.1 to i32
  %e.1 = icmp eq i32 %state, 4
  %e = zext i1 %e.1 to i32
  %waiting.next = add i32 %waiting, %w
  %ended.next = add i32 %ended, %e
  %t.next = add i32 %t, 1
  %more = icmp ult i32 %t.next, %n
  br i1 %more, label %count, label %all
all:
  %over = icmp eq i32 %ended.next, %n
  br i1 %over, label %done, label %barrier
done:
  ret i32 1
barrier:
  %met = icmp eq i32 %waiting.next, %n
  br i1 %met, label %open, label %mark
open:
  %bytes = shl i32 %n, 2
  %bytes.w = zext i32 %bytes to i64
  call void @llvm.memset.p0.i64(ptr @simt.state, i8 0, i64 %bytes.w, i1 false)
  %epoch = load i32, ptr @simt.epoch
  %epoch.next = add i32 %epoch, 1
  store i32 %epoch.next, ptr @simt.epoch
  ret i32 0
mark:
  %m = phi i32 [ 0, %barrier ], [ %m.next, %mark.next ]
  %m.state.at = getelementptr i32, ptr @simt.state, i32 %m
  %m.goes.at = getelementptr i8, ptr @simt.goes, i32 %m
  %m.state = load i32, ptr %m.state.at
  store i8 0, ptr %m.goes.at
  %m.low = icmp uge i32 %m.state, 2
  %m.high = icmp ule i32 %m.state, 3
  %m.warp = and i1 %m.low, %m.high
  br i1 %m.warp, label %ask, label %mark.next
ask:
  %complete = call i1 @simt.complete(i32 %m, i32 %n)
  br i1 %complete, label %value, label %mark.next
value:
  store i8 1, ptr %m.goes.at
  %shuffles = icmp eq i32 %m.state, 2
  br i1 %shuffles, label %shuffle, label %mark.next
shuffle:
  %found = call i32 @simt.shuffled(i32 %m, i32 %n)
  %m.result.at = getelementptr i32, ptr @simt.result, i32 %m
  store i32 %found, ptr %m.result.at
  br label %mark.next
mark.next:
  %m.next = add i32 %m, 1
  %m.more = icmp ult i32 %m.next, %n
  br i1 %m.more, label %mark, label %free
free:
  %f = phi i32 [ 0, %mark.next ], [ %f.next, %free.next ]
  %some = phi i1 [ false, %mark.next ], [ %some.next, %free.next ]
  %f.goes.at = getelementptr i8, ptr @simt.goes, i32 %f
  %f.goes = load i8, ptr %f.goes.at
  %f.go = icmp ne i8 %f.goes, 0
  br i1 %f.go, label %go, label %free.next
go:
  %f.state.at = getelementptr i32, ptr @simt.state, i32 %f
  %f.mask.at = getelementptr i32, ptr @simt.mask, i32 %f
  %f.state = load i32, ptr %f.state.at
  %f.mask = load i32, ptr %f.mask.at
  store i32 0, ptr %f.state.at
  %f.there = call i32 @simt.lanes(i32 %f, i32 %n)
  %f.named = and i32 %f.mask, %f.there
  %f.lane = and i32 %f, 31
  %is.sync = icmp eq i32 %f.state, 3
  %is.full = icmp eq i32 %f.named, %f.there
  %is.first = icmp eq i32 %f.lane, 0
  %turns.0 = and i1 %is.sync, %is.full
  %turns = and i1 %turns.0, %is.first
  %f.warp = lshr i32 %f, 5
  %turn.at = getelementptr i32, ptr @simt.warp.epoch, i32 %f.warp
  %turn = load i32, ptr %turn.at
  %up = zext i1 %turns to i32
  %turn.next = add i32 %turn, %up
  store i32 %turn.next, ptr %turn.at
  br label %free.next
free.next:
  %some.next = or i1 %some, %f.go
  %f.next = add i32 %f, 1
  %f.more = icmp ult i32 %f.next, %n
  br i1 %f.more, label %free, label %end
end:
  %stuck = select i1 %some.next, i32 0, i32 2
  ret i32 %stuck
}

; one block of threads that wait for each other
define internal void @simt.together(ptr %start, ptr %args, i32 %n) {
entry:
  br label %turn
turn:
  %first = phi ptr [ %start, %entry ], [ null, %settle ]
  call void @simt.sweep(ptr %first, ptr %args, i32 %n)
  %fault = load i64, ptr @simt.fault
  %wrong = icmp ne i64 %fault, 0
  br i1 %wrong, label %drop, label %settle
settle:
  %left = call i32 @simt.settle(i32 %n)
  switch i32 %left, label %stuck [
    i32 0, label %turn
    i32 1, label %drop
  ]
stuck:
  call void @simt.report(i64 7, i64 0, i32 0, i64 0, i64 0)
  br label %drop
drop:
  %t = phi i32 [ 0, %turn ], [ 0, %settle ], [ 0, %stuck ], [ %t.next, %drop ]
  %handle.at = getelementptr ptr, ptr @simt.handle, i32 %t
  %handle = load ptr, ptr %handle.at
  call void @llvm.coro.destroy(ptr %handle)
  %t.next = add i32 %t, 1
  %more = icmp ult i32 %t.next, %n
  br i1 %more, label %drop, label %done
done:
  ret void
}

; one block of threads that never wait
define internal void @simt.alone(ptr %start, ptr %args, i32 %n) {
entry:
  br label %each
each:
  %t = phi i32 [ 0, %entry ], [ %t.next, %next ]
  call void @simt.be(i32 %t)
  %nothing = call ptr %start(ptr %args)
  %fault = load i64, ptr @simt.fault
  %some = icmp ne i64 %fault, 0
  %final = icmp ne i64 %fault, 6
  %wrong = and i1 %some, %final
  br i1 %wrong, label %done, label %next
next:
  %t.next = add i32 %t, 1
  %more = icmp ult i32 %t.next, %n
  br i1 %more, label %each, label %done
done:
  ret void
}

define void @simt.run(ptr %start, ptr %args, i32 %waits) {
entry:
  %gx = load i32, ptr @simt.nctaid.x
  %gy = load i32, ptr @simt.nctaid.y
  %gz = load i32, ptr @simt.nctaid.z
  %gxy = mul i32 %gx, %gy
  %blocks = mul i32 %gxy, %gz
  %bx = load i32, ptr @simt.ntid.x
  %by = load i32, ptr @simt.ntid.y
  %bz = load i32, ptr @simt.ntid.z
  %bxy = mul i32 %bx, %by
  %threads = mul i32 %bxy, %bz
  %up = add i32 %threads, 31
  %warps = lshr i32 %up, 5
  store i32 %warps, ptr @simt.nwarpid
  %poison = load ptr, ptr @simt.poison
  %poison.n = load i64, ptr @simt.poison.n
  %one = icmp ne i32 %waits, 0
  br label %each
each:
  %b = phi i32 [ 0, %entry ], [ %b.next, %next ]
  %x = urem i32 %b, %gx
  %yz = udiv i32 %b, %gx
  %y = urem i32 %yz, %gy
  %z = udiv i32 %yz, %gy
  store i32 %b, ptr @simt.block
  store i32 %x, ptr @simt.ctaid.x
  store i32 %y, ptr @simt.ctaid.y
  store i32 %z, ptr @simt.ctaid.z
  store i32 0, ptr @simt.epoch
  call void @llvm.memset.p0.i64(ptr %poison, i8 -1, i64 %poison.n, i1 false)
  br i1 %one, label %together, label %alone
together:
  call void @simt.together(ptr %start, ptr %args, i32 %threads)
  br label %next
alone:
  call void @simt.alone(ptr %start, ptr %args, i32 %threads)
  br label %next
next:
  %fault = load i64, ptr @simt.fault
  %wrong = icmp ne i64 %fault, 0
  %b.next = add i32 %b, 1
  %more = icmp ult i32 %b.next, %blocks
  %right = xor i1 %wrong, true
  %on = and i1 %more, %right
  br i1 %on, label %each, label %done
done:
  ret void
}
