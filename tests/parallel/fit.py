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

from msnb.devices.ascend.chip import ASCEND910


def error(published: Any, **numbers: float) -> float:
    """The relative error of a published row on a chip with other numbers."""
    chip = replace(ASCEND910, **numbers)
    return planned(published, chip=chip).step_time * 1e3 / published.published - 1


def main() -> None:
    rows = [row for row in ROWS if row.role == FIT]

    def errors(x: Any) -> Any:
        return np.array([error(row, e_cube=float(x[0]), e_hbm=float(x[1])) for row in rows])

    best = least_squares(errors, [0.6, 0.8], diff_step=1e-3, bounds=([0.3, 0.5], [0.95, 0.95]))
    print("e_cube, e_hbm =", best.x.round(3), "errors", best.fun.round(4))
    for e_cube in (0.45, 0.5, 0.55, 0.6, 0.7, 0.8):
        line = [(e_hbm, errors((e_cube, e_hbm))) for e_hbm in (0.7, 0.75, 0.8, 0.85, 0.9)]
        print(f"e_cube {e_cube}:", "  ".join(f"{e_hbm}: {e[0]:+.1%} {e[1]:+.1%}" for e_hbm, e in line))
    wide = next(row for row in ROWS if row.role == ROW)
    found = {"e_cube": float(best.x[0]), "e_hbm": float(best.x[1])}

    def gap(t_row: float) -> float:
        return error(wide, **found, row=t_row / 32)

    print("row =", round(brentq(gap, 50e-9, 400e-9) * 1e9, 1), "ns / 32")


if __name__ == "__main__":
    main()
