"""Write the pages on errors, ``docs/errors/*.md``, from their one source, ``msnb/notebook/errors/error_pages.py``.

python tools/error_pages.py           writes them
python tools/error_pages.py --check   says which are out of date, and fails if one is
"""

from __future__ import annotations

import sys
from pathlib import Path

from msnb.notebook.errors.error_pages import FOLDER, pages

ROOT = Path(__file__).resolve().parent.parent


def outdated(folder: Path) -> list[str]:
    """Names of pages that are missing, superfluous or differ from the source."""
    wanted = pages()
    found = {p.name: p.read_text(encoding="utf-8") for p in folder.glob("*.md")}
    return sorted(name for name in {*wanted, *found} if wanted.get(name) != found.get(name))


def main(argv: list[str]) -> int:
    folder = ROOT / FOLDER
    if "--check" in argv:
        names = outdated(folder)
        print("\n".join(f"{FOLDER}/{name} is out of date: run tools/error_pages.py" for name in names))
        return bool(names)
    folder.mkdir(parents=True, exist_ok=True)
    for name in outdated(folder):
        text = pages().get(name)
        (folder / name).unlink() if text is None else (folder / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main(sys.argv[1:]))
