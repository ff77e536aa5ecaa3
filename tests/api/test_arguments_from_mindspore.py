"""Arguments that were ignored once: they mean what MindSpore says, are refused, or are said to have no effect."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import msnb as ms
import msnb.dataset as ds
from msnb import nn, ops
from msnb.base import events


@pytest.fixture
def said() -> Iterator[list[str]]:
    found: list[str] = []
    events.forget_notices()
    with events.listening("notice", lambda text, key: found.append(text)):
        yield found


def test_hyper_map_in_reverse(mode: int) -> None:
    seen: list[int] = []

    def work(x: Any) -> Any:
        seen.append(int(x.shape[0]))
        return x * 2

    lists = (ops.ones(1), (ops.ones(2), ops.ones(3)))
    found = ops.HyperMap(work, reverse=True)(lists)
    assert seen == [3, 2, 1] and [found[0].shape, found[1][0].shape, found[1][1].shape] == [(1,), (2,), (3,)]
    assert ms.jit(lambda v: ops.HyperMap(lambda x: x + 1, True)((v, v * 2)))(ops.ones(1))[1].tolist() == [3.0]
    seen.clear()
    ops.Map(work)(lists[1])
    assert seen == [2, 3]


def test_parameters_by_value(mode: int) -> None:
    w = ms.Parameter(ms.Tensor([2.0]), name="w")
    for read, kind in ((True, False), (False, True)):
        scale = ops.MultitypeFuncGraph("scale", read_value=read)

        @scale.register("Tensor")
        def scaled(x: Any) -> Any:
            assert isinstance(x, ms.Parameter) is kind
            return x * x

        assert scale(w).tolist() == [4.0]
        assert ms.grad(lambda: scale(w).sum(), None, [w])()[0].tolist() == [4.0]


def test_constexpr_as_a_class(mode: int) -> None:
    @ops.constexpr(get_instance=False, name="Half")
    def half(n: int) -> int:
        return n // 2

    assert ms.jit(lambda x: x.reshape(half()(x.size), 2))(ops.ones(6)).shape == (3, 2)
    with pytest.raises(TypeError, match="unexpected keyword argument 'unknown'"):
        ops.constexpr(unknown=1)


def test_lazy_inline_knows_its_policies() -> None:
    assert ms.lazy_inline(policy="front")(len) is len
    with pytest.raises(ValueError, match="policy='back'; legal: None, 'front'"):
        ms.lazy_inline(policy="back")


@pytest.mark.parametrize(
    ("words", "call"),
    [
        ("Adam(use_locking=True)", lambda w: nn.Adam([w], use_locking=True)),
        ("RMSProp(use_locking=True)", lambda w: nn.RMSProp([w], use_locking=True)),
        ("Custom(reg_info=)", lambda w: ops.Custom(np.sin, lambda x: x, lambda x: x, "pyfunc", reg_info={})),
        ("shard(device=, level=)", lambda w: ms.shard(ops.relu, ((1,),), device="GPU")),
        ("shard(device=, level=)", lambda w: nn.ReLU().shard(((1,),), level=1)),
        ("GeneratorDataset(max_rowsize=)", lambda w: ds.GeneratorDataset([(1,)], ["x"], max_rowsize=6)),
        ("ops.batch_norm(momentum=)", lambda w: ops.batch_norm(ops.ones((2, 1)), ops.ones(1), ops.ones(1),
                                                                training=True, momentum=0.3)),
        ("ops.batch_norm(momentum=)", lambda w: ops.batch_norm(ops.ones((2, 1)), w, w, training=True)),
    ],
)  # fmt: skip
def test_what_has_no_effect_says_so_once(words: str, call: Any, said: list[str], mode: int) -> None:
    w = ms.Parameter(ms.Tensor([1.0]), name="w")
    call(w)
    call(w)
    assert [text.split(" has no effect here: ")[0] for text in said] == [words]


def test_saving_says_what_it_does_not_do(said: list[str], tmp_path: Path) -> None:
    state = {"w": ms.Tensor([1.0])}
    ms.save_checkpoint(state, str(tmp_path / "a.ckpt"))
    assert not said
    ms.save_checkpoint(state, str(tmp_path / "a.ckpt"), integrated_save=False, async_save=True)
    assert ["integrated_save" in said[0], "async_save" in said[1], len(said)] == [True, True, 2]


def test_a_writer_of_records_says_that_it_is_one(said: list[str], tmp_path: Path) -> None:
    writer = ms.mindrecord.FileWriter(str(tmp_path / "rows"))
    writer.add_schema({"n": {"type": "int32"}}, "numbers")
    writer.write_raw_data([{"n": 1}], parallel_writer=True)
    writer.commit()
    assert len(said) == 1 and "parallel_writer" in said[0]
    with pytest.raises(ValueError, match="MindDataset: cache must be a DatasetCache or None, got str"):
        ds.MindDataset(str(tmp_path / "rows"), cache="c")  # type: ignore[arg-type]


def test_pictures_that_are_encrypted(tmp_path: Path) -> None:
    (tmp_path / "rose").mkdir()
    (tmp_path / "rose" / "1.png").write_bytes(bytes(255 - b for b in b"abc"))
    plain = lambda path: bytes(255 - b for b in Path(path).read_bytes())
    ((image, label),) = ds.ImageFolderDataset(str(tmp_path), decrypt=plain).create_tuple_iterator(
        num_epochs=1, output_numpy=True
    )
    assert bytes(image) == b"abc" and label == 0
    with pytest.raises(TypeError, match="decrypt is a function of a path, got str"):
        ds.ImageFolderDataset(str(tmp_path), decrypt="key")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="cache must be a DatasetCache or None"):
        ds.ImageFolderDataset(str(tmp_path), cache=1)  # type: ignore[arg-type]
