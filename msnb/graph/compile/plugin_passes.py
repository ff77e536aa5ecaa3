"""Passes that other packages bring along (entry points ``msnb.passes``).

They run after msnb's own laws and before dead code is swept out, in the order of their names. Packages are looked for
when the first program is compiled. A pass that does not load, raises, or gives a graph that the verifier refuses is
announced once and left out: the program is compiled without it.
"""

from __future__ import annotations

from msnb.base import VerifyError, plugins
from msnb.graph.compile.rewriting.pass_record import PASSES, Pass, register_pass
from msnb.ir.analysis.verifier import verify
from msnb.ir.graph import Graph


def plugged() -> list[tuple[plugins.Plugin, Pass]]:
    """The passes of other packages that work so far."""
    pairs = [(plugin, _record(plugin)) for plugin in plugins.found(plugins.PASSES)]
    return [(plugin, record) for plugin, record in pairs if record is not None]


def _record(plugin: plugins.Plugin) -> Pass | None:
    record = plugin.load()
    if record is None:
        return None
    if not isinstance(record, Pass):
        plugin.fail(f"it offers a {type(record).__name__}, not a Pass")
        return None
    return _registered(plugin, record) if PASSES.get(record.name) is not record else record


def _registered(plugin: plugins.Plugin, record: Pass) -> Pass | None:
    try:
        return register_pass(record)
    except ValueError as error:
        plugin.fail(error)
        return None


def check_result(before: Graph, after: Graph, record: Pass) -> None:
    """Raise VerifyError unless ``after`` is a legal graph that takes and gives what ``before`` does."""
    verify(after, record.gives)
    for what in ("params", "outputs"):
        was, now = ([v.type for v in getattr(g, what)] for g in (before, after))
        if was != now or before.state != after.state:
            raise VerifyError(f"the pass {record.name} changed the {what} of {before.name}: {was} to {now}.")
