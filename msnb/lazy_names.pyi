"""What msnb imports when it is asked for.

Made by tools/stubs.py from what msnb.ops is; do not edit."""

# ruff: noqa: I001 - filled lines

from msnb import dataset as dataset, numpy as numpy, parallel as parallel, train as train
from msnb.api.compiler_hints import (
    COMPATIBLE as COMPATIBLE, LAX as LAX, STRICT as STRICT, JitConfig as JitConfig, constexpr as constexpr,
    jit_class as jit_class, jit_class as ms_class, lazy_inline as lazy_inline, mutable as mutable,
    no_inline as no_inline,
)  # fmt: skip
from msnb.api.explain import explain as explain
from msnb.api.jit import jit as jit, jit as ms_function
from msnb.api.runtime import (
    Event as Event, Stream as Stream, StreamCtx as StreamCtx, communication_stream as communication_stream,
    current_stream as current_stream, default_stream as default_stream, dispatch_threads_num as dispatch_threads_num,
    empty_cache as empty_cache, max_memory_allocated as max_memory_allocated,
    max_memory_reserved as max_memory_reserved, memory_allocated as memory_allocated,
    memory_reserved as memory_reserved, memory_stats as memory_stats, memory_summary as memory_summary,
    reset_max_memory_allocated as reset_max_memory_allocated, reset_max_memory_reserved as reset_max_memory_reserved,
    reset_peak_memory_stats as reset_peak_memory_stats, run_check as run_check, set_cur_stream as set_cur_stream,
)  # fmt: skip
from msnb.api.transforms.shard import shard as shard
from msnb.api.transforms.taylor import get_grad as get_grad
from msnb.base.settings import (
    get_current_device as get_current_device, set_deterministic as set_deterministic, set_device as set_device,
    set_recursion_limit as set_recursion_limit,
)  # fmt: skip
from msnb.core.dtypes import (
    dtype_to_nptype as dtype_to_nptype, dtype_to_pytype as dtype_to_pytype, pytype_to_dtype as pytype_to_dtype,
)  # fmt: skip
from msnb.core.random import (
    default_generator as default_generator, get_rng_state as get_rng_state, initial_seed as initial_seed,
    manual_seed as manual_seed, seed as seed, set_rng_state as set_rng_state,
)  # fmt: skip
from msnb.core.storage.byte_buffer import frombuffer as frombuffer
from msnb.nn import initializer as initializer
from msnb.notebook.show import program_views as show
from msnb.numpy import scipy as scipy
from msnb.ops import (
    abs as abs, add as add, addmm as addmm, all as all, amax as amax, amin as amin, any as any, arange as arange,
    argmax as argmax, argmin as argmin, argsort as argsort, baddbmm as baddbmm, bernoulli as bernoulli,
    bincount as bincount, bmm as bmm, cat as cat, ceil as ceil, chunk as chunk, clamp as clamp, concat as concat,
    cos as cos, cumprod as cumprod, cumsum as cumsum, diag as diag, div as div, dot as dot, einsum as einsum,
    empty as empty, empty_like as empty_like, eq as eq, equal as equal, erf as erf, exp as exp, eye as eye,
    flatten as flatten, flip as flip, floor as floor, full as full, full_like as full_like, gather as gather, ge as ge,
    gt as gt, histc as histc, index_select as index_select, is_tensor as is_tensor, isfinite as isfinite,
    isinf as isinf, isnan as isnan, le as le, linspace as linspace, log as log, logical_and as logical_and,
    logical_not as logical_not, logical_or as logical_or, logical_xor as logical_xor, lt as lt,
    masked_select as masked_select, matmul as matmul, max as max, maximum as maximum, mean as mean,
    meshgrid as meshgrid, min as min, minimum as minimum, mm as mm, mul as mul, multinomial as multinomial, ne as ne,
    neg as neg, nonzero as nonzero, norm as norm, normal as normal, ones as ones, ones_like as ones_like,
    outer as outer, permute as permute, pow as pow, prod as prod, rand as rand, rand_like as rand_like,
    randint as randint, randn as randn, randn_like as randn_like, randperm as randperm, relu as relu,
    repeat_interleave as repeat_interleave, reshape as reshape, roll as roll, round as round, rsqrt as rsqrt,
    scatter as scatter, scatter_add as scatter_add, sigmoid as sigmoid, sign as sign, sin as sin, softmax as softmax,
    sort as sort, split as split, sqrt as sqrt, square as square, squeeze as squeeze, stack as stack, std as std,
    stop_gradient as stop_gradient, sub as sub, sum as sum, swapaxes as swapaxes, take as take, tan as tan,
    tanh as tanh, tile as tile, topk as topk, trace as trace, transpose as transpose, tril as tril, triu as triu,
    unique as unique, unsqueeze as unsqueeze, var as var, where as where, zeros as zeros, zeros_like as zeros_like,
)  # fmt: skip
from msnb.ops.sparse.compressed_rows import CSRTensor as CSRTensor
from msnb.ops.sparse.coordinates import COOTensor as COOTensor, COOTensor as SparseTensor
from msnb.ops.sparse.row_tensor import RowTensor as RowTensor
from msnb.parallel.algorithm_parameters import (
    get_algo_parameters as get_algo_parameters, reset_algo_parameters as reset_algo_parameters,
    set_algo_parameters as set_algo_parameters,
)  # fmt: skip
from msnb.parallel.context import (
    ParallelMode as ParallelMode, get_auto_parallel_context as get_auto_parallel_context,
    reset_auto_parallel_context as reset_auto_parallel_context, set_auto_parallel_context as set_auto_parallel_context,
)  # fmt: skip
from msnb.parallel.engine import ascend_profile as ascend
from msnb.parallel.sharding.layout import Layout as Layout
from msnb.train import (
    Callback as Callback, CheckpointConfig as CheckpointConfig, EarlyStopping as EarlyStopping, History as History,
    LambdaCallback as LambdaCallback, LearningRateScheduler as LearningRateScheduler, LossMonitor as LossMonitor,
    Model as Model, ModelCheckpoint as ModelCheckpoint, ReduceLROnPlateau as ReduceLROnPlateau,
    RunContext as RunContext, TimeMonitor as TimeMonitor, amp as amp, load_checkpoint as load_checkpoint,
    load_param_into_net as load_param_into_net, profiler as profiler, save_checkpoint as save_checkpoint,
)  # fmt: skip
from msnb.train.amp import (
    DynamicLossScaleManager as DynamicLossScaleManager, FixedLossScaleManager as FixedLossScaleManager,
    build_train_network as build_train_network,
)  # fmt: skip
from msnb.train.files.model_files import export as export, load as load
from msnb.train.files.torch_weights import load_torch_state_dict as load_torch_state_dict
from msnb.train.profiler import Profiler as Profiler
from msnb.train.pytorch.conversion import (
    from_torch as from_torch, pytorch2mindspore as pytorch2mindspore, source_of as source_of,
)  # fmt: skip

