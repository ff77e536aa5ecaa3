"""``download`` of MindSpore's notebooks: nothing is fetched, files are taken from where the program looks for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from msnb.base.errors import DatasetError


def download(url: str, path: str, kind: str = "file", replace: bool = False, **options: Any) -> str:
    """The path of a file, or of the folder of an archive, that is there already.

    Args:
        url: where MindSpore's notebooks fetch it from.
        path: the file, or the folder into which an archive is unpacked.
        kind: "file", "zip", "tar", "tar.gz".
        replace: kept for the signature; a file that is there is the one that is taken.
        **options: ``progressbar``, ``timeout``, ``verbose``: change nothing.

    Raises:
        FileNotFoundError: it is not there; the text says which file is needed, and where.
    """
    place = Path(path)
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        return str(place)
    name = Path(urlparse(url).path).name or url
    what = f"unpack {name} into" if kind != "file" else f"put {name} to"
    raise DownloadError(
        f"the program needs {name} from {url}, and msnb fetches nothing.", hint=f"{what} {place.absolute()}."
    )


class DownloadError(DatasetError, FileNotFoundError):
    """A file that a notebook wants to fetch and that is not there."""
