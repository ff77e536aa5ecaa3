"""Operations: one record each, in families; composites are functions of them."""

from msnb.ops.shape import broadcast_to as broadcast_to
from msnb.ops.shape import expand_dims as expand_dims
from msnb.ops.shape import reshape as reshape
from msnb.ops.shape import squeeze as squeeze
from msnb.ops.shape import sum_to as sum_to
from msnb.ops.shape import transpose as transpose
from msnb.ops.contract import addbmm as addbmm
from msnb.ops.contract import addmm as addmm
from msnb.ops.contract import addmv as addmv
from msnb.ops.contract import baddbmm as baddbmm
from msnb.ops.contract import bmm as bmm
from msnb.ops.contract import dot as dot
from msnb.ops.contract import inner as inner
from msnb.ops.contract import kron as kron
from msnb.ops.contract import matmul as matmul
from msnb.ops.contract import mm as mm
from msnb.ops.contract import multi_dot as multi_dot
from msnb.ops.contract import mv as mv
from msnb.ops.contract import outer as outer
from msnb.ops.contract import tensordot as tensordot
from msnb.ops.contract import vecdot as vecdot
from msnb.ops.join import concat as concat
from msnb.ops.join import stack as stack
from msnb.ops.join import unstack as unstack
from msnb.ops.slicing import slice_ as slice
from msnb.ops.slicing import SLICE_UPDATE as slice_update
