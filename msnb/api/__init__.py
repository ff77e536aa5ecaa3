"""The one door that knows both engines: jit, gradients, transforms, hooks."""

from msnb.api.cells import call_cell
from msnb.api.custom import custom_vjp, hook_gradient, register_hook
from msnb.api.functional import jvp, vjp, vmap
from msnb.api.jacobian import hessian, jacfwd, jacrev
from msnb.api.jit import CompiledFunction, explain, jit
from msnb.api.transforms import GradOperation, grad, value_and_grad

__all__ = [
    "CompiledFunction",
    "GradOperation",
    "call_cell",
    "custom_vjp",
    "explain",
    "grad",
    "hessian",
    "hook_gradient",
    "jacfwd",
    "jacrev",
    "jit",
    "jvp",
    "register_hook",
    "value_and_grad",
    "vjp",
    "vmap",
]
