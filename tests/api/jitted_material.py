"""Jitted functions of a module, for tests that pickle them."""

import msnb as ms


@ms.jit
def tripled(x):
    return x * 3


class Held:
    @ms.jit
    def halved(self, x):
        return x / 2
