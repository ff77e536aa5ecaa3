"""120 mistakes of a first hour: programs with one mistake each, and the words of the report that lead out of it.

The line that a report must name ends in ``# here``. Where a sentence names what is legal, that is the way out.
"""

from __future__ import annotations

from tests.notebook.mistakes import compiled, layers, names, operators, trainings

MISTAKES: dict[str, tuple[str, str]] = {
    **operators.MISTAKES,
    **layers.MISTAKES,
    **names.MISTAKES,
    **compiled.MISTAKES,
    **trainings.MISTAKES,
}
