"""`Schema`: which columns a file of records has, of which types and shapes.

Source: `mindspore.dataset.Schema`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from msnb.base import ArgumentError, AttributeValueError, DTypeError
from msnb.base.files.bounded_reader import read_json, read_text
from msnb.core import as_dtype
from msnb.dataset.pipeline.rows import check_count
from msnb.dataset.sources.tables.record_file import refusal
from msnb.dataset.string_tensor import string


@dataclass(frozen=True)
class SchemaColumn:
    """Name, type (None: text) and shape (None: a row of any length; -1 once: what is left) of a column."""

    name: str
    dtype: np.dtype[Any] | None
    shape: tuple[int, ...] | None

    def to_json(self) -> dict[str, Any]:
        """The column as a page of JSON has it."""
        page: dict[str, Any] = {"type": "string" if self.dtype is None else str(self.dtype)}
        return page if self.shape is None else {**page, "rank": len(self.shape), "shape": list(self.shape)}


class Schema:
    """The columns of records.

    Args:
        schema_file: a page of JSON: {"datasetType": "TF", "numRows": 3, "columns": {"image": {"type": "uint8", "rank":
            1, "shape": [-1]}}}; default: no column yet.

    Raises:
        FileNotFoundError: there is no such file. DatasetError: it is no schema.

    Source: `mindspore.dataset.Schema`.

    >>> schema = Schema()
    >>> schema.add_column("col1", "int64", [2])
    >>> [column.name for column in schema.columns]
    ['col1']
    """

    def __init__(self, schema_file: Any = None) -> None:
        self.columns: list[SchemaColumn] = []
        self.num_rows: int | None = None
        if schema_file is None:
            return
        path = Path(schema_file)
        if not path.is_file():
            raise FileNotFoundError(f"Schema: there is no file {str(path)!r}")
        refuse = refusal("Schema", path)
        page = read_json(read_text(path, refuse, 16 << 20), refuse)
        try:
            self.from_json(page)
        except (AttributeValueError, ArgumentError) as error:
            raise refuse(f"it is no schema: {error}") from None

    def add_column(self, name: str, de_type: Any, shape: Sequence[int] | None = None) -> None:
        """One more column.

        Args:
            name: its name. de_type: its type; "string" is text. shape: its shape; default: a row of any length.

        Raises:
            ValueError: the name is there, or the shape has a size below -1 or more than one -1.
        """
        if not isinstance(name, str) or not name:
            raise ArgumentError(f"Schema: a column has a name, got {name!r}")
        if any(column.name == name for column in self.columns):
            raise AttributeValueError(f"Schema: the column {name!r} is there already")
        sizes = None if shape is None else tuple(check_count(n, "a size of the shape", least=-1) for n in shape)
        if sizes is not None and sizes.count(-1) > 1:
            raise AttributeValueError(f"Schema: the shape {list(sizes)} has more than one -1")
        self.columns.append(SchemaColumn(name, _type(de_type), sizes))

    def parse_columns(self, columns: Any) -> None:
        """Columns from a dict (name -> type, rank, shape) or a list of these with a name, in place of those there."""
        if isinstance(columns, dict):
            columns = [{**page, "name": name} if isinstance(page, dict) else page for name, page in columns.items()]
        if not isinstance(columns, list) or any(not isinstance(page, dict) for page in columns):
            raise ArgumentError(f"Schema: columns is a dict or a list of dicts, got {columns!r:.60}")
        self.columns = []
        for page in columns:
            unknown = set(page) - {"name", "type", "rank", "shape"}
            if unknown or not {"name", "type"} <= set(page):
                raise AttributeValueError(
                    f"Schema: a column has name, type, rank and shape, got {sorted(map(str, page))}"
                )
            shape = page.get("shape")
            if shape is None and page.get("rank") == 0:
                shape = []
            if shape is not None and not isinstance(shape, list):
                raise ArgumentError(f"Schema: a shape is a list of sizes, got {shape!r:.60}")
            self.add_column(page["name"], page["type"], shape)

    def from_json(self, json_obj: Any) -> None:
        """Columns and the number of rows from a page of JSON."""
        if not isinstance(json_obj, dict) or "columns" not in json_obj:
            raise ArgumentError("Schema: a page of a schema is an object with columns")
        rows = json_obj.get("numRows")
        self.num_rows = None if rows is None else check_count(rows, "numRows")
        self.columns = []
        self.parse_columns(json_obj["columns"])

    def to_json(self) -> str:
        """The schema as a page of JSON."""
        page: dict[str, Any] = {"columns": {column.name: column.to_json() for column in self.columns}}
        return json.dumps(page if self.num_rows is None else {"numRows": self.num_rows, **page})

    def __str__(self) -> str:
        return self.to_json()


def _type(value: Any) -> np.dtype[Any] | None:
    if value is str or value is string or (isinstance(value, str) and value == "string"):
        return None
    try:
        return as_dtype(value).numpy
    except (DTypeError, ArgumentError, AttributeValueError, TypeError, ValueError) as error:
        raise AttributeValueError(f"Schema: there is no type {value!r}: {error}") from None
