"""What a Cell remembers: Parameters and buffers, out as a dict and in again.

A buffer is a Tensor that belongs to the state but is not trained (a mask, a table of positions). ``state_dict`` names
everything by its path; nothing is copied, so copy (``asnumpy``) what must not follow later steps.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from msnb.base import CheckpointError
from msnb.core import Parameter, Tensor, slot
from msnb.nn.cells.cell_tree import CellTree, joined, members


class _Buffer(Tensor):
    """A tensor that becomes a buffer of the Cell that it is assigned to: ``self.mask = _Buffer(Tensor(...))``."""


class _KeyDifference(NamedTuple):
    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        return f"<{self._asdict()}>" if any(self) else "<All keys matched successfully>"


class CellState(CellTree):
    """The part of Cell that keeps buffers and gives out its state."""

    _buffer_names: dict[str, bool]

    @property
    def _buffers(self) -> dict[str, Any]:
        def put(name: str, buffer: Any) -> None:
            setattr(self, name, buffer) if name in self._buffer_names else self.register_buffer(name, buffer)

        return members(self, {name: getattr(self, name) for name in self._buffer_names}, put)

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a path: ``get_buffer("encoder.mask")``.

        Raises:
            AttributeError: no Cell or no buffer is there.

        Examples:
            >>> import msnb as ms
            >>> net = ms.nn.SequentialCell(ms.nn.BatchNorm1d(1))
            >>> net[0].register_buffer("mask", ms.Tensor([1]))
            >>> net.get_buffer("0.mask").tolist()
            [1]
        """
        found = dict(self.named_buffers()).get(target)
        if found is None:
            raise AttributeError(f"{type(self).__name__} has no buffer {target!r}; named_buffers() has their paths.")
        return found

    def register_buffer(self, name: str, tensor: Any, persistent: bool = True) -> None:
        """Own ``tensor`` as ``self.name``, as state that is not trained.

        Args:
            name: attribute name without dots.
            tensor: Tensor or None.
            persistent: whether ``state_dict`` contains it.

        Raises:
            TypeError: no str, not a Tensor, or a Parameter. KeyError: the name is taken or contains a dot.
        """
        if not isinstance(name, str):
            raise TypeError(f"a buffer's name must be a word without dots, got {name!r}.")
        if "." in name or not name:
            raise KeyError(f"a buffer's name must be a word without dots, got {name!r}.")
        if name in self.__dict__ and name not in self._buffer_names:
            raise KeyError(f"{type(self).__name__} has an attribute {name!r} already.")
        if tensor is not None and (not isinstance(tensor, Tensor) or isinstance(tensor, Parameter)):
            raise TypeError(f"buffer {name} must be a Tensor or None, got {type(tensor).__name__}.")
        self._buffer_names[name] = persistent
        self.__dict__[name] = tensor

    def named_buffers(self, name_prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Tensor]]:
        """(path, buffer) of this Cell and, if ``recurse``, of all below it."""
        for path, cell in self.cells_and_names(name_prefix=name_prefix) if recurse else [(name_prefix, self)]:
            for name in cell._buffer_names:
                value = getattr(cell, name)
                if value is not None:
                    yield joined(path, name), value

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers of this Cell and, if ``recurse``, of all below it."""
        return (tensor for _, tensor in self.named_buffers(recurse=recurse))

    def state_dict(self, prefix: str = "") -> OrderedDict[str, Tensor]:
        """Every Parameter and persistent buffer by path (a shared Parameter once).

        Examples:
            >>> from msnb import nn
            >>> list(nn.Dense(2, 1).state_dict())
            ['weight', 'bias']
        """
        for hook, cell, path in self._asked("_state_dict_pre_hooks"):
            hook(cell, prefix + path, False)
        found = OrderedDict((prefix + name, value) for name, value in self._own_state().items())
        for hook, cell, path in self._asked("_state_dict_post_hooks"):
            hook(cell, found, prefix + path, {})
        return found

    def _own_state(self) -> dict[str, Tensor]:
        found: dict[str, Tensor] = dict(self.parameters_and_names())
        for path, cell in self.cells_and_names():
            for name, persistent in cell._buffer_names.items():
                if persistent and getattr(cell, name) is not None:
                    found[joined(path, name)] = getattr(cell, name)
        return found

    def _asked(self, kind: str) -> list[tuple[Any, Any, str]]:
        """The hooks of one kind of this Cell and all below, each with its Cell and how names begin there."""
        cells = self.cells_and_names()
        return [(hook, cell, path and f"{path}.") for path, cell in cells for hook in getattr(cell, kind)]

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> _KeyDifference:
        """Take values from ``state_dict``: all of them or, after an error, none.

        Args:
            state_dict: path to Tensor or array.
            strict: missing and unexpected names are errors.

        Returns:
            (missing names, unexpected names).

        Raises:
            CheckpointError (a ValueError): names under ``strict``, or shapes that differ. Nothing was changed, unless
                a hook was asked about the names, which comes behind the values.
        """
        given, found, problems = dict(state_dict), _KeyDifference([], []), list[str]()
        for hook, cell, path in self._asked("_load_state_dict_pre_hooks"):
            hook(cell, given, path, {}, strict, *found, problems)
        own, hooks = self._own_state(), self._asked("_load_state_dict_post_hooks")
        found.missing_keys.extend(name for name in own if name not in given)
        found.unexpected_keys.extend(name for name in given if name not in own)
        values = {n: v if isinstance(v, Tensor) else Tensor(v) for n, v in given.items() if n in own}
        problems += [
            f"{n}: the network has {own[n]._type!r}, the dict {v._type!r}"
            for n, v in values.items()
            if own[n].shape != v.shape or v.dtype.category > own[n].dtype.category
        ]
        self._fit(found, problems, strict and not hooks, "; nothing was loaded")
        for name, value in values.items():
            slot.engine.assign(own[name], value if value.dtype is own[name].dtype else value.astype(own[name].dtype))
        for hook, cell, _ in hooks:
            hook(cell, found)
        self._fit(found, [], strict)
        return found

    def _fit(self, found: _KeyDifference, problems: list[str], strict: bool, end: str = "") -> None:
        names = [f"missing: {n}" for n in found.missing_keys] + [f"unexpected: {n}" for n in found.unexpected_keys]
        problems = names + problems if strict else problems
        if problems:
            raise CheckpointError(f"the state does not fit {type(self).__name__}{end}.", operands=problems)

    def summary(self, *inputs: Any) -> Any:
        """The network layer by layer: output, parameters, flops, activations, for inputs of these shapes.

        Args:
            *inputs: one per argument: a shape (a tuple of ints: float32), or a Tensor for other dtypes.

        Returns:
            A ``msnb.nn.cells.summary.Summary``: a table in a cell, text elsewhere. Nothing is run.

        Raises:
            ArgumentError: an input that is neither; other errors are those of the network on such inputs.
        """
        from msnb.nn.cells.summary import summary  # it brings capture and the passes

        return summary(self, *inputs)
