"""MindSpore 2.6's way to say how a network is spread over devices: methods of a Cell around it.

    from msnb.parallel.auto_parallel import AutoParallel
    parallel_net = AutoParallel(net, parallel_mode="semi_auto")         set_auto_parallel_context(parallel_mode=...)
    parallel_net.pipeline(stages=2)                                     set_auto_parallel_context(pipeline_stages=2)

The settings are those of the context (``msnb.parallel.context``), for which there is one program at a time: the network
that is wrapped last has the word, and ``ms.reset_auto_parallel_context()`` is one device again. How many devices there
are is said here or in the context, since no launcher says it on one machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msnb.base import ArgumentError, AttributeValueError
from msnb.nn.cells.cell import Cell
from msnb.nn.training.gradient_cells import GradAccumulationCell, MicroBatchInterleaved as MicroBatchInterleaved
from msnb.nn.training.training_cells import PipelineCell
from msnb.parallel.context import (
    AUTO_PARALLEL,
    SEARCHES,
    SEMI_AUTO_PARALLEL,
    get_auto_parallel_context,
    set_auto_parallel_context,
)

Pipeline = PipelineCell  # its name in mindspore.parallel.nn
GradAccumulation = GradAccumulationCell
_MODES = ("semi_auto", *SEARCHES)


class AutoParallel(Cell):
    """A network that is planned over devices when it is compiled (``ms.jit``, ``Model.train``).

    Args:
        network: a Cell or a function.
        parallel_mode: "semi_auto" (strategies as written, the rest follows), or a search: "sharding_propagation",
            "recursive_programming", "dynamic_programming" (exact).
        device_num: how many devices; by default the context's.

    Raises:
        TypeError, ValueError: nothing that can be called, or a mode that does not exist.

    Source: https://www.mindspore.cn/docs/en/r2.6.0/api_python/parallel/mindspore.parallel.auto_parallel.AutoParallel.html

    Examples:
        >>> import msnb as ms
        >>> from msnb.parallel.auto_parallel import AutoParallel
        >>> net = AutoParallel(ms.nn.Dense(64, 64), "recursive_programming", device_num=4)
        >>> ms.parallel.plan(net, ms.ops.ones((512, 64))).strategies["AutoParallel/Dense/matmul"]
        ((4, 1), (1, 1))
        >>> ms.reset_auto_parallel_context()
    """

    def __init__(self, network: Callable[..., Any], parallel_mode: str = "semi_auto",
                 device_num: int | None = None) -> None:  # fmt: skip
        super().__init__(auto_prefix=False)
        if not callable(network):
            raise ArgumentError(f"AutoParallel takes a Cell or a function, not {type(network).__name__}.")
        if parallel_mode not in _MODES:
            raise AttributeValueError(f"AutoParallel: parallel_mode={parallel_mode!r} is not legal; legal: "
                                      f"{', '.join(map(repr, _MODES))}.")  # fmt: skip
        self.network = network
        semi = parallel_mode == _MODES[0]
        search = {} if semi else {"search_mode": parallel_mode}
        devices = {} if device_num is None else {"device_num": device_num}
        set_auto_parallel_context(parallel_mode=SEMI_AUTO_PARALLEL if semi else AUTO_PARALLEL, **search, **devices)

    def construct(self, *inputs: Any, **named: Any) -> Any:
        return self.network(*inputs, **named)

    # ---- files and data ----

    def load_operator_strategy_file(self, file_path: str) -> None:
        """Take the strategies from a file."""
        set_auto_parallel_context(strategy_ckpt_load_file=file_path)

    def save_operator_strategy_file(self, file_path: str) -> None:
        """Write the strategies into a file."""
        set_auto_parallel_context(strategy_ckpt_save_file=file_path)

    load_param_strategy_file, save_param_strategy_file = load_operator_strategy_file, save_operator_strategy_file

    def disable_strategy_file_only_for_trainable_params(self) -> None:
        """Files tell of all that a plan lays out."""
        set_auto_parallel_context(strategy_ckpt_config={"only_trainable_params": False})

    def set_group_ckpt_save_file(self, file_path: str) -> None:
        """Kept for MindSpore's programs; snapshots say themselves how parts lie."""
        set_auto_parallel_context(group_ckpt_save_file=file_path)

    def dataset_strategy(self, config: str | tuple[Any, ...]) -> None:
        """How a batch comes: "data_parallel", "full_batch", or per input split counts or a Layout."""
        set_auto_parallel_context(dataset_strategy=config)

    def no_init_parameters_in_compile(self) -> None:
        """Parameters have their values from the start."""

    # ---- optimizer, pipeline, gradients ----

    def hsdp(self, shard_size: int = -1, threshold: int = 64, optimizer_level: str = "level1") -> None:
        """Copies of a weight share its update.

        Args:
            shard_size: at most so many devices share, -1: all that hold copies.
            threshold: weights below so many KB stay whole.
            optimizer_level: "level1" (optimizer state), "level2" (and gradients), "level3" (and weights).

        Raises:
            ValueError: something else.
        """
        set_auto_parallel_context(enable_parallel_optimizer=True, parallel_optimizer_config={
            "optimizer_weight_shard_size": shard_size, "parallel_optimizer_threshold": threshold,
            "optimizer_level": optimizer_level,
        })  # fmt: skip

    def pipeline(self, stages: int = 1, output_broadcast: bool = False, interleave: bool = False,
                 scheduler: str = "1f1b") -> None:  # fmt: skip
        """Pipeline stages, of a network in ``nn.PipelineCell`` (``Pipeline``).

        Args:
            stages: how many; output_broadcast: results come to whoever asks, whatever this says.
            interleave: whether a stage has several pieces of the network; scheduler: "gpipe" or "1f1b".

        Raises:
            ValueError: something else, or stages that do not divide the devices.
        """
        schedule = "interleaved" if interleave else scheduler
        set_auto_parallel_context(pipeline_stages=stages, pipeline_result_broadcast=output_broadcast,
                                  pipeline_config={"pipeline_scheduler": schedule})  # fmt: skip

    def get_pipeline_stages(self) -> int:
        """How many pipeline stages there are."""
        return int(get_auto_parallel_context("pipeline_stages"))

    def comm_fusion(self, config: dict[str, Any]) -> None:
        """Which gradients are summed together, as the context's ``comm_fusion``."""
        set_auto_parallel_context(comm_fusion=config)

    def enable_fp32_communication(self) -> None:
        """Every sum over devices is taken in float32."""
        set_auto_parallel_context(force_fp32_communication=True)

    def enable_gradients_mean(self) -> None:
        """Gradients of replicas are divided by their number."""
        set_auto_parallel_context(gradients_mean=True)

    def disable_gradient_fp32_sync(self) -> None:
        """Gradients of weights that a program uses in 16 bits are summed in 16 bits."""
        set_auto_parallel_context(gradient_fp32_sync=False)

    def disable_loss_repeated_mean(self) -> None:
        """Kept for MindSpore's programs; a plan counts a loss once."""
        set_auto_parallel_context(loss_repeated_mean=False)

    # ---- what MindSpore writes while a step runs ----

    def print_local_norm(self) -> None:
        """Kept for MindSpore's programs; nothing is printed."""
        set_auto_parallel_context(dump_local_norm=True)

    def dump_local_norm(self, file_path: str) -> None:
        """Kept for MindSpore's programs; nothing is written."""
        set_auto_parallel_context(dump_local_norm=True, dump_local_norm_path=file_path)

    def enable_device_local_norm(self) -> None:
        """Kept for MindSpore's programs; nothing is printed."""
        set_auto_parallel_context(dump_device_local_norm=True)


class PipelineGradReducer(Cell):
    """Gradients of a pipeline on their way to the optimizer: a plan has summed them already.

    Args:
        parameters: the weights, kept for MindSpore's programs.
        scale_sense: what gradients are divided by.
        opt_shard: kept for MindSpore's programs: the context says whether updates are shared.

    Source: https://www.mindspore.cn/docs/en/r2.6.0/api_python/parallel/mindspore.parallel.nn.PipelineGradReducer.html

    Examples:
        >>> import msnb as ms
        >>> from msnb.parallel.nn import PipelineGradReducer
        >>> PipelineGradReducer([], scale_sense=2.0)((ms.ops.ones(2),))[0].tolist()
        [0.5, 0.5]
    """

    def __init__(self, parameters: Sequence[Any], scale_sense: float = 1.0, opt_shard: bool | None = None) -> None:
        super().__init__(auto_prefix=False)
        self.parameters: tuple[Any, ...] = tuple(parameters)
        self.scale_sense: float = scale_sense
        self.opt_shard: bool | None = opt_shard

    def construct(self, grads: Any) -> Any:
        return grads if self.scale_sense == 1.0 else tuple([grad / self.scale_sense for grad in grads])
