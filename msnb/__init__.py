"""msnb: a deep-learning framework that lives in a notebook.

    import msnb as ms
    ms.set_context(mode=ms.GRAPH_MODE)        the one line that switches a program between eager and compiled

This page is the public surface; ``docs/architecture.md`` says what lies behind it. Parts that not every program needs
(data sets, training loops, the notebook) are imported when they are first asked for.

A source such as `mindspore.nn.Conv2d` is the page of that name in MindSpore's API:
https://www.mindspore.cn/docs/en/master/api_python/nn/mindspore.nn.Conv2d.html
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import TYPE_CHECKING, Any

import msnb.base.source_text
import msnb.devices.ascend
import msnb.devices.cpu
import msnb.devices.gpu
import msnb.eager.dispatch
from msnb import nn, ops
from msnb.api import GradOperation, custom_vjp, grad, hessian, jacfwd, jacrev, jvp, runtime, value_and_grad, vjp, vmap
from msnb.api.transforms.recompute import recompute
from msnb.base import PYNATIVE_MODE, MsnbError, get_context, missing_names, plugins, set_context
from msnb.base.settings import GRAPH_MODE, reset_context
from msnb.core import DType, Parameter, ParameterTuple, Tensor, bool_, float32, float64, int32, int64
from msnb.core.dtypes import bfloat16, complex64, complex128, float16, int8, int16, uint8, uint16, uint32, uint64
from msnb.core.random import Generator, get_seed, set_seed
from msnb.core.tensor import from_dlpack, from_numpy
from msnb.core.types import Symbol

if TYPE_CHECKING:
    from msnb import dataset, lazy_names, train
    from msnb.api.explain import explain
    from msnb.api.jit import jit
    from msnb.lazy_names import *
    from msnb.train import Model, amp, load_checkpoint, load_param_into_net, save_checkpoint

__version__ = "0.1.0"


def _meet_shell(ipython: Any) -> None:
    """In a notebook errors are short from the first import on; a program without a shell loads nothing for it."""
    shell = ipython.get_ipython() if hasattr(ipython, "get_ipython") else None
    if shell is not None and os.environ.get("MSNB_NO_IPYTHON") != "1":
        importlib.import_module("msnb.notebook.live_shell").install(shell)


# MindSpore's spellings
float_ = float32
int_ = int64
tensor = Tensor
double = float64
half = float16

missing_names.install()
msnb.base.errors.install_hook()
msnb.base.source_location.mark_modules()
if "IPython" in sys.modules:
    _meet_shell(sys.modules["IPython"])

missing_names.answer_for(__name__)


def load_ipython_extension(ipython: Any) -> None:
    """``%load_ext msnb``: the magics, the cell names in errors, the short error reports."""
    importlib.import_module("msnb.notebook").load_ipython_extension(ipython)


def unload_ipython_extension(ipython: Any) -> None:
    """Takes back what ``%load_ext msnb`` did."""
    importlib.import_module("msnb.notebook").unload_ipython_extension(ipython)


__all__ = [
    "GRAPH_MODE", "PYNATIVE_MODE", "DType", "Generator", "GradOperation", "Model", "MsnbError", "Parameter",
    "ParameterTuple", "Symbol", "Tensor", "amp", "bfloat16", "bool_", "complex64", "complex128", "custom_vjp",
    "dataset", "double", "explain", "float16", "float32", "float64", "float_", "from_dlpack", "from_numpy",
    "get_context", "get_seed", "grad", "half", "hessian", "int8", "int16", "int32", "int64", "int_", "jacfwd", "jacrev",
    "jit", "jvp", "load_checkpoint", "load_param_into_net", "nn", "ops", "plugins", "recompute", "reset_context",
    "runtime", "save_checkpoint", "set_context", "set_seed", "train", "uint8", "uint16", "uint32", "uint64",
    "value_and_grad", "vjp", "vmap",
]  # fmt: skip

if TYPE_CHECKING:
    __all__ += lazy_names.__all__  # type: ignore[has-type]  # mypy reads the star import above
