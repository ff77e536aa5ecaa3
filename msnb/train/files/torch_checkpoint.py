"""PyTorch's files of weights (.pth, .pt), read without PyTorch and without running a pickle.

    zip archive   name/data.pkl      which tensors there are: instructions of pickle's machine
                  name/data/0, 1 ... the elements, as they lie in memory

The instructions are walked by a machine of our own that knows containers, texts, numbers and the few functions that
such a file needs; any other name in it is refused before anything is called. Entries must be stored as they are, so
that no file unfolds into more than its size. Source: https://docs.pytorch.org/docs/stable/notes/serialization.html
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from msnb.base import CheckpointError
from msnb.base.files.array_archive import Array
from msnb.base.files.bounded_reader import Refuse
from msnb.base.files.zip_archive import open_archive

MOST_INSTRUCTIONS = 5_000_000
_FIRST = b"PK\x03\x04"
_STORAGES: dict[str, Any] = {
    "FloatStorage": np.float32, "DoubleStorage": np.float64, "HalfStorage": np.float16,
    "BFloat16Storage": ml_dtypes.bfloat16, "LongStorage": np.int64, "IntStorage": np.int32, "ShortStorage": np.int16,
    "CharStorage": np.int8, "ByteStorage": np.uint8, "BoolStorage": np.bool_, "ComplexFloatStorage": np.complex64,
    "ComplexDoubleStorage": np.complex128,
}  # fmt: skip
_FUNCTIONS = ("collections OrderedDict", "torch._utils _rebuild_tensor_v2", "torch._utils _rebuild_parameter")


def is_one(first: bytes) -> bool:
    """Whether a file that begins so is a zip archive."""
    return first.startswith(_FIRST)


def read(path: str, refuse: Refuse) -> Any:
    """What a file holds: nested dicts, lists, numbers and texts, with arrays for tensors.

    Args:
        path: the file.
        refuse: makes the error.

    Raises:
        What ``refuse`` makes: it is damaged, compressed, or names anything but tensors and plain values.
    """
    with open_archive(path, refuse) as archive:
        main = [name for name in archive.names if name.endswith("/data.pkl") or name == "data.pkl"]
        if len(main) != 1:
            raise refuse("the archive holds no data.pkl, so it is none of PyTorch's files of weights")
        content = archive.content
        folder = main[0][: -len("data.pkl")]
        if folder + "byteorder" in archive.names and content(folder + "byteorder").strip() not in (b"little", b""):
            raise refuse("its numbers are big-endian")
        machine = _Machine(lambda key: content(f"{folder}data/{key}"), refuse)
        try:
            return machine.run(content(main[0]))
        except CheckpointError:
            raise
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError, MemoryError) as error:
            raise refuse(f"its instructions make no sense ({type(error).__name__}: {error})") from error


class _Mark:
    """Where a list of operands begins."""


class _Name:
    """A name of another program's: a function or a kind of storage."""

    def __init__(self, text: str) -> None:
        self.text = text


