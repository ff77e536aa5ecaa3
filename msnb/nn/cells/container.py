"""Cells that hold Cells: a sequence that runs, a list and a dict that only hold.

Members are attributes under their position ("0", "1", ...) or key, so all that Cell knows about trees holds for them.
Source: `mindspore.nn.SequentialCell` and its neighbours
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from msnb.core.engine import guarded
from msnb.nn.cells.cell import Cell
from msnb.nn.cells.cell_tree import KNOWN_PREFIX, is_named_here, move_names, owned, prefix_of_members

__all__ = ["CellDict", "CellList", "SequentialCell"]


def _need_cell(where: str, value: Any) -> Cell:
    if not isinstance(value, Cell):
        raise TypeError(
            f"{where} holds Cells, not {type(value).__name__}"
            + (" (make an object of the class first)." if isinstance(value, type) else ".")
        )
    return value


class _Container(Cell):
    """A Cell with members. Their names, in one string, and the members are read through the engine, so that a compiled
    program that went through them notices when they change."""

    _names = ""

    def __setattr__(self, name: str, value: Any) -> None:
        is_new = name not in self.__dict__
        super().__setattr__(name, value)
        if isinstance(value, Cell):
            if is_new:  # it is the last one
                self.__dict__["_names"] = f"{self._names} {name}".lstrip()
            else:
                self._note_names()

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        self._note_names()

    def _note_names(self) -> None:
        self.__dict__["_names"] = " ".join(name for name, _ in owned(self, Cell))

    def _member_names(self) -> list[str]:
        found: str = guarded(self, "_names")
        return found.split()

    def _members(self) -> list[tuple[str, Cell]]:
        return [(name, guarded(self, name)) for name in self._member_names()]

    def __len__(self) -> int:
        return len(self._member_names())


class _Sequence(_Container):
    """Members by position."""

    has_numbered_cells = True  # a tensor may be their index in a compiled function

    def __iter__(self) -> Iterator[Cell]:
        return iter([cell for _, cell in self._members()])

    def _name(self, index: int) -> str:
        names = self._member_names()
        if not -len(names) <= index < len(names):
            raise IndexError(f"{type(self).__name__} has {len(names)} Cells, there is none at {index}.")
        return names[index]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            make: Any = type(self)
            return make(*[cell for _, cell in self._members()[index]])
        return guarded(self, index if isinstance(index, str) else self._name(index))

    def __setitem__(self, index: int, cell: Cell) -> None:
        setattr(self, self._name(index), _need_cell(type(self).__name__, cell))

    def __delitem__(self, index: Any) -> None:
        members = self._members()
        gone = members[index] if isinstance(index, slice) else [(self._name(index), None)]
        names = {name for name, _ in gone}
        self._replace([(name, cell) for name, cell in members if name not in names])

    def _replace(self, members: list[tuple[str, Cell]]) -> None:
        """These Cells and no others; positions are counted anew, names given by hand stay. A Cell that is new comes
        without a name. Scopes and Parameters' names follow their Cells."""
        own = [is_named_here(self, name, cell) for name, cell in members]
        with self._many():
            for name, _ in self._members():
                delattr(self, name)
            for i, (name, cell) in enumerate(members):
                place = str(i) if name.isdigit() or not name else name
                if own[i]:
                    move_names(self, name, place, cell)
                setattr(self, place, cell)

    def append(self, cell: Cell) -> Any:
        """Put ``cell`` at the end; gives back the container."""
        setattr(self, str(len(self)), _need_cell(type(self).__name__, cell))
        return self

    def insert(self, index: int, cell: Cell) -> None:
        """Put ``cell`` before position ``index``."""
        members = self._members()
        members.insert(index, ("", _need_cell(type(self).__name__, cell)))
        self._replace(members)

    def extend(self, cells: Iterable[Cell]) -> Any:
        """Put ``cells`` at the end; gives back the container."""
        with self._many():
            for cell in list(cells):
                self.append(cell)
        return self

    __iadd__ = extend

    @contextmanager
    def _many(self) -> Iterator[None]:
        """Members that come together are called by what the members before them are."""
        self.__dict__[KNOWN_PREFIX] = prefix_of_members(self) if self._members() else ""
        try:
            yield
        finally:
            del self.__dict__[KNOWN_PREFIX]


