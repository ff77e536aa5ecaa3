"""msnb: a deep-learning framework that lives in a notebook."""

from __future__ import annotations

__version__ = "0.1.0"

import msnb.devices.ascend
import msnb.devices.cpu
import msnb.devices.gpu
import msnb.eager.dispatch
from msnb import ops, runtime
from msnb.core import plugins
from msnb.core.context import GRAPH_MODE, PYNATIVE_MODE, get_context, reset_context, set_context
from msnb.core.parameter import Parameter, ParameterTuple
from msnb.core.random import get_seed, set_seed
from msnb.core.tensor import Tensor
