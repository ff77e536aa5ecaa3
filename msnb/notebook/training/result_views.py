"""``ms.show.confusion`` and ``ms.show.lr_find``: which classes are taken for which, which learning rate to take."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from msnb.base import ShapeError
from msnb.notebook.charts.html_fragments import Row, columns, number_word, table
from msnb.notebook.charts.plot import HEAD, HUES, LEFT, TALL, Scale, W, card, grid
from msnb.notebook.drawing import ALARM, INK, SOFT, number, rect, shortened, text as words
from msnb.notebook.drawing.colors import heat_of
from msnb.notebook.training.image_views import class_numbers, name_of_class
from msnb.notebook.views.view import Section, View
from msnb.train.learning_rate_search import LearningRateSearch

MOST_CLASSES = 40
SIDE, TOP = 110.0, 62.0


class ConfusionView(View):
    """Counts of (true class, predicted class).

    Args:
        labels: the true classes, integers [n].
        predicted: classes [n] or scores [n, classes].
        names: names of the classes.

    Attributes:
        matrix: the counts; a row is a true class.
        accuracy: the share on the diagonal.
    """

    kind = "confusion"

    def __init__(self, labels: Any, predicted: Any, names: Sequence[str] | None = None) -> None:
        super().__init__("confusion")
        true, told = class_numbers(labels, "labels"), class_numbers(predicted, "predicted")
        if len(true) != len(told) or not true:
            raise ShapeError(f"confusion needs a prediction per label, got {len(true)} labels, {len(told)} predicted.")
        if min(*true, *told) < 0:
            raise ShapeError(f"classes are numbered from 0, got {min(*true, *told)}.")
        size = max(max(true), max(told), len(names or ()) - 1) + 1
        if size > MOST_CLASSES:
            raise ShapeError(f"confusion draws at most {MOST_CLASSES} classes, got {size}.")
        self.matrix: Any = np.zeros((size, size), np.int64)
        np.add.at(self.matrix, (true, told), 1)
        self.names: list[str] = [name_of_class(k, names) for k in range(size)]

    @property
    def accuracy(self) -> float:
        """The share of right answers."""
        return float(np.trace(self.matrix) / self.matrix.sum())

    @property
    def svg(self) -> str:
        """A square per pair; right answers in teal, wrong ones the darker the more of their class."""
        size = len(self.names)
        cell = max(min((W - SIDE - 40) / size, 44.0), 14.0)
        title = f"{self.accuracy:.1%} of {self.matrix.sum():,} are right; rows: true class, columns: predicted"
        parts = []
        for i, row in enumerate(self.matrix):
            y = TOP + i * cell
            parts.append(words(SIDE - 8, y + cell / 2 + 4, shortened(self.names[i], 16), 10.5, SOFT, anchor="end"))
            column = SIDE + (i + 0.5) * cell
            parts.append(words(column, TOP - 8, shortened(self.names[i], max(int(cell / 6), 2)), 10.5, SOFT))
            for j, amount in enumerate(row):
                parts += self._square(SIDE + j * cell, y, cell, i == j, int(amount), amount / max(row.sum(), 1))
        return card(W, TOP + size * cell + 16, title, parts)

    def _square(self, x: float, y: float, cell: float, right: bool, amount: int, share: float) -> list[str]:
        fill = ("#d8f1ef" if right else heat_of(float(share))[0]) if amount else "#f5f6f9"
        parts = [rect(x + 0.5, y + 0.5, cell - 1, cell - 1, fill, radius=2)]
        weight = 700 if amount and not right else 400
        return [*parts, words(x + cell / 2, y + cell / 2 + 4, str(amount), 10.5, INK, weight)] if amount else parts

    @property
    def worst(self) -> list[tuple[str, str, int]]:
        """The most frequent mistakes: true class, predicted class, how often."""
        wrong = self.matrix - np.diag(np.diag(self.matrix))
        order = np.argsort(-wrong, axis=None, kind="stable")[:8]
        pairs = [divmod(int(k), len(self.names)) for k in order]
        return [(self.names[i], self.names[j], int(wrong[i, j])) for i, j in pairs if wrong[i, j]]

    @property
    def head(self) -> Row:
        """Titles of the columns: the true class, then the predicted ones."""
        return ("true \\ predicted", *self.names)

    @property
    def rows(self) -> list[Row]:
        """The counts as words."""
        return [(name, *map(str, row)) for name, row in zip(self.names, self.matrix)]

    @property
    def text(self) -> str:
        """The matrix, and the most frequent mistakes."""
        most = [f"{a} taken for {b}: {n}" for a, b, n in self.worst]
        first = f"{self.accuracy:.1%} of {self.matrix.sum():,} are right"
        return "\n".join([first, columns(self.head, self.rows), *most])

    @property
    def sections(self) -> list[Section]:
        """The matrix as a table."""
        return [("Counts", table(self.head, self.rows))]

    @property
    def data(self) -> dict[str, Any]:
        """Names and counts."""
        return {"names": self.names, "matrix": self.matrix.tolist()}


class LearningRateView(View):
    """The loss over a growing learning rate, and where it falls fastest.

    Args:
        search: what ``ms.train.lr_find`` gave.
    """

    kind = "learning rate"

    def __init__(self, search: LearningRateSearch) -> None:
        super().__init__("loss over learning rate")
        self.search = search

    @property
    def suggestion(self) -> float | None:
        """The rate at which the smoothed loss falls fastest; None where it never falls."""
        return self.search.suggestion

    @property
    def svg(self) -> str:
        """The smoothed loss over the rate (logarithmic), the suggestion as a dashed line."""
        pairs = [(r, v) for r, v in zip(self.search.rates, self.search.smooth) if math.isfinite(v)] or [(1.0, 0.0)]
        first = pairs[0][1]
        pairs = [(r, min(v, 2 * abs(first) + 1e-12)) for r, v in pairs]  # what explodes would flatten the rest
        low, high = min(v for _, v in pairs), max(v for _, v in pairs)
        room = (high - low) * 0.06 or abs(high) * 0.1 or 0.5
        x = Scale(pairs[0][0], max(pairs[-1][0], pairs[0][0] * 1.01), LEFT, W - 40, log=True)
        y = Scale(low - room, high + room, HEAD + TALL, HEAD + 14)
        d = "L".join(f"{number(x(r))} {number(y(v))}" for r, v in pairs)
        parts = grid(x, y, "learning rate", "loss")
        parts.append(f'<path d="M{d}" fill="none" stroke="{HUES[0]}" stroke-width="2"/>')
        if self.suggestion is not None:
            at = number(x(self.suggestion))
            line = f"M{at} {number(y.start)}L{at} {number(y.end)}"
            parts.append(f'<path d="{line}" stroke="{ALARM}" stroke-width="1.4" stroke-dasharray="5 4" fill="none"/>')
            parts.append(words(x(self.suggestion), y.end - 2, f"{self.suggestion:.2g}", 11, ALARM, 700))
        return card(W, HEAD + TALL + 46, self.title, parts)

    @property
    def head(self) -> Row:
        """Titles of the columns."""
        return ("learning rate", "loss", "smoothed")

    @property
    def rows(self) -> list[Row]:
        """Every tenth step."""
        found = self.search
        steps = range(0, len(found.losses), max(len(found.losses) // 10, 1))
        return [(f"{found.rates[i]:.2g}", number_word(found.losses[i]), number_word(found.smooth[i])) for i in steps]

    @property
    def text(self) -> str:
        """The suggestion, and every tenth step."""
        return f"{self.search!r}\n{columns(self.head, self.rows)}"

    @property
    def sections(self) -> list[Section]:
        """Every tenth step."""
        return [("Steps", table(self.head, self.rows))]

    @property
    def data(self) -> dict[str, Any]:
        """Rates and losses; what is no number is null."""
        losses = [v if math.isfinite(v) else None for v in self.search.losses]
        return {"suggestion": self.suggestion, "rates": self.search.rates, "losses": losses}
