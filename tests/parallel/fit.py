"""The fit of the simulated Ascend 910: two efficiencies on two rows, one row time on one.

    python tests/parallel/fit.py

    e_cube, e_hbm     least squares of the relative errors of rows 1 and 2 (ResNet-50 on one device, batch 32 and 256)
    row               Wide&Deep on one device
    launch = 4 us     given: with it free, two rows cannot tell the three apart

Nothing else is fitted; prints the neighbourhood of the optimum too, for two rows bind two numbers only loosely.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import brentq, least_squares
from validation import FIT, ROW, ROWS, planned

from msnb.devices.ascend.chip import ASCEND910, Chip
from msnb.parallel.mesh import Cluster
from msnb.parallel.timeline import simulate


def seconds(program: Any, states: int, chip: Chip) -> float:
    """The step of a program on another chip."""
    program.mesh = replace(program.mesh, cluster=Cluster(chip=chip))
    return simulate(program, states, apart=True).seconds


def main() -> None:
    rows = [(row, planned(row).program) for row in ROWS if row.role == FIT]

    def errors(x: Any) -> Any:
        chip = replace(ASCEND910, e_cube=float(x[0]), e_hbm=float(x[1]))
        return np.array([seconds(p, row.states, chip) * 1e3 / row.published - 1 for row, p in rows])

    best = least_squares(errors, [0.6, 0.8], diff_step=1e-3, bounds=([0.3, 0.5], [0.95, 0.95]))
    print("e_cube, e_hbm =", best.x.round(3), "errors", best.fun.round(4))
    for e_cube in (0.45, 0.5, 0.55, 0.6, 0.7, 0.8):
        line = [(e_hbm, errors((e_cube, e_hbm))) for e_hbm in (0.7, 0.75, 0.8, 0.85, 0.9)]
        print(f"e_cube {e_cube}:", "  ".join(f"{e_hbm}: {e[0]:+.1%} {e[1]:+.1%}" for e_hbm, e in line))
    wide = next(row for row in ROWS if row.role == ROW)
    program = planned(wide).program
    chip = replace(ASCEND910, e_cube=float(best.x[0]), e_hbm=float(best.x[1]))

    def gap(t_row: float) -> float:
        return seconds(program, wide.states, replace(chip, row=t_row / 32)) * 1e3 - wide.published

    print("row =", round(brentq(gap, 50e-9, 400e-9) * 1e9, 1), "ns / 32")


if __name__ == "__main__":
    main()
