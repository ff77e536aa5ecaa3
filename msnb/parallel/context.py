"""The settings of parallel programs: every key of MindSpore 0.3 and the names that 2.x gave them, each with its check.

    set_auto_parallel_context(parallel_mode="auto_parallel", device_num=8)
    get_auto_parallel_context("device_num")  ->  8
    reset_auto_parallel_context()

What the replicas' keys come to:

    mirror_mean           data_parallel: a plan's gradients are those of the whole batch, the mean over ranks of a mean
                          loss; False, said explicitly, makes training steps take MindSpore's sum, device_num times it.
                          hybrid_parallel: whether training steps divide the ranks' sum (``nn.DistributedGradReducer``)
    parameter_broadcast   every rank of a plan begins with the one set of weights, whatever this says; a training run in
                          processes of its own (``Model.train`` on ranks) begins with those of rank 0
    cast_before_mirror    semi_auto_parallel, auto_parallel: whether gradients of weights that a program uses in 16 bits
                          are summed in 16 bits (True, said explicitly) or in float32 (see ``wide_sums``)
    global_rank           the rank whose groups and program are shown; in hybrid_parallel the rank that a process is
                          while it has no peers

Some keys mean something in some modes only (a broadcast of parameters needs replicas, stand-alone has none). Such a key
with another value than its default is refused together with a mode that has no use for it, so leave one mode by
``reset_auto_parallel_context()`` before entering the next, as MindSpore asks for.
Source: `mindspore.set_auto_parallel_context`
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from msnb.base import ContextError, Setting, events, is_int, is_number
from msnb.core import process_group, shard_annotation
from msnb.parallel.sharding.pipeline_schedule import SCHEDULERS

STAND_ALONE = "stand_alone"
DATA_PARALLEL = "data_parallel"
HYBRID_PARALLEL = "hybrid_parallel"
SEMI_AUTO_PARALLEL = "semi_auto_parallel"
AUTO_PARALLEL = "auto_parallel"
MODES = (STAND_ALONE, DATA_PARALLEL, HYBRID_PARALLEL, SEMI_AUTO_PARALLEL, AUTO_PARALLEL)
SEARCHES = ("dynamic_programming", "recursive_programming", "sharding_propagation")

_REPLICAS = (DATA_PARALLEL, HYBRID_PARALLEL)
PLANNED = (SEMI_AUTO_PARALLEL, AUTO_PARALLEL)


class ParallelMode:
    """MindSpore's names for the modes."""

    STAND_ALONE = STAND_ALONE
    DATA_PARALLEL = DATA_PARALLEL
    HYBRID_PARALLEL = HYBRID_PARALLEL
    SEMI_AUTO_PARALLEL = SEMI_AUTO_PARALLEL
    AUTO_PARALLEL = AUTO_PARALLEL
    MODE_LIST = MODES


def _int(default: int, low: int, high: int, modes: tuple[str, ...] = (), idle: str = "") -> Setting:
    return Setting(default, f"an int from {low} to {high}", is_int(low, high), modes=modes, idle=idle)


def _flag(default: bool, modes: tuple[str, ...] = (), idle: str = "") -> Setting:
    return Setting(default, "True or False", lambda v: isinstance(v, bool), modes=modes, idle=idle)


def _word(default: str, words: tuple[str, ...], modes: tuple[str, ...] = ()) -> Setting:
    return Setting(default, ", ".join(map(repr, words)), lambda v: isinstance(v, str) and v in words, modes=modes)


def _path(modes: tuple[str, ...] = (), idle: str = "") -> Setting:
    return Setting("", "a file name, '' for none", lambda v: isinstance(v, str), modes=modes, idle=idle)


def _table(modes: tuple[str, ...], entries: Mapping[str, Setting]) -> Setting:
    return Setting(None, "None or a dict", lambda v: v is None or isinstance(v, dict), modes=modes, entries=entries)


def _is_fusion(value: Any) -> bool:
    """Positions of parameters, ascending."""
    if not isinstance(value, (list, tuple)) or not all(is_int(0, 1 << 30)(v) for v in value):
        return False
    return all(a < b for a, b in zip(value, value[1:]))


