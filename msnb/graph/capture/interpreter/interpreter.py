"""The interpreter of captured code: the one place that knows all of its parts.

    tracing     Session(INTERPRETER)            one per capture
    reads, writes, special_methods, ...         session.interpreter.call(fn, x)        a lower module asks an upper one

The parts import each other downwards only. A part that comes to Python code (a property, ``__getitem__``, a callback)
asks the session's interpreter to run it.
"""

from msnb.graph.capture.interpreter import intrinsics, program_errors, side_effects, special_methods
from msnb.graph.capture.interpreter.capture_session import Interpreter
from msnb.graph.capture.interpreter.control.function_selection import selected
from msnb.graph.capture.interpreter.control.nested_trace import trace

INTERPRETER = Interpreter(
    intrinsics.call,
    special_methods.iterated,
    side_effects.notice_once,
    side_effects.text_of,
    trace,
    selected,
    program_errors.need,
    program_errors.check_ran,
    intrinsics,
)
