"""Build the JupyterLab extension again and compare with the committed files.

    python tools/lab_extension.py           check types, build, compare: exit 1 where they differ
    python tools/lab_extension.py --write   check types, build, keep

The built files are committed, so that installing msnb needs no Node; this keeps them honest. The same sources and the
locked versions of two development packages (TypeScript, esbuild) give the same bytes.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent / "extensions" / "msnb-lab"
BUILT = HERE / "labextension"


def run(*command: str) -> None:
    subprocess.run(command, cwd=HERE, check=True)


def install() -> None:
    """What builds, in exactly the locked versions; nothing that a package brings is run."""
    lock, stamp = HERE / "package-lock.json", HERE / "node_modules" / ".package-lock.json"
    if not stamp.exists() or stamp.stat().st_mtime < lock.stat().st_mtime:
        run("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")


def build(folder: Path) -> None:
    run("node", "node_modules/typescript/bin/tsc")
    run("node", "build.mjs", str(folder))


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def differences(built: Path, fresh: Path) -> list[str]:
    """One sentence per file that is not the same in both."""
    a, b = files(built), files(fresh)
    out = [f"{name} is committed, but the sources do not give it" for name in sorted(a.keys() - b.keys())]
    out += [f"{name} comes from the sources, but is not committed" for name in sorted(b.keys() - a.keys())]
    changed = [name for name in sorted(a.keys() & b.keys()) if a[name] != b[name]]
    return out + [f"{name} is committed with other contents" for name in changed]


def main(argv: list[str]) -> int:
    install()
    if argv == ["--write"]:
        build(BUILT)
        return 0
    with tempfile.TemporaryDirectory() as fresh:
        build(Path(fresh))
        found = differences(BUILT, Path(fresh))
    for sentence in found:
        print(f"extensions/msnb-lab/labextension: {sentence}")
    print("run python tools/lab_extension.py --write" if found else "the committed extension is what its sources give")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
