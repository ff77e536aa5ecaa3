"""Make the environment, or say in one sentence what the machine lacks.

    python3 tools/make_venv.py .venv notebook,dev

Runs under the machine's own Python, before anything is installed and perhaps on a Python too old for the project, so
the syntax is kept plain enough for any Python 3. Debian and Ubuntu ship Python without `ensurepip` (it lives in the
package python3-venv); `python3 -m venv` then leaves half an environment behind, so we ask before making one. The
stamp is written last: an interrupted install is repeated, a finished one is not.
"""

import importlib.util
import os
import shutil
import subprocess
import sys

NEEDED = (3, 10)


def apt_line(package):
    prefix = "" if getattr(os, "geteuid", lambda: 0)() == 0 else "sudo "
    return prefix + "apt-get update && " + prefix + "apt-get install -y " + package


def missing(version=None, find=importlib.util.find_spec):
    """One message about what this Python lacks, or None."""
    version = tuple(version or sys.version_info[:3])
    name = "python%d.%d" % version[:2]
    if version[:2] < NEEDED:
        return (
            "msnb needs Python %d.%d or later and %s is %s.\n" % (NEEDED + (sys.executable, ".".join(map(str, version))))
            + "Install a newer one and name it:  make PYTHON=python3.12 ..."
        )
    if find("venv") is None or find("ensurepip") is None:
        return (
            "This Python (%s) cannot make virtual environments: its venv module is packaged separately.\n" % sys.executable
            + "Debian, Ubuntu:  " + apt_line("python3-venv") + "\n"
            + "                 (or %s-venv, if %s is not the distribution's default)\n" % (name, name)
            + "Then type the same make command again."
        )
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
    print("making %s with Python %s" % (venv, sys.version.split()[0]), flush=True)
    subprocess.check_call([sys.executable, "-m", "venv", venv])


def install(venv, extras):
    print("installing msnb[%s] into %s (a minute or two, only once)" % (extras, venv), flush=True)
    subprocess.check_call(
        [python_of(venv), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-e", ".[%s]" % extras]
    )


def main(venv, extras):
    problem = missing()
    if problem:
        print(problem, file=sys.stderr)
        return 1
    try:
        make(venv)
        install(venv, extras)
    except subprocess.CalledProcessError as error:
        print("\nThe environment %s is not complete: this command failed:" % venv, file=sys.stderr)
        print("  " + " ".join(error.cmd), file=sys.stderr)
        print("Installing needs a network connection to a package index. Type make again to retry.", file=sys.stderr)
        return 1
    with open(os.path.join(venv, ".installed"), "w") as stamp:
        stamp.write(extras + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
