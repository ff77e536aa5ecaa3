"""The nodes that pull rows: map, batch, shuffle, prefetch; samplers; settings."""

from msnb.dataset.pipeline.dataset import Dataset, flag, workers_of
from msnb.dataset.pipeline.epoch_rng import draws
from msnb.dataset.pipeline.rows import Array, Row, as_columns, check_count, describe, positions, to_array
from msnb.dataset.pipeline.samplers import Sampler, choose
from msnb.dataset.pipeline.source_nodes import IndexedSource

__all__ = [
    "Array", "Dataset", "IndexedSource", "Row", "Sampler", "as_columns", "check_count", "choose", "describe", "draws",
    "flag", "positions", "to_array", "workers_of",
]  # fmt: skip
