"""Operations: one record each, in families; composites are functions of them."""

from msnb.ops.shape import broadcast_to as broadcast_to
from msnb.ops.shape import expand_dims as expand_dims
from msnb.ops.shape import reshape as reshape
from msnb.ops.shape import squeeze as squeeze
from msnb.ops.shape import sum_to as sum_to
from msnb.ops.shape import transpose as transpose
