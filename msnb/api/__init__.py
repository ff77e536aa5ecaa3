"""The one door that knows both engines: gradients, transforms, hooks.

``jit`` lies in ``msnb.api.jit`` and is imported on first use: capture and the passes are a third of the framework, and
an eager program needs neither.
"""

from msnb.api.graph_mode import call_cell
from msnb.api.transforms.custom_gradient import custom_vjp, hook_gradient, register_hook
from msnb.api.transforms.gradients import GradOperation, grad, value_and_grad
from msnb.api.transforms.jacobian import hessian, jacfwd, jacrev
from msnb.api.transforms.vjp_jvp_vmap import jvp, vjp, vmap

__all__ = [
    "GradOperation", "call_cell", "custom_vjp", "grad", "hessian", "hook_gradient", "jacfwd", "jacrev", "jvp",
    "register_hook", "value_and_grad", "vjp", "vmap",
]  # fmt: skip
