"""Objects of MindSpore's executors, compiler switches, ``hal`` and settings of ``device_context`` that programs touch.

They have little to do here: threads have a meaning, choices of CUDA algorithms have none.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from enum import Enum, IntEnum
from functools import partial
from types import SimpleNamespace
from typing import Any

from msnb.api import runtime
from msnb.api.jit import jit, prepare
from msnb.base import DeviceError, device_registry, events, get_context, set_context
from msnb.core.storage.memory_exchange import CPU_MEMORY
from msnb.core.tensor import Tensor, from_dlpack as shared
from msnb.nn.cells.cell import Cell
from msnb.train.callbacks.callback import Callback, as_callbacks

_OURS = ("dispatch_threads_num", "launch_blocking", "run_check", "set_memory")
_RUNTIME = {name: getattr(runtime, name) for name in runtime.__all__ if name not in _OURS}
globals().update(_RUNTIME)
__all__ = [
    "cell_attr_register", "compile_config", "conv_allow_hf32", "conv_allow_tf32", "conv_dgrad_algo", "conv_fprop_algo",
    "conv_wgrad_algo", "device_count", "from_dlpack", "get_arch_list", "get_device_capability", "get_device_name",
    "get_device_properties", "is_available", "is_initialized", "is_stub_tensor", "matmul_allow_hf32",
    "matmul_allow_tf32", "op_precision_mode", "precision_mode", "threads_num", "to_dlpack", *_RUNTIME,
]  # fmt: skip


class _PyNativeExecutor:
    """MindSpore's eager executor: launches are asynchronous there, ``sync`` waits for them; here results are ready."""

    def sync(self) -> None:
        """Nothing is under way: an operation returns when its result is there."""

    def set_grad_flag(self, flag: bool) -> None:
        """Accepted: gradients are recorded inside ``ms.grad`` and ``ms.value_and_grad`` only."""

    set_enable_grad = set_grad_flag

    def set_creation_type(self, tensor: Any, creation_type: Any) -> None:
        """Accepted: any result may be written here, wherever it comes from."""

    def set_async_for_graph(self, flag: bool) -> None:
        """Accepted: a compiled program returns when its result is there."""

    def enable_grad(self) -> bool:
        """Whether gradients are recorded outside of ``ms.grad``: never."""
        return False


class _CellGraphExecutor:
    """MindSpore's executor of Cells in graph mode."""

    def compile(self, obj: Any, *args: Any, **kwargs: Any) -> None:
        """Compile a Cell, or a function, for these arguments and do not run it."""
        for name in ("phase", "do_convert", "jit_config_dict"):
            kwargs.pop(name, None)
        if isinstance(obj, Cell):
            obj.compile(*args, **kwargs)
        else:
            prepare(jit(obj), args, kwargs)


_pynative_executor = _PyNativeExecutor()
_cell_graph_executor = _CellGraphExecutor()
CreationType: type[IntEnum] = IntEnum("CreationType", "DEFAULT MULTI_OUTPUT NO_GRAD_MODE CUSTOM_BPROP", start=0)


class _Switches(SimpleNamespace):
    """Switches of MindSpore's compiler, by name: they are kept, and no one of them means anything to msnb's."""

    def __getattr__(self, name: str) -> str:
        """A switch that the program has not set."""
        if name.isupper():
            return ""
        raise AttributeError(f"the switches of compile_config are names in capitals, not {name!r}.")


compile_config = _Switches()


def get_code_extra(fn: Any) -> None:
    """What MindSpore's compiler of bytecode noted of a function: nothing, functions are read from their source."""


class _CallbackManager(Callback):
    """Several callbacks as one, whose methods call those of each in order; leaving its block leaves theirs.

    Raises:
        TypeError: one of them is no Callback.
    """

    def __init__(self, callbacks: Any) -> None:
        self._callbacks = as_callbacks(callbacks)
        for name in (n for n in vars(Callback) if n[0] != "_"):
            setattr(self, name, partial(self._all, name))

    def _all(self, name: str, run_context: Any) -> None:
        for callback in self._callbacks:
            getattr(callback, name)(run_context)

    def __enter__(self) -> _CallbackManager:
        self._stack = ExitStack()
        for callback in self._callbacks:
            self._stack.enter_context(callback)
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)


_words = lambda *words: [(word.upper(), word) for word in words]
ModeEnum: Any = Enum("ModeEnum", _words("train", "eval"))  # type: ignore[misc]
PluginEnum: Any = Enum("PluginEnum", _words(  # type: ignore[misc]
    "graph", "scalar", "image", "tensor", "histogram", "train_lineage", "eval_lineage", "custom_lineage_data",
    "dataset_graph", "explainer", "landscape"))
_DEFAULT_EXPORT_OPTIONS: dict[str, Any] = {"tensor_format": {"npy", None}}


