"""Every draw is a function of seed, epoch, place and row: threads, prefetching and later operations change nothing."""

import numpy as np
import pytest

import msnb.dataset as ds
from msnb.core import random as core_random
from msnb.dataset import transforms, vision


def source(n=40):
    return ds.NumpySlicesDataset(np.arange(n), "x")


def epochs(dataset, count=2):
    iterator = dataset.create_tuple_iterator(output_numpy=True)
    return [[row[0].tolist() for row in iterator] for _ in range(count)]


def test_same_seed_same_epochs_whichever_door():
    runs = []
    for set_seed in (ds.config.set_seed, core_random.set_seed, ds.config.set_seed):
        set_seed(11)
        runs.append(epochs(source().shuffle(10), 3))
    assert runs[0] == runs[1] == runs[2]
    assert len({tuple(epoch) for epoch in runs[0]}) == 3


def test_the_seed_set_last_counts():
    core_random.set_seed(21)
    assert ds.config.get_seed() == 21
    ds.config.set_seed(22)
    assert ds.config.get_seed() == 22
    core_random.set_seed(23)
    assert ds.config.get_seed() == 23


def test_epochs_go_on_over_iterators_and_go_back_by_reset_or_seed():
    ds.config.set_seed(3)
    dataset = source()
    first, second = epochs(dataset, 1), epochs(dataset, 1)
    assert first != second
    dataset.reset()
    assert epochs(dataset, 2) == [*first, *second]
    ds.config.set_seed(3)
    assert epochs(dataset, 1) == first
    core_random.set_seed(3)
    assert epochs(dataset, 1) == first
    core_random.set_seed(3)
    assert epochs(dataset, 1) == first, "setting the same seed again starts over"


def test_questions_do_not_move_the_epoch():
    ds.config.set_seed(3)
    plain = epochs(source(), 1)
    ds.config.set_seed(3)
    asked = source()
    asked.output_shapes(), asked.get_dataset_size(), asked.filter(lambda x: True).get_dataset_size()
    assert epochs(asked, 1) == plain


def test_later_operations_do_not_change_the_order():
    ds.config.set_seed(8)
    plain = epochs(source().shuffle(7), 1)[0]
    longer = source().shuffle(7).map(lambda x: x, num_parallel_workers=3).prefetch(2).batch(40)
    assert epochs(longer, 1)[0][0] == plain


@pytest.mark.parametrize("make", [lambda: source(), lambda: source().shuffle(40)])
def test_each_pass_of_repeat_has_its_own_order(make):
    ds.config.set_seed(4)
    rows = epochs(make().repeat(3), 1)[0]
    passes = [tuple(rows[i : i + 40]) for i in (0, 40, 80)]
    assert len(set(passes)) == 3 and all(sorted(p) == list(range(40)) for p in passes)


def test_two_branches_of_zip_draw_apart():
    ds.config.set_seed(4)
    both = ds.zip((source(), ds.NumpySlicesDataset(np.arange(40), "y")))
    rows = [(int(x), int(y)) for x, y in both.create_tuple_iterator(num_epochs=1, output_numpy=True)]
    assert sum(x == y for x, y in rows) < 20


def augmented(workers):
    """Two epochs of random crops of 6x6 images whose pixels are numbered."""
    ds.config.set_seed(9)
    images = ds.NumpySlicesDataset(np.arange(30 * 36).reshape(30, 6, 6, 1), "image", shuffle=False)
    operations = [vision.RandomCrop(3), vision.RandomHorizontalFlip(0.5)]
    iterator = images.map(operations, num_parallel_workers=workers).create_tuple_iterator(output_numpy=True)
    return [np.stack([row[0] for row in iterator]) for _ in range(2)]


def test_random_transforms_draw_per_row_whatever_the_threads():
    one, again, threads = augmented(1), augmented(1), augmented(4)
    assert np.array_equal(one, again) and np.array_equal(one, threads)
    assert not np.array_equal(one[0], one[1]), "augmentation must differ between epochs"
    corners = {(int(image.min()) % 36 // 6, int(image.min()) % 6) for image in one[0]}
    assert len(corners) > 5, "rows must draw apart"


def test_split_freezes_the_cut_but_not_the_augmentation():
    ds.config.set_seed(1)
    noisy = ds.NumpySlicesDataset(np.arange(20.0), "x").map(transforms.RandomChoice([lambda x: x, lambda x: x + 100]))
    left, _ = noisy.split([10, 10])
    one, two = epochs(left, 2)
    assert [v % 100 for v in one] == [v % 100 for v in two] and one != two


def test_transforms_by_hand_follow_the_seed():
    crop = vision.RandomCrop(2)
    image = np.arange(100).reshape(10, 10)
    ds.config.set_seed(1)
    first = [crop(image)[0, 0] for _ in range(8)]
    ds.config.set_seed(1)
    assert [crop(image)[0, 0] for _ in range(8)] == first and len(set(first)) > 2


@pytest.mark.parametrize("seed", [-1, 2**32, 1.5, "1", True])
def test_bad_seeds(seed):
    with pytest.raises((ValueError, TypeError), match="seed"):
        ds.config.set_seed(seed)


def test_a_seed_that_is_put_back() -> None:
    ds.config.set_seed(None)
    before = ds.config.get_seed()
    ds.config.set_seed(7)
    assert ds.config.get_seed() == 7
    ds.config.set_seed(before)
    assert ds.config.get_seed() == before
