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

import numpy as np

from msnb.base import CheckpointError
from msnb.base.files import tensor_file
from msnb.base.files.bounded_reader import MOST_JSON, fits_memory, read_file, read_json
from msnb.base.files.json_schema import INDEX, FixedRow, Int, OneOf, Record, Rows, Table
from msnb.core import Array, Tensor, TensorType, as_dtype
from msnb.core.dtypes import ALL
from msnb.parallel.engine.comm.private_folder import lives
from msnb.parallel.engine.comm.shards import speakers
from msnb.parallel.program.spmd_program import RankGroup, SpmdProgram
from msnb.parallel.sharding.device_mesh import MAX_DEVICES, Mesh, is_mesh
from msnb.parallel.sharding.layout import TensorLayout, whole

Slices = tuple[slice, ...]
_VERSION = 2
_DTYPE = OneOf(*(t.name for t in ALL))
_PARAM = Record({"team": INDEX, "dims": Rows(Rows(INDEX)), "shape": Rows(INDEX), "dtype": _DTYPE})
_TEAM = FixedRow(Int(0, MAX_DEVICES), Rows(Int(1, MAX_DEVICES)))
_PAGE = Record({
    "format": OneOf("msnb sharded"), "version": Int(_VERSION, _VERSION), "step": Int(0, 1 << 62), "teams": Rows(_TEAM),
    "params": Table(_PARAM, "a table of values", ":the entry of {} in its layout.json"),
})  # fmt: skip


@dataclass(frozen=True)
class ShardEntry:
    """How a value lies in a checkpoint: in this layout over the ranks of a team."""

    team: RankGroup
    layout: TensorLayout
    shape: tuple[int, ...]
    dtype: str


# ---- writing ----


def write_parts(folder: str, rank: int, parts: Mapping[str, Any]) -> None:
    """A rank's file."""

    def refuse(why: str, hint: str = "") -> CheckpointError:
        return CheckpointError(f"the part of rank {rank} cannot be written to {folder!r}: {why}.", hint=hint)

    if parts:
        plain = {name: np.asarray(value, order="C") for name, value in parts.items()}
        _file(folder, rank).write_bytes(tensor_file.encode(plain, {}, refuse))


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


def conclude(folder: str, done: str, program: SpmdProgram, names: Mapping[int, str], step: int) -> str:
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


# ---- reading ----


class Snapshot:
    """A sharded checkpoint, to read.

    Raises:
        CheckpointError: the folder holds none.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder: str = str(folder)
        path = Path(folder, "layout.json")
        try:
            page = read_json(read_file(path, self._refuse, MOST_JSON), self._refuse, _PAGE, "its layout.json")
        except FileNotFoundError:
            raise CheckpointError(f"{self.folder!r} is no sharded checkpoint: it needs a layout.json.") from None
        self.step: int = page["step"]
        if any(not is_mesh(factors) for _, factors in page["teams"]):
            raise self._refuse(f"a team has more than {MAX_DEVICES} ranks, or more axes than a mesh")
        teams = [RankGroup(first, Mesh(tuple(factors))) for first, factors in page["teams"]]
        self.entries: dict[Any, ShardEntry] = {name: self._entry(name, e, teams) for name, e in page["params"].items()}
        self._files: dict[int, dict[str, Array]] = {}

    def _refuse(self, why: str, hint: str = "") -> CheckpointError:
        return CheckpointError(f"{self.folder!r} is no sharded checkpoint: {why}.", hint=hint)

    def _entry(self, name: str, e: Mapping[str, Any], teams: list[RankGroup]) -> ShardEntry:
        """How a value lies; its parts divide it."""
        if e["team"] >= len(teams):
            raise self._refuse(f"{name} belongs to the team {e['team']} of {len(teams)}")
        mesh, layout, shape = teams[e["team"]].mesh, TensorLayout(tuple(map(tuple, e["dims"]))), tuple(e["shape"])
        used = layout.used
        if len(set(used)) < len(used) or any(a >= len(mesh.factors) for a in used) or len(layout.dims) != len(shape):
            raise self._refuse(f"{name} of the shape {list(shape)} cannot lie as {e['dims']} over {mesh.factors}")
        if not layout.divides(mesh, shape) or not fits_memory(shape, as_dtype(e["dtype"]).itemsize):
            raise self._refuse(f"{name} of the shape {list(shape)} does not divide as {e['dims']} over {mesh.factors}")
        return ShardEntry(teams[e["team"]], layout, shape, e["dtype"])

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
        # all pieces first: memory is asked for when the files have what the page promises
        found = []
        for rank, theirs in self._pieces(entry):
            both = [slice(max(a.start, b.start), min(a.stop, b.stop)) for a, b in zip(mine, theirs)]
            if all(s.start < s.stop for s in both):
                piece = self._read(rank, name, entry, tuple(s.stop - s.start for s in theirs))
                found.append((_inside(both, mine), piece[_inside(both, theirs)]))
        out = np.empty([s.stop - s.start for s in mine], as_dtype(entry.dtype).numpy)
        for place, piece in found:
            out[place] = piece
        return out

    def _pieces(self, entry: ShardEntry) -> Iterator[tuple[int, Slices]]:
        """Who wrote which piece."""
        team = entry.team
        for rank in speakers(team.mesh, entry.layout):
            yield team.first + rank, entry.layout.part(team.mesh, entry.shape, rank)

    def _read(self, rank: int, name: str, entry: ShardEntry, shape: tuple[int, ...]) -> Array:
        def refuse(why: str, hint: str = "") -> CheckpointError:
            return CheckpointError(f"the part of rank {rank} in {self.folder!r} cannot be read: {why}.", hint=hint)

        if rank not in self._files:
            try:
                self._files[rank], _ = tensor_file.read(_file(self.folder, rank), refuse)
            except FileNotFoundError:
                raise refuse("there is no such file") from None
        found = self._files[rank].get(name)
        if found is None:
            raise refuse(f"it has no value for {name}")
        if found.shape != shape or found.dtype != as_dtype(entry.dtype).numpy:
            raise refuse(f"{name} is {found.dtype}{list(found.shape)} there, and not {entry.dtype}{list(shape)}")
        return found


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
