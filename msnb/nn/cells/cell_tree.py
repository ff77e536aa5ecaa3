"""The tree of Cells: who owns what, and under which name.

    LeNet5                               parameters_and_names()     ("conv1.weight", Parameter), ("fc.weight", ...), ...
      conv1: Conv2d                      cells_and_names()          ("", LeNet5), ("conv1", Conv2d), ...
        weight: Parameter
      blocks: tuple of Cells             a tuple or list of Cells (or Parameters) is one more step: "blocks.0.weight"

What a Cell owns is what lies in its ``__dict__``, in the order of assignment; there is no second book to keep in step.
A Cell or Parameter that is reachable on several paths is met once, under the first of them.

``Parameter.name`` is the path too: an assignment names the Parameter, and putting a Cell into a parent for the first
time prefixes the names of what lives in it. A Parameter that lives elsewhere (tied weights) keeps its name. Nothing is
renamed for that: Cells and Parameters know their ``NameScope``, and names are put together when they are read.

MindSpore names at every assignment anew: the last place counts, and what is appended to a list that has its place
already is called by its position alone; a name of a Parameter's own counts only until its Cell has a place.
Checkpoints have these names, so its programs get them (``name_by_last_place``).
"""

from __future__ import annotations

import re
import weakref
from collections import OrderedDict
from collections.abc import Iterable, Iterator, MutableMapping
from typing import TYPE_CHECKING, Any

from msnb.base import AttributeValueError, events
from msnb.core.parameter import NameScope, Parameter, ParameterTuple

if TYPE_CHECKING:
    from msnb.nn.cells.cell import Cell

UNNAMED = "Parameter"
_by_last_place = False
_late: weakref.WeakKeyDictionary[NameScope, weakref.WeakValueDictionary[str, Parameter]] = weakref.WeakKeyDictionary()
"""Parameters that came after their Cells had a place, by the root of the tree and their own names."""


def name_by_last_place(on: bool) -> None:
    """Whether an assignment renames a Cell that has a place already, as MindSpore does. Names given before stay."""
    global _by_last_place
    _by_last_place = on


def like_mindspore() -> bool:
    """Whether what is made now has the Parameters of MindSpore's checkpoints: their names, shapes and first values."""
    return _by_last_place


def put_last(cell: Any, names: Iterable[str]) -> None:
    """These members come behind the others, in this order."""
    for name in names:
        cell.__dict__[name] = cell.__dict__.pop(name)


def owned(cell: Any, kind: type) -> Iterator[tuple[str, Any]]:
    """(name, object) for every ``kind`` among a Cell's attributes, also inside its tuples and lists; for MindSpore's
    programs, which see no lists, what has another place as well has that one, and a ParameterTuple gives its own."""
    placed: set[int] | None = None if _by_last_place else set()
    for name, value in cell.__dict__.items():
        if isinstance(value, kind):
            yield name, value
        elif isinstance(value, (tuple, list)) and name[:1] != "_":
            for i, item in enumerate(value):
                if not isinstance(item, kind):
                    continue
                placed = _placed(cell, kind) if placed is None else placed
                if id(item) not in placed:
                    named = _by_last_place and isinstance(value, ParameterTuple)
                    yield _own_name(cell, item) if named else f"{name}.{i}", item


def _placed(cell: Any, kind: type) -> set[int]:
    """The ids of the attributes of a kind, and of the Cells below those that are Cells: a list named beside the
    CellList that was made of it is no place."""
    own = [value for value in cell.__dict__.values() if isinstance(value, kind)]
    below = [under for value in own if isinstance(value, CellTree) for _, under in value.cells_and_names()]
    return {*map(id, own), *map(id, below)}


def _own_name(cell: Any, param: Any) -> str:
    return str(param._own_name if home_of(param) is cell else param.name)