def _is_fused(value: Any) -> bool:
    """How one kind of collective is fused, as MindSpore writes it."""
    if not isinstance(value, dict) or set(value) != {"mode", "config"}:
        return False
    mode, config = value["mode"], value["config"]
    size = mode == "size" and is_number(config) and config > 0
    return mode == "auto" or size or (mode == "index" and _is_fusion(config))


def _is_data(value: Any) -> bool:
    if isinstance(value, str):
        return value in ("data_parallel", "full_batch")
    return isinstance(value, tuple) and all(
        hasattr(v, "tensor_map") or (isinstance(v, tuple) and all(is_int(1, 4096)(n) for n in v)) for v in value
    )


def _is_share(value: Any) -> bool:
    return value == -1 or is_int(1, 4096)(value)


def _are_devices(value: Any) -> bool:
    """Of every stage; that they are as many as the stages is seen when both are known."""
    return value is None or value == "auto" or (isinstance(value, (list, tuple)) and all(map(is_int(1, 4096), value)))


_FUSED = Setting(None, "{'mode': 'auto', 'config': None}, {'mode': 'size', 'config': megabytes} or {'mode': 'index', "
             "'config': [ascending positions]}", _is_fused)  # fmt: skip
_GATHERED = replace(_FUSED, idle="weights that are shared are gathered one by one, before the layer that reads them.")
_SHARE = Setting(-1, "-1 or an int from 1 to 4096", _is_share, modes=MODES[1:])
_NO_NORMS = "no norms are written while a step runs; plan.run gives the gradients themselves."

KEYS: dict[str, Setting] = {
    "device_num": _int(1, 1, 4096),
    "global_rank": _int(0, 0, 4095),
    "mirror_mean": _flag(False, MODES[1:]),
    "cast_before_mirror": _flag(True, PLANNED),
    "gradient_fp32_sync": _flag(True, PLANNED),
    "parallel_mode": _word(STAND_ALONE, MODES),
    "search_mode": _word(SEARCHES[0], SEARCHES),
    "parameter_broadcast": _flag(False, _REPLICAS),
    "strategy_ckpt_load_file": _path(PLANNED),
    "strategy_ckpt_save_file": _path(PLANNED),
    "strategy_ckpt_config": _table(PLANNED, {
        "load_file": _path(), "save_file": _path(),
        "only_trainable_params": _flag(True, idle="a file tells the layout of everything that a plan lays out."),
    }),
    "group_ckpt_save_file": _path(PLANNED, "snapshots say themselves how parts lie (ms.parallel.Trainer.save)."),
    "full_batch": _flag(False, PLANNED),
    "dataset_strategy": Setting("data_parallel", "'data_parallel', 'full_batch' or a tuple, per input split counts or "
                                "a Layout", _is_data, modes=PLANNED),
    "enable_parallel_optimizer": _flag(False, MODES[1:]),
    "parallel_optimizer_config": _table(MODES[1:], {
        "gradient_accumulation_shard": _flag(False, idle="optimizer_level='level2' says whether gradients are shared."),
        "parallel_optimizer_threshold": Setting(64, "an int of at least 0 (KB)", is_int(0, 1 << 40)),
        "optimizer_weight_shard_size": _SHARE,
        "optimizer_level": _word("level1", ("level1", "level2", "level3")),
    }),
    "optimizer_weight_shard_size": _SHARE,
    "enable_alltoall": _flag(False, PLANNED, "a reshard takes an all-to-all wherever that is the shortest way."),
    "force_fp32_communication": _flag(False, MODES[1:]),
    "all_reduce_fusion_config": Setting([], "a list of ascending ints", _is_fusion, modes=MODES[1:]),
    "comm_fusion": _table(MODES[1:], {
        "openstate": _flag(True), "allreduce": _FUSED, "allgather": _GATHERED, "reducescatter": _GATHERED,
    }),
    "loss_repeated_mean": _flag(True, PLANNED, "a loss that several devices have counts once: gradients of a plan are "
                                               "those of one device."),
    "pipeline_stages": _int(1, 1, 4096),
    "pipeline_result_broadcast": _flag(False, PLANNED, "results of a pipeline come to whoever runs it."),
    "pipeline_config": _table(PLANNED, {
        "pipeline_interleave": _flag(False), "pipeline_scheduler": _word("1f1b", SCHEDULERS),
        "pieces": _int(2, 1, 4096),
        "stage_devices": Setting(None, "one number of devices per stage, or 'auto'", _are_devices),
    }),
    "auto_pipeline": _flag(False, PLANNED, "layers are always cut into stages by the planner; pipeline_stages says how "
                                           "many."),
    "grad_accumulation_step": _int(1, 1, 1 << 20, idle="nn.PipelineCell(net, n) adds up the gradients of n parts of a "
                                                       "batch, on one stage too."),
    "dump_local_norm": _flag(False, idle=_NO_NORMS),
    "dump_local_norm_path": _path(idle=_NO_NORMS),
    "dump_device_local_norm": _flag(False, idle=_NO_NORMS),
}  # fmt: skip
ALIASES = {"gradients_mean": "mirror_mean", "auto_parallel_search_mode": "search_mode"}
LEGAL = tuple(sorted({*KEYS, *ALIASES}))

