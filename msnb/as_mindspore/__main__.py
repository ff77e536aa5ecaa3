"""``python -m msnb.as_mindspore program.py [args]``: a MindSpore program runs on msnb as it is."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from msnb.as_mindspore.finder import install


def main(arguments: list[str]) -> int:
    """Run the program that the first argument names; the others are its own."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print("usage: python -m msnb.as_mindspore program.py [args]", file=sys.stderr)
        return 0 if arguments else 2
    program = Path(arguments[0])
    if not program.is_file():
        print(f"python -m msnb.as_mindspore: there is no file {str(program)!r}.", file=sys.stderr)
        return 2
    install()
    sys.argv[:] = arguments
    sys.path[0] = str(program.resolve().parent)  # as `python program.py`: its own modules are found next to it
    runpy.run_path(str(program), run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
