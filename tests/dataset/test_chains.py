"""Chains: rows and draws are those of the nodes that the user wrote, bit by bit, whatever runs them."""

import itertools

import numpy as np
import pytest

import msnb as ms
import msnb.dataset as ds
from msnb.base.errors import DatasetError
from msnb.dataset import transforms, vision
from msnb.dataset.chains import chain_kernel, row_draws
from msnb.dataset.chains.fused_nodes import ChainBatch, EarlyShuffle, MapStages
from msnb.dataset.chains.transform_record import record_of
from msnb.dataset.pipeline.epoch_rng import Epoch
from msnb.dataset.pipeline.map import Map

MEAN, STD = [0.5, 0.4, 0.3], [0.2, 0.3, 0.4]
CHAINS = {
    "cifar": [vision.RandomCrop(16, 4), vision.RandomHorizontalFlip(), vision.Rescale(1 / 255, 0.1),
              vision.Normalize(MEAN, STD), vision.HWC2CHW()],
    "enlarged": [vision.RandomCrop((16, 14), (3, 2, 1, 0), fill_value=(1, 2, 3)), vision.Resize((37, 23)),
                 vision.RandomVerticalFlip(0.7), vision.ToTensor()],
    "part": [vision.RandomResizedCrop((9, 11)), vision.RandomHorizontalFlip(), vision.Normalize(MEAN, STD)],
    "nearest": [vision.Resize(20, vision.Inter.NEAREST), vision.Resize(11), vision.CenterCrop(9)],
    "middle": [vision.Resize(24), vision.CenterCrop((20, 30)), vision.ToTensor("float16")],
    "mirror": [vision.Pad((1, 2), padding_mode=vision.Border.REFLECT), vision.Crop((2, 3), (12, 10)),
               vision.VerticalFlip(), vision.Invert(), vision.HWC2CHW()],
    "edge": [vision.RandomCrop(30, None, True, padding_mode=vision.Border.EDGE), transforms.TypeCast("float64")],
    "values first": [vision.Rescale(2, -1), vision.RandomHorizontalFlip(), vision.HWC2CHW(),
                     vision.Normalize(MEAN, STD, is_hwc=False)],
    "function": [lambda x: 255 - x, vision.RandomHorizontalFlip(), vision.HWC2CHW()],
    "unknown": [vision.RandomAffine(20), vision.RandomCrop(10), vision.Resize((12, 12), vision.Inter.BICUBIC),
                vision.Rescale(1, 0)],
    "floats": [vision.Rescale(1, 0), vision.Resize((9, 9)), vision.HWC2CHW()],
}  # fmt: skip


def had(node, epoch, start):
    return list(node.rows(Epoch.start(5, epoch), start))


def written(dataset, epoch=0, start=0):
    return had(dataset._node, epoch, start)


def run(dataset, epoch=0, start=0):
    return had(dataset.plan(), epoch, start)


def same(a, b):
    assert len(a) == len(b)
    for one, two in zip(a, b, strict=True):
        for x, y in zip(one, two, strict=True):
            assert x.dtype == y.dtype and x.shape == y.shape
            np.testing.assert_array_equal(x, y)


def images(kind, channels=3, count=11):
    rng = np.random.default_rng(3)
    if kind == "array":
        return rng.integers(0, 256, (count, 18, 17, channels)).astype(np.uint8)
    return [rng.integers(0, 256, (18 + i % 4 * (kind == "ragged"), 17 + i % 3, channels)).astype(np.uint8)
            for i in range(count)]  # fmt: skip


def pictures(kind, channels=3, **workers):
    made = images(kind, channels)
    source = ds.NumpySlicesDataset({"image": made, "label": np.arange(len(made))}, **workers)
    return source if kind != "rows" else source.map(lambda x: x, "label")


@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("kind", ["array", "ragged", "rows"])
@pytest.mark.parametrize("name", CHAINS)
def test_a_chain_gives_the_rows_of_its_transforms(name, kind, workers):
    dataset = pictures(kind).map(CHAINS[name], "image", num_parallel_workers=workers)
    dataset = dataset.map(transforms.TypeCast("int32"), "label")
    if name == "mirror" and kind != "array":
        dataset = dataset.map(vision.HWC2CHW(), "image").map(vision.CHW2HWC(), "image")
    for batched in (dataset.batch(1), dataset.take(11).repeat(2).batch(1)):
        same(run(batched), written(batched))
        same(run(batched, 2, 3), written(batched, 2)[3:])