class _Machine:
    """Pickle's machine without its power: the values on its stack are plain, and calls go to the functions below."""

    def __init__(self, content: Callable[[str], bytes], refuse: Refuse) -> None:
        self.content, self.refuse = content, refuse
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}
        self.storages: dict[str, Array] = {}

    def run(self, code: bytes) -> Any:
        """The value that the instructions make."""
        for count, (instruction, operand, _) in enumerate(pickletools.genops(code)):
            name = instruction.name
            if count > MOST_INSTRUCTIONS:
                raise self.refuse(f"it has more than {MOST_INSTRUCTIONS} instructions")
            if name == "STOP":
                return self.stack.pop()
            if name in _PUSHES:
                self.stack.append(operand)
            elif name in _STEPS:
                _STEPS[name](self, operand)
            elif name not in ("PROTO", "FRAME"):
                raise self.refuse(f"the instruction {name} belongs to no file of weights")
        raise self.refuse("its instructions end early")

    def to_mark(self) -> list[Any]:
        """The operands since the last mark."""
        at = max(i for i, value in enumerate(self.stack) if isinstance(value, _Mark))
        found = self.stack[at + 1 :]
        del self.stack[at:]
        return found

    def name(self, text: str) -> None:
        """Push a name, if it is one of those that such a file needs."""
        module, _, last = text.partition(" ")
        if text not in _FUNCTIONS and not (module == "torch" and last in _STORAGES):
            raise self.refuse(f"it names {module}.{last}, and only tensors and plain values are read")
        self.stack.append(_Name(text))

    def call(self) -> None:
        """Call a function by its name."""
        args, function = self.stack.pop(), self.stack.pop()
        if not isinstance(function, _Name) or not isinstance(args, tuple):
            raise self.refuse("it calls a value that is no function")
        if function.text == _FUNCTIONS[0]:
            self.stack.append(dict(*args))
        elif function.text == _FUNCTIONS[1]:
            self.stack.append(self.tensor(*args[:4]))
        elif function.text == _FUNCTIONS[2]:
            self.stack.append(args[0])
        else:
            raise self.refuse(f"it calls {function.text}")

    def storage(self) -> None:
        """Push the elements that a persistent name stands for."""
        word, kind, key, _, count = self.stack.pop()
        if word != "storage" or not isinstance(kind, _Name) or not isinstance(key, str):
            raise self.refuse("it refers to something that is no storage")
        if key not in self.storages:
            data = self.content(key)
            self.storages[key] = np.frombuffer(data, np.dtype(_STORAGES[kind.text.rpartition(" ")[2]]))
        found = self.storages[key]
        if not 0 <= count <= found.size:
            raise self.refuse(f"the storage {key!r} says that it has {count} elements, and holds {found.size}")
        self.stack.append(found)

    def tensor(self, elements: Any, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
        """A copy of a part of a storage."""
        plain = isinstance(elements, np.ndarray) and len(shape) == len(strides)
        if not plain or offset < 0 or any(n < 0 for n in (*shape, *strides)):
            raise self.refuse("a tensor in it has no legal shape")
        last = offset + sum((n - 1) * s for n, s in zip(shape, strides))
        count = int(np.prod(shape, dtype=object))
        if count and (last >= elements.size or count > elements.size):
            raise self.refuse(f"a tensor of the shape {list(shape)} ends beyond its {elements.size} elements")
        if not count:
            return np.zeros(shape, elements.dtype)
        size = elements.dtype.itemsize
        view = np.lib.stride_tricks.as_strided(elements[offset:], shape, [s * size for s in strides], writeable=False)
        return np.array(view)


def _set_items(machine: _Machine, pairs: list[Any]) -> None:
    machine.stack[-1].update(zip(pairs[::2], pairs[1::2]))


def _memoize(machine: _Machine, place: Any) -> None:
    machine.memo[len(machine.memo) if place is None else place] = machine.stack[-1]


def _last(machine: _Machine, count: int) -> tuple[Any, ...]:
    found = tuple(machine.stack[-count:])
    del machine.stack[-count:]
    return found


def _global(machine: _Machine, _: Any) -> None:
    machine.name(" ".join(_last(machine, 2)))


def _append(machine: _Machine, _: Any) -> None:
    value = machine.stack.pop()
    machine.stack[-1].append(value)


_PUSHES = frozenset({
    "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "UNICODE", "BININT", "BININT1", "BININT2", "INT", "LONG", "LONG1",
    "LONG4", "BINFLOAT", "FLOAT",
})  # fmt: skip
_STEPS: dict[str, Callable[[_Machine, Any], Any]] = {
    "NONE": lambda m, _: m.stack.append(None),
    "NEWTRUE": lambda m, _: m.stack.append(True),
    "NEWFALSE": lambda m, _: m.stack.append(False),
    "MARK": lambda m, _: m.stack.append(_Mark()),
    "EMPTY_TUPLE": lambda m, _: m.stack.append(()),
    "EMPTY_LIST": lambda m, _: m.stack.append([]),
    "EMPTY_DICT": lambda m, _: m.stack.append({}),
    "TUPLE": lambda m, _: m.stack.append(tuple(m.to_mark())),
    "LIST": lambda m, _: m.stack.append(m.to_mark()),
    "TUPLE1": lambda m, _: m.stack.append(_last(m, 1)),
    "TUPLE2": lambda m, _: m.stack.append(_last(m, 2)),
    "TUPLE3": lambda m, _: m.stack.append(_last(m, 3)),
    "APPEND": _append,
    "APPENDS": lambda m, _: (lambda values: m.stack[-1].extend(values))(m.to_mark()),
    "SETITEM": lambda m, _: _set_items(m, list(_last(m, 2))),
    "SETITEMS": lambda m, _: _set_items(m, m.to_mark()),
    "GLOBAL": lambda m, text: m.name(text),
    "STACK_GLOBAL": _global,
    "REDUCE": lambda m, _: m.call(),
    "BINPERSID": lambda m, _: m.storage(),
    "BUILD": lambda m, _: m.stack.pop(),  # attributes of a dict: versions of modules
    "POP": lambda m, _: m.stack.pop(),
    "MEMOIZE": _memoize,
    **dict.fromkeys(("PUT", "BINPUT", "LONG_BINPUT"), _memoize),
    **dict.fromkeys(("GET", "BINGET", "LONG_BINGET"), lambda m, place: m.stack.append(m.memo[place])),
}
