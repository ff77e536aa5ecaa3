"""The views of ``msnb.show`` over a training. Loaded, with ``msnb.train``, when one is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from msnb.base import PYNATIVE_MODE, ArgumentError, AttributeValueError, ShapeError, set_context
from msnb.core import Tensor
from msnb.nn.cells.cell import Cell
from msnb.notebook.training.curves import CurvesView, watching as watch
from msnb.notebook.training.data_view import DataView
from msnb.notebook.training.gradient_flow import FlowView
from msnb.notebook.training.image_views import ImagesView, host_array, labelled, pictures_of
from msnb.notebook.training.result_views import ConfusionView, LearningRateView
from msnb.train.learning_rate_search import lr_find as search_rates

__all__ = ["confusion", "curves", "data", "features", "flow", "images", "lr_find", "watching"]


def flow(net: Any, every: int = 10) -> FlowView:
    """Follow the size of every layer's gradient over a training.

    Args:
        net: the network whose parameters are followed.
        every: as a callback of ``Model``, look every so many steps.

    Returns:
        A callback that is also a view; ``.record(gradients)`` serves loops of one's own.

    Raises:
        ArgumentError: ``net`` is no Cell.

    Examples:
        >>> import msnb as ms
        >>> net = ms.nn.Dense(2, 1)
        >>> follow = ms.show.flow(net)
        >>> follow.record([ms.ops.ones((1, 2)), ms.ops.ones((1,))])
        >>> follow.rows[0][1]
        '1.0e+00'
    """
    return FlowView(net, every)


def curves(title: str = "", live: bool = True, times: bool = False, log: bool = False) -> CurvesView:
    """Watch a training: growing curves while it runs, one picture that stays.

    Args:
        title: above the picture.
        live: redraw while it runs, where a notebook shows it.
        times: keep the throughput in what stays (it differs from run to run).
        log: a logarithmic axis for the loss.

    Returns:
        A callback of ``Model`` that is also a view; ``.record(loss=...)`` and ``.done()`` serve loops of one's own.

    Examples:
        >>> import msnb as ms
        >>> seen = ms.show.curves("descent")
        >>> for k in range(3):
        ...     seen.record(loss=1 / (k + 1))
        >>> seen.done().series["loss"][0]
        [1, 2, 3]
    """
    return CurvesView(title, live, times, log)


def data(dataset: Any, seconds: float = 2.0, step: float | None = None) -> DataView:
    """Run a data pipeline for a while and say which of its nodes limits it.

    Args:
        dataset: a Dataset.
        seconds: for about how long; one epoch at most.
        step: seconds that a training step takes; the verdict then says how long it would wait for data.

    Returns:
        A view: ``.verdict``, ``.bottleneck``, ``.rows`` and the numbers in ``.data``. Own times per node, the queues of
        ``prefetch``, and the rate predicted for one more worker.

    Raises:
        ArgumentError: no Dataset. DatasetError: it has no row, or a row fails.

    Examples:
        >>> import time
        >>> import msnb as ms
        >>> ds = ms.dataset.NumpySlicesDataset(list(range(50)), "x").map(lambda x: time.sleep(0.001) or x).batch(5)
        >>> ms.show.data(ds, seconds=0.1).bottleneck
        'map(<lambda> on x)'
    """
    return DataView(dataset, seconds, step)


def watching(view: CurvesView) -> AbstractContextManager[CurvesView]:
    """Within this block, every step of any ``Model`` is noted in the view.

    Args:
        view: of ``ms.show.curves()``.

    Returns:
        A context manager that gives the view, and draws it when the block is left.
    """
    return watch(view)


def images(
    x: Any, labels: Any = None, predicted: Any = None, names: Sequence[str] | None = None, columns: int = 8,
    most: int = 32, title: str = "images",
) -> ImagesView:  # fmt: skip
    """A batch of pictures in a grid, each with its label; wrong predictions are marked.

    Args:
        x: [n, h, w], [n, c, h, w] or [n, h, w, c] with 1 or 3 channels; [h, w] is one picture. Light is large.
        labels: the true classes, integers [n].
        predicted: what was predicted: classes [n], or scores [n, classes].
        names: names of the classes, by number.
        columns: pictures side by side, 1 to 16.
        most: how many pictures are drawn.
        title: above the picture.

    Returns:
        A view: ``.captions``, ``.marked`` (the wrong ones).

    Raises:
        ShapeError: no pictures, or not one label per picture.
        ValueError: ``columns`` or ``most`` out of range.

    Examples:
        >>> import msnb as ms
        >>> x = ms.ops.arange(48).reshape(3, 4, 4)
        >>> print(ms.show.images(x, labels=[0, 1, 2], predicted=[0, 2, 2]).text)
        images: 3 pictures of 4 x 4, 1 wrong
        0  2 (is 1)  2
    """
    if not (isinstance(columns, int) and 1 <= columns <= 16) or not (isinstance(most, int) and 1 <= most <= 256):
        raise AttributeValueError(f"images needs columns of 1 to 16 and most of 1 to 256, got {columns!r}, {most!r}.")
    found = pictures_of(host_array(x, "images"))
    shown = found[:most]
    captions, wrong = labelled(shown, labels, predicted, names)
    return ImagesView(shown, captions, wrong, len(found) - len(shown), title, columns)


def features(cell: Any, x: Any, layer: str = "", example: int = 0, most: int = 32) -> ImagesView:
    """What a layer makes of one picture: each channel of its output as a picture.

    Args:
        cell: a layer, or a whole network with ``layer``.
        x: its input [n, ...], a Tensor or an array.
        layer: the name of a layer inside ``cell``, such as "conv1" or "blocks.0.conv"; its output is shown.
        example: which example of the batch.
        most: how many channels are drawn.

    Returns:
        A view; every channel has its own scale of brightness.

    Raises:
        ArgumentError: ``cell`` is no Cell, there is no such layer, or it did not run.
        ShapeError: the output is not [n, channels, h, w].

    Examples:
        >>> import msnb as ms
        >>> view = ms.show.features(ms.nn.Conv2d(1, 6, 3), ms.ops.ones((1, 1, 8, 8)))
        >>> print(view.text)
        Conv2d, example 0: 6 pictures of 8 x 8
        0  1  2  3  4  5
    """
    if not isinstance(cell, Cell):
        raise ArgumentError(f"features shows what a Cell makes of a picture, not a {type(cell).__name__}.")
    found = dict(cell.cells_and_names())
    if layer not in found:
        hint = f"layers: {', '.join(name for name in found if name)}."
        raise ArgumentError(f"{type(cell).__name__} has no layer {layer!r}.", hint=hint)
    outputs: list[Any] = []
    handle = found[layer].register_forward_hook(lambda _cell, _args, output: outputs.append(output))
    try:
        with set_context(mode=PYNATIVE_MODE):
            cell(x if isinstance(x, Tensor) else Tensor(x))
    finally:
        handle.remove()
    if not outputs or not isinstance(outputs[0], Tensor):
        raise ArgumentError(f"the layer {layer!r} did not run, or gives no Tensor.")
    values = host_array(outputs[0], "features")
    if values.ndim != 4 or not 0 <= example < len(values):
        told = f"the output of {layer or type(cell).__name__} is {list(values.shape)}, example {example} was asked for"
        raise ShapeError(f"features draws outputs of the shape [n, channels, h, w]; {told}.")
    channels = list(values[example])
    title = f"{layer or type(cell).__name__}, example {example}"
    captions = [str(k) for k in range(len(channels[:most]))]
    return ImagesView(channels[:most], captions, (), max(len(channels) - most, 0), title, apart=True)


def confusion(labels: Any, predicted: Any, names: Sequence[str] | None = None) -> ConfusionView:
    """Which classes are taken for which: counts, the share that is right, the most frequent mistakes.

    Args:
        labels: the true classes, integers [n].
        predicted: classes [n], or scores [n, classes], whose largest counts.
        names: names of the classes, by number.

    Returns:
        A view: ``.matrix`` (a row is a true class), ``.accuracy``, ``.worst``.

    Raises:
        ShapeError: not one prediction per label, or more than 40 classes.

    Examples:
        >>> import msnb as ms
        >>> view = ms.show.confusion([0, 1, 1, 2], [0, 1, 2, 2])
        >>> view.accuracy, view.worst
        (0.75, [('1', '2', 1)])
    """
    return ConfusionView(labels, predicted, names)


def lr_find(
    model: Any, train_dataset: Any, start: float = 1e-6, end: float = 1.0, steps: int = 100
) -> LearningRateView:
    """Find a learning rate: the loss over a rate that grows from step to step. The model is put back afterwards.

    Args:
        model: with an optimizer that has one constant learning rate.
        train_dataset: as ``Model.train`` takes it.
        start, end: the first and the last rate.
        steps: at most so many.

    Returns:
        A view: ``.suggestion``, ``.search``.

    Raises:
        TypeError, ValueError: as ``ms.train.lr_find``, which finds it.

    Examples:
        >>> import numpy as np
        >>> import msnb as ms
        >>> net = ms.nn.Dense(2, 1)
        >>> model = ms.Model(net, ms.nn.MSELoss(), ms.nn.SGD(net.trainable_params(), 0.5))
        >>> rows = [(np.ones((4, 2), np.float32), np.full((4, 1), 3, np.float32))]
        >>> 0.001 < ms.show.lr_find(model, rows).suggestion < 1
        True
    """
    return LearningRateView(search_rates(model, train_dataset, start, end, steps))
