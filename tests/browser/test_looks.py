"""How pictures look: screenshots in light and dark and on paper, against small references.

A reference is the screenshot made small (300 pixels wide), so that the exact shape of letters and the last pixel of a
line do not count, but colours, places, and whether something is there at all do. Make them anew with
``MSNB_LOOKS=write python -m pytest tests/browser/test_looks.py`` and look at them before committing.
"""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser_harness import Lab
from pages import open_notebook, put_outputs, views, write

import msnb as ms
from msnb import nn, ops

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
LOOKS = Path(__file__).resolve().parent / "looks"
WIDE = 300
THEME = "theme => window.jupyterapp.commands.execute('apputils:change-theme', { theme })"
SHARE, DIFFERENT = 0.02, 40  # at most 2 % of the pixels may differ by more than 40 of 255


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Dense(4, 8), nn.Dense(8, 3)

    def construct(self, x):
        y = self.fc2(ops.relu(self.fc1(x)))
        return (y * y).sum()


def loop(x, n):
    while n > 0:
        x = x * 1.5
        n = n - 1
    return x.sum()


def bundles() -> list[dict[str, Any]]:
    net, x = Net(), ms.Tensor(np.ones((2, 4), np.float32))
    for p in net.trainable_params():  # the same weights whatever initialisers do
        p.set_data(ms.Tensor(np.linspace(-0.4, 0.6, p.asnumpy().size, dtype=np.float32).reshape(p.shape)))
    shown = [ms.show.ir(loop, x, ms.Tensor(3)), ms.show.grad(net, x, norms=True), ms.show.mem(net, x, gradient=True)]
    return [v._repr_mimebundle_() for v in shown]


NAMES = ["loop", "gradient", "memory"]


@pytest.fixture(scope="module")
def path(lab: Lab) -> Path:
    path = write(lab.folder / "looks.ipynb", ["1"] * 3)
    put_outputs(path, dict(enumerate(bundles())))
    return path


def small(png: bytes) -> Any:
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    return picture.resize((WIDE, max(round(picture.height * WIDE / picture.width), 1)), Image.LANCZOS)


def check(name: str, png: bytes) -> None:
    found, file = small(png), LOOKS / f"{name}.png"
    if os.environ.get("MSNB_LOOKS") == "write":
        found.quantize(64).save(file, optimize=True)
        return
    wanted = Image.open(file).convert("RGB")
    assert abs(found.height - wanted.height) <= 0.03 * wanted.height + 2, f"{name}: {found.size}, was {wanted.size}"
    a = np.asarray(found, np.int16)
    b = np.asarray(wanted.resize(found.size), np.int16)
    share = float((np.abs(a - b).max(axis=2) > DIFFERENT).mean())
    assert share <= SHARE, f"{name}: {share:.1%} of the picture looks different; the reference is {file}"


def test_looks_in_light_dark_and_on_paper(page, lab, path):
    page.set_viewport_size({"width": 1280, "height": 1700})
    open_notebook(page, lab, path.name)
    for theme in ("Light", "Dark"):
        page.evaluate(THEME, f"JupyterLab {theme}")
        light = "true" if theme == "Light" else "false"
        page.wait_for_selector(f"body[data-jp-theme-light={light}]", state="attached")
        for i, name in enumerate(NAMES):
            shot = views(page).nth(i).locator(".msnb-graph").first
            shot.scroll_into_view_if_needed()
            page.mouse.move(5, 5)
            check(f"{name}-{theme.lower()}", shot.screenshot(animations="disabled"))
    page.emulate_media(media="print")
    shot = views(page).nth(1).locator(".msnb-graph").first
    check("gradient-paper", shot.screenshot(animations="disabled"))
    page.emulate_media(media="screen")
    page.evaluate(THEME, "JupyterLab Light")
