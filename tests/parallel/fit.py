"""The fit of the simulated Ascend 910: two efficiencies on two rows, two row times on one and on a difference.

    python tests/parallel/fit.py

    e_cube, e_hbm     least squares of the relative errors of rows 1 and 2 (ResNet-50 on one device, batch 32 and 256)
    row               Wide&Deep on one device
    row_sum           SqueezeNet on eight devices, with 1000 classes less with 10
    launch = 4 us     given: with it free, two rows cannot tell the three apart

Nothing else is fitted; prints the valley of the optimum too, for two rows bind two numbers only loosely.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import brentq, least_squares
from validation import FIT, HELD, ROW, ROW_SUM, ROWS, planned

from msnb.devices.ascend.chip import ASCEND910


def error(published: Any, **numbers: float) -> float:
    """The relative error of a published row on a chip with other numbers."""
    chip = replace(ASCEND910, **numbers)
    return planned(published, chip=chip).step_time * 1e3 / published.published - 1


def main() -> None:
    rows = [row for row in ROWS if row.role == FIT]

    def errors(x: Any) -> Any:
        return np.array([error(row, e_cube=float(x[0]), e_hbm=float(x[1])) for row in rows])

    best = least_squares(errors, [ASCEND910.e_cube, ASCEND910.e_hbm], xtol=1e-4, diff_step=1e-3)
    print("e_cube, e_hbm =", best.x.round(3), "errors", best.fun.round(4))
    for e_hbm in (0.78, 0.85, 0.95):
        near = least_squares(lambda x, e=e_hbm: errors((x[0], e)), best.x[:1], xtol=1e-4, diff_step=1e-3)
        print(f"e_hbm {e_hbm}: e_cube {near.x[0]:.3f}, errors {near.fun.round(4)}")
    wide = next(row for row in ROWS if row.role == ROW)
    found = {"e_cube": float(best.x[0]), "e_hbm": float(best.x[1])}

    def gap(t_row: float) -> float:
        return error(wide, **found, row=t_row / 32)

    found["row"] = brentq(gap, 50e-9, 400e-9, xtol=1e-10) / 32
    print("row =", round(found["row"] * 32e9, 1), "ns / 32")
    few, many = (row for row in HELD if row.role == ROW_SUM)

    def apart(row_sum: float) -> float:
        chip = replace(ASCEND910, **found, row_sum=row_sum)
        steps = [planned(row, chip=chip).step_time * 1e3 for row in (few, many)]
        return (steps[1] - steps[0]) - (many.published - few.published)

    print("row_sum =", round(brentq(apart, 10e-9, 400e-9, xtol=1e-10) * 1e9, 1), "ns")


if __name__ == "__main__":
    main()
