"""Pipelines as JSON, in the form that MindSpore gives them, and pipelines of such JSON.

    data.map(vision.HWC2CHW(), "image").batch(8)
    {"op_type": "Batch", "batch_size": 8, ..., "children": [
        {"op_type": "Map", "input_columns": ["image"], "operations": [{"tensor_op_name": "HWC2CHW", ...}],
         "children": [{"op_type": "MnistDataset", "dataset_dir": "/data", ..., "children": []}]}]}

A source is its class and arguments, an operation too: `enter` makes the constructors of public classes keep these. What
is code of the user or data in memory has a place in the JSON, as in MindSpore, and no way back: `deserialize` says so.
Names in a page are looked up among the public classes alone, so a page of somebody else makes no more than pipelines.

Source: `mindspore.dataset.serialize`
"""

from __future__ import annotations

import enum
import functools
import inspect
import json
import logging
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from msnb.base import ArgumentError, DatasetError
from msnb.base.files.atomic_write import write_whole
from msnb.base.files.bounded_reader import read_file, read_json
from msnb.core import as_dtype
from msnb.dataset.pipeline import nodes
from msnb.dataset.pipeline.batch import Batch, PaddedBatch
from msnb.dataset.pipeline.bucket_batch import BucketBatch
from msnb.dataset.pipeline.dataset import Dataset, register_text, zip as zipped
from msnb.dataset.pipeline.map import Map
from msnb.dataset.pipeline.rows import name_of
from msnb.dataset.pipeline.samplers import Sampler
from msnb.dataset.sources.records.schema import Schema

__all__ = ["compare", "deserialize", "serialize", "show"]

Page = dict[str, Any]
_MOST_PARTS, _MOST_JSON = 10_000, 64 << 20
_BY_CODE = "make the pipeline by code"
_known: dict[str, type] = {}


def enter(classes: Iterable[Any]) -> None:
    """Public classes: their objects keep the arguments they were made of, and `deserialize` knows them by name."""
    for kind in classes:
        if not inspect.isclass(kind):
            continue
        _known[kind.__name__] = kind
        for base in () if issubclass(kind, enum.Enum) else kind.__mro__:
            init = vars(base).get("__init__")
            if (
                base is not Dataset
                and base.__module__.startswith("msnb.dataset.")
                and init
                and not hasattr(init, "keeps_arguments")
            ):
                base.__init__ = _keeping(init)  # type: ignore[misc]


def _keeping(init: Callable[..., None]) -> Callable[..., None]:
    signature = inspect.signature(init)

    @functools.wraps(init)
    def made(self: Any, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs)
        given = dict(signature.bind(self, *args, **kwargs).arguments)
        del given[next(iter(given))]
        if isinstance(self, Dataset):  # the data themselves must not be kept
            self._node.origin = {name: _text(value) for name, value in given.items()}, type(self).__name__
        else:
            vars(self)["_arguments"] = given

    made.keeps_arguments = True  # type: ignore[attr-defined]
    return made


# ---- to JSON ----


def _text(value: Any) -> Any:
    """A value as JSON has it."""
    if value is None or isinstance(value, (bool, int, float, str)) and not isinstance(value, enum.Enum):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, enum.Enum):
        return {"enum": type(value).__name__, "name": value.name}
    if isinstance(value, (list, tuple)) and len(value) <= _MOST_PARTS:
        parts = [_text(part) for part in value]
        return parts if isinstance(value, list) else {"tuple": parts}
    if isinstance(value, Mapping) and len(value) <= _MOST_PARTS and all(isinstance(key, str) for key in value):
        return {"dict": {key: _text(part) for key, part in value.items()}}
    return _object(value)


