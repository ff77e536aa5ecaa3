"""Functions of ``operator`` and ``dataclasses`` that look into objects: what they read is read by the program."""

from __future__ import annotations

import dataclasses
import functools
import operator
from typing import Any

from msnb.graph.capture.interpreter import reads
from msnb.graph.capture.interpreter.capture_engine import Capture


def got(engine: Capture, getter: Any, owner: Any) -> Any:
    """``operator.attrgetter``, ``itemgetter`` and ``methodcaller``."""
    if isinstance(getter, operator.methodcaller):
        reduced: Any = getter.__reduce__()
        make, given = reduced  # with keywords, of a partial
        name, named = (given[0], {}) if make is operator.methodcaller else (make.args[0], make.keywords)
        args = given[1:] if make is operator.methodcaller else given
        return engine.session.interpreter.call(reads.attr(engine.session, owner, name), *args, **named)
    read, names = reads.attr if isinstance(getter, operator.attrgetter) else reads.item, getter.__reduce__()[1]
    paths = [name.split(".") if read is reads.attr else [name] for name in names]
    found = [functools.reduce(lambda at, key: read(engine.session, at, key), path, owner) for path in paths]
    return found[0] if len(found) == 1 else tuple(found)


def replaced(engine: Capture, owner: Any, /, **changes: Any) -> Any:
    """dataclasses.replace: the class is called."""
    if not dataclasses.is_dataclass(owner):
        return dataclasses.replace(owner, **changes)  # which raises
    for field in dataclasses.fields(owner):
        if field.init and field.name not in changes:
            changes[field.name] = reads.attr(engine.session, owner, field.name)
    return engine.session.interpreter.call(type(owner), **changes)
