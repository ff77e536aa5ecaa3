"""Public names of MindSpore 2.10 that msnb has not built: importing one works, using it says so.

A program imports more than it uses: a list of layers for mixed precision, a callback of another branch. So

    from mindspore.train import SummaryRecord gives a class that stands for the name
    SummaryRecord("dir"), SummaryRecord.flush raise PlaceholderError, with what there is instead
    class Mine(SummaryRecord) stands for a name too: Mine() raises
    isinstance(cell, nn.LARS) is False: nothing of this class can exist

``NAMES``: path below ``mindspore`` -> names; a path takes those of the nearest path above it, a private one and one
inside of a package (``train.serialization``) those of all above it. They lie in the text file
beside this one: a block per path, the path behind a dot first.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

from msnb.base import MissingName, MsnbError
from msnb.base.name_tables import SAID, SAID_MODULES

__all__: list[str] = []  # some of MindSpore's paths show this module: it has no name of theirs


class PlaceholderError(MsnbError, AttributeError):
    """A program uses a name of MindSpore 2.10 that msnb has not built."""


class Placeholder(type):
    """The class of the classes that stand for names. Whatever a program does with one raises the error of the name."""

    sentence: str

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise PlaceholderError(cls.sentence)

    def __getattr__(cls, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise PlaceholderError(cls.sentence)

    def __getitem__(cls, index: Any) -> NoReturn:
        raise PlaceholderError(cls.sentence)

    def __repr__(cls) -> str:
        return f"<{cls.__module__}.{cls.__name__}, not part of msnb>"


def placeholder(path: str, name: str, missing: AttributeError) -> Placeholder | None:
    """What stands for ``name`` of the module ``path`` of MindSpore, or None if 2.10 has no such name there.

    Args:
        missing: the error that asking msnb for the name raised.
    """
    below = path.partition(".")[2]
    inside = "." in below or below.startswith("_")
    while below not in NAMES or (below and inside and name not in NAMES[below].split()):
        below = below.rpartition(".")[0]
    if name not in NAMES[below].split():
        return None
    return Placeholder(name, (), {"__module__": path, "sentence": _sentence(f"{path}.{name}", missing)})


def _sentence(place: str, missing: AttributeError) -> str:
    text = str(missing)
    if isinstance(missing, MissingName) and "has no attribute" not in text:
        return text  # msnb has a word for this very name
    said = SAID["msnb"].get(place.rpartition(".")[2], "PyTorch")
    if not said.startswith("PyTorch"):
        return f"{place} {said}"
    rooms = place.replace("mindspore", "msnb", 1)
    while (rooms := rooms.rpartition(".")[0]) not in ("", "msnb"):
        if rooms in SAID_MODULES:
            return f"{place} {SAID_MODULES[rooms]}"
    return f"{place} is not part of msnb yet{text[text.index(';') :] if ';' in text else '.'}"


_BLOCKS = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").split("\n\n")
NAMES: dict[str, str] = {path[1:]: names for path, _, names in (block.partition("\n") for block in _BLOCKS)}
