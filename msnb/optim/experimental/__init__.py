"""``msnb.experimental``: optimizers with dicts of settings per group, and schedulers that write their rates."""

from msnb.optim.experimental import optim as optim

__all__ = ["optim"]
