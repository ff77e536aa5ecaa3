"""What the compile cache trusts: regular files of ours, in a folder of ours, below folders that nobody else writes."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from msnb.base import disk_cache, events
from msnb.base.files.atomic_write import SUFFIX, create, remove_leftovers

ROOT = Path(__file__).parents[3]
KEY = "0" * 64
as_root = pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root gives files away")


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MSNB_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def told() -> Iterator[list[str]]:
    events.forget_notices()
    heard: list[str] = []
    with events.listening("notice", lambda text, key: heard.append(text) if key == "unkept" else None):
        yield heard
    events.forget_notices()


def in_time(call: Any, *args: Any) -> Any:
    """The result of a call that must not wait for anybody."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(call(*args)), daemon=True)
    thread.start()
    thread.join(20)
    assert found, "it waits"
    return found[0]


# ---- the folder -----------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_folder_exchanged_while_it_is_read_gives_no_foreign_bytes() -> None:
    tool = [sys.executable, str(ROOT / "tools" / "cache_race.py"), "4000"]
    run = subprocess.run(tool, capture_output=True, text=True, timeout=120)
    ours, none, foreign = map(int, re.findall(r"(\d+) (?:ours|none|foreign)", run.stdout))
    assert foreign == 0, run.stdout
    assert ours and none, f"the folders were not exchanged: {run.stdout}{run.stderr}"