def _object(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf" and value.size <= _MOST_PARTS:
        return {"array": value.tolist(), "dtype": str(value.dtype)}
    if isinstance(value, Schema):
        return {"schema": json.loads(value.to_json())}
    if isinstance(value, Sampler):
        return _sampler(value)
    if _known.get(type(value).__name__) is type(value):
        return _operation(value)
    try:
        return {"dtype": str(as_dtype(value).numpy)}
    except Exception:  # anything may be asked for its dtype, and it is none
        return {"python_object": name_of(value), "python_module": getattr(value, "__module__", type(value).__module__)}


def _sampler(value: Sampler) -> Page:
    page = {"sampler_name": type(value).__name__, **{k: _text(v) for k, v in vars(value).get("_arguments", {}).items()}}
    return page if value.child is None else {**page, "child_sampler": [_sampler(value.child)]}


def _operation(value: Any) -> Page:
    if _known.get(type(value).__name__) is not type(value):
        return {"tensor_op_name": name_of(value), "python_module": str(getattr(value, "__module__", ""))}
    params = {name: _text(part) for name, part in vars(value).get("_arguments", {}).items()}
    return {"tensor_op_name": type(value).__name__, "tensor_op_params": params}


def _listed(names: Iterable[str]) -> list[str]:
    return list(names)


def _row_range(node: Any) -> Page:
    if node.stop is None:
        return {"op_type": "Skip", "count": node.start}
    return {"op_type": "Take", "count": node.stop}


def _batch(node: Any) -> Page:
    function = None if node.function is None else _operation(node.function)
    size = node.size if isinstance(node.size, int) else _operation(node.size)
    columns = {"input_columns": _listed(node.inputs), "output_columns": _listed(node.outputs)} if function else {}
    return {"op_type": "Batch", "batch_size": size, "drop_remainder": node.drop, "num_parallel_workers": node.workers,
            "per_batch_map": function, **columns}  # fmt: skip


_PAGES: dict[type, Callable[[Any], Page]] = {
    nodes.Shuffle: lambda n: {"op_type": "Shuffle", "buffer_size": n.size, "reset_each_epoch": True},
    nodes.Repeat: lambda n: {"op_type": "Repeat", "count": -1 if n.times is None else n.times},
    nodes.RowRange: _row_range,
    nodes.Zip: lambda n: {"op_type": "Zip"},
    nodes.Concat: lambda n: {"op_type": "Concat"},
    nodes.Project: lambda n: {"op_type": "Project", "columns": _listed(n.columns)},
    nodes.Rename: lambda n: {"op_type": "Rename", "input_columns": [a for a, b in _renamed(n)],
                             "output_columns": [b for a, b in _renamed(n)]},
    nodes.Filter: lambda n: {"op_type": "Filter", "predicate": _operation(n.predicate),
                             "input_columns": _listed(n.seen), "num_parallel_workers": n.workers},
    nodes.Prefetch: lambda n: {"op_type": "Prefetch", "buffer_size": n.size},
    Batch: _batch,
    PaddedBatch: lambda n: {"op_type": "PaddedBatch", "batch_size": _batch(n)["batch_size"], "pad_info": _text(n.pad),
                            "drop_remainder": n.drop, "num_parallel_workers": n.workers},
    BucketBatch: lambda n: {"op_type": "BucketBatchByLength", "length_dependent_columns": _listed(n.taken),
                            "bucket_boundaries": n.boundaries, "bucket_batch_sizes": n.sizes,
                            "element_length_function": n.length and _operation(n.length),
                            "pad_info": _text(n.padding.pad), "pad_to_bucket_boundary": n.to_boundary,
                            "drop_remainder": n.drop},
    Map: lambda n: {"op_type": "Map", "operations": [_operation(op) for op in n.operations],
                    "input_columns": _listed(n.inputs), "output_columns": _listed(n.outputs),
                    "num_parallel_workers": n.workers, "python_multiprocessing": n.processes},
}  # fmt: skip


def _renamed(node: Any) -> list[tuple[str, str]]:
    return [(old, new) for old, new in zip(node.parent.columns, node.columns) if old != new]


def _page(node: nodes.Node) -> Page:
    children = [_page(parent) for parent in node.parents]
    if node.origin is not None:
        return {**node.origin[0], "op_type": node.origin[1], "children": children}
    form = _PAGES.get(type(node))
    if form is None:  # it stands in the page, and has no way back
        return {"op_type": type(node).__name__, "description": node.describe(), "children": children}
    return {**form(node), "children": children}


def to_json(dataset: Dataset, filename: str = "") -> Page:
    """``Dataset.to_json``."""
    page = _page(dataset._node)
    if filename:
        content = json.dumps(page, indent=2).encode()

        def fill(target: BinaryIO) -> None:
            target.write(content)

        write_whole(os.fspath(filename), fill)
    return page


register_text(to_json)


def serialize(dataset: Dataset, json_filepath: str = "") -> Page:
    """A pipeline as a dict that JSON holds, written into a file if one is named.

    Args:
        dataset: the end of the pipeline. json_filepath: the file; "": none.

    Source: `mindspore.dataset.serialize`.

    >>> from msnb.dataset import RandomDataset, Schema
    >>> schema = Schema()
    >>> schema.add_column("x", "uint8", [2])
    >>> page = serialize(RandomDataset(4, schema, shuffle=False).batch(2))
    >>> page["op_type"], page["children"][0]["op_type"], deserialize(page).get_dataset_size()
    ('Batch', 'RandomDataset', 2)
    """
    return to_json(_checked(dataset, "serialize"), json_filepath)


def show(dataset: Dataset, indentation: int | None = 2) -> None:
    """Write a pipeline as JSON to the log "msnb", at the level INFO.

    Source: `mindspore.dataset.show`.
    """
    logging.getLogger("msnb").info("%s", json.dumps(to_json(_checked(dataset, "show")), indent=indentation))


def compare(pipeline1: Dataset, pipeline2: Dataset) -> bool:
    """True if two pipelines have the same JSON.

    Source: `mindspore.dataset.compare`.

    >>> from msnb.dataset import NumpySlicesDataset
    >>> data = NumpySlicesDataset([1, 2, 3], "x")
    >>> compare(data.batch(2), data.batch(2)), compare(data.batch(2), data.batch(3))
    (True, False)
    """
    return to_json(_checked(pipeline1, "compare")) == to_json(_checked(pipeline2, "compare"))


def _checked(dataset: Any, what: str) -> Dataset:
    if not isinstance(dataset, Dataset):
        raise ArgumentError(f"{what} takes a Dataset, got {type(dataset).__name__}")
    return dataset


# ---- from JSON ----


def deserialize(input_dict: Page | None = None, json_filepath: str | None = None) -> Dataset | None:
    """The pipeline of a dict, or of a file (the file wins), that `serialize` made; None without either.

    Raises:
        DatasetError: it is no such page, or has a function of the user or data in memory.

    Source: `mindspore.dataset.deserialize`.
    """
    if json_filepath:
        path = Path(json_filepath)

        def refuse(why: str, hint: str = "") -> DatasetError:
            return DatasetError(f"deserialize: {str(path)!r} cannot be read: {why}.", hint=hint)

        input_dict = read_json(read_file(path, refuse, _MOST_JSON), refuse, most=_MOST_JSON)
    if not input_dict and not json_filepath:
        return None
    try:
        return _made(input_dict)
    except (KeyError, RecursionError, IndexError) as error:
        raise _no_way(f"the page lacks {error}") from None


def _no_way(why: str, hint: str = "") -> DatasetError:
    return DatasetError(f"deserialize: {why}.", hint=hint)


def _value(page: Any) -> Any:
    if isinstance(page, list):
        return [_value(part) for part in page]
    if not isinstance(page, dict):
        return page
    if "sampler_name" in page:
        return _called(page["sampler_name"], Sampler, page, page.get("child_sampler"))
    if "tensor_op_name" in page:
        return _made_operation(page)
    form = next((key for key in _VALUES if key in page), None)
    if form is None:
        raise _no_way(f"{page.get('python_object', str(page)[:60])!r} is an object of Python, which JSON does not hold",
                      _BY_CODE)  # fmt: skip
    return _VALUES[form](page)


def _enum(page: Page) -> Any:
    kind = _known.get(page["enum"])
    if kind is None or not issubclass(kind, enum.Enum) or page["name"] not in kind.__members__:
        raise _no_way(f"there is no {page['enum']}.{page['name']}")
    return kind[page["name"]]


def _schema(page: Page) -> Schema:
    made = Schema()
    made.from_json(page["schema"])
    return made


_VALUES: dict[str, Callable[[Page], Any]] = {
    "enum": _enum,
    "tuple": lambda page: tuple(_value(part) for part in page["tuple"]),
    "dict": lambda page: {key: _value(part) for key, part in page["dict"].items()},
    "array": lambda page: np.array(page["array"], as_dtype(page["dtype"]).numpy),
    "dtype": lambda page: as_dtype(page["dtype"]),
    "schema": _schema,
}


def _called(name: Any, kind: type, page: Page, child: Any = None) -> Any:
    made = _known.get(name) if isinstance(name, str) else None
    if made is None or not issubclass(made, kind):
        raise _no_way(f"there is no {kind.__name__} {name!r}")
    apart = ("sampler_name", "child_sampler", "op_type", "children")
    result: Any = made(**{key: _value(part) for key, part in page.items() if key not in apart})
    if child:
        result.add_child(_value(child[0]))
    return result


def _made_operation(page: Page) -> Any:
    name = page["tensor_op_name"]
    kind = _known.get(name)
    if kind is None or issubclass(kind, (Dataset, Sampler, enum.Enum)) or "tensor_op_params" not in page:
        place = page.get("python_module", "")
        raise _no_way(f"{name!r} of {place!r} is a function of the user, which JSON does not hold", _BY_CODE)
    return kind(**{key: _value(part) for key, part in (page["tensor_op_params"] or {}).items()})


def _map(data: Dataset, page: Page) -> Dataset:
    operations = [_value(part) for part in page["operations"]]
    return data.map(operations, page["input_columns"], page["output_columns"], page.get("num_parallel_workers"),
                    page.get("python_multiprocessing", False))  # fmt: skip


def _batched(data: Dataset, page: Page) -> Dataset:
    return data.batch(_value(page["batch_size"]), page["drop_remainder"], page.get("num_parallel_workers"),
                      per_batch_map=_value(page.get("per_batch_map")), input_columns=page.get("input_columns"),
                      output_columns=page.get("output_columns"))  # fmt: skip


def _padded(data: Dataset, page: Page) -> Dataset:
    pad = {name: tuple(entry) for name, entry in _value(page["pad_info"]).items()}
    return data.padded_batch(_value(page["batch_size"]), page["drop_remainder"], page.get("num_parallel_workers"), pad)


def _bucketed(data: Dataset, page: Page) -> Dataset:
    pad = {name: tuple(entry) for name, entry in _value(page["pad_info"]).items()}
    return data.bucket_batch_by_length(
        page["length_dependent_columns"], page["bucket_boundaries"], page["bucket_batch_sizes"],
        _value(page["element_length_function"]), pad, page["pad_to_bucket_boundary"], page["drop_remainder"],
    )  # fmt: skip


_STEPS: dict[str, Callable[[Dataset, Page], Dataset]] = {
    "Shuffle": lambda data, page: data.shuffle(page["buffer_size"]),
    "Repeat": lambda data, page: data.repeat(page["count"]),
    "Skip": lambda data, page: data.skip(page["count"]),
    "Take": lambda data, page: data.take(page["count"]),
    "Project": lambda data, page: data.project(page["columns"]),
    "Rename": lambda data, page: data.rename(page["input_columns"], page["output_columns"]),
    "Filter": lambda data, page: data.filter(_value(page["predicate"]), page["input_columns"]),
    "Prefetch": lambda data, page: data.prefetch(page["buffer_size"]),
    "Batch": _batched,
    "PaddedBatch": _padded,
    "BucketBatchByLength": _bucketed,
    "Map": _map,
}


def _made(page: Any) -> Dataset:
    if not isinstance(page, dict) or not isinstance(page.get("children"), list):
        raise _no_way(f"a pipeline is a dict with op_type and children, got {str(page)[:60]!r}")
    name, children = page["op_type"], [_made(child) for child in page["children"]]
    if name == "Zip":
        return zipped(tuple(children))
    if name == "Concat":
        return children[0].concat(children[1:])
    if children:
        if name not in _STEPS:
            raise _no_way(f"a step {name!r} has no way back from JSON", _BY_CODE)
        return _STEPS[name](children[0], page)
    try:
        made: Dataset = _called(name, Dataset, page)
    except TypeError as error:
        raise _no_way(f"{name} is not made of these arguments: {error}") from None
    return made
