"""A group that only an effect reads (a print, an error under a branch) runs before the effect, batches or not."""

from __future__ import annotations

import numpy as np
import pytest

import msnb as ms
from msnb import ops
from msnb.core.tensor import Tensor
from tests.levels import LEVELS

A, M = np.float64(1.25), np.arange(9.0).reshape(3, 3)


def raises(a: Tensor, m: Tensor) -> Tensor:
    if a * 2.0 + 1.0 > 5.0:
        raise ValueError("stop")
    return (m @ m)[0, 0] * 2.0 + 1.0 > 5.0


def prints(a: Tensor, m: Tensor) -> Tensor:
    print(ops.sin(a) * 2.0 + 1.0)
    return ops.sin((m @ m)[0, 0]) * 2.0 + 1.0


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("program", [raises, prints])
def test_what_an_effect_reads_is_made_before_it(
    program: object, level: str, capsys: pytest.CaptureFixture[str]
) -> None:
    want = program(Tensor(A), Tensor(M)).asnumpy()  # type: ignore[operator]
    said = capsys.readouterr().out
    with ms.set_context(jit_level=level):
        compiled = ms.jit(program)
        np.testing.assert_allclose(compiled(Tensor(A), Tensor(M)).asnumpy(), want, rtol=1e-14)
        assert capsys.readouterr().out == said
        if program is raises:
            with pytest.raises(ValueError, match="stop"):
                compiled(Tensor(A + 3), Tensor(M))