NO_SUM, GRADIENT_SUMS, EVERY_SUM = "none", "gradients", "all"  # which sums of 16-bit terms are taken in float32

_set: dict[str, Any] = {}


class _PlanningKey:
    """What compiled programs are planned for: a text that changes with every setting, None for one device."""

    key: str | None = None
    marks: int = 0

    def renew(self) -> None:
        """After a change of the settings or of a strategy that somebody wrote."""
        self.marks += 1
        mode, devices, rank = (get_auto_parallel_context(k) for k in ("parallel_mode", "device_num", "global_rank"))
        by_hand = mode == HYBRID_PARALLEL
        process_group.promise(rank if by_hand else 0, devices if by_hand else 1)
        replica = process_group.current().size > 1 and mode == DATA_PARALLEL  # a process with a batch of its own
        planned = devices > 1 and mode in (DATA_PARALLEL, *PLANNED) and not replica
        self.key = f"{sorted(_set.items())} {self.marks}" if planned else None


wanted: _PlanningKey = _PlanningKey()
shard_annotation.written.append(wanted.renew)


def _named(function: str, name: str) -> str:
    """The key behind a name. Raises ContextError with the legal ones."""
    found = ALIASES.get(name, name)
    if found not in KEYS:
        raise ContextError(f"{function} has no key {name!r}; legal: {', '.join(LEGAL)}.")
    return found


def _check_value(name: str, value: Any, key: Setting) -> None:
    """A value, and the entries of a table."""
    if not key.check(value):
        raise ContextError(f"set_auto_parallel_context({name}={value!r}) is not legal; legal: {key.legal}.")
    if key.entries is not None:
        for entry, inner in (value or {}).items():
            if entry not in key.entries:
                raise ContextError(f"set_auto_parallel_context: {name} has no key {entry!r}; legal: "
                                   f"{', '.join(key.entries)}.")  # fmt: skip
            _check_value(f"{name}[{entry!r}]", inner, key.entries[entry])


def _tell_idle(name: str, value: Any, key: Setting) -> None:
    """What is set and changes nothing, with the reason."""
    if key.idle and value != key.default:
        events.notice(f"set_auto_parallel_context({name}={value!r}) changes nothing: {key.idle}", key=f"idle {name}")
    for entry, inner in (value or {}).items() if key.entries is not None else ():
        _tell_idle(f"{name}[{entry!r}]", inner, (key.entries or {})[entry])


