"""``view.widget()``: a view with a slider, made of ipywidgets' own parts.

    [<] ---o-------------- [>]   3 of 12   algebra, rewrite 2
    law, why, before -> after, pictures                         one frame of the view, made when it is looked at

Nothing of it is JavaScript of ours: it runs wherever ipywidgets run (JupyterLab, Notebook, VS Code, Colab) and writes
no program text into the notebook. Its output carries the static view beside the live one. A front end that has lost the
widget (a reopened notebook, another kernel) falls back to that: JupyterLab through our extension, which asks the kernel
whether the widget still lives; pages made by nbconvert through the HTML.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msnb.base import ArgumentError

if TYPE_CHECKING:
    from msnb.notebook.views.view import View

try:
    import ipywidgets
except ImportError as error:
    raise ArgumentError("widget() needs ipywidgets.", hint="pip install 'msnb[notebook]'") from error

WIDGET = "application/vnd.jupyter.widget-view+json"
WIDE = "480px"


class ViewWidget(ipywidgets.VBox):  # type: ignore[misc]
    """A slider over the frames of a view.

    Attributes:
        view: the view.
        slider: the slider; ``slider.value`` is the frame, ``slider.observe`` tells of moves.
    """

    def __init__(self, view: View) -> None:
        self.view: View = view
        self._frames = view.frames
        most = max(len(self._frames) - 1, 0)
        self.slider: Any = ipywidgets.IntSlider(0, 0, most, layout={"width": WIDE}, readout=False)
        self._caption, self._page = ipywidgets.Label(), ipywidgets.HTML()
        back = ipywidgets.Button(description="◂", tooltip="Back", layout={"width": "36px"})
        on = ipywidgets.Button(description="▸", tooltip="On", layout={"width": "36px"})
        back.on_click(lambda _: self.back())
        on.on_click(lambda _: self.next())
        self.slider.observe(lambda _: self._show(), "value")
        super().__init__([ipywidgets.HBox([back, self.slider, on, self._caption]), self._page])
        self._show()

    def next(self) -> None:
        """On to the next frame."""
        self.slider.value += 1  # the slider keeps to its ends

    def back(self) -> None:
        """Back to the frame before."""
        self.slider.value -= 1

    @property
    def caption(self) -> str:
        """Which frame it is."""
        return str(self._caption.value)

    @property
    def page(self) -> str:
        """The frame's HTML."""
        return str(self._page.value)

    def _show(self) -> None:
        at = self.slider.value
        name, make = self._frames[at] if self._frames else ("nothing to show", str)
        self._caption.value = f"{at + 1} of {max(len(self._frames), 1)}: {name}"
        self._page.value = make()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        live = super()._repr_mimebundle_(**kwargs)
        return {**self.view._repr_mimebundle_(), WIDGET: live[WIDGET]}


def widget_of(view: View) -> ViewWidget:
    """The widget of a view."""
    return ViewWidget(view)
