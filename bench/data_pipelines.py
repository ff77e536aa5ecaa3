"""Rates of data pipelines: rows per second, each way in turn, the best of several rounds.

    python -m bench.data_pipelines                   all pipelines
    python -m bench.data_pipelines arrays pictures   some of them; --rounds 9 for more rounds

Each line: MindSpore 2.10's recorded rate with two workers (on two cores, when they were quiet), the rate that we must
reach, what a plain program without a pipeline does in the same rounds, and the pipeline with 1 and 2 workers.
"""

from __future__ import annotations

import argparse
import io
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image

import msnb.dataset as ds
from msnb.dataset import vision

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
SMALL, PICTURES = 4096, 384


@dataclass(frozen=True)
class Case:
    """A pipeline to measure.

    Args:
        recorded: MindSpore's rate; bar: the rate that must be reached, with how many `workers` it is measured.
        rows: in one epoch. plain: a program without a pipeline, and what it is called.
        pipeline: the data set for so many workers.
    """

    name: str
    recorded: float | None
    bar: float | None
    rows: int
    plain_name: str
    plain: Callable[[], None]
    pipeline: Callable[[int], ds.Dataset]


def tails() -> list[Any]:
    """What both picture pipelines end with."""
    scaled_mean, scaled_std = [255 * m for m in MEAN], [255 * s for s in STD]
    return [vision.RandomHorizontalFlip(), vision.Normalize(scaled_mean, scaled_std), vision.HWC2CHW()]


def small_images() -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).integers(0, 256, (SMALL, 32, 32, 3)).astype(np.uint8)


def pictures() -> list[np.ndarray[Any, Any]]:
    """The bytes of JPEGs of 500x375: coarse noise, enlarged, with a little fine noise."""
    rng, out = np.random.default_rng(0), []
    for _ in range(PICTURES):
        coarse = Image.fromarray(rng.integers(0, 256, (12, 16, 3)).astype(np.uint8)).resize((500, 375), Image.BICUBIC)
        fine = np.asarray(coarse, np.int16) + rng.integers(-8, 9, (375, 500, 3))
        kept = io.BytesIO()
        Image.fromarray(fine.clip(0, 255).astype(np.uint8)).save(kept, "JPEG", quality=90)
        out.append(np.frombuffer(kept.getvalue(), np.uint8))
    return out


def batches(arrays: Any, size: int = 128) -> None:
    """Arrays cut into batches, by NumPy."""
    order = np.random.default_rng(0).permutation(len(arrays))
    for first in range(0, len(order), size):
        arrays[order[first : first + size]]


def whole_batches(images: Any) -> None:
    """Crop, flip, normalise and layout over whole batches, by NumPy."""
    rng = np.random.default_rng(0)
    mean, std = np.float32(MEAN), np.float32(STD)
    for first in range(0, len(images), 128):
        part = np.pad(images[first : first + 128], ((0, 0), (4, 4), (4, 4), (0, 0)))
        n = len(part)
        rows = rng.integers(0, 9, (n, 1)) + np.arange(32)
        columns = rng.integers(0, 9, (n, 1)) + np.arange(32)
        columns = np.where(rng.random((n, 1)) < 0.5, columns[:, ::-1], columns)
        part = part[np.arange(n)[:, None, None], rows[:, :, None], columns[:, None, :]]
        scaled = (part.astype(np.float32) * np.float32(1 / 255) - mean) / std
        np.asarray(scaled.transpose(0, 3, 1, 2), order="C")


def decoded_alone(files: Sequence[Any]) -> Callable[[], None]:
    """Decoding on two threads and nothing else."""
    decode = vision.Decode()

    def run() -> None:
        with ThreadPoolExecutor(2) as pool:
            for _ in pool.map(decode, files):
                pass

    return run


def slow(x: Any) -> Any:
    """A function in Python that holds its lock."""
    total = 0
    for i in range(20_000):
        total += i & 3
    return x + total


def calls(count: int) -> Callable[[], None]:
    return lambda: [slow(i) for i in range(count)] and None