@pytest.mark.parametrize("level", ["O0", "O1"])
@pytest.mark.parametrize("name", [n for n in CHAINS if n not in ("edge", "middle")])
def test_whole_batches_by_code_and_by_numpy(name, level):
    before = ms.get_context("jit_level")
    ms.set_context(jit_level=level)
    try:
        for size, drop, workers in itertools.product((4, 11), (False, True), (1, 2)):
            dataset = pictures("array").shuffle(4).map(CHAINS[name], "image", num_parallel_workers=workers)
            batched = dataset.map(transforms.TypeCast("int32"), "label").batch(size, drop)
            assert type(batched.plan()) is ChainBatch
            same(run(batched), written(batched))
            same(run(batched, 1, 1), written(batched, 1)[1:])
    finally:
        ms.set_context(jit_level=before)


@pytest.mark.parametrize("channels", [1, 2, 4, 5])
def test_numbers_of_channels(channels):
    chain = [vision.RandomCrop(12, 3), vision.Resize((20, 9)), vision.RandomHorizontalFlip(), vision.ToTensor()]
    for tail in ([], [transforms.TypeCast("int16")], [transforms.TypeCast("float64")]):
        batched = pictures("array", channels).map([*chain[:3], *tail], "image").batch(4)
        same(run(batched), written(batched))
    batched = pictures("array", channels).map(chain, "image").batch(4)
    same(run(batched), written(batched))


def test_single_images_have_the_same_numbers():
    data, chain = images("array"), [vision.Resize((30, 21)), vision.HorizontalFlip(), *CHAINS["cifar"][2:]]
    (batch,), = run(ds.NumpySlicesDataset(data, "image", shuffle=False).map(chain).batch(11))  # fmt: skip
    for image, made in zip(data, batch, strict=True):
        for transform in chain:
            image = transform(image)
        np.testing.assert_array_equal(image, made)


def test_prefetch_and_states_go_on_in_the_middle():
    ds.config.set_seed(9)
    batched = pictures("array").shuffle(5).map(CHAINS["cifar"], "image").batch(3)
    rows = [row["image"].tolist() for row in batched.create_dict_iterator(1, output_numpy=True)]
    for taken in range(4):
        ds.config.set_seed(9)
        iterator = batched.create_dict_iterator(1, output_numpy=True)
        for _ in range(taken):
            next(iterator)
        ds.config.set_prefetch_size(taken)
        other = pictures("array").shuffle(5).map(CHAINS["cifar"], "image", num_parallel_workers=1 + taken).batch(3)
        rest = other.create_dict_iterator(1, output_numpy=True, state=iterator.state())
        assert [row["image"].tolist() for row in rest] == rows[taken:]


def test_processes_draw_as_threads_do():
    chain, expected = CHAINS["cifar"], None
    for workers, processes in ((1, False), (2, False), (2, True)):
        mapped = pictures("array").map(chain, "image", num_parallel_workers=workers, python_multiprocessing=processes)
        rows = run(mapped.batch(4))
        expected = rows if expected is None else expected
        same(rows, expected)


# ---- what the passes do ----------------------------------------------------------------------------------------------


def test_neighbouring_maps_become_stages():
    dataset = pictures("array").map(lambda x: x + 1, "image").map(vision.RandomHorizontalFlip(), "image")
    plan = dataset.plan()
    assert type(plan) is MapStages and len(plan.stages) == 2 and not isinstance(plan.parent, Map)
    same(run(dataset), written(dataset))


def test_a_shuffle_goes_below_a_map_and_rows_keep_their_draws():
    dataset = pictures("array").map(CHAINS["part"], "image").shuffle(4).map(vision.RandomVerticalFlip(), "image")
    dataset = dataset.shuffle(6)
    inner = dataset.plan().parent
    assert type(dataset.plan()) is Map and type(inner) is EarlyShuffle
    assert type(inner.parent) is Map and type(inner.parent.parent) is EarlyShuffle
    for start in (0, 4):
        same(run(dataset, 1, start), written(dataset, 1, start))
    numbers = [7, 0, 3]
    same(list(dataset.plan().pick(Epoch.start(5, 0), numbers)), [written(dataset)[n] for n in numbers])
    same(run(dataset.batch(3)), written(dataset.batch(3)))