class _Members(OrderedDict[str, Any]):
    """``_cells``, ``_params``, ``_buffers`` as programs of MindSpore write them: an entry is an attribute."""

    _cell: Any = None
    _put: Any = None
    pop = MutableMapping.pop  # type: ignore[assignment]

    def __setitem__(self, name: str, member: Any) -> None:
        super().__setitem__(name, member)
        if self._put is not None:
            self._put(name, member)

    def __delitem__(self, name: str) -> None:
        super().__delitem__(name)
        delattr(self._cell, name)

    def copy(self) -> OrderedDict[str, Any]:  # type: ignore[override]
        return OrderedDict(self)

    __copy__ = copy

    def popitem(self, last: bool = True) -> tuple[str, Any]:
        name = next(reversed(self) if last else iter(self))
        return name, self.pop(name)

    def clear(self) -> None:
        for name in list(self):
            del self[name]


def members(cell: Any, found: Any, put: Any = None) -> _Members:
    """What a Cell has of one kind; ``put(name, member)`` gives it another one."""
    made = _Members(found)
    made._cell, made._put = cell, put or cell.__setattr__
    return made


def joined(prefix: str, name: str, sign: str = ".") -> str:
    """Two steps of a path."""
    return f"{prefix}{sign}{name}" if prefix and name else prefix or name