def cases(wanted: Sequence[str]) -> Iterator[Case]:
    """The cases of these groups; material is made when it is asked for."""
    if "rows" in wanted or "arrays" in wanted:
        images = small_images()
        source = ds.NumpySlicesDataset(images, "image", shuffle=True)
        many = ds.NumpySlicesDataset(np.arange(1_000_000, dtype=np.int64), "x", shuffle=True)
        chain = [vision.RandomCrop(32, 4), vision.RandomHorizontalFlip(), vision.Rescale(1 / 255, 0),
                 vision.Normalize(MEAN, STD), vision.HWC2CHW()]  # fmt: skip
    if "rows" in wanted:
        numbers = np.arange(1_000_000)
        yield Case("numbers, batch 128", None, 1e6, 1_000_000, "NumPy", lambda: batches(numbers),
                   lambda _: many.batch(128))  # fmt: skip
        yield Case("32x32 arrays, batch 128", 35_200, None, SMALL, "NumPy", lambda: batches(images),
                   lambda _: source.batch(128))  # fmt: skip
    if "arrays" in wanted:
        yield Case("32x32: crop, flip, rescale, normalise, CHW, batch 128", 18_400, 5 * 18_400, SMALL, "NumPy, batches",
                   lambda: whole_batches(images),
                   lambda w: source.map(chain, num_parallel_workers=w).batch(128))  # fmt: skip
    if "pictures" in wanted:
        yield from picture_cases()
    if "python" in wanted:
        few = ds.NumpySlicesDataset(np.arange(400), "x", shuffle=False)
        yield Case("Python function, processes", None, None, 400, "calls in a loop", calls(400),
                   lambda w: few.map(slow, num_parallel_workers=w, python_multiprocessing=True))  # fmt: skip


def picture_cases() -> Iterator[Case]:
    files = pictures()
    source = ds.GeneratorDataset(files, "image", shuffle=False)
    alone, crop = decoded_alone(files), vision.RandomResizedCrop(224)

    def ends(first: Sequence[Any], workers: int) -> ds.Dataset:
        return source.map([*first, *tails()], num_parallel_workers=workers).batch(32)

    name = "decode alone, 2 threads"
    yield Case("JPEG: Decode", 1186, None, PICTURES, name, alone,
               lambda w: source.map(vision.Decode(), num_parallel_workers=w))  # fmt: skip
    yield Case("JPEG: Decode, RandomResizedCrop 224, flip, normalise, CHW, batch 32", 936, 1.2 * 1338, PICTURES, name,
               alone, lambda w: ends([vision.Decode(), crop], w))  # fmt: skip
    yield Case("JPEG: RandomCropDecodeResize 224, flip, normalise, CHW, batch 32", 1338, 1.2 * 1338, PICTURES, name,
               alone, lambda w: ends([vision.RandomCropDecodeResize(224)], w))  # fmt: skip


def seconds(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def epoch(dataset: ds.Dataset) -> Callable[[], None]:
    def run() -> None:
        for _ in dataset.create_tuple_iterator(num_epochs=1, output_numpy=True):
            pass

    return run


def measured(case: Case, rounds: int) -> list[float]:
    """Rows per second of the plain program, and of the pipeline with 1 and 2 workers."""
    ways = [case.plain, epoch(case.pipeline(1)), epoch(case.pipeline(2))]
    for way in ways:
        way()
    best = [float("inf")] * len(ways)
    for _ in range(rounds):
        best = [min(b, seconds(way)) for b, way in zip(best, ways, strict=True)]
    return [case.rows / b for b in best]


def shown(rate: float | None) -> str:
    return "" if rate is None else f"{rate:,.0f}"


def main() -> None:
    groups = ("rows", "arrays", "pictures", "python")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", nargs="*", choices=[*groups, []])
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    print("| pipeline | MindSpore | bar | plain | 1 worker | 2 workers | of plain | 2 over 1 |\n|" + "---|" * 8)
    for case in cases(given.groups or groups):
        plain, one, two = measured(case, given.rounds)
        rates = " | ".join(map(shown, (case.recorded, case.bar, plain, one, two)))
        ratios = f"{max(one, two) / plain:.2f} | {two / one:.2f}"
        print(f"| {case.name} ({case.plain_name}) | {rates} | {ratios} |", flush=True)


if __name__ == "__main__":
    main()