def cell_attr_register(fn: Any = None, attrs: Any = None) -> Any:
    """A decorator of constructors that notes attributes for MindSpore's cache of graphs; it changes nothing here."""
    return fn if fn is not None else lambda constructor: constructor


def _is_parameter_generated(param_name: str) -> bool:
    """Whether a Parameter of a tuple or list has its name from its place there: "layers.0"."""
    return param_name.rpartition(".")[2].isdecimal()


def _get_summary_tensor_data() -> dict[str, Tensor]:
    """What summary operators told since the last call: name[:Tensor] -> value."""
    return {name: Tensor(_last_summaries.pop(name)) for name in [*_last_summaries]}


_last_summaries: dict[str, Any] = {}
_MOST_SUMMARIES = 1000


def _keep_summary(plugin: str, name: str, value: Any) -> None:
    """The newest value of each name, until it is asked for; of the names told last."""
    _last_summaries[f"{name}[:{plugin.capitalize()}]"] = value
    if len(_last_summaries) > _MOST_SUMMARIES:
        del _last_summaries[next(iter(_last_summaries))]


events.subscribe("summary value", _keep_summary)


def is_stub_tensor(tensor: Any) -> bool:
    """Whether a tensor's value is still to come: never."""
    return False


def device_count(device_target: str | None = None) -> int:
    """How many devices of a kind there are: GPUs are counted, of the others there is one."""
    if not is_available(device_target):
        return 0
    made = device_registry.device(_target(device_target))
    return int(made.xp.cuda.runtime.getDeviceCount()) if made.name == "GPU" else 1


def is_available(device_target: str | None = None) -> bool:
    """Whether a device of this kind can be used here."""
    try:
        device_registry.device(_target(device_target))
    except DeviceError:
        return False
    return True


def is_initialized(device_target: str | None = None) -> bool:
    """Whether operations run on this kind of device now."""
    return bool(_target(device_target) == get_context("device_target"))


def get_device_name(device_id: int = 0, device_target: str | None = None) -> str:
    """The name of a device: its kind, and its number."""
    return f"{_target(device_target)}:{device_id}"


def get_arch_list(device_target: str | None = None) -> None:
    """Chips that the library was built for: none, kernels are generated for the chip that is there."""
    _target(device_target)


def get_device_capability(device_id: int = 0, device_target: str | None = None) -> tuple[int, int] | None:
    """The compute capability of a GPU, (9, 0); None for other devices, which have none."""
    if _target(device_target) != "GPU":
        return None
    word = device_registry.device("GPU").xp.cuda.Device(device_id).compute_capability
    return int(word[:-1]), int(word[-1])


def get_device_properties(device_id: int = 0, device_target: str | None = None) -> dict[str, Any] | None:
    """What CUDA says of a GPU; None for other devices."""
    if _target(device_target) != "GPU":
        return None
    found: dict[str, Any] = device_registry.device("GPU").xp.cuda.runtime.getDeviceProperties(device_id)
    return found


def _target(device_target: str | None) -> str:
    return str(get_context("device_target")) if device_target is None else device_target


def threads_num(num: int) -> None:
    """How many threads a kernel may use: ``set_context(runtime_num_threads=num)``."""
    set_context(runtime_num_threads=num)


def _without_effect(name: str) -> Callable[[object], None]:
    def setting(value: object) -> None:
        """Accepted, and told once: kernels are generated here, there is no such choice."""
        events.notice(f"device_context: {name}({value!r}) changes nothing: kernels are generated here.", name)

    return setting


conv_allow_tf32: Callable[[object], None] = _without_effect("conv_allow_tf32")
matmul_allow_tf32: Callable[[object], None] = _without_effect("matmul_allow_tf32")
matmul_allow_hf32: Callable[[object], None] = _without_effect("matmul_allow_hf32")
conv_allow_hf32: Callable[[object], None] = _without_effect("conv_allow_hf32")
conv_fprop_algo: Callable[[object], None] = _without_effect("conv_fprop_algo")
conv_dgrad_algo: Callable[[object], None] = _without_effect("conv_dgrad_algo")
conv_wgrad_algo: Callable[[object], None] = _without_effect("conv_wgrad_algo")
precision_mode: Callable[[object], None] = _without_effect("precision_mode")
op_precision_mode: Callable[[object], None] = _without_effect("op_precision_mode")


class _Capsule:
    """A DLPack capsule as what ``from_dlpack`` takes."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return CPU_MEMORY, 0


def to_dlpack(tensor: Any) -> Any:
    """A capsule that shares memory with a tensor, as ``mindspore.utils.dlpack`` gives it."""
    return tensor.__dlpack__()


def from_dlpack(dlpack: Any) -> Any:
    """The tensor of a capsule, or of anything with ``__dlpack__``."""
    return shared(dlpack if hasattr(dlpack, "__dlpack__") else _Capsule(dlpack))