class CellTree:
    """The part of Cell that walks: children, parameters, names. Cell alone derives from it, so each is a Cell."""

    _name_scope: NameScope
    _placed: bool

    def cells(self) -> Iterator[Cell]:
        """The Cells directly inside this one, each once."""
        return iter(self.name_cells().values())

    def name_cells(self) -> OrderedDict[str, Cell]:
        """The Cells directly inside this one, by attribute name."""
        found: OrderedDict[str, Cell] = OrderedDict()
        seen: set[int] = set()
        for name, cell in owned(self, CellTree):
            if id(cell) not in seen:
                seen.add(id(cell))
                found[name] = cell
        return found

    def get_sub_cell(self, target: str) -> Cell:
        """The Cell at a path: ``get_sub_cell("encoder.0")``; of "" the Cell itself.

        Raises:
            AttributeError: no Cell is there.

        Examples:
            >>> from msnb import nn
            >>> nn.SequentialCell(nn.SequentialCell(nn.ReLU())).get_sub_cell("0.0")
            ReLU()
        """
        found: Any = self
        for part in target.split(".") if target else ():
            inside = dict(owned(found, CellTree))
            if part not in inside:
                raise AttributeError(
                    f"{type(self).__name__} has no Cell {target!r}; cells_and_names() has their paths."
                )
            found = inside[part]
        return found  # type: ignore[no-any-return]

    @property
    def _cells(self) -> _Members:
        """``name_cells()`` under the name by which programs look into MindSpore's Cells, and change them."""
        return members(self, self.name_cells())

    @property
    def _params(self) -> _Members:
        """The Parameters directly inside this Cell, by attribute name."""
        return members(self, {name: p for name, p in vars(self).items() if isinstance(p, Parameter)})

    def cells_and_names(self, cells: set[int] | None = None, name_prefix: str = "") -> Iterator[tuple[str, Cell]]:
        """(path, Cell) for this Cell and all below it, each once, parents first.

        Args:
            cells: ids of Cells met already.
            name_prefix: put in front of every path.

        Examples:
            >>> from msnb import nn
            >>> [name for name, _ in nn.SequentialCell(nn.ReLU(), nn.Tanh()).cells_and_names()]
            ['', '0', '1']
        """
        seen = set() if cells is None else cells
        waiting: list[tuple[str, Any]] = [(name_prefix, self)]
        while waiting:
            path, cell = waiting.pop()
            if id(cell) not in seen:
                seen.add(id(cell))
                yield path, cell
                waiting += [(joined(path, name), child) for name, child in owned(cell, CellTree)][::-1]

    def parameters_and_names(self, name_prefix: str = "", expand: bool = True) -> Iterator[tuple[str, Parameter]]:
        """(path, Parameter) of this Cell and, if ``expand``, of all below it; a shared one comes once."""
        seen: set[int] = set()
        places = self.cells_and_names(name_prefix=name_prefix) if expand else [(name_prefix, self)]
        for path, cell in places:
            for name, param in owned(cell, Parameter):
                if id(param) not in seen:
                    seen.add(id(param))
                    yield joined(path, name), param

    def get_parameters(self, expand: bool = True) -> Iterator[Parameter]:
        """The Parameters of this Cell and, if ``expand``, of all below it."""
        return (param for _, param in self.parameters_and_names(expand=expand))

    def parameters_dict(self, recurse: bool = True) -> OrderedDict[str, Parameter]:
        """All Parameters by ``Parameter.name``."""
        return OrderedDict((param.name, param) for param in self.get_parameters(recurse))

    def trainable_params(self, recurse: bool = True) -> list[Parameter]:
        """The Parameters that want a gradient: what an optimizer takes."""
        return [param for param in self.get_parameters(recurse) if param.requires_grad]

    def untrainable_params(self, recurse: bool = True) -> list[Parameter]:
        """The Parameters that want no gradient."""
        return [param for param in self.get_parameters(recurse) if not param.requires_grad]

    @property
    def _prefix(self) -> str:
        """What stands in front of the names that are given here."""
        return self._name_scope.prefix

    def _name_by_number(self, params: Any) -> None:
        """MindSpore's programs: what has no name in a ParameterTuple gets a number, which goes on in the Cell."""
        for param in params if _by_last_place and isinstance(params, ParameterTuple) else ():
            if param.name == UNNAMED:
                self.__dict__["_numbered"] = count = self.__dict__.get("_numbered", 0) + 1
                param.name = f"{UNNAMED}${count}"

    def update_parameters_name(self, prefix: str = "", recurse: bool = True) -> None:
        """Put ``prefix`` in front of the names of the Parameters that live here (not of those tied from elsewhere).

        In MindSpore's programs it stands in front of the paths from here: a prefix from before is gone.
        """
        if _by_last_place:
            if re.fullmatch(r"[\w.-]*", prefix) is None:
                raise AttributeValueError(
                    f"update_parameters_name: letters, digits, _, . and - make a prefix, not {prefix!r}."
                )
            if recurse:
                return _call_below(self, prefix)
            for name, param in self._params.items():
                param.live_in(NameScope(), prefix + name)
            return None
        wanted = [(param, prefix + param.name) for param in _living_in(self, recurse)]
        scopes = [(part._name_scope, prefix + part._prefix) for part in (_below(self) if recurse else [self])]
        if not recurse:  # what hangs here stays; this Cell has a scope of its own beside it
            self._name_scope = NameScope(self._name_scope.root, scopes[0][1])
            scopes = []
        for scope, text in scopes:
            if scope.prefix != text:
                scope.move(NameScope() if scope.outer is None else scope.root, text)
        for param, name in wanted:
            if param.name != name:
                param.name = name
        return None


def _below(cell: Any) -> list[Any]:
    """A Cell and all below it, each once, parents first: no paths, which grow with depth."""
    found: dict[int, Any] = {}
    waiting = [cell]
    while waiting:
        part = waiting.pop()
        if id(part) not in found:
            found[id(part)] = part
            waiting += [child for _, child in owned(part, CellTree)][::-1]
    return list(found.values())


def _living_in(cell: Any, recurse: bool = True) -> list[Parameter]:
    """The Parameters of a Cell without those tied from elsewhere."""
    cells = _below(cell)
    here = {id(part) for part in cells}
    params = {id(p): p for part in (cells if recurse else [cell]) for _, p in owned(part, Parameter)}
    homes = [(param, home_of(param)) for param in params.values()]
    return [param for param, home in homes if home is None or id(home) in here]


