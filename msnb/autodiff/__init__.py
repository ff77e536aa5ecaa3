"""Derivatives and batching as transforms from graph to graph."""

from msnb.autodiff import (
    reverse_control_flow as reverse_control_flow,  # fills the table of reverse_mode
    vmap_control_flow as vmap_control_flow,  # fills the table of vmap
)
from msnb.autodiff.forward_mode import jvp
from msnb.autodiff.reverse_mode import VJP, vjp
from msnb.autodiff.vmap import vmap

__all__ = ["VJP", "jvp", "vjp", "vmap"]
