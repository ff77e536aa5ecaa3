"""Which layer a module becomes: ``torch.nn.Conv2d`` around one call of ``aten.conv2d`` is ``mint.nn.Conv2d``.

A rule gives the layer's constructor, as a template over the call's arguments and what the rule adds to them; the layer
takes the call's operands that are no weights. A module that did anything else than the one call is no such layer: its
class is written out like the user's own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from msnb.train.pytorch.exported_program import Call, ExportedProgram, Ref, references
from msnb.train.pytorch.source_template import ReadArguments, filled

Extra = Callable[[Any, Any], dict[str, Any]]
_MODE = frozenset({"train", "training"})  # the layer follows set_train


@dataclass(frozen=True)
class LayerRule:
    """How a module becomes a layer.

    Attributes:
        target: the operator that it calls, without overload; several stand in a row, apart by spaces.
        constructor: template of the layer.
        extra: arguments for the template beyond those of the call, from (arguments, shape of a weight argument).
        renamed: the module's names of weights -> the layer's.
        results: how its results are unpacked, by their index; one value where it is empty.
        state: of a recurrence how it takes its state, by the index of its parts.
    """

    target: str
    constructor: str
    extra: Extra | None = None
    renamed: dict[str, str] = field(default_factory=dict)
    results: str = ""
    state: str = ""


def _one(value: Any) -> Any:
    """A number where all axes have the same."""
    return value[0] if isinstance(value, (list, tuple)) and len(set(value)) == 1 else value


def _convolution(a: Any, shape: Any) -> dict[str, Any]:
    out, inside, *kernel = shape("weight")
    return {
        "in_channels": inside * a.get("groups", 1), "out_channels": out, "kernel_size": _one(kernel),
        "stride": _one(a.get("stride")), "padding": _one(a.get("padding")), "dilation": _one(a.get("dilation")),
        "bias": a.get("bias") is not None,
    }  # fmt: skip


def _norm(a: Any, shape: Any) -> dict[str, Any]:
    return {"features": shape("running_mean")[0], "affine": a.get("weight") is not None}


def _pool(a: Any, shape: Any) -> dict[str, Any]:
    kernel = _one(a["kernel_size"])
    stride = _one(a.get("stride")) or None
    return {"kernel_size": kernel, "stride": None if stride == kernel else stride,
            "padding": _one(a.get("padding")), "dilation": _one(a.get("dilation"))}  # fmt: skip


def _recurrence(a: Any, shape: Any) -> dict[str, Any]:
    first = shape("params") or shape("w_ih")
    gates = {"lstm": 4, "gru": 3}.get(a["kind"].partition("_")[0], 1)
    return {"input_size": first[1], "hidden_size": first[0] // gates, "has_bias": shape("b_ih") is not None,
            "nonlinearity": "relu" if "relu" in a["kind"] else "tanh"}  # fmt: skip


_CONV = ("mint.nn.Conv{n}d({{in_channels}}, {{out_channels}}, {{kernel_size}}{{, stride=stride|1}}"
         "{{, padding=padding|0}}{{, dilation=dilation|1}}{{, groups=groups|1}}{{, bias=bias|True}})")  # fmt: skip
_PLAIN_CONV = (
    'nn.Conv{n}d({{in_channels}}, {{out_channels}}, {{kernel_size}}{{, stride=stride|1}}, pad_mode="pad"'
    "{{, padding=padding|0}}{{, dilation=dilation|1}}{{, group=groups|1}}{{, has_bias=bias|False}})"
)
_BATCH_NORM = ("mint.nn.BatchNorm{n}d({{features}}{{, eps=eps|1e-05}}{{, momentum=momentum|0.1}}"
               "{{, affine=affine|True}})")  # fmt: skip
_RECURRENCE = ("nn.{name}({{input_size}}, {{hidden_size}}{{, num_layers=num_layers|1}}{more}"
               "{{, has_bias=has_biases|True}}{{, batch_first=batch_first|False}}{{, dropout=dropout|0.0}}"
               "{{, bidirectional=bidirectional|False}})")  # fmt: skip
_CELL = "nn.{name}({{input_size}}, {{hidden_size}}{{, has_bias=has_bias|True}}{more})"
_KIND = "{, nonlinearity=nonlinearity|'tanh'}"


def _activation(target: str, constructor: str) -> LayerRule:
    return LayerRule(target, constructor)


LAYERS: dict[str, LayerRule] = {
    "Linear": LayerRule(
        "linear", "mint.nn.Linear({in_features}, {out_features}{, bias=has_bias|True})",
        lambda a, shape: {"in_features": shape("weight")[1], "out_features": shape("weight")[0],
                          "has_bias": a.get("bias") is not None},
    ),
    "Conv2d": LayerRule("conv2d", _CONV.format(n=2), _convolution),
    "Conv1d": LayerRule("conv1d", _PLAIN_CONV.format(n=1), _convolution),
    "Conv3d": LayerRule("conv3d", _PLAIN_CONV.format(n=3), _convolution),
    "Embedding": LayerRule(
        "embedding", "mint.nn.Embedding({entries}, {size}{, padding_idx=padding})",
        lambda a, shape: {"entries": shape("weight")[0], "size": shape("weight")[1],
                          "padding": a["padding_idx"] if a.get("padding_idx", -1) >= 0 else None},
    ),
    "LayerNorm": LayerRule(
        "layer_norm", "mint.nn.LayerNorm({normalized_shape}{, eps=eps|1e-05}{, elementwise_affine=affine|True}"
        "{, bias=has_bias|True})",
        lambda a, shape: {"affine": a.get("weight") is not None,
                          "has_bias": a.get("weight") is None or a.get("bias") is not None},
    ),
    "GroupNorm": LayerRule(
        "group_norm", "mint.nn.GroupNorm({num_groups}, {channels}{, eps=eps|1e-05}{, affine=affine|True})",
        lambda a, shape: {"channels": (shape("weight") or [None])[0], "affine": a.get("weight") is not None},
    ),
    **{f"BatchNorm{n}d": LayerRule("batch_norm", _BATCH_NORM.format(n=n), _norm) for n in (1, 2, 3)},
    "Dropout": LayerRule("dropout", "mint.nn.Dropout({p})"),
    "Identity": LayerRule("identity", "nn.Identity()"),
    "Flatten": LayerRule("flatten", "mint.nn.Flatten({start_dim}{, end_dim=end_dim|-1})",
                         lambda a, shape: {"start_dim": a.get("start_dim", 0)}),
    "MaxPool2d": LayerRule(
        "max_pool2d", "mint.nn.MaxPool2d({kernel_size}{, stride=stride}{, padding=padding|0}{, dilation=dilation|1}"
        "{, ceil_mode=ceil_mode|False})", _pool),
    "AvgPool2d": LayerRule(
        "avg_pool2d", "mint.nn.AvgPool2d({kernel_size}{, stride=stride}{, padding=padding|0}"
        "{, ceil_mode=ceil_mode|False}{, count_include_pad=count_include_pad|True})", _pool),
    **{f"AdaptiveAvgPool{n}d": LayerRule(
        f"adaptive_avg_pool{n}d", f"mint.nn.AdaptiveAvgPool{n}d({{output_size}})",
        lambda a, shape: {"output_size": _one(a["output_size"])}) for n in (1, 2, 3)},
    "ReLU": _activation("relu", "mint.nn.ReLU()"),
    "ReLU6": _activation("relu6", "mint.nn.ReLU6()"),
    "GELU": _activation("gelu", "mint.nn.GELU({, approximate=approximate|'none'})"),
    "SiLU": _activation("silu", "mint.nn.SiLU()"),
    "Sigmoid": _activation("sigmoid", "mint.nn.Sigmoid()"),
    "Tanh": _activation("tanh", "mint.nn.Tanh()"),
    "Mish": _activation("mish", "mint.nn.Mish()"),
    "SELU": _activation("selu", "mint.nn.SELU()"),
    "ELU": _activation("elu", "mint.nn.ELU({, alpha=alpha|1.0})"),
    "LeakyReLU": _activation("leaky_relu", "mint.nn.LeakyReLU({, negative_slope=negative_slope|0.01})"),
    "Hardswish": _activation("hardswish", "mint.nn.Hardswish()"),
    "Hardsigmoid": _activation("hardsigmoid", "mint.nn.Hardsigmoid()"),
    "Softmax": LayerRule("softmax", "mint.nn.Softmax({dim})"),
    "LogSoftmax": LayerRule("log_softmax", "mint.nn.LogSoftmax({dim})"),
    "LSTM": LayerRule("lstm", _RECURRENCE.format(name="LSTM", more=""), _recurrence, results="{0}, ({1}, {2})",
                      state="({0}, {1})"),
    "GRU": LayerRule("gru", _RECURRENCE.format(name="GRU", more=""), _recurrence, results="{0}, {1}", state="{0}"),
    "RNN": LayerRule("rnn_tanh rnn_relu", _RECURRENCE.format(name="RNN", more=_KIND), _recurrence, results="{0}, {1}",
                     state="{0}"),
    "LSTMCell": LayerRule("lstm_cell", _CELL.format(name="LSTMCell", more=""), _recurrence, results="{0}, {1}",
                          state="({0}, {1})"),
    "GRUCell": LayerRule("gru_cell", _CELL.format(name="GRUCell", more=""), _recurrence, state="{0}"),
    "RNNCell": LayerRule("rnn_tanh_cell rnn_relu_cell", _CELL.format(name="RNNCell", more=_KIND), _recurrence,
                         state="{0}"),
}  # fmt: skip


def layer_of(name: str, calls: list[Call], program: ExportedProgram) -> tuple[LayerRule, Call, dict[str, Any]] | None:
    """The rule for a module of this class, its call and the arguments of the template; None where it is no layer.

    Args:
        name: the class, dotted.
        calls: all calls inside the module that matter.
        program: where they stand.
    """
    rule = LAYERS.get(name.rpartition(".")[2]) if name.startswith("torch.nn.") else None
    if rule is None:
        return None
    main = [call for call in calls if operator_of(call) in rule.target.split()]
    zeros = {result for call in calls if operator_of(call) in ("zeros", "full", "new_zeros") for result in call.names()}
    if len(main) != 1 or not (len(calls) == 1 or rule.state and _only_zeros(main[0], zeros)):
        return None
    if program.weights.keys() >= set(main[0].used()):  # it is called with a buffer or a parameter, not with a value
        return None
    arguments = _constructor_arguments(rule, main[0], program)
    return None if arguments is None else (rule, main[0], arguments)


def _constructor_arguments(rule: LayerRule, call: Call, program: ExportedProgram) -> dict[str, Any] | None:
    """The arguments of a layer's template; None where the layer has no place for one of the call's."""
    arguments = ReadArguments(call.arguments | {"kind": operator_of(call)})
    if rule.state and arguments.get("data") is not None:
        return None

    def shape(argument: str) -> tuple[int, ...] | None:
        value = call.arguments.get(argument)
        value = value[0] if isinstance(value, list) else value
        return program.types[value.name].shape if isinstance(value, Ref) else None  # type: ignore[return-value]

    if rule.extra:
        arguments.update(rule.extra(arguments, shape))
    if None in (arguments.get("channels", 0), arguments.get("features", 0)):
        return None
    filled(rule.constructor, arguments)
    constants = {name: value for name, value in call.arguments.items() if not any(references(value))}
    return None if arguments.ignored(constants, _MODE) else arguments


def state_of(call: Call) -> list[str]:
    """The values of a recurrence's state."""
    hidden = call.arguments.get("hx")
    return [part.name for part in (hidden if isinstance(hidden, list) else [hidden]) if isinstance(part, Ref)]


def _only_zeros(call: Call, zeros: set[str]) -> bool:
    """Whether a recurrence begins with zeros."""
    state = state_of(call)
    return bool(state) and all(name in zeros for name in state)


def operator_of(call: Call) -> str:
    """The operator's name without its library and overload; that of the in-place form, too."""
    parts = call.target.split(".")
    name = parts[1] if len(parts) > 1 else parts[0]
    return name if name.startswith("__") else name.removesuffix("_")
