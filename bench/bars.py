"""What must be reached, as data. The report says reached or missed; no test asserts a speed.

A bar compares a measure of ours with the same (or another) measure of the quickest among some contestants:

    theirs / ours >= at_least          e.g. 1.2: we are at least 1.2 times faster

`growth` has nobody to compare with: twice the layers may cost at most `at_most` times the compile time.
"""

from __future__ import annotations

from dataclasses import dataclass

from bench.contestants import PEERS

GRAPH, EAGER = "msnb graph", "msnb eager"


@dataclass(frozen=True)
class Bar:
    """One promise.

    Attributes:
        case, ours, measure: what is looked at; measures are named in report.py.
        against: whose best counts.
        at_least: how many times better we must be.
        theirs: their measure, if it is another one.
        at_most: for a measure that is judged alone.
    """

    case: str
    ours: str
    measure: str
    against: tuple[str, ...] = PEERS
    at_least: float = 1.0
    theirs: str = ""
    at_most: float = 0.0

    @property
    def name(self) -> str:
        said = {"step": "", "cold": ", first call cold", "warm": ", first call with our warm disk cache"}
        said |= {"peak": ", peak memory", "growth": ", growth of the first call"}
        return self.case + said[self.measure] + (", eager" if self.ours == EAGER else "")


def _steps(at_least: float, *cases: str) -> list[Bar]:
    return [Bar(case, GRAPH, "step", at_least=at_least) for case in cases]


def _compile(case: str) -> list[Bar]:
    jax = ("jax jit",)
    return [
        Bar(case, GRAPH, "cold", jax, 1.0),
        Bar(case, GRAPH, "warm", jax, 2.5, theirs="cold"),  # below 0.4 of it
    ]


TORCH = ("torch eager",)
LSTM = ("lstm_step_50", "lstm_step_200", "lstm_step_1000")
BARS: tuple[Bar, ...] = (
    *_steps(1.5, "lenet_step_32", "lenet_step_256"),
    *_steps(1.1, "conv2d"),
    *_steps(1.2, "resnet18_step", "resnet50_step", "transformer_step", "rnn_step", "pinn_step"),
    *_steps(1.1, "mlp_step"),
    *_steps(1.2, *LSTM),
    *_steps(1.2, "layernorm_softmax", "fused_elementwise_grad"),
    *_steps(1.0, "fused_elementwise"),
    *_steps(0.95, "matmul"),
    *_steps(1.0, "einsum_attention_step", "contrastive_step", "wide_deep_step", "word2vec_step", "mlp_inference"),
    Bar("while_step", GRAPH, "step", TORCH, 3.0),
    Bar("while_step", GRAPH, "step", ("mindspore graph",), 2.0),
    *_compile("lenet_step_32"),
    *_compile("resnet18_step"),
    *_compile("transformer_step"),
    *(Bar(case, EAGER, "step", TORCH, 1.0) for case in ("dispatch", "dispatch_grad")),
    *(Bar(case, EAGER, "step", TORCH, 1 / 1.3) for case in ("lenet_step_32", "mlp_step", "transformer_step")),
    *(Bar(case, EAGER, "step", TORCH, 1.0) for case in LSTM),
    *(Bar(case, GRAPH, "peak") for case in ("resnet50_step", "transformer_step")),
    Bar("graph_size", GRAPH, "growth", (), at_most=2.2),
)
