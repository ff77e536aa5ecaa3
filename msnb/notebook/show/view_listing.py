"""Every view in one table: the question that it answers, its function, its magic, an example.

``ms.show`` as the last line of a cell and ``%ms_help`` show it. A test holds it against the functions of ``ms.show``,
the magics and the table of docs/pictures.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from msnb.notebook.charts.html_fragments import Row, columns, table
from msnb.notebook.charts.plot import card
from msnb.notebook.drawing import INK, SOFT, shortened, text as words
from msnb.notebook.views.view import Section, View

HEAD: Row = ("question", "function", "magic")
LINE, TOP, WIDE = 19.0, 58.0, 900.0


@dataclass(frozen=True)
class ViewEntry:
    """One view.

    Attributes:
        name: of the function in ``ms.show``.
        question: what it answers.
        example: a call of it.
        magic: a line or a cell with it, "" where there is none.
    """

    name: str
    question: str
    example: str
    magic: str = ""


VIEWS = (
    ViewEntry("ir", "which program would graph mode compile?", "ir(f, x)", "%ms_ir f(x)"),
    ViewEntry("grad", "what is its gradient, and what is kept for it?", "grad(f, x)", "%ms_grad f(x)"),
    ViewEntry("graph", "what does this graph or this cell compute?", "graph(f, x)", "%%ms_graph"),
    ViewEntry("passes", "what did each compiler pass do, and why?", "passes(f, x)", "%ms_passes f(x)"),
    ViewEntry("diff", "where do the values of the two modes differ first?", "diff(f, x)", "%ms_diff f(x)"),
    ViewEntry("step", "which values are on the way; where is a NaN born?", "step(f, x)", "%ms_step f(x)"),
    ViewEntry("eager", "what did eager mode really run?", "eager(f, x)", "%%ms_eager"),
    ViewEntry("compare", "what changed between two programs?", "compare(f, g, x)", "%ms_compare f(x), g(x)"),
    ViewEntry("explain", "what was compiled, why, and what does it rely on?", "explain(f)", "%ms_explain f"),
    ViewEntry("kernels", "how does each node run; which code was generated?", "kernels(f, x)", "%ms_kernels f(x)"),
    ViewEntry("mem", "who holds the memory at its peak?", "mem(f, x)", "%ms_mem f(x)"),
    ViewEntry("profile", "what does each line cost?", "profile(f, x)", "%ms_profile f(x)"),
    ViewEntry("roofline", "how far is each operator from the machine's limit?", "roofline(f, x)", "%ms_roofline f(x)"),
    ViewEntry("timeline", "what does a GPU run, step by step, and how long?", "timeline(f, x)", "%ms_timeline f(x)"),
    ViewEntry("plan", "how is it laid over several devices?", "plan(f, x)", "%ms_plan --devices 8 f(x)"),
    ViewEntry(
        "aicore", "how does an AI core multiply two matrices?", "aicore(128, 512, 128)", "%ms_aicore 128 512 128"
    ),
    ViewEntry("curves", "how does the training go?", "curves()"),
    ViewEntry("flow", "where do gradients vanish or explode over a training?", "flow(net)"),
    ViewEntry("watching", "how does every training in this block go?", "watching(ms.show.curves())"),
    ViewEntry("data", "which step of the data pipeline makes a training wait?", "data(ds)", "%ms_data ds"),
    ViewEntry("lr_find", "which learning rate should I take?", "lr_find(model, data)"),
    ViewEntry("images", "what is in this batch; which predictions are wrong?", "images(x, labels, predicted)"),
    ViewEntry("features", "what does a layer make of a picture?", 'features(net, x, "conv1")'),
    ViewEntry("confusion", "which classes are taken for which?", "confusion(labels, predicted)"),
    ViewEntry("tensor", "which values are in this tensor?", "tensor(x)", "%ms_tensor x"),
    ViewEntry("error", "what was the last error, and what is the way out?", "error()", "%ms_error"),
    ViewEntry("info", "which versions, machine and settings are these?", "info()", "%ms_info"),
)
MORE = (
    ("switch the mode, or say which is on", "ms.set_context(mode=...)", "%ms_mode graph"),
    ("switch the device, or say which is on", "ms.set_context(device_target=...)", "%ms_device"),
    ("start ranks for this notebook, stop them", "ms.init()", "%ms_cluster start"),
    ("this table", "ms.show", "%ms_help"),
)


class ListingView(View):
    """The table of views; with ``word`` only the rows that have it.

    Args:
        word: part of a question or a name.
    """

    kind = "views"

    def __init__(self, word: str = "") -> None:
        super().__init__("views of ms.show" + (f" with {word!r}" if word else ""))
        every = [*((v.question, f"ms.show.{v.example}", v.magic) for v in VIEWS), *MORE]
        self.rows: list[Row] = [row for row in every if word.lower() in " ".join(row).lower()]

    @property
    def text(self) -> str:
        """The table; where nothing fits, all questions that there are."""
        return (
            columns(HEAD, self.rows)
            if self.rows
            else f"no view has the word; without one %ms_help lists all {len(VIEWS)}."
        )

    @property
    def svg(self) -> str:
        """The table as a picture."""
        parts = [words(x, 44, name, 11, SOFT, 600, "start") for name, x in zip(HEAD, (16, 400, 680))]
        for k, row in enumerate(self.rows):
            y = TOP + k * LINE + 8
            parts.append(words(16, y, shortened(row[0], 64), 11.5, INK, anchor="start"))
            parts += [words(x, y, shortened(word, 40), 10.5, INK, anchor="start", mono=True)
                      for word, x in zip(row[1:], (400, 680))]  # fmt: skip
        return card(WIDE, TOP + len(self.rows) * LINE + 10, self.title, parts)

    @property
    def html(self) -> str:
        """The table."""
        return table(HEAD, self.rows) if self.rows else super().html

    @property
    def sections(self) -> list[Section]:
        """Nothing below the table."""
        return []

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {"text/html": self.html, "text/plain": repr(self)}