def test_columns_that_nobody_reads_are_not_stacked():
    rows = {"a": np.arange(6), "b": [np.zeros(i) for i in range(6)], "c": np.arange(6.0)}
    dataset = ds.NumpySlicesDataset(rows, shuffle=False).map(lambda c: c + 1, "c").shuffle(3).batch(2)
    (first, *_) = run(dataset.project(["c", "a"]))
    assert [column.shape for column in first] == [(2,), (2,)]
    with pytest.raises(DatasetError, match="'b' of batch 0 mixes rows"):
        run(dataset)
    plain = ds.NumpySlicesDataset({k: rows[k] for k in "ac"}, shuffle=False).map(lambda c: c + 1, "c")
    plain = plain.shuffle(3).batch(2).project(["c", "a"])
    same(run(plain), written(plain))
    same(run(dataset.project(["c", "a"])), written(plain))


def test_what_the_user_wrote_stays_as_it_is():
    dataset = pictures("array").map(CHAINS["cifar"], "image").batch(2)
    text, size = repr(dataset), dataset.get_dataset_size()
    run(dataset)
    assert (repr(dataset), dataset.get_dataset_size(), dataset.get_batch_size()) == (text, size, 2)


def test_a_class_derived_from_a_transform_is_another():
    class Mine(vision.RandomHorizontalFlip):
        def image(self, value):
            return value + 1

    assert record_of(vision.RandomHorizontalFlip()) is not None and record_of(Mine()) is None
    dataset = pictures("array").map([Mine(), vision.HWC2CHW()], "image").batch(5)
    same(run(dataset), written(dataset))


# ---- wrong input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "chain",
    [
        [vision.RandomCrop(40), vision.HWC2CHW()],
        [vision.Crop((9, 9), 12), vision.HWC2CHW()],
        [vision.Normalize([0.5] * 2, [0.5] * 2), vision.HWC2CHW()],
        [vision.RandomCrop(8, 2, fill_value=(1, 2)), vision.HWC2CHW()],
        [vision.Decode(), vision.HWC2CHW()],
        [vision.RandomCropDecodeResize(8), vision.HWC2CHW()],
        [vision.Resize((9, 9)), vision.HWC2CHW(), lambda x: 1 / 0],
    ],
)
def test_errors_are_those_of_the_transforms(chain):
    dataset = pictures("array").map(chain, "image").batch(3)
    texts = []
    for way in (dataset._node, dataset.plan()):
        with pytest.raises(DatasetError) as caught:
            had(way, 0, 0)
        texts.append(str(caught.value))
    assert texts[0] == texts[1]


def test_rows_that_do_not_fit_together_are_named():
    dataset = pictures("ragged").map([vision.RandomHorizontalFlip(), vision.HWC2CHW()], "image").batch(4)
    for way in (written, run):
        with pytest.raises(DatasetError, match="column 'image' of batch 0 mixes rows"):
            way(dataset)


def test_draws_of_many_rows_are_those_of_each():
    assert row_draws.exact()
    seeds = np.random.default_rng(0).integers(0, 2**62, 20)
    for seed in map(int, seeds):
        key, rows = (seed % 7, 0, seed % 2**40), np.arange(seed % 100, seed % 100 + 9)
        many = row_draws.RowDraws(seed % 2**32, key, rows)
        highs = [1, 9, 2**31 + 5, 2**32 - 1, 3, 1]
        found = [[many.integers(high), many.random()] for high in highs]
        for place, row in enumerate(rows):
            path = np.random.SeedSequence(seed % 2**32, spawn_key=(*key, int(row)))
            one = np.random.Generator(np.random.PCG64(path))
            for high, (whole, fraction) in zip(highs, found, strict=True):
                assert (whole[place], fraction[place]) == (one.integers(high), one.random()), f"seed {seed}, row {row}"


def test_a_numpy_that_draws_otherwise_is_believed(monkeypatch):
    monkeypatch.setattr(row_draws, "exact", lambda: False)
    dataset = pictures("array").map(CHAINS["cifar"], "image").batch(4)
    same(run(dataset), written(dataset))


@pytest.mark.parametrize("name", ["cifar", "enlarged"])
def test_large_batches_are_shared_by_threads(name, monkeypatch):
    monkeypatch.setattr(chain_kernel, "SHARE", 64)
    one, two = (pictures("array").map(CHAINS[name], "image", num_parallel_workers=w).batch(11) for w in (1, 2))
    same(run(two), written(one))
