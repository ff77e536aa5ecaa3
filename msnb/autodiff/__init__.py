"""Derivatives and batching as transforms from graph to graph."""

from msnb.autodiff.batch import vmap
from msnb.autodiff.forward import jvp
from msnb.autodiff.reverse import VJP, vjp

__all__ = ["VJP", "jvp", "vjp", "vmap"]
