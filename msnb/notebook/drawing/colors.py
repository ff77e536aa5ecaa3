"""The colour language of pictures: what kind of work a box does. Words say it too; colour only helps the eye.

Fills are light and of equal lightness, borders dark enough to be told apart in print; the hues differ for every common
kind of colour-blindness (blue, orange, teal and violet carry the frequent families; no red stands against a green).
"""

from __future__ import annotations

INK, SOFT, EDGE, CARD, LINE_COLOUR = "#1f2733", "#56606f", "#8a94a3", "#fcfcfd", "#d5dbe4"
KEPT, ALARM, NOTE = "#8658c6", "#c2372b", "#9a6a08"
FRAME_TINTS = ("#ffffff", "#f3f6fa")

Look = tuple[str, str]
BLUE, AMBER, RED = ("#e2edfc", "#5f8fd0"), ("#fdeecb", "#cb952b"), ("#fde3df", "#cf6f64")
VIOLET, TEAL, GREEN = ("#ece4fb", "#8f70c4"), ("#d8f1ef", "#3f9a98"), ("#e4f3d8", "#7ea653")
GREY, CONTROL = ("#edf0f4", "#98a3b1"), ("#f5f6f9", "#8492a5")

FAMILIES: dict[str, Look] = {
    "elementwise": BLUE, "transcendental": BLUE, "logic": BLUE, "compare": BLUE, "casting": BLUE, "erf": BLUE,
    "activation": BLUE, "contract": VIOLET, "conv": VIOLET, "linalg": VIOLET, "einsum": VIOLET, "triangle": TEAL,
    "reduce": AMBER, "cumulative": AMBER, "norm": AMBER, "pool": AMBER, "loss": RED, "optimise": RED,
    "shape": TEAL, "join": TEAL, "slicing": TEAL, "getitem": TEAL, "index": TEAL, "scatter": TEAL,
    "padding": TEAL, "sorting": TEAL, "selection": TEAL,
    "random": GREEN, "create": GREY, "constant": GREY, "control": CONTROL, "effects": CONTROL,
}  # fmt: skip
KINDS: dict[str, Look] = {
    "param": ("#ffffff", "#6d7887"), "again": ("#ffffff", "#a5afbc"), "state": ("#fff7e0", "#c08f1f"),
    "result": ("#2f3b4c", "#2f3b4c"), "constant": GREY, "group": ("#ffffff", "#8492a5"),
}  # fmt: skip
MEANING: dict[Look, str] = {
    BLUE: "elementwise", VIOLET: "matmul, conv", AMBER: "reduce, norm, pool", RED: "loss, optimiser",
    TEAL: "shape, index", GREEN: "random", CONTROL: "control, effects", GREY: "constant, other",
}  # fmt: skip


HEAT = ("#fff6e5", "#fde3b0", "#fbc97a", "#f5b064", "#ee9a4d")


def heat_of(share: float) -> Look:
    """Light to dark in one hue, dark words legible on all of it."""
    return HEAT[min(int(share * len(HEAT)), len(HEAT) - 1)], "#a8641c"


TINTS: tuple[Look, ...] = (GREY, BLUE, AMBER, TEAL, VIOLET, GREEN, RED, ("#f6e6f1", "#a0528f"), CONTROL)
"""Fills for things that are told apart by number, the first the plainest."""


def tint_look(index: int) -> Look:
    """The fill of the thing with this number."""
    return TINTS[index % len(TINTS)]


def look_of(kind: str, family: str) -> Look:
    """Fill and border of a box."""
    return KINDS.get(kind) or FAMILIES.get(family) or GREY
