"""What msnb imports when it is asked for.

Made by tools/stubs.py from what msnb.ops is; do not edit."""

from msnb import dataset as dataset
from msnb import numpy as numpy
from msnb import parallel as parallel
from msnb import train as train
from msnb.api.compiler_hints import COMPATIBLE as COMPATIBLE
from msnb.api.compiler_hints import LAX as LAX
from msnb.api.compiler_hints import STRICT as STRICT
from msnb.api.compiler_hints import JitConfig as JitConfig
from msnb.api.compiler_hints import constexpr as constexpr
from msnb.api.compiler_hints import jit_class as jit_class
from msnb.api.compiler_hints import jit_class as ms_class
from msnb.api.compiler_hints import lazy_inline as lazy_inline
from msnb.api.compiler_hints import mutable as mutable
from msnb.api.compiler_hints import no_inline as no_inline
from msnb.api.explain import explain as explain
from msnb.api.jit import jit as jit
from msnb.api.jit import jit as ms_function
from msnb.api.runtime import Event as Event
from msnb.api.runtime import Stream as Stream
from msnb.api.runtime import StreamCtx as StreamCtx
from msnb.api.runtime import communication_stream as communication_stream
from msnb.api.runtime import current_stream as current_stream
from msnb.api.runtime import default_stream as default_stream
from msnb.api.runtime import dispatch_threads_num as dispatch_threads_num
from msnb.api.runtime import empty_cache as empty_cache
from msnb.api.runtime import max_memory_allocated as max_memory_allocated
from msnb.api.runtime import max_memory_reserved as max_memory_reserved
from msnb.api.runtime import memory_allocated as memory_allocated
from msnb.api.runtime import memory_reserved as memory_reserved
from msnb.api.runtime import memory_stats as memory_stats
from msnb.api.runtime import memory_summary as memory_summary
from msnb.api.runtime import reset_max_memory_allocated as reset_max_memory_allocated
from msnb.api.runtime import reset_max_memory_reserved as reset_max_memory_reserved
from msnb.api.runtime import reset_peak_memory_stats as reset_peak_memory_stats
from msnb.api.runtime import run_check as run_check
from msnb.api.runtime import set_cur_stream as set_cur_stream
from msnb.api.transforms.shard import shard as shard
from msnb.api.transforms.taylor import get_grad as get_grad
from msnb.base.settings import get_current_device as get_current_device
from msnb.base.settings import set_deterministic as set_deterministic
from msnb.base.settings import set_device as set_device
from msnb.base.settings import set_recursion_limit as set_recursion_limit
from msnb.core.dtypes import dtype_to_nptype as dtype_to_nptype
from msnb.core.dtypes import dtype_to_pytype as dtype_to_pytype
from msnb.core.dtypes import pytype_to_dtype as pytype_to_dtype
from msnb.core.random import default_generator as default_generator
from msnb.core.random import get_rng_state as get_rng_state
from msnb.core.random import initial_seed as initial_seed
from msnb.core.random import manual_seed as manual_seed
from msnb.core.random import seed as seed
from msnb.core.random import set_rng_state as set_rng_state
from msnb.core.storage.byte_buffer import frombuffer as frombuffer
from msnb.nn import initializer as initializer
from msnb.notebook.show import program_views as show
from msnb.numpy import scipy as scipy
from msnb.ops import abs as abs
from msnb.ops import add as add
from msnb.ops import addmm as addmm
from msnb.ops import all as all
from msnb.ops import amax as amax
from msnb.ops import amin as amin
from msnb.ops import any as any
from msnb.ops import arange as arange
from msnb.ops import argmax as argmax
from msnb.ops import argmin as argmin
from msnb.ops import argsort as argsort
from msnb.ops import baddbmm as baddbmm
from msnb.ops import bernoulli as bernoulli
from msnb.ops import bincount as bincount
from msnb.ops import bmm as bmm
from msnb.ops import cat as cat
from msnb.ops import ceil as ceil
from msnb.ops import chunk as chunk
from msnb.ops import clamp as clamp
from msnb.ops import concat as concat
from msnb.ops import cos as cos
from msnb.ops import cumprod as cumprod
from msnb.ops import cumsum as cumsum
from msnb.ops import diag as diag
from msnb.ops import div as div
from msnb.ops import dot as dot
from msnb.ops import einsum as einsum
from msnb.ops import empty as empty
from msnb.ops import empty_like as empty_like
from msnb.ops import eq as eq
from msnb.ops import equal as equal
from msnb.ops import erf as erf
from msnb.ops import exp as exp
from msnb.ops import eye as eye
from msnb.ops import flatten as flatten
from msnb.ops import flip as flip
from msnb.ops import floor as floor
from msnb.ops import full as full
from msnb.ops import full_like as full_like
from msnb.ops import gather as gather
from msnb.ops import ge as ge
from msnb.ops import gt as gt
from msnb.ops import histc as histc
from msnb.ops import index_select as index_select
from msnb.ops import is_tensor as is_tensor
from msnb.ops import isfinite as isfinite
from msnb.ops import isinf as isinf
from msnb.ops import isnan as isnan
from msnb.ops import le as le
from msnb.ops import linspace as linspace
from msnb.ops import log as log
from msnb.ops import logical_and as logical_and
from msnb.ops import logical_not as logical_not
from msnb.ops import logical_or as logical_or
from msnb.ops import logical_xor as logical_xor
from msnb.ops import lt as lt
from msnb.ops import masked_select as masked_select
from msnb.ops import matmul as matmul
from msnb.ops import max as max
from msnb.ops import maximum as maximum
from msnb.ops import mean as mean
from msnb.ops import meshgrid as meshgrid
from msnb.ops import min as min
from msnb.ops import minimum as minimum
from msnb.ops import mm as mm
from msnb.ops import mul as mul
from msnb.ops import multinomial as multinomial
from msnb.ops import ne as ne
from msnb.ops import neg as neg
from msnb.ops import nonzero as nonzero
from msnb.ops import norm as norm
from msnb.ops import normal as normal
from msnb.ops import ones as ones
from msnb.ops import ones_like as ones_like
from msnb.ops import outer as outer
from msnb.ops import permute as permute
from msnb.ops import pow as pow
from msnb.ops import prod as prod
from msnb.ops import rand as rand
from msnb.ops import rand_like as rand_like
from msnb.ops import randint as randint
from msnb.ops import randn as randn
from msnb.ops import randn_like as randn_like
from msnb.ops import randperm as randperm
from msnb.ops import relu as relu
from msnb.ops import repeat_interleave as repeat_interleave
from msnb.ops import reshape as reshape
from msnb.ops import roll as roll
from msnb.ops import round as round
from msnb.ops import rsqrt as rsqrt
from msnb.ops import scatter as scatter
from msnb.ops import scatter_add as scatter_add
from msnb.ops import sigmoid as sigmoid
from msnb.ops import sign as sign
from msnb.ops import sin as sin
from msnb.ops import softmax as softmax
from msnb.ops import sort as sort
from msnb.ops import split as split
from msnb.ops import sqrt as sqrt
from msnb.ops import square as square
from msnb.ops import squeeze as squeeze
from msnb.ops import stack as stack
from msnb.ops import std as std
from msnb.ops import stop_gradient as stop_gradient
from msnb.ops import sub as sub
from msnb.ops import sum as sum
from msnb.ops import swapaxes as swapaxes
from msnb.ops import take as take
from msnb.ops import tan as tan
from msnb.ops import tanh as tanh
from msnb.ops import tile as tile
from msnb.ops import topk as topk
from msnb.ops import trace as trace
from msnb.ops import transpose as transpose
from msnb.ops import tril as tril
from msnb.ops import triu as triu
from msnb.ops import unique as unique
from msnb.ops import unsqueeze as unsqueeze
from msnb.ops import var as var
from msnb.ops import where as where
from msnb.ops import zeros as zeros
from msnb.ops import zeros_like as zeros_like
from msnb.ops.sparse.compressed_rows import CSRTensor as CSRTensor
from msnb.ops.sparse.coordinates import COOTensor as COOTensor
from msnb.ops.sparse.coordinates import COOTensor as SparseTensor
from msnb.ops.sparse.row_tensor import RowTensor as RowTensor
from msnb.parallel.algorithm_parameters import get_algo_parameters as get_algo_parameters
from msnb.parallel.algorithm_parameters import reset_algo_parameters as reset_algo_parameters
from msnb.parallel.algorithm_parameters import set_algo_parameters as set_algo_parameters
from msnb.parallel.context import ParallelMode as ParallelMode
from msnb.parallel.context import get_auto_parallel_context as get_auto_parallel_context
from msnb.parallel.context import reset_auto_parallel_context as reset_auto_parallel_context
from msnb.parallel.context import set_auto_parallel_context as set_auto_parallel_context
from msnb.parallel.engine import ascend_profile as ascend
from msnb.parallel.sharding.layout import Layout as Layout
from msnb.train import Callback as Callback
from msnb.train import CheckpointConfig as CheckpointConfig
from msnb.train import EarlyStopping as EarlyStopping
from msnb.train import History as History
from msnb.train import LambdaCallback as LambdaCallback
from msnb.train import LearningRateScheduler as LearningRateScheduler
from msnb.train import LossMonitor as LossMonitor
from msnb.train import Model as Model
from msnb.train import ModelCheckpoint as ModelCheckpoint
from msnb.train import ReduceLROnPlateau as ReduceLROnPlateau
from msnb.train import RunContext as RunContext
from msnb.train import TimeMonitor as TimeMonitor
from msnb.train import amp as amp
from msnb.train import load_checkpoint as load_checkpoint
from msnb.train import load_param_into_net as load_param_into_net
from msnb.train import profiler as profiler
from msnb.train import save_checkpoint as save_checkpoint
from msnb.train.amp import DynamicLossScaleManager as DynamicLossScaleManager
from msnb.train.amp import FixedLossScaleManager as FixedLossScaleManager
from msnb.train.amp import build_train_network as build_train_network
from msnb.train.files.model_files import export as export
from msnb.train.files.model_files import load as load
from msnb.train.files.torch_weights import load_torch_state_dict as load_torch_state_dict
from msnb.train.profiler import Profiler as Profiler
from msnb.train.pytorch.conversion import from_torch as from_torch
from msnb.train.pytorch.conversion import pytorch2mindspore as pytorch2mindspore
from msnb.train.pytorch.conversion import source_of as source_of

