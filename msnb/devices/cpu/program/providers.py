"""Who gives recipes on this machine: the libraries first, then the code generator."""

from __future__ import annotations

import functools

from msnb.devices.cpu.program.recipe import JOINERS, PROVIDERS


@functools.lru_cache(maxsize=1)
def enter() -> None:
    """Enter them into ``PROVIDERS`` and ``JOINERS``, once."""
    from msnb.devices.cpu.builtin.poolings import recipe as poolings
    from msnb.devices.cpu.codegen.draws import recipe as draws
    from msnb.devices.cpu.codegen.library import recipe as generated
    from msnb.devices.cpu.codegen.products import recipe as products
    from msnb.devices.cpu.codegen.tables import recipe as tables
    from msnb.devices.cpu.onednn.recipes import joint
    from msnb.devices.cpu.onednn.recipes import recipe as library

    PROVIDERS.extend((library, products, poolings, generated, tables, draws))
    JOINERS.append(joint)
