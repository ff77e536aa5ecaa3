"""Capture: a Python function becomes a graph, and says what it assumed.

source      the text and tree of a function, wherever it was typed
names, lower, expressions, convert       the tree that asks the runtime at every decision and outside read
rt          what converted code calls
calls, known, reads, writes, effects     what a call, a read, a write, a print is in a captured program
blocks, loops, carry, merge, truth       control flow that a tensor decides
session, engine, journal                 one capture: its graph, its guards, its writes
paths, scalars, guards, quick, recipe, tracing  what a later call checks, gathers, writes and gives back
"""

from msnb.graph.capture.frontend.function_source import register_source
from msnb.graph.capture.interpreter.capture_engine import Capture
from msnb.graph.capture.tracing import CAPTURING, CapturedProgram, captures, trace
from msnb.graph.capture.values.object_table import opaque_modules

__all__ = ["CAPTURING", "Capture", "CapturedProgram", "captures", "opaque_modules", "register_source", "trace"]
