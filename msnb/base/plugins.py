"""Plug-ins: ops, passes and devices that other packages bring along, found through their entry points.

    [project.entry-points."msnb.ops"]         hypot = "my_package:hypot"      ms.ops.hypot, an op or a function of ops
    [project.entry-points."msnb.passes"]      my_law = "my_package:my_law"    a Pass record, run by every compilation
    [project.entry-points."msnb.devices"]     Mine = "my_package:make"        set_context(device_target="Mine")

    [project.entry-points."msnb.devices"]     Mine = "my_package:make"       set_context(device_target="Mine")
runs (the passes). Listing reads the metadata of installed packages and imports none of them; a package is imported
when its plug-in is wanted. One that fails is announced once, by name, and left out: msnb works without it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from msnb.base import events
from msnb.base.errors import reraise_interrupt

OPS, PASSES, DEVICES = GROUPS = ("msnb.ops", "msnb.passes", "msnb.devices")
_MISSING = object()


@dataclass
class Plugin:
    """One thing that a package offers.

    Attributes:
        group: "msnb.ops", "msnb.passes" or "msnb.devices".
        name: the name it goes by in msnb.
        package: the package that brings it, with its version.
        error: why it could not be loaded, or "".
    """

    group: str
    name: str
    package: str
    _load: Callable[[], Any] = field(repr=False)
    error: str = ""
    _value: Any = field(default=_MISSING, repr=False)

    @property
    def loaded(self) -> bool:
        """True once its package has been imported without an error."""
        return self._value is not _MISSING

    def load(self) -> Any:
        """The object it offers, imported on the first call; None (and one notice) if that fails."""
        if self.loaded or self.error:
            return self._value if self.loaded else None
        try:
            self._value = self._load()
        except Exception as error:
            reraise_interrupt(error)
            self.fail(error)
            return None
        return self._value

    def fail(self, error: BaseException | str) -> None:
        """Leave it out from now on, and say so once."""
        self._value = _MISSING
        self.error = str(error) if isinstance(error, str) else f"{type(error).__name__}: {error}"
        text = f"the plug-in {self.name!r} ({self.group}) of {self.package} is left out: {self.error}"
        events.notice(text, key=f"plugin {self.group} {self.name} {self.package}")


_found: dict[str, dict[str, Plugin]] = {}


def found(group: str | None = None) -> list[Plugin]:
    """What installed packages offer, without importing any of them.

    Args:
        group: one of the three groups; None for all.

    Examples:
        >>> import msnb as ms
        >>> [p.name for p in ms.plugins.found("msnb.devices")]
        []
    """
    return [p for g in (GROUPS if group is None else (group,)) for p in _group(g).values()]


def load(group: str | None = None) -> list[Plugin]:
    """Import what installed packages offer; look at ``error`` of each for what did not work."""
    plugins = found(group)
    for plugin in plugins:
        plugin.load()
    return plugins


def get(group: str, name: str) -> Plugin | None:
    """The plug-in of this name, not yet imported, or None."""
    return _group(group).get(name)


def refresh() -> None:
    """Look again: after a package was installed into the running session."""
    _found.clear()


def attribute(group: str, name: str, module: str) -> Any:
    """For a module's ``__getattr__``: the object of the plug-in ``name``.

    Raises:
        AttributeError: there is no such plug-in, or it does not load.
    """
    plugin = None if name.startswith("_") else get(group, name)
    value = None if plugin is None else plugin.load()
    if value is None:
        why = f" (the plug-in of {plugin.package} is broken: {plugin.error})" if plugin is not None else ""
        raise AttributeError(f"module {module!r} has no attribute {name!r}{why}")
    return value


def _group(group: str) -> dict[str, Plugin]:
    if group not in GROUPS:
        raise ValueError(f"there is no group {group!r} of plug-ins; legal: {', '.join(GROUPS)}.")
    if group not in _found:
        _found[group] = _search(group)
    return _found[group]


def _search(group: str) -> dict[str, Plugin]:
    from importlib.metadata import entry_points  # not needed by a session without plug-ins, and slow to import

    plugins: dict[str, Plugin] = {}
    for point in sorted(entry_points(group=group), key=lambda p: (p.name, p.value)):
        package = f"{point.dist.name} {point.dist.version}" if point.dist is not None else point.value
        plugin = Plugin(group, point.name, package, point.load)
        if point.name in plugins:
            plugin.fail(f"{plugins[point.name].package} offers the same name")
        else:
            plugins[point.name] = plugin
    return plugins
