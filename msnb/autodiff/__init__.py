"""Derivatives and batching as transforms from graph to graph."""

from msnb.autodiff.forward_mode import jvp
from msnb.autodiff.reverse_mode import VJP, vjp
from msnb.autodiff.vmap import vmap

__all__ = ["VJP", "jvp", "vjp", "vmap"]