__all__ = [
    "COMPATIBLE",
    "COOTensor",
    "CSRTensor",
    "Callback",
    "CheckpointConfig",
    "DynamicLossScaleManager",
    "EarlyStopping",
    "Event",
    "FixedLossScaleManager",
    "History",
    "JitConfig",
    "LAX",
    "LambdaCallback",
    "Layout",
    "LearningRateScheduler",
    "LossMonitor",
    "Model",
    "ModelCheckpoint",
    "ParallelMode",
    "Profiler",
    "ReduceLROnPlateau",
    "RowTensor",
    "RunContext",
    "STRICT",
    "SparseTensor",
    "Stream",
    "StreamCtx",
    "TimeMonitor",
    "abs",
    "add",
    "addmm",
    "all",
    "amax",
    "amin",
    "amp",
    "any",
    "arange",
    "argmax",
    "argmin",
    "argsort",
    "ascend",
    "baddbmm",
    "bernoulli",
    "bincount",
    "bmm",
    "build_train_network",
    "cat",
    "ceil",
    "chunk",
    "clamp",
    "communication_stream",
    "concat",
    "constexpr",
    "cos",
    "cumprod",
    "cumsum",
    "current_stream",
    "dataset",
    "default_generator",
    "default_stream",
    "diag",
    "dispatch_threads_num",
    "div",
    "dot",
    "dtype_to_nptype",
    "dtype_to_pytype",
    "einsum",
    "empty",
    "empty_cache",
    "empty_like",
    "eq",
    "equal",
    "erf",
    "exp",
    "explain",
    "export",
    "eye",
    "flatten",
    "flip",
    "floor",
    "from_torch",
    "frombuffer",
    "full",
    "full_like",
    "gather",
    "ge",
    "get_algo_parameters",
    "get_auto_parallel_context",
    "get_current_device",
    "get_grad",
    "get_rng_state",
    "gt",
    "histc",
    "index_select",
    "initial_seed",
    "initializer",
    "is_tensor",
    "isfinite",
    "isinf",
    "isnan",
    "jit",
    "jit_class",
    "lazy_inline",
    "le",
    "linspace",
    "load",
    "load_checkpoint",
    "load_param_into_net",
    "load_torch_state_dict",
    "log",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "lt",
    "manual_seed",
    "masked_select",
    "matmul",
    "max",
    "max_memory_allocated",
    "max_memory_reserved",
    "maximum",
    "mean",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "memory_summary",
    "meshgrid",
    "min",
    "minimum",
    "mm",
    "ms_class",
    "ms_function",
    "mul",
    "multinomial",
    "mutable",
    "ne",
    "neg",
    "no_inline",
    "nonzero",
    "norm",
    "normal",
    "numpy",
    "ones",
    "ones_like",
    "outer",
    "parallel",
    "permute",
    "pow",
    "prod",
    "profiler",
    "pytorch2mindspore",
    "pytype_to_dtype",
    "rand",
    "rand_like",
    "randint",
    "randn",
    "randn_like",
    "randperm",
    "relu",
    "repeat_interleave",
    "reset_algo_parameters",
    "reset_auto_parallel_context",
    "reset_max_memory_allocated",
    "reset_max_memory_reserved",
    "reset_peak_memory_stats",
    "reshape",
    "roll",
    "round",
    "rsqrt",
    "run_check",
    "save_checkpoint",
    "scatter",
    "scatter_add",
    "scipy",
    "seed",
    "set_algo_parameters",
    "set_auto_parallel_context",
    "set_cur_stream",
    "set_deterministic",
    "set_device",
    "set_recursion_limit",
    "set_rng_state",
    "shard",
    "show",
    "sigmoid",
    "sign",
    "sin",
    "softmax",
    "sort",
    "source_of",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "std",
    "stop_gradient",
    "sub",
    "sum",
    "swapaxes",
    "take",
    "tan",
    "tanh",
    "tile",
    "topk",
    "trace",
    "train",
    "transpose",
    "tril",
    "triu",
    "unique",
    "unsqueeze",
    "var",
    "where",
    "zeros",
    "zeros_like",
]
