"""`PaddedDataset`: rows from a list of dicts, to fill up another data set by ``+``.

Source: `mindspore.dataset.PaddedDataset`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msnb.base import ArgumentError, AttributeValueError
from msnb.dataset.pipeline.rows import Row, to_array
from msnb.dataset.sources.tables.table_source import RowChoice, Table, TableDataset


class PaddedDataset(TableDataset):
    """Rows that are given as they are.

    Args:
        padded_samples: dicts with the same names, each a row.

    Raises:
        TypeError, ValueError: no dicts, none at all, or other names.

    Source: `mindspore.dataset.PaddedDataset`.

    >>> PaddedDataset([{"x": [1, 2]}, {"x": [3, 4]}]).get_dataset_size()
    2
    """

    def __init__(self, padded_samples: Sequence[Mapping[str, Any]]) -> None:
        if not isinstance(padded_samples, (list, tuple)) or any(not isinstance(r, Mapping) for r in padded_samples):
            raise ArgumentError("PaddedDataset takes a list of dicts, one for each row")
        if not padded_samples:
            raise AttributeValueError("PaddedDataset: the list has no row")
        names = tuple(padded_samples[0])
        odd = next((row for row in padded_samples if set(row) != set(names)), None)
        if odd is not None:
            raise AttributeValueError(f"PaddedDataset: a row has {sorted(odd)}, the first one {sorted(names)}")
        rows = [tuple(to_array(row[name]) for name in names) for row in padded_samples]

        def read(row: Row) -> Row:
            return tuple(part.copy() for part in row)

        super().__init__(Table(names, rows, read), RowChoice(shuffle=False))
