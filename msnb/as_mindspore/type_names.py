"""MindSpore's classes of types: ``isinstance(ops.typeof(x), dtype.TensorType)``, ``isinstance(x.dtype, dtype.Float)``.

    dtype.Int          the dtypes of signed integers, and Python's int
    dtype.TensorType   the type of a tensor, as ``ops.typeof`` gives it
    dtype.Tuple        Python's tuple

Here a dtype is a dtype and a type of Python a type of Python; these classes answer which is which. So do the classes of
data sets: ``isinstance(data, dataset.BatchDataset)`` where ``data`` comes from ``batch``.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, cast

from msnb.base import ArgumentError, DeviceError
from msnb.core import DType, Tensor, TensorType as _TensorType
from msnb.dataset.pipeline import nodes
from msnb.dataset.pipeline.batch import Batch, PaddedBatch
from msnb.dataset.pipeline.bucket_batch import BucketBatch
from msnb.dataset.pipeline.dataset import Dataset, zip
from msnb.dataset.pipeline.map import Map
from msnb.dataset.pipeline.source_nodes import IndexedSource, StreamSource


class _Kind(type):
    """A class whose instances are types and dtypes."""

    has: Callable[[Any], bool]

    def __instancecheck__(cls, found: Any) -> bool:
        return bool(cls.has(found))


def _kind(name: str, what: str, has: Callable[[Any], bool]) -> _Kind:
    return _Kind(name, (), {"__doc__": f"The types of {what}.", "__module__": __name__, "has": staticmethod(has)})


def _of(python: type, *, dtypes: Callable[[DType], bool] = lambda dtype: False) -> Callable[[Any], bool]:
    return lambda found: dtypes(found) if isinstance(found, DType) else found is python


Int: type = _kind("Int", "signed integers", _of(int, dtypes=lambda d: d.is_int and d.signed))
UInt: type = _kind("UInt", "unsigned integers", _of(DType, dtypes=lambda d: d.is_int and not d.signed))
Float: type = _kind("Float", "floats", _of(float, dtypes=lambda d: d.is_float and d.name != "bfloat16"))
BFloat: type = _kind("BFloat", "bfloat16", lambda found: isinstance(found, DType) and found.name == "bfloat16")
Complex: type = _kind("Complex", "complex numbers", _of(complex, dtypes=lambda d: d.is_complex))
Bool: type = _kind("Bool", "truth values", _of(bool, dtypes=lambda d: d.name.lower() == "bool"))
_NUMBERS = {bool, int, float, complex}
Number = _kind("Number", "numbers", lambda found: isinstance(found, DType) or type(found) is type and found in _NUMBERS)
String: type = _kind("String", "texts", _of(str))
Tuple: type = _kind("Tuple", "tuples", _of(tuple))
List: type = _kind("List", "lists", _of(list))
Dict: type = _kind("Dict", "dicts", _of(dict))
NoneType: type = _kind("NoneType", "None", _of(type(None)))
TensorType: type = _kind("TensorType", "tensors", lambda found: isinstance(found, _TensorType))
number, tensor_type, tuple_, list_, type_none = Number, TensorType, Tuple, List, NoneType
int_: type = Int
uint: type = UInt
float_: type = Float
Type: type = _kind("Type", "anything", lambda found: isinstance(found, (type, DType, _TensorType)))


class _QuantWidth(Enum):
    def __str__(self) -> str:
        return self.name

    def value(self) -> int:
        """Its number in MindSpore's files."""
        return int(self._value_)


_WIDTHS = [(f"{sign}INT{bits}", first + bits) for sign, first in (("", -1), ("U", 99)) for bits in range(1, 17)]
QuantDtype: Any = cast(Any, _QuantWidth)("QuantDtype", _WIDTHS, module=__name__)


class UntypedStorage:
    """The memory of a tensor as bytes: ``x.untyped_storage()``. Every tensor has memory of its own, also a slice."""

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor

    def size(self) -> int:
        """The number of bytes."""
        return self._tensor.nbytes

    nbytes = __len__ = size

    def element_size(self) -> int:
        """1: the elements are bytes."""
        return 1

    def is_shared(self) -> bool:
        """False: no other process sees it."""
        return False

    def data_ptr(self) -> int:
        """The address of the first byte, on the CPU."""
        return int(self._tensor.asnumpy().ctypes.data)

    def copy_(self, src: UntypedStorage, non_blocking: bool = False) -> UntypedStorage:
        """Write the bytes of a memory of the same size into the tensor; at once, also where ``non_blocking``.

        Raises:
            RuntimeError: ``src`` has another size.
        """
        if src.size() != self.size():
            raise DeviceError(f"copy_: this memory has {self.size()} bytes, src has {src.size()}.")
        found = src._tensor.asnumpy().reshape(-1).view(self._tensor.dtype.numpy)
        self._tensor.assign_value(Tensor(found.reshape(self._tensor.shape)))
        return self

    @property
    def device(self) -> str:
        """Where it is."""
        return self._tensor.device


class _Operation(type):
    """The class of data sets that come from one operation; calling it does the operation."""

    has: Callable[[Any], bool]
    method: str

    def __instancecheck__(cls, found: Any) -> bool:
        return isinstance(found, Dataset) and bool(cls.has(found._node))

    def __call__(cls, first: Any, *args: Any, **kwargs: Any) -> Any:
        if not cls.method:
            raise ArgumentError(f"{cls.__name__} is a name for isinstance; its subclasses make data sets.")
        if cls.method == "concat":  # its children come as a list
            return first[0].concat(list(first[1:]))
        return zip(tuple(first)) if cls.method == "zip" else getattr(first, cls.method)(*args, **kwargs)


def _operation(name: str, method: str, has: Callable[[Any], bool]) -> _Operation:
    doc = f"The data sets that ``{method or 'no operation'}`` gives."
    return _Operation(name, (), {"__doc__": doc, "__module__": __name__, "has": staticmethod(has), "method": method})


def _node(kind: type) -> Callable[[Any], bool]:
    return lambda node: type(node) is kind


BatchDataset: type = _operation("BatchDataset", "batch", _node(Batch))
PaddedBatchDataset: type = _operation("PaddedBatchDataset", "padded_batch", _node(PaddedBatch))
BucketBatchByLengthDataset = _operation("BucketBatchByLengthDataset", "bucket_batch_by_length", _node(BucketBatch))
ConcatDataset: type = _operation("ConcatDataset", "concat", _node(nodes.Concat))
ZipDataset: type = _operation("ZipDataset", "zip", _node(nodes.Zip))
FilterDataset: type = _operation("FilterDataset", "filter", _node(nodes.Filter))
MapDataset: type = _operation("MapDataset", "map", _node(Map))
ProjectDataset: type = _operation("ProjectDataset", "project", _node(nodes.Project))
RenameDataset: type = _operation("RenameDataset", "rename", _node(nodes.Rename))
RepeatDataset: type = _operation("RepeatDataset", "repeat", _node(nodes.Repeat))
ShuffleDataset: type = _operation("ShuffleDataset", "shuffle", _node(nodes.Shuffle))
SkipDataset: type = _operation("SkipDataset", "skip", lambda node: type(node) is nodes.RowRange and node.stop is None)
TakeDataset = _operation("TakeDataset", "take", lambda node: type(node) is nodes.RowRange and node.stop is not None)
MappableDataset: type = _operation("MappableDataset", "", lambda node: isinstance(node, IndexedSource))
SourceDataset: type = _operation("SourceDataset", "", lambda node: isinstance(node, (IndexedSource, StreamSource)))
