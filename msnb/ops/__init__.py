"""Operations: one record each, in families; composites are functions of them."""

from typing import TYPE_CHECKING

import msnb.ops.shape.blocked_layout as blocked
import msnb.ops.tensor.functions as function_methods
import msnb.ops.tensor.inplace as in_place
import msnb.ops.tensor.operators as methods
from msnb.base import missing_names, plugins
from msnb.ops.collective import *
from msnb.ops.elementwise.arithmetic import *
from msnb.ops.elementwise.cast import *
from msnb.ops.elementwise.comparison import *
from msnb.ops.elementwise.identity_and_effects import *
from msnb.ops.elementwise.logic import *
from msnb.ops.elementwise.transcendental import *
from msnb.ops.indexing.embedding import embedding as embedding
from msnb.ops.indexing.gather import *
from msnb.ops.indexing.grids import *
from msnb.ops.indexing.masked_select import *
from msnb.ops.indexing.pad import pad as pad
from msnb.ops.indexing.parameter_scatter import *
from msnb.ops.indexing.rearrange import *
from msnb.ops.indexing.scatter import *
from msnb.ops.indexing.slice_updates import *
from msnb.ops.linalg import assignment as _assignment
from msnb.ops.linalg.diagonals import *
from msnb.ops.linalg.eigenvalues import *
from msnb.ops.linalg.einsum import *
from msnb.ops.linalg.factorization import *
from msnb.ops.linalg.grouped_matmul import *
from msnb.ops.linalg.matmul import *
from msnb.ops.linalg.matrix_functions import *
from msnb.ops.linalg.solvers import *
from msnb.ops.linalg.triangular import *
from msnb.ops.math.clip_norm_interpolate import *
from msnb.ops.math.log_sums import *
from msnb.ops.math.number_functions import *
from msnb.ops.math.sort import *
from msnb.ops.math.statistics import *
from msnb.ops.mindspore.attention_score import *
from msnb.ops.mindspore.scalar_conversions import *
from msnb.ops.nn.activation import *
from msnb.ops.nn.attention import scaled_dot_product_attention as scaled_dot_product_attention
from msnb.ops.nn.ctc_loss import *
from msnb.ops.nn.loss import *
from msnb.ops.nn.normalization import *
from msnb.ops.nn.transformer_functions import *
from msnb.ops.random.draws import *
from msnb.ops.random.gamma_poisson import *
from msnb.ops.reduction.cumulative import *
from msnb.ops.reduction.functional import *
from msnb.ops.shape.concat_split import *
from msnb.ops.shape.creation import *
from msnb.ops.shape.index_records import *
from msnb.ops.shape.slice import *
from msnb.ops.shape.slice import slice_ as slice
from msnb.ops.shape.views import *
from msnb.ops.sparse.segments import *
from msnb.ops.sparse.sparse_functions import *
from msnb.ops.sparse.value_functions import *
from msnb.ops.spatial.bounding_boxes import *
from msnb.ops.spatial.convolution import *
from msnb.ops.spatial.deformable import *
from msnb.ops.spatial.fractional_pooling import *
from msnb.ops.spatial.interpolate import *
from msnb.ops.spatial.pooling import *
from msnb.ops.spatial.resize import *
from msnb.ops.spatial.roi import *
from msnb.ops.spatial.unfold import *
from msnb.ops.spatial.unpooling import *
from msnb.ops.spatial.volumetric import *
from msnb.ops.special.bessel_functions import *
from msnb.ops.special.fourier import *
from msnb.ops.special.gamma_functions import *
from msnb.ops.special.windows import *
from msnb.ops.tensor.properties import *
from msnb.ops.tensor.subscripts import *

if not TYPE_CHECKING:  # a type checker must go on to report names that do not exist

    def __getattr__(name: str) -> object:
        """An operator that another package brings along (entry points ``msnb.ops``), an operator class
        (``ops.ReLU()``), or what lives in another package."""
        from msnb.ops.mindspore.primitive_classes import primitive

        if plugins.get(plugins.OPS, name) is not None:
            return plugins.attribute(plugins.OPS, name, __name__)
        made = primitive(name) if name[:1].isupper() else None
        if made is None:
            return missing_names.attribute(__name__, name)
        globals()[name] = made
        return made


def __dir__() -> list[str]:
    return missing_names.public_names(__name__)
