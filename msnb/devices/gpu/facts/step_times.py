"""How long each step of a program takes, between two CUDA events; on made-up arguments, launched one by one.

A step of a recorded graph begins a little earlier than one that the host launches: what is measured here is each
step's own time, not the time of the whole.
"""

from __future__ import annotations

from typing import Any

from msnb.devices.gpu.program.buffers import PARAM

FILL = 0.01


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
        rounds = [_round(device, built.steps, env) for _ in range(max(repeats, 1))]
    return [min(times) for times in zip(*rounds)]


def _round(device: Any, steps: list[Any], env: Any) -> list[float]:
    cuda = device.xp.cuda
    events = [cuda.Event() for _ in range(len(steps) + 1)]
    cuda.Device().synchronize()
    events[0].record()
    for step, event in zip(steps, events[1:]):
        step.run(env)
        event.record()
    cuda.Device().synchronize()
    return [cuda.get_elapsed_time(a, b) / 1e3 for a, b in zip(events, events[1:])]
