"""The Mercator projection as an operator: where a latitude lies on the map.

    y = r asinh(tan(phi))                         dy/dphi = r / cos(phi)

        phi   0     30     60     80  degrees     the map stretches without bound towards the poles, where tan has
        y     0   0.549  1.317  2.436  radii      its own: the operator is for -pi/2 < phi < pi/2

One record answers everything that msnb asks about an operator; each field says who reads it. The gradient rule is
written in operators, so second derivatives, forward mode and graph mode come of themselves.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from msnb import ops
from msnb.base.errors import DTypeError
from msnb.ops.definition.record import Example, InvalidExample, Work, define
from msnb.ops.definition.type_inference import elementwise

_LATITUDES = np.array([[0.5, -1.25, 1.0], [0.0, 0.25, -0.75]])


def _body(xp: Any, latitude: Any, *, radius: float) -> Any:
    """The reference: runs over NumPy and CuPy alike, never writes its inputs."""
    return xp.arcsinh(xp.tan(latitude)) * latitude.dtype.type(radius)


mercator = define(
    "mercator",  # its name in graphs, errors and as ms.ops.mercator
    "latitude",  # tensors, positional
    attrs={"radius": 1.0},  # static attributes, keyword-only, with defaults
    infer=elementwise("mercator", floating=True, kinds="bif"),  # types in, types out, and the sentences for wrong ones
    body=_body,
    scalar="radius * asinh(tan(latitude))",  # for code generators
    grad=lambda dout, latitude, radius: dout * radius / ops.cos(latitude),  # names what must be kept alive
    axes="... -> ...",  # for vmap and the parallel planner
    work=lambda types, outs, attrs: Work(vector=8.0 * outs[0].size),  # flops, for fusion, profiler and simulator
    traits=("pure", "elementwise", "floating"),
    promotes=True,  # integers arrive in the body as float32
    doc="Height of a latitude (in radians) on a Mercator map of a globe with this radius.",
    examples=(Example((_LATITUDES,)), Example((_LATITUDES,), {"radius": 6371.0})),
    wrong=(InvalidExample((_LATITUDES + 1j,), {}, "does not take complex", DTypeError),),
)
