"""The ranks' program of the fault tests: the worker, watched."""

import sys

import faults

from msnb.parallel.engine.rank.worker import main

if __name__ == "__main__":
    main(sys.argv[1:], faults.watch)