def test_an_exchange_between_the_look_and_the_read(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The exchange at the one moment that counts: the folder was found to be ours, the entry is not open yet."""
    disk_cache.write(KEY, b"ours")
    other = base / "other"
    (base / "kernels").rename(other)
    disk_cache.write(KEY, b"foreign")
    (base / "kernels").rename(base / "spare")
    other.rename(base / "kernels")
    (base / "spare").chmod(0o777)
    look = disk_cache._distrusted if hasattr(disk_cache, "_distrusted") else disk_cache._is_private

    def exchanged(home: Any) -> Any:
        found = look(home)
        (base / "kernels").rename(base / "away")
        (base / "spare").rename(base / "kernels")
        return found

    monkeypatch.setattr(disk_cache, look.__name__, exchanged)
    assert disk_cache.read(KEY) == b"ours"


@pytest.mark.parametrize("which", ["cache", "kernels"])
def test_a_folder_above_that_others_may_write(tmp_path: Path, base: Path, told: list[str], which: str) -> None:
    (base / "kernels").mkdir(mode=0o700, parents=True)
    above = base if which == "kernels" else tmp_path
    above.chmod(0o777)
    disk_cache.write(KEY, b"code")
    assert disk_cache.read(KEY) is None and disk_cache.folder() is None
    assert len(told) == 1 and str(above) in told[0] and "chmod go-w" in told[0]
    above.chmod(0o1777)  # only its owner may turn what lies in it: /tmp
    disk_cache.write(KEY, b"code")
    assert disk_cache.read(KEY) == b"code"
    above.chmod(0o755)


@as_root
@pytest.mark.parametrize("which", ["above", "folder", "entry"])
def test_what_belongs_to_another_user(base: Path, told: list[str], which: str) -> None:
    disk_cache.write(KEY, b"code")
    where = {"above": base, "folder": base / "kernels", "entry": base / "kernels" / f"{KEY}.o"}[which]
    os.chown(where, 12345, 12345)
    assert disk_cache.read(KEY) is None
    assert len(told) == (which != "entry")


@as_root
def test_a_group_that_is_not_ours_alone(base: Path, told: list[str]) -> None:
    disk_cache.write(KEY, b"code")
    os.chown(base, 0, 12345)
    base.chmod(0o770)
    assert disk_cache.read(KEY) is None and len(told) == 1


def test_folders_are_made_for_us_alone(base: Path, told: list[str]) -> None:
    before = os.umask(0)
    try:
        disk_cache.write(KEY, b"code")
    finally:
        os.umask(before)
    assert stat.S_IMODE(base.stat().st_mode) == stat.S_IMODE((base / "kernels").stat().st_mode) == 0o700
    assert disk_cache.read(KEY) == b"code" and not told


@pytest.mark.parametrize("trouble", ["shared", "link", "file", "read-only", "base is a file"])
def test_a_folder_in_an_odd_state_costs_one_notice(base: Path, tmp_path: Path, told: list[str], trouble: str) -> None:
    if trouble == "base is a file":
        base.write_text("a file")
    elif trouble == "link":
        base.mkdir()
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        (base / "kernels").symlink_to(tmp_path / "elsewhere")
    elif trouble == "file":
        base.mkdir()
        (base / "kernels").write_text("a file")
    else:
        (base / "kernels").mkdir(parents=True, mode=0o700)
        (base / "kernels").chmod(0o777 if trouble == "shared" else 0o500)
    for _ in range(3):
        disk_cache.write(KEY, b"code")
        found = disk_cache.read(KEY)
    refused = trouble != "read-only" or os.getuid() != 0  # root may write wherever it likes
    assert (found is None) == refused and len(told) == refused
    if refused:
        assert "MSNB_CACHE_DIR" in told[0]


# ---- entries --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [disk_cache.CODE, disk_cache.PROGRAM, disk_cache.FUNCTION])
@pytest.mark.parametrize("what", ["pipe", "link", "folder", "socket", "writable", "long"])
def test_an_entry_that_is_no_file_of_ours(base: Path, kind: str, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    disk_cache.write(KEY, b"code", kind)
    entry = base / "kernels" / f"{KEY}{kind}"
    kept = entry.with_name("kept")
    entry.rename(kept)
    if what == "pipe":
        os.mkfifo(entry)
    elif what == "link":
        entry.symlink_to(kept)
    elif what == "folder":
        entry.mkdir()
    elif what == "socket":
        os.mknod(entry, 0o600 | stat.S_IFSOCK)
    else:
        kept.rename(entry)
        entry.chmod(0o666 if what == "writable" else 0o600)
        if what == "long":
            monkeypatch.setattr(disk_cache, "MOST_BYTES", 10)
    assert in_time(disk_cache.read, KEY, kind) is None


def test_a_pipe_is_replaced_by_the_next_write(base: Path) -> None:
    disk_cache.folder()
    os.mkfifo(base / "kernels" / f"{KEY}.o")
    assert in_time(disk_cache.read, KEY) is None
    disk_cache.write(KEY, b"code")
    assert disk_cache.read(KEY) == b"code"


# ---- what killed writers leave --------------------------------------------------------------------------------------


def test_leftovers_of_the_dead_go_and_those_of_the_living_stay(tmp_path: Path) -> None:
    handle, path = create(str(tmp_path), "w.ckpt")
    stranger = tmp_path / f".somebody-elses{SUFFIX}"
    stranger.write_text("not ours")
    assert remove_leftovers(str(tmp_path)) == [] and os.path.exists(path)
    os.close(handle)  # as the system does when the writer dies
    assert remove_leftovers(str(tmp_path)) == [os.path.basename(path)]
    assert os.listdir(tmp_path) == [stranger.name]


def test_a_leftover_of_another_machine_stays_for_a_day(tmp_path: Path) -> None:
    handle, path = create(str(tmp_path), "w.ckpt")
    os.close(handle)
    far = tmp_path / re.sub(r"msnb-[0-9a-f]{8}-", "msnb-00000000-", os.path.basename(path))
    os.rename(path, far)
    assert remove_leftovers(str(tmp_path)) == []
    os.utime(far, (0, 0))
    assert remove_leftovers(str(tmp_path)) == [far.name]


def test_the_cache_clears_up_after_killed_writers(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk_cache.write(KEY, b"code")
    handle, path = create(str(base / "kernels"), "x.o")
    os.close(handle)
    monkeypatch.setattr(disk_cache, "_writes", iter([0]))
    disk_cache.write("1" * 64, b"code")
    assert not os.path.exists(path)
