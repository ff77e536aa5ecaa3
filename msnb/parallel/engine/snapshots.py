"""Sharded checkpoints: every rank writes the parts it speaks for, a page says how they lie; reading is resharding.

    step-000020/layout.json                        {"teams": [[0, [2, 2]]], "params": {"fc.weight": {"dims": ...}}}
    step-000020/rank-0000.safetensors              the parts of rank 0, by name
    step-000020/rank-0002.safetensors              rank 1 holds copies of rank 0's: it writes nothing

A rank of any other mesh reads the pieces that overlap its own part; a mesh is that of a team of ranks (a pipeline has
one per stage), and a value says whose it is. The folder gets its name when all is written, so a
folder that is there is whole.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from msnb.core.errors import CheckpointError
from msnb.core.tensor import Tensor
from msnb.core.types import TensorType
from msnb.parallel.engine.folders import lives
from msnb.parallel.engine.ranks import speaks_for
from msnb.parallel.layout import TensorLayout, whole
from msnb.parallel.mesh import Mesh
from msnb.parallel.program import Program, Team

Array = NDArray[Any]
Slices = tuple[slice, ...]
_VERSION = 2
assert ml_dtypes  # its import teaches NumPy the name bfloat16


@dataclass(frozen=True)
class Entry:
    """How a value lies in a checkpoint: in this layout over the ranks of a team."""

    team: Team
    layout: TensorLayout
    shape: tuple[int, ...]
    dtype: str


# ---- writing -------------------------------------------------------------------------------------------------------


def write_parts(folder: str, rank: int, parts: Mapping[str, Any]) -> None:
    """A rank's file."""
    from safetensors.numpy import save_file

    if parts:
        plain = {name: np.asarray(value, order="C") for name, value in parts.items()}
        save_file(plain, str(_file(folder, rank)))


def unfinished(target: str) -> str:
    """An empty folder beside ``target``, to write its content into: the name says who writes. Those that dead writers
    left there go."""
    host, folder = socket.gethostname(), Path(target).absolute().parent
    folder.mkdir(parents=True, exist_ok=True)
    for part in folder.glob("*.part"):
        named = re.fullmatch(rf"(.+)\.{re.escape(host)}\.(\d+)(\.before)?\.part", part.name)
        if named is None or lives(int(named[2])):
            continue
        if named[3] and not Path(folder, named[1]).exists():  # killed between two renames
            os.replace(part, Path(folder, named[1]))
        shutil.rmtree(part, ignore_errors=True)
    made = f"{target}.{host}.{os.getpid()}.part"
    shutil.rmtree(made, ignore_errors=True)
    os.makedirs(made)
    return made


def conclude(folder: str, done: str, program: Program, names: Mapping[int, str], step: int) -> str:
    """Write how the parts lie, and give the folder its name."""
    params: dict[str, Any] = {}
    for i, name in names.items():
        p = program.graph.params[i]
        assert isinstance(p.type, TensorType)
        layout = program.params.get(p) or whole(p.type.ndim)
        params[name] = {"team": program.holders(p)[0], "dims": layout.dims, "shape": p.type.ints(),
                        "dtype": p.type.dtype.name}  # fmt: skip
    teams = [[team.first, team.mesh.factors] for team in program.teams]
    page = {"format": "msnb sharded", "version": _VERSION, "step": step, "teams": teams, "params": params}
    Path(folder, "layout.json").write_text(json.dumps(page, indent=1), encoding="utf-8")
    before = folder.removesuffix(".part") + ".before.part"
    with contextlib.suppress(FileNotFoundError):  # an older one of this name is there until the new one is
        os.replace(done, before)
    os.replace(folder, done)
    shutil.rmtree(before, ignore_errors=True)
    return done


def _file(folder: str, rank: int) -> Path:
    return Path(folder, f"rank-{rank:04}.safetensors")


# ---- reading -------------------------------------------------------------------------------------------------------


class Snapshot:
    """A sharded checkpoint, to read.

    Raises:
        CheckpointError: the folder holds none.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = str(folder)
        try:
            page = json.loads(Path(folder, "layout.json").read_text(encoding="utf-8"))
            assert page["format"] == "msnb sharded" and page["version"] == _VERSION
        except (OSError, ValueError, KeyError, AssertionError):
            raise CheckpointError(f"{self.folder!r} is no sharded checkpoint: it needs a layout.json.") from None
        self.step: int = page["step"]
        teams = [Team(first, Mesh(tuple(factors))) for first, factors in page["teams"]]
        self.entries = {
            name: Entry(teams[e["team"]], TensorLayout(tuple(map(tuple, e["dims"]))), tuple(e["shape"]), e["dtype"])
            for name, e in page["params"].items()
        }
        self._files: dict[int, dict[str, Any]] = {}

    def part(self, name: str, shape: tuple[int, ...], mine: Slices) -> Array:
        """What lies at ``mine`` of a value of this shape.

        Raises:
            CheckpointError: no such value, or one of another shape; or a file is missing.
        """
        entry = self.entries.get(name)
        if entry is None:
            raise CheckpointError(f"{self.folder!r} has no value for {name}.")
        if entry.shape != shape:
            raise CheckpointError(f"{name} has the shape {list(shape)}, in {self.folder!r} {list(entry.shape)}.")
        out = np.empty([s.stop - s.start for s in mine], np.dtype(entry.dtype))
        for rank, theirs in self._pieces(entry):
            both = [slice(max(a.start, b.start), min(a.stop, b.stop)) for a, b in zip(mine, theirs)]
            if all(s.start < s.stop for s in both):
                piece = self._read(rank, name, entry.dtype)
                out[_inside(both, mine)] = piece[_inside(both, theirs)]
        return out

    def _pieces(self, entry: Entry) -> Iterator[tuple[int, Slices]]:
        """Who wrote which piece."""
        team = entry.team
        for rank in range(team.mesh.size):
            if speaks_for(team.mesh, entry.layout, rank):
                yield team.first + rank, entry.layout.part(team.mesh, entry.shape, rank)

    def _read(self, rank: int, name: str, dtype: str) -> Array:
        import safetensors

        if rank not in self._files:
            try:
                content = _file(self.folder, rank).read_bytes()
                parse: Any = safetensors.deserialize
                self._files[rank] = dict(parse(content))
            except (OSError, ValueError, safetensors.SafetensorError) as error:
                raise CheckpointError(f"the part of rank {rank} in {self.folder!r} cannot be read: {error}.") from None
        found = self._files[rank][name]
        return np.frombuffer(found["data"], np.dtype(dtype)).reshape(found["shape"])


def _inside(both: list[slice], outer: Slices) -> Slices:
    return tuple(slice(s.start - o.start, s.stop - o.start) for s, o in zip(both, outer))


def load_sharded(folder: str | Path) -> dict[str, Tensor]:
    """The whole values of a sharded checkpoint, by name.

    Args:
        folder: as ``Trainer.save`` gave it.

    Returns:
        {name: Tensor}: weights, optimizer state, running statistics; ``ms.load_param_into_net`` takes them.

    Raises:
        CheckpointError: the folder holds no whole checkpoint.

    Examples:
        >>> load_sharded("nowhere")  # doctest: +IGNORE_EXCEPTION_DETAIL
        Traceback (most recent call last):
        CheckpointError: 'nowhere' is no sharded checkpoint: it needs a layout.json.
    """
    snapshot = Snapshot(folder)
    return {
        name: Tensor(snapshot.part(name, e.shape, tuple(slice(0, n) for n in e.shape)))
        for name, e in snapshot.entries.items()
    }