def _check_together(values: dict[str, Any]) -> None:
    """Keys against the mode (once somebody chose one), the rank against the number of devices."""
    mode = values.get("parallel_mode")
    for name, value in values.items():
        modes = KEYS[name].modes
        if mode is not None and value != KEYS[name].default and modes and mode not in modes:
            events.refuse(ContextError(
                f"the parallel mode {mode} has no use for {name}={value!r}; modes that have: {', '.join(modes)}.",
                hint="call reset_auto_parallel_context() before another mode is set.",
            ))  # fmt: skip
    older, newer = values.get("cast_before_mirror"), values.get("gradient_fp32_sync")
    if older is not None and older == newer:
        raise ContextError(f"cast_before_mirror={older} and gradient_fp32_sync={newer} contradict each other: the one "
                           "sums gradients in 16 bits where the other sums them in float32.")  # fmt: skip
    devices, rank = (values.get(k, KEYS[k].default) for k in ("device_num", "global_rank"))
    stages = values.get("pipeline_stages", 1)
    if "device_num" not in values:
        if stages > 1:
            events.notice(f"pipeline_stages={stages} changes nothing before device_num=, a multiple of it, is set.")
        return
    if rank >= devices:
        raise ContextError(f"global_rank={rank} is not below device_num={devices}; legal: 0 to {devices - 1}.")
    if devices % stages and "stage_devices" not in (values.get("pipeline_config") or {}):
        raise ContextError(f"pipeline_stages={stages} does not divide device_num={devices}.",
                           hint="pipeline_config={'stage_devices': 'auto'}, or one number per stage, gives stages "
                                "different numbers of devices.")  # fmt: skip


def set_auto_parallel_context(**changes: Any) -> None:
    """Say how programs are spread over devices.

    Args:
        **changes: device_num (1..4096), global_rank (0..4095), parallel_mode ("stand_alone", "data_parallel",
            "hybrid_parallel", "semi_auto_parallel", "auto_parallel"), mirror_mean (gradients_mean), cast_before_mirror,
            parameter_broadcast, strategy_ckpt_load_file, strategy_ckpt_save_file, search_mode and the other keys of
            ``msnb.parallel.context.KEYS``.

    Raises:
        ValueError: an unknown key, an illegal value (of a table: an unknown or illegal entry), or a key that the mode
            has no use for; nothing is changed.

    Source: `mindspore.set_auto_parallel_context`

    Examples:
        >>> import msnb as ms
        >>> ms.set_auto_parallel_context(parallel_mode="auto_parallel", device_num=8)
        >>> ms.get_auto_parallel_context("device_num")
        8
        >>> ms.reset_auto_parallel_context()
    """
    named = {_named("set_auto_parallel_context", name): value for name, value in changes.items()}
    for name, value in changes.items():
        _check_value(name, value, KEYS[ALIASES.get(name, name)])
    if len(named) < len(changes):
        raise ContextError("set_auto_parallel_context got one key under two names; mirror_mean is gradients_mean.")
    together = {**_set, **named}
    _check_together(together)
    _set.update(named)
    for name, value in named.items():
        _tell_idle(name, value, KEYS[name])
    wanted.renew()
    events.emit("auto_parallel_context", changes=named)


def get_auto_parallel_context(name: str) -> Any:
    """The value of one setting, by any of its names.

    Raises:
        ValueError: there is no such key.
    """
    key = _named("get_auto_parallel_context", name)
    return _set.get(key, KEYS[key].default)


def set_value(name: str) -> Any:
    """The value that somebody set, else None."""
    return _set.get(name)


def wide_sums(mode: str) -> str:
    """Which sums over devices of 16-bit terms are taken in float32: "none", "gradients" (of weights) or "all".

    MindSpore's replicas always reduce gradients in float32. In planned modes ``gradient_fp32_sync`` (True) and
    ``cast_before_mirror`` say it; both mean the same switch with opposite signs, and their defaults contradict each
    other: the newer one counts unless the older one was set.
    """
    if get_auto_parallel_context("force_fp32_communication"):
        return EVERY_SUM
    older = set_value("cast_before_mirror")
    narrow = older if older is not None else not get_auto_parallel_context("gradient_fp32_sync")
    return NO_SUM if mode in PLANNED and narrow else GRADIENT_SUMS


def reset_auto_parallel_context() -> None:
    """Everything back to the defaults; needed before another parallel mode is set."""
    changes = {name: KEYS[name].default for name in _set}
    _set.clear()
    wanted.renew()
    events.emit("auto_parallel_context", changes=changes)
