"""MindSpore's SciPy: linear algebra, cosine transforms and minimization on Tensors, with gradients, in both modes.

    import msnb.scipy as msp
    msp.optimize.minimize(f, x0, method="BFGS").x

Nothing here needs SciPy. Arguments come in SciPy's order; what is computed are the operators of ``msnb.ops``.

Source: `mindspore.scipy`
"""

from msnb.numpy.scipy import cosine_transforms as fft, linalg, optimize

__all__ = ["fft", "linalg", "optimize"]