__all__ = [
    "COMPATIBLE", "COOTensor", "CSRTensor", "Callback", "CheckpointConfig", "DynamicLossScaleManager", "EarlyStopping",
    "Event", "FixedLossScaleManager", "History", "JitConfig", "LAX", "LambdaCallback", "Layout",
    "LearningRateScheduler", "LossMonitor", "Model", "ModelCheckpoint", "ParallelMode", "Profiler", "ReduceLROnPlateau",
    "RowTensor", "RunContext", "STRICT", "SparseTensor", "Stream", "StreamCtx", "TimeMonitor", "abs", "add", "addmm",
    "all", "amax", "amin", "amp", "any", "arange", "argmax", "argmin", "argsort", "ascend", "baddbmm", "bernoulli",
    "bincount", "bmm", "build_train_network", "cat", "ceil", "chunk", "clamp", "communication_stream", "concat",
    "constexpr", "cos", "cumprod", "cumsum", "current_stream", "dataset", "default_generator", "default_stream", "diag",
    "dispatch_threads_num", "div", "dot", "dtype_to_nptype", "dtype_to_pytype", "einsum", "empty", "empty_cache",
    "empty_like", "eq", "equal", "erf", "exp", "explain", "export", "eye", "flatten", "flip", "floor", "from_torch",
    "frombuffer", "full", "full_like", "gather", "ge", "get_algo_parameters", "get_auto_parallel_context",
    "get_current_device", "get_grad", "get_rng_state", "gt", "histc", "index_select", "initial_seed", "initializer",
    "is_tensor", "isfinite", "isinf", "isnan", "jit", "jit_class", "lazy_inline", "le", "linspace", "load",
    "load_checkpoint", "load_param_into_net", "load_torch_state_dict", "log", "logical_and", "logical_not",
    "logical_or", "logical_xor", "lt", "manual_seed", "masked_select", "matmul", "max", "max_memory_allocated",
    "max_memory_reserved", "maximum", "mean", "memory_allocated", "memory_reserved", "memory_stats", "memory_summary",
    "meshgrid", "min", "minimum", "mm", "ms_class", "ms_function", "mul", "multinomial", "mutable", "ne", "neg",
    "no_inline", "nonzero", "norm", "normal", "numpy", "ones", "ones_like", "outer", "parallel", "permute", "pow",
    "prod", "profiler", "pytorch2mindspore", "pytype_to_dtype", "rand", "rand_like", "randint", "randn", "randn_like",
    "randperm", "relu", "repeat_interleave", "reset_algo_parameters", "reset_auto_parallel_context",
    "reset_max_memory_allocated", "reset_max_memory_reserved", "reset_peak_memory_stats", "reshape", "roll", "round",
    "rsqrt", "run_check", "save_checkpoint", "scatter", "scatter_add", "scipy", "seed", "set_algo_parameters",
    "set_auto_parallel_context", "set_cur_stream", "set_deterministic", "set_device", "set_recursion_limit",
    "set_rng_state", "shard", "show", "sigmoid", "sign", "sin", "softmax", "sort", "source_of", "split", "sqrt",
    "square", "squeeze", "stack", "std", "stop_gradient", "sub", "sum", "swapaxes", "take", "tan", "tanh", "tile",
    "topk", "trace", "train", "transpose", "tril", "triu", "unique", "unsqueeze", "var", "where", "zeros", "zeros_like",
]  # fmt: skip