class SequentialCell(_Sequence):
    """Cells that run one after the other.

    Args:
        *args: Cells, one list of Cells, or one OrderedDict of names and Cells.

    Raises:
        TypeError: something else than a Cell.

    Examples:
        >>> import msnb as ms
        >>> net = ms.nn.SequentialCell(ms.nn.ReLU(), ms.nn.Flatten())
        >>> net(ms.Tensor([[[-1.0, 2.0]]])).tolist()
        [[0.0, 2.0]]
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        given = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple, dict)) else args
        pairs = given.items() if isinstance(given, Mapping) else ((str(i), cell) for i, cell in enumerate(given))
        with self._many():
            for name, cell in pairs:
                setattr(self, name, _need_cell("SequentialCell", cell))

    @property
    def cell_list(self) -> list[Cell]:
        """The Cells in order, as subclasses in MindSpore's programs read them."""
        return list(self)

    def construct(self, x: Any) -> Any:
        """The last Cell's result."""
        for cell in self:
            x = cell(x)
        return x


class CellList(_Sequence):
    """A list of Cells whose Parameters are known; it does not run.

    Args:
        *args: Cells, or one list of Cells.

    Examples:
        >>> from msnb import nn
        >>> cells = nn.CellList([nn.Dense(2, 2) for _ in range(3)])
        >>> len(cells), cells[1].weight.name
        (3, '1.weight')
    """

    is_ensemble: bool = True
    """``vmap`` takes it as one network per example."""

    def __init__(self, *args: Any, auto_prefix: bool = True) -> None:
        super().__init__(auto_prefix=auto_prefix)
        self.extend(args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args)

    @property
    def _only_holds(self) -> bool:
        return type(self).construct is CellList.construct

    def construct(self, *inputs: Any) -> Any:
        """Refuses.

        Raises:
            NotImplementedError: a CellList is not a network; loop over it.
        """
        raise NotImplementedError("a CellList does not run; loop over it: `for cell in self.cells: x = cell(x)`.")


class CellDict(_Container):
    """A dict of Cells whose Parameters are known; it does not run.

    Args:
        cells: a mapping or pairs of names and Cells.

    Examples:
        >>> from msnb import nn
        >>> list(nn.CellDict({"a": nn.ReLU()}))
        ['a']
    """

    def __init__(self, cells: Any = None) -> None:
        super().__init__()
        if cells is not None:
            self.update(cells)

    def __bool__(self) -> bool:
        return True

    @property
    def _only_holds(self) -> bool:
        return type(self).construct is CellDict.construct

    def update(self, cells: Any) -> None:
        """Add or replace Cells."""
        for name, cell in OrderedDict(cells).items():
            self[name] = cell

    def __getitem__(self, key: str) -> Cell:
        if key not in self:
            raise KeyError(f"{key!r}; CellDict has {', '.join(self.keys()) or 'nothing'}.")
        found: Cell = guarded(self, key)
        return found

    def __setitem__(self, key: str, cell: Cell) -> None:
        if not isinstance(key, str) or not key or "." in key or " " in key:
            error = KeyError if isinstance(key, str) else TypeError
            raise error(f"a key of CellDict is a word without dots or spaces, got {key!r}.")
        if hasattr(type(self), key):
            raise KeyError(f"{key!r} is a method of Cell; choose another key.")
        setattr(self, key, _need_cell("CellDict", cell))

    def __delitem__(self, key: str) -> None:
        self[key]
        delattr(self, key)

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __contains__(self, key: object) -> bool:
        return key in self.keys()

    def keys(self) -> list[str]:
        """The names."""
        return self._member_names()

    def values(self) -> list[Cell]:
        """The Cells."""
        return [cell for _, cell in self._members()]

    def items(self) -> list[tuple[str, Cell]]:
        """Pairs of names and Cells."""
        return self._members()

    def pop(self, key: str) -> Cell:
        """Take a Cell out."""
        found = self[key]
        delattr(self, key)
        return found

    def clear(self) -> None:
        """Take all Cells out."""
        for key in self.keys():
            delattr(self, key)

    def construct(self, *inputs: Any) -> Any:
        """Refuses.

        Raises:
            NotImplementedError: a CellDict is not a network; call its members.
        """
        raise NotImplementedError("a CellDict does not run; call its members: `self.cells['name'](x)`.")