def home_of(param: Parameter) -> Any:
    """The Cell to which a Parameter was first assigned, if it still exists."""
    ref = param.__dict__.get("_home")
    return None if ref is None else ref()


def adopt_parameter(cell: Any, name: str, param: Parameter) -> None:
    """Name a Parameter that is assigned to ``cell.name``, unless it lives in another Cell already."""
    if home_of(param) is not None:
        return
    own = name if param.name == UNNAMED else param.name
    full = cell._prefix + own
    for _, other in owned(cell, Parameter):
        if other is not param and other.name == full and cell.__dict__.get(name) is not other:
            if _by_last_place:
                events.notice(f"{type(cell).__name__} has two parameters {full!r}: a checkpoint keeps one of them.")
                continue
            raise ValueError(
                f"{type(cell).__name__} has a parameter called {full!r} already; give each Parameter its own name."
            )
    _settle(cell, param, own, _scope_for(cell, name, param, own))


def _scope_for(cell: Any, name: str, param: Parameter, own: str) -> NameScope:
    """Where the name of a new Parameter begins.

    MindSpore puts no prefix before one that comes after its Cell has a place, until the tree gets another root, or
    until the network runs with two of one name: these are called by their paths.
    """
    scope: NameScope = cell._name_scope
    if not (_by_last_place and cell._placed):
        return scope
    late = _late.setdefault(scope.root, weakref.WeakValueDictionary())
    other = late.get(own)
    if other is None or cell.__dict__.get(name) is other:
        late[own] = param
        return NameScope()
    home = home_of(other)
    if home is not None:
        other.live_in(home._name_scope, own)
    return scope


def _settle(cell: Any, param: Parameter, own: str, scope: NameScope) -> None:
    param.live_in(scope, own)
    param.__dict__["_home"] = weakref.ref(cell)


def adopt_cell(cell: Any, name: str, child: Any) -> None:
    """Give a Cell its place: the first parent's names are the ones it keeps."""
    if child is cell:
        raise ValueError(f"{type(cell).__name__}.{name}: a Cell cannot contain itself.")
    scope: NameScope = cell._name_scope
    if _by_last_place and cell._auto_prefix and "." not in name:  # a dot: in a list of Python
        called = _called_by_position(cell, name)
        _take_place(cell, name, child, scope)
        _call_below(child, called)
    else:
        _take_place(cell, name, child, scope)


def _take_place(cell: Any, name: str, child: Any, scope: NameScope) -> None:
    if not cell._auto_prefix:
        if scope.outer is not None:
            child._name_scope.borrow(scope.root)
    elif child._placed:
        child._name_scope.visit(scope)
    else:
        child.__dict__["_placed"] = True
        _put(child, _step(cell, name))
        _cut_old_ties(scope, child._name_scope)
        child._name_scope.enter(scope, f"{name}.")
        _lend(child)


def _call_below(child: Any, prefix: str) -> None:
    """Everything below is called ``prefix`` and its first path from here, until the tree gets another root; Parameters
    are called as the attributes that hold them."""
    seen: set[int] = set()
    waiting = [(prefix, child)]
    while waiting:
        text, part = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if part._name_scope.prefix != text:
            part._name_scope.call(text)
        for name, param in vars(part).items():
            if isinstance(param, Parameter) and id(param) not in seen:
                seen.add(id(param))
                param.live_in(part._name_scope, name)
        # MindSpore sees no Cells in lists and tuples of Python, and neither do names here
        inside = [(f"{text}{name}.", cell) for name, cell in vars(part).items() if isinstance(cell, CellTree)]
        waiting += inside[::-1]


def _called_by_position(cell: Any, name: str) -> str:
    """The prefix of a new member: its name, and in a list what stands before the positions of its first members."""
    known = vars(cell).get(KNOWN_PREFIX)
    if known is None:
        known = prefix_of_members(cell) if getattr(cell, "has_numbered_cells", False) else ""
    return f"{known}{name}."


