"""Pipelines as JSON and back, callbacks of `map`, the cache of rows, rows of random numbers, pictures as files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import msnb as ms
import msnb.dataset as ds
from msnb.base.errors import ArgumentError, DatasetError, MsnbError
from msnb.dataset import transforms, vision


def schema(**columns: Any) -> ds.Schema:
    made = ds.Schema()
    for name, (kind, shape) in columns.items():
        made.add_column(name, kind, shape)
    return made


def pipeline() -> Any:
    data = ds.RandomDataset(10, schema(image=("uint8", [8, 8, 3]), label=("int32", [])), shuffle=False)
    crop = [vision.Resize((3, 4), vision.Inter.BICUBIC), vision.RandomCrop(2), transforms.Compose([vision.HWC2CHW()])]
    data = data.map([*crop, transforms.TypeCast("float32")], "image")
    data = data.map(transforms.RandomApply([transforms.OneHot(10)], 0.0), "label").shuffle(10)
    data = data.padded_batch(3, True, pad_info={"image": ([3, None, 4], 1)}).repeat(2).take(5).skip(1)
    return ds.zip((data.rename("label", "l").project(["l", "image"]), ds.NumpySlicesDataset([1, 2, 3, 4], "n")))


def test_a_pipeline_comes_back_from_json(tmp_path: Path) -> None:
    ds.config.set_seed(3)
    page = ds.serialize(pipeline(), str(tmp_path / "a.json"))
    assert page["op_type"] == "Zip" and page["children"][0]["op_type"] == "Project"
    back = ds.deserialize(json_filepath=str(tmp_path / "a.json"))
    assert back is not None and ds.compare(back, pipeline()) and back.to_json() == page
    again = ds.deserialize(json.loads(json.dumps(page)))
    assert again is not None
    ds.config.set_seed(3)
    for one, other in zip(pipeline(), again):
        assert all(np.array_equal(a.asnumpy(), b.asnumpy()) for a, b in zip(one, other))
    assert ds.deserialize() is None and not ds.compare(pipeline(), pipeline().batch(2))
    ds.show(pipeline())


def numbers(*more: Any) -> dict[str, Any]:
    return {"op_type": "NumpySlicesDataset", "children": [], "data": [1], **dict(more)}


@pytest.mark.parametrize(("page", "sentence"), [
    ({"op_type": "os.system", "children": []}, "no Dataset 'os.system'"),
    ({"op_type": "RandomSampler", "children": []}, "no Dataset 'RandomSampler'"),
    ({"op_type": "Batch"}, "a dict with op_type and children"),
    ([1], "a dict with op_type and children"),
    ({"children": []}, "lacks 'op_type'"),
    ({"op_type": "Shuffle", "children": [numbers()]}, "lacks 'buffer_size'"),
    ({"op_type": "Sing", "children": [numbers()]}, "'Sing' has no way back"),
    (numbers(("zz", 1)), "is not made of these arguments"),
    (numbers(("data", {"python_object": "Mine"})), "'Mine' is an object of Python"),
    (numbers(("sampler", {"sampler_name": "Dataset"})), "no Sampler 'Dataset'"),
    (numbers(("shuffle", {"enum": "Path", "name": "x"})), "there is no Path.x"),
])  # fmt: skip
def test_pages_that_are_no_pipeline(page: Any, sentence: str) -> None:
    with pytest.raises(DatasetError, match=sentence):
        ds.deserialize(page)


def test_functions_stand_in_the_page_and_do_not_come_back() -> None:
    page = ds.serialize(ds.NumpySlicesDataset([1, 2], "x").map(lambda x: x, "x"))
    assert page["operations"] == [{"tensor_op_name": "<lambda>", "python_module": __name__}]
    with pytest.raises(DatasetError, match="is a function of the user"):
        ds.deserialize(page)
    with pytest.raises(ArgumentError, match="serialize takes a Dataset"):
        ds.serialize(3)  # type: ignore[arg-type]


class Heard(ds.DSCallback):
    def __init__(self, log: list[Any], step_size: int = 1) -> None:
        super().__init__(step_size)
        for name in ("begin", "epoch_begin", "epoch_end", "step_begin", "step_end"):
            setattr(self, f"ds_{name}", lambda c, name=name: log.append(
                (name, c.cur_epoch_num, c.cur_step_num_in_epoch, c.cur_step_num)))  # fmt: skip


@pytest.mark.parametrize("workers", [1, 2])
def test_callbacks_of_a_map(workers: int) -> None:
    log: list[Any] = []
    data = ds.NumpySlicesDataset([1, 2, 3], "x", shuffle=False)
    data = data.map(lambda x: x, "x", num_parallel_workers=workers, callbacks=[Heard(log, 2)]).shuffle(2).batch(2)
    rows = data.create_tuple_iterator(num_epochs=2)
    for _ in range(2):
        assert len(list(rows)) == 2
    epoch = lambda n: [("epoch_begin", n, 0, 3 * n - 3), ("epoch_end", n, 3, 3 * n)]
    assert [entry for entry in log if "step" not in entry[0]] == [("begin", 0, 0, 0), *epoch(1), *epoch(2)]
    assert sorted(e[1:] for e in log if e[0] == "step_begin") == [(1, 1, 1), (1, 3, 3), (2, 1, 4), (2, 3, 6)]
    assert sorted(e for e in log if e[0] == "step_end") == sorted(
        ("step_end", *e[1:]) for e in log if e[0] == "step_begin"
    )
    with pytest.raises(ArgumentError, match="callbacks are DSCallbacks"):
        data.map(lambda x: x, callbacks=3)
    with pytest.raises(MsnbError, match="at least 1"):
        ds.DSCallback(0)


class Net(ms.nn.Cell):
    def construct(self, x: Any, y: Any) -> Any:
        return x


def test_rows_wait_for_training() -> None:
    log: list[str] = []

    class Waits(ds.WaitedDSCallback):
        def sync_epoch_begin(self, train_run_context: Any, ds_run_context: Any) -> None:
            log.append(f"rows epoch {ds_run_context.cur_epoch_num}")

        def sync_step_begin(self, train_run_context: Any, ds_run_context: Any) -> None:
            log.append(f"rows {ds_run_context.cur_step_num} after {train_run_context.original_args().cur_step_num}")

    class Tells(ms.train.Callback):
        def step_end(self, run_context: Any) -> None:
            log.append(f"step {run_context.original_args().cur_step_num}")

    waits = Waits(2)
    rows = ds.NumpySlicesDataset(([1.0, 2, 3, 4], [1.0, 2, 3, 4]), ["x", "y"], shuffle=False)
    data = rows.map(lambda x: x, "x", callbacks=waits).batch(2)
    ms.train.Model(Net()).train(2, data, callbacks=[Tells(), waits], dataset_sink_mode=False)
    assert log == [
        "step 1",
        "rows 3 after 1",
        "step 2",
        "rows epoch 2",
        "rows 5 after 2",
        "step 3",
        "rows 7 after 3",
        "step 4",
    ]


def test_rows_are_kept(tmp_path: Path) -> None:
    calls: list[int] = []

    def twice(x: Any) -> Any:
        calls.append(1)
        return x * 2

    cache = ds.DatasetCache(1)
    plain = ds.NumpySlicesDataset([1, 2, 3], "x")
    data = plain.map(twice, "x", cache=cache).shuffle(3)
    assert [sorted(int(x) for (x,) in data) for _ in range(3)] == [[2, 4, 6]] * 3 and len(calls) == 3
    assert cache.get_stat().num_mem_cached == 3
    big = ds.DatasetCache(1, size=1, spilling=True)
    source = ds.RandomDataset(10, schema(x=("uint8", [1 << 18])), shuffle=False, cache=big)
    first, second = ([x.asnumpy() for (x,) in source] for _ in range(2))
    assert all(np.array_equal(a, b) for a, b in zip(first, second))
    assert (big.get_stat().num_mem_cached, big.get_stat().num_disk_cached) == (4, 6)
    small = ds.DatasetCache(1, size=1)
    assert len(list(ds.RandomDataset(10, schema(x=("uint8", [1 << 18])), cache=small))) == 10
    assert small.get_stat().num_disk_cached == 0
    with pytest.raises(DatasetError, match="RandomApply draws at random"):
        list(plain.map(transforms.RandomApply([twice], 1.0), "x", cache=cache))
    for wrong, sentence in (
        (lambda: plain.batch(2).map(twice, "x", cache=cache), r"below this map stands batch\(2\)"),
        (lambda: plain.map(twice, "x", cache=cache, callbacks=ds.DSCallback()), "so it has no callbacks"),
        (lambda: plain.map(twice, "x", cache="c"), "cache must be a DatasetCache"),
        (lambda: ds.DatasetCache(1, hostname="far"), "lives in this process"),
        (lambda: ds.DatasetCache(-1), "session_id"),
    ):
        with pytest.raises(MsnbError, match=sentence):
            wrong()  # type: ignore[no-untyped-call]


def test_random_rows_follow_the_seed() -> None:
    kinds = schema(a=("int8", [2, 3]), b=("float16", []), c=("bool", [4]), d=("string", [2]), e=("uint64", None))

    def rows(**more: Any) -> list[list[Any]]:
        ds.config.set_seed(5)
        return list(
            ds.RandomDataset(4, kinds, shuffle=False, **more).create_tuple_iterator(num_epochs=1, output_numpy=True)
        )

    assert all(np.array_equal(a, b) for one, other in zip(rows(), rows()) for a, b in zip(one, other))
    assert [str(v.dtype) for v in rows()[0]] == ["int8", "float16", "bool", "<U8", "uint64"]
    assert rows()[0][0].shape == (2, 3) and len(rows(num_shards=2, shard_id=1)) == 2
    assert ds.RandomDataset(4, kinds, ["b", "a"]).get_col_names() == ["b", "a"]
    assert ds.RandomDataset(columns_list=["p"]).get_col_names() == ["p"]


def test_pictures_as_files(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    picture = (np.add.outer(np.arange(24), np.arange(32))[..., None] * np.array([1, 2, 3])).astype(np.uint8)
    mode = vision.ImageReadMode
    vision.write_png(str(tmp_path / "a.png"), ms.Tensor(picture), 9)
    vision.write_jpeg(str(tmp_path / "a.jpg"), picture[..., :1], 100)
    assert (vision.read_image(str(tmp_path / "a.png")) == picture).all()
    grey = vision.read_image(str(tmp_path / "a.png"), mode.GRAYSCALE)
    expected = picture.astype(int) @ np.array([9798, 19235, 3735]) >> 15
    assert grey.shape == (24, 32, 1) and (grey[..., 0] == expected).all()
    read = vision.read_image(str(tmp_path / "a.jpg"))
    assert read.shape == (24, 32, 1) and abs(read.astype(int) - picture[..., :1]).max() <= 2
    assert (vision.read_file(str(tmp_path / "a.jpg")) == vision.encode_jpeg(picture[..., 0], 100)).all()
    assert len(vision.encode_png(picture, 0)) > len(vision.encode_png(picture))
    assert vision.get_image_size(picture[None]) == [24, 32] and vision.get_image_num_channels(grey[..., 0]) == 1
    for wrong, sentence in (
        (lambda: vision.encode_jpeg(picture, 0), "quality lies between 1 and 100"),
        (lambda: vision.encode_png(picture.astype(int)), "takes uint8"),
        (lambda: vision.encode_png(picture[..., :2]), r"takes a picture \[h,w\]"),
        (lambda: vision.encode_png([1]), "takes an array or a Tensor"),
        (lambda: vision.write_file(str(tmp_path / "x"), picture), r"data is uint8\[n\]"),
        (lambda: vision.write_file(str(tmp_path), picture[0, :, 0]), "and no file"),
        (lambda: vision.read_file(3), "filename is a str"),
        (lambda: vision.read_image(str(tmp_path / "a.png"), 1), "mode is an ImageReadMode"),
        (lambda: vision.get_image_size(picture[0, 0]), "at least 2 axes"),
    ):
        with pytest.raises(MsnbError, match=sentence):
            wrong()  # type: ignore[no-untyped-call]
    (tmp_path / "b.png").write_bytes(b"\x89PNG no picture")
    with pytest.raises(DatasetError, match="is no picture that can be read"):
        vision.read_image(str(tmp_path / "b.png"))
