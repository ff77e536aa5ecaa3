"""How long each step of a program takes, on made-up arguments.

A step is recorded several times in a row into a CUDA graph, which is launched between two CUDA events: a kernel of two
microseconds is over before the host has launched the next one, so launched one by one it is the host that is measured.
An operation of the array module, which may look at values, is launched by the host.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msnb.devices.gpu.program.buffers import PARAM, Environment
from msnb.devices.gpu.program.steps import ArrayStep, DeviceStep

FILL, IN_A_ROW = 0.01, 10


def seconds_of_steps(program: Any, repeats: int) -> list[float]:
    """The least of several runs, step by step; empty where the program runs operation by operation."""
    built = getattr(program, "built", None)
    if built is None:
        return []
    device, memory = program.device, program.memory
    xp, params = device.xp, len(program.graph.params)
    bound: list[Any] = [None] * params
    for i, buffer, t in memory.tensors:
        if buffer.kind == PARAM:
            made = xp.zeros if t.dtype.is_int else lambda shape, dtype: xp.full(shape, FILL, dtype)
            bound[i] = made(t.ints(), t.dtype.numpy)
    with device.stream:
        env = memory.environment(bound, memory.new_results(), [FILL] * params)
        for step in built.steps:
            step.prepare(env)
            step.run(env)
        return [_seconds(device, step, env, max(repeats, 1)) for step in built.steps]


def _seconds(device: Any, step: DeviceStep, env: Environment, repeats: int) -> float:
    cuda, times = device.xp.cuda, list[float]()
    run, count = _recorded(device, step, env)
    run()
    for _ in range(repeats):
        begin, end = cuda.Event(), cuda.Event()
        begin.record()
        run()
        end.record()
        end.synchronize()
        times.append(cuda.get_elapsed_time(begin, end) / 1e3 / count)
    return min(times)


def _recorded(device: Any, step: DeviceStep, env: Environment) -> tuple[Callable[[], None], int]:
    """A function that does a step, and how often."""
    if isinstance(step, ArrayStep) or not step.capturable:
        return lambda: step.run(env), 1
    device.stream.begin_capture()
    for _ in range(IN_A_ROW):
        step.run(env)
    graph = device.stream.end_capture()
    return lambda: graph.launch(device.stream), IN_A_ROW
