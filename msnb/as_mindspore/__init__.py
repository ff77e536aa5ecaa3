"""MindSpore's programs run on msnb: from the import of this package on, ``mindspore`` is a view of ``msnb``.

    import msnb.as_mindspore                          in a program, before its first ``import mindspore``
    %load_ext msnb.as_mindspore                       in a notebook
    python -m msnb.as_mindspore program.py [args]     for a program as it is

A view hands on the objects of msnb themselves (``mindspore.Tensor is msnb.Tensor``); nothing is copied. Where
MindSpore gives another answer to the same call, ``differences.DIFFERENCES`` says which one holds.

Examples:
    >>> import msnb, msnb.as_mindspore
    >>> import mindspore
    >>> mindspore.Tensor is msnb.Tensor
    True
    >>> mindspore.__version__
    '2.10.0'
    >>> msnb.as_mindspore.uninstall()
"""

from __future__ import annotations

from typing import Any

from msnb.as_mindspore.differences import DIFFERENCES as DIFFERENCES
from msnb.as_mindspore.finder import AliasError as AliasError, install as install, uninstall as uninstall


def load_ipython_extension(ipython: Any) -> None:
    """``%load_ext msnb.as_mindspore``."""
    install()


def unload_ipython_extension(ipython: Any) -> None:
    """``%unload_ext msnb.as_mindspore``: ``mindspore`` is again what is installed."""
    uninstall()


install()