KNOWN_PREFIX = "_known_prefix"
"""Where a list that gets several members at once keeps what all of them are called by."""


def prefix_of_members(cell: Any) -> str:
    """What stands before the positions in the names of a list's first two members."""
    firsts = []
    for key, member in cell.name_cells().items():
        param = next(iter(member.get_parameters()), None)
        if param is not None:
            firsts.append((key, param.name.split(".")))
    before: list[str] = []
    if firsts:
        (key, steps), second = firsts[0], firsts[1:2]
        for i in (i for i, step in enumerate(steps) if step == key):
            before = steps[:i]
            if second and second[0][1][i : i + 1] == [second[0][0]]:
                break
    return "".join(f"{step}." for step in before)


def _cut_old_ties(scope: NameScope, inner: NameScope) -> None:
    """Nothing hangs below itself: a Cell that stood in ``inner`` once, and holds it now, leaves it."""
    at = scope
    while inner.holds and at.outer is not None:
        if at.outer is inner:
            at.leave()
            return
        at = at.outer


def _lend(cell: Any) -> None:
    """A Cell that gives no names got a place: what it holds and has none is named by it."""
    if cell._auto_prefix:
        return
    for _, param in owned(cell, Parameter):
        if "_name_scope" not in param.__dict__:
            param.live_in(cell._name_scope, param.name)
    for _, child in owned(cell, CellTree):
        child._name_scope.borrow(cell._name_scope)
        if not child._placed:
            _lend(child)


def leave_cell(cell: Any, child: Any) -> None:
    """A member is taken out: it keeps its names."""
    if child._name_scope.outer is cell._name_scope:
        child._name_scope.leave()


def is_named_here(cell: Any, name: str, child: Any) -> bool:
    """Does a member have its names from this place, and not from another one where it stands too?"""
    return bool(child._placed and child._prefix == f"{cell._prefix}{name}.")


def move_names(cell: Any, old: str, new: str, child: Any) -> None:
    """A member that was called ``old`` is called ``new``: its scope and its Parameters' names follow."""
    if child._scope_name == _step(cell, old):
        _put(child, _step(cell, new))
    child._name_scope.move(cell._name_scope, f"{new}.")


def _step(cell: Any, name: str) -> str:
    return joined(cell._scope_name if cell._only_holds else "", name.replace(".", "/"), "/")


def _put(cell: Any, step: str) -> None:
    """Give a Cell its step of the scope's path. One that only holds Cells never runs, so its own step stands in front
    of theirs: two lists of one Cell are ``Net/left/0`` and ``Net/right/0``."""
    old, cell.__dict__["_scope_name"] = cell._scope_name, step
    for name, member in cell.name_cells().items() if cell._only_holds else ():
        if member._scope_name == joined(old, name, "/"):
            _put(member, joined(step, name, "/"))


def uproot(cell: Any) -> None:
    """Make a copied Cell the root of its own names: its path is gone from them."""
    cell.__dict__["_placed"] = False
    _put(cell, "")
    root, old = cell._name_scope, cell._prefix
    parts = [(part, part._prefix) for part in _below(cell)]
    root.move(None, "")
    for part, prefix in parts:
        if part._name_scope.root is not root:
            part._name_scope.move(root, prefix.removeprefix(old))
    resettle(parts)
    for part, _ in parts:
        for _, param in owned(part, Parameter):
            if "_name_scope" not in param.__dict__:
                param.live_in(root, param.name.removeprefix(old))


def resettle(parts: list[tuple[Any, str]]) -> None:
    """Parameters that were copied or read have their names as text: where it begins with the prefix that their Cell
    had, they live there again."""
    for part, prefix in parts:
        for _, param in owned(part, Parameter):
            if "_name_scope" not in param.__dict__ and param.name.startswith(prefix):
                _settle(part, param, param.name[len(prefix) :], part._name_scope)
