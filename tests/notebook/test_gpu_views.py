"""What the views show of a GPU program: steps and their costs, machine facts, arena, roofline; on the simulated GPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import msnb as ms
from msnb.base.errors import ArgumentError
from msnb.devices.gpu import chips
from msnb.devices.gpu.facts import assembler
from msnb.notebook.views.roofline_view import seconds_word
from tests.shells import fresh_shell, run

N = 1 << 16


@pytest.fixture(autouse=True)
def gpu() -> Iterator[None]:
    with ms.set_context(device_target="SimulatedGPU", jit_level="O1"):
        yield


def chain(x: Any, y: Any) -> Any:
    return ms.ops.tanh(x * y) + ms.ops.relu(x)


def net(x: Any, w: Any) -> Any:
    return ms.ops.softmax(ms.ops.matmul(x, w), -1).sum()


def ones(*shape: int) -> Any:
    return ms.Tensor(np.ones(shape, np.float32))


def test_a_chain_is_one_launch_that_moves_the_least_bytes() -> None:
    view = ms.show.timeline(chain, ones(N), ones(N))
    (step,) = view.steps
    assert (step.least, step.moved, view.launches) == (3 * 4 * N, 3 * 4 * N, 1)
    assert step.flops == 4 * N
    assert view.predicted == [chips.H100.seconds(3 * 4 * N, 4 * N)]
    assert view.measured == [] and "1 step, 1 launch, 768.0 KB moved; predicted" in view.text


def test_a_broadcast_operand_counts_once() -> None:
    (step,) = ms.show.timeline(lambda x, b: x + b, ones(64, 32), ones(32)).steps
    assert step.least == 4 * (64 * 32 * 2 + 32)


def test_long_rows_are_read_again() -> None:
    (step,) = ms.show.timeline(lambda x: ms.ops.softmax(x, -1), ones(2, 1 << 17)).steps
    assert step.moved > step.least
    (short,) = ms.show.timeline(lambda x: ms.ops.softmax(x, -1), ones(64, 1024)).steps
    assert short.moved == short.least == 2 * 4 * 64 * 1024


def test_products_and_their_units() -> None:
    steps = {step.name: step for step in ms.show.timeline(net, ones(8, 16), ones(16, 4)).steps}
    assert steps["matmul"].flops == 2 * 8 * 16 * 4 and steps["matmul"].shapes == ()
    assert steps["k0"].shapes[0][2][0] >= 32


def test_the_timeline_as_text_picture_and_page() -> None:
    view = ms.show.timeline(net, ones(8, 16), ones(16, 4), chip=chips.A100)
    assert "on A100" in view.text and "generated kernel" in view.text and "cell" not in view.summary
    assert view.text == ms.show.timeline(net, ones(8, 16), ones(16, 4), chip=chips.A100).text
    ElementTree.fromstring(view.svg)
    assert "predicted us" in view.svg and "<table>" in view.html
    assert [row["step"] for row in view.data["steps"]] == [step.name for step in view.steps]


def test_labels_are_escaped() -> None:
    view = ms.show.timeline(chain, ones(4), ones(4))
    view.title = "<script>"
    assert "<script>" not in view.svg and "<script>" not in view.html


def test_without_steps_the_view_says_so() -> None:
    with ms.set_context(device_target="CPU"):
        view = ms.show.timeline(chain, ones(4), ones(4))
        assert "SimulatedGPU" in view.text and view.steps == []
        ElementTree.fromstring(view.svg)
    with pytest.raises(ArgumentError, match="at least one repeat"):
        ms.show.timeline(chain, ones(4), ones(4), repeats=0)


def test_the_magic() -> None:
    with fresh_shell() as shell:
        shell.run_line_magic("load_ext", "msnb")
        shell.run_cell("import msnb as ms\ndef f(x):\n    return x * 2 + 1\nx = ms.ops.ones((8,))")
        assert run(shell, "%ms_timeline f(x)").launches == 1


def test_machine_facts_of_kernels() -> None:
    view = ms.show.kernels(chain, ones(N), ones(N))
    (one,) = view.listings
    assert "ptx_kernel" in one.code and ".visible .entry" in one.assembly
    if assembler.missing():
        assert one.facts == (("assembler", assembler.missing()),)
    else:
        ((_, told),) = one.facts
        assert "registers, 0 bytes spilled" in told and "occupancy" in told
    assert "what the machine needs" in view.html and one.facts[0][1] not in view.text


def test_the_arena_and_the_roofline_of_the_chip() -> None:
    assert ms.show.mem(net, ones(8, 16), ones(16, 4), arena=True).size > 0
    view = ms.show.roofline(net, ones(8, 16), ones(16, 4))
    assert view.model.name == "H100" and "predicted on a H100" in view.text
    timed = ms.show.roofline(net, ones(8, 16), ones(16, 4), times=True, repeats=1)
    assert timed.machine is not None and timed.machine.name == "H100"


# ---- chips, and what the assembler says ------------------------------------------------------------------------------


def test_chips_are_found_by_name_and_by_architecture() -> None:
    assert chips.chip_called("NVIDIA H100 80GB HBM3") is chips.H100
    assert chips.chip_called("NVIDIA H200") is chips.H200 and chips.H200.bandwidth > chips.H100.bandwidth
    assert chips.chip_called("Tesla T4") is chips.T4
    assert chips.chip_called("NVIDIA GeForce RTX 4090") is chips.RTX_4090
    assert chips.chip_called("an A100 of another name", "sm_80") is chips.A100
    assert chips.chip_called("unknown", "sm_61") is None


def test_predicted_seconds() -> None:
    assert chips.H100.seconds(0) == chips.LAUNCH
    memory, compute = chips.A100.seconds(2.039e9), chips.A100.seconds(0, 312e9, "bfloat16")
    assert seconds_word(memory - chips.LAUNCH) == "1.15 ms" and seconds_word(compute - chips.LAUNCH) == "1 ms"
    assert chips.T4.peak("bfloat16") == chips.T4.peak("float32")


@pytest.mark.parametrize(
    ("threads", "registers", "shared", "blocks", "share", "limit"),
    [
        (256, 32, 0, 8, 1.0, "threads"),
        (256, 64, 0, 4, 0.5, "registers"),
        (256, 255, 0, 1, 0.125, "registers"),
        (128, 32, 48 << 10, 4, 0.25, "shared memory"),
        (32, 16, 0, 32, 0.5, "blocks"),
        (1024, 255, 0, 0, 0.0, "registers"),
    ],
)
def test_occupancy(threads: int, registers: int, shared: int, blocks: int, share: float, limit: str) -> None:
    assert chips.occupancy(chips.H100, threads, registers, shared) == (blocks, share, limit)


TOLD = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'k1' for 'sm_90'
ptxas info    : Function properties for k1
    8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 128 bytes smem, 400 bytes cmem[0]
ptxas info    : Compiling entry function 'k2' for 'sm_90'
ptxas info    : Used 12 registers
"""


def test_the_words_of_the_assembler() -> None:
    first, second = assembler.facts_of(TOLD)
    assert (first.name, first.registers, first.spilled, first.shared) == ("k1", 40, 16, 128)
    assert (second.name, second.registers, second.spilled, second.shared) == ("k2", 12, 0, 0)
    listing = (
        "        /*0000*/   LDC R1, c[0x0][0x28] ;\n        /*0010*/   @P0 FADD R2, R3, R4 ;\n        /*0020*/   NOP;\n"
    )
    assert assembler.instructions_in(listing) == {"LDC": 1, "FADD": 1}


def test_without_an_assembler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assembler, "program", lambda name: None)
    assert "nvidia-cuda-nvcc-cu12" in assembler.missing()
    assert assembler.assembled.__wrapped__("", "sm_90") == ()


def test_wrong_code_has_no_facts() -> None:
    assert assembler.assembled("this is no PTX", "sm_90") == ()
