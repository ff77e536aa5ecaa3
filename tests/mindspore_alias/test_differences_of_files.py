"""Differences from MindSpore in checkpoints, and in a method of tensors: rows of ``differences``, as in
``test_differences``."""

from __future__ import annotations

from pathlib import Path

import pytest

import msnb
from msnb import Tensor


def test_repeats(mode: int) -> None:
    from msnb.as_mindspore import install, uninstall

    uninstall()
    x = Tensor([[1.0, 2.0]])
    assert x.repeat(2).tolist() == [1, 1, 2, 2]
    assert x.repeat(1, 2, 2).tolist() == x.tile((1, 2, 2)).tolist()  # three numbers are PyTorch's
    with pytest.raises(TypeError, match="repeats and axis"):
        x.repeat(1, 2, axis=1)
    install()
    try:
        for repeats in ((2,), (2, 2), (1, 2, 2), ((2, 1),)):
            sizes = repeats[0] if isinstance(repeats[0], tuple) else repeats
            assert x.repeat(*repeats).tolist() == x.tile(sizes).tolist()
        assert x.repeat(2, axis=1).tolist() == [[1, 1, 2, 2]]
    finally:
        uninstall()
    assert x.repeat(2).tolist() == [1, 1, 2, 2]


def test_names_of_strict_loading(mode: int) -> None:
    import mindspore

    given = {"weight": Tensor([[2.0]]), "more": Tensor([1.0])}
    nets = [msnb.nn.Dense(1, 1) for _ in range(2)]
    with pytest.raises(ValueError, match="names in the checkpoint are not those"):
        msnb.load_param_into_net(nets[0], given, strict_load=True)
    for load in (mindspore.load_param_into_net, mindspore.train.load_param_into_net):
        assert load(nets[1], given, strict_load=True) == (["bias"], ["more"])
    assert (nets[0].weight.item() == 2.0, nets[1].weight.item()) == (False, 2.0)
    with pytest.raises(ValueError, match="dtype"):
        mindspore.load_param_into_net(nets[1], {"weight": Tensor([[2.0]], msnb.float64)}, strict_load=True)


def test_checkpoints(mode: int, tmp_path: Path) -> None:
    import mindspore

    files = [tmp_path / name for name in ("theirs.ckpt", "ours.ckpt", "theirs.safetensors")]
    mindspore.save_checkpoint({"w": Tensor([1.0])}, str(files[0]))
    msnb.save_checkpoint({"w": Tensor([1.0])}, str(files[1]))
    mindspore.train.save_checkpoint({"w": Tensor([1.0])}, str(files[2]), format="safetensors")
    assert files[0].read_bytes().startswith(b"\n") and files[1].read_bytes()[8:9] == files[2].read_bytes()[8:9] == b"{"
    for load in (mindspore.load_checkpoint, msnb.load_checkpoint):
        assert [load(str(file))["w"].tolist() for file in files] == [[1.0]] * 3
