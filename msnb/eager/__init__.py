"""The eager engine: every op runs at once; while a gradient is wanted it is also recorded."""

from msnb.eager import (
    composite_programs as composite_programs,  # engines run composites by it
    inline_cache as inline_cache,  # and other calls by this
)
