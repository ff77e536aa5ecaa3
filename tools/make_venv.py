"""Make the environment, or say in one sentence what the machine lacks.

    python3 tools/make_venv.py .venv notebook,dev

Runs under the machine's own Python, before anything is installed and perhaps on a Python too old for the project, so
it uses nothing newer than Python 3.6. Debian and Ubuntu ship Python without `ensurepip` (it lives in the package
python3-venv); `python3 -m venv` then leaves half an environment behind, so we ask before making one. The stamps,
one per extra, are written last: an interrupted install is repeated, a finished one is not.
"""

import importlib.util
import os
import shutil
import subprocess
import sys

NEEDED = (3, 10)

OLD = """msnb needs Python {needed} or later; {python} is {version}.
Install a newer one and name it:  make PYTHON=python3.12 ..."""

NO_VENV = """This Python ({python}) cannot make virtual environments: its venv module is packaged separately.
Debian, Ubuntu:  {apt}
                 (python{short}-venv, if Python {short} is not the distribution's default)
Then type the same make command again."""


def apt_line(package):
    sudo = "" if getattr(os, "geteuid", lambda: 0)() == 0 else "sudo "
    return f"{sudo}apt-get update && {sudo}apt-get install -y {package}"


def missing(version=None, find=importlib.util.find_spec):
    """One message about what this Python lacks, or None."""
    version = tuple(version or sys.version_info[:3])
    short, full = ".".join(map(str, version[:2])), ".".join(map(str, version))
    if version[:2] < NEEDED:
        return OLD.format(needed=".".join(map(str, NEEDED)), python=sys.executable, version=full)
    if find("venv") is None or find("ensurepip") is None:
        return NO_VENV.format(python=sys.executable, apt=apt_line("python3-venv"), short=short)
    return None


def python_of(venv):
    folder, program = ("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")
    return os.path.join(venv, folder, program)


def is_whole(venv):
    python = python_of(venv)
    return os.path.exists(python) and subprocess.call([python, "-c", "import pip"], stderr=subprocess.DEVNULL) == 0


def make(venv):
    """An environment with a working pip; one that was left half made is made again."""
    if is_whole(venv):
        return
    if os.path.exists(venv):
        shutil.rmtree(venv)
    print(f"making {venv} with Python {sys.version.split()[0]}", flush=True)
    subprocess.check_call([sys.executable, "-m", "venv", venv])


def install(venv, extras):
    print(f"installing msnb[{extras}] into {venv} (once, half a minute to two minutes)", flush=True)
    pip = [python_of(venv), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    pip += ["--no-compile"]  # a third of the time; Python compiles what is imported, when it is
    subprocess.check_call(pip + ["-e", f".[{extras}]"])


def main(venv, extras):
    problem = missing()
    if problem:
        print(problem, file=sys.stderr)
        return 1
    try:
        make(venv)
        install(venv, extras)
    except subprocess.CalledProcessError as error:
        print(f"\nThe environment {venv} is not complete; this command failed:", file=sys.stderr)
        print("  " + " ".join(error.cmd), file=sys.stderr)
        print("The reason is above. Installing needs the network; the same make command tries again.", file=sys.stderr)
        return 1
    for extra in extras.split(","):
        with open(os.path.join(venv, ".installed." + extra), "w"):
            pass
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
