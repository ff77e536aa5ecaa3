"""What msnb.parallel imports when it is asked for.

Made by tools/stubs.py from what msnb.ops is; do not edit."""

# ruff: noqa: I001 - filled lines

from msnb.api.transforms.shard import shard as shard
from msnb.core.tensor import blank as blank
from msnb.parallel.algorithm_parameters import (
    get_algo_parameters as get_algo_parameters, reset_algo_parameters as reset_algo_parameters,
    set_algo_parameters as set_algo_parameters,
)  # fmt: skip
from msnb.parallel.context import (
    ParallelMode as ParallelMode, get_auto_parallel_context as get_auto_parallel_context,
    reset_auto_parallel_context as reset_auto_parallel_context, set_auto_parallel_context as set_auto_parallel_context,
)  # fmt: skip
from msnb.parallel.engine.client.engine_client import Engine as Engine
from msnb.parallel.engine.manual_plan import PerRank as PerRank
from msnb.parallel.engine.planned_function import use as use
from msnb.parallel.engine.planning_api import plan as plan
from msnb.parallel.engine.rank.sharded_checkpoint import load_sharded as load_sharded
from msnb.parallel.engine.trainer import Trainer as Trainer
from msnb.parallel.plans.plan import Plan as Plan
from msnb.parallel.sharding.device_mesh import Cluster as Cluster, Mesh as Mesh
from msnb.parallel.sharding.layout import Layout as Layout

__all__ = [
    "Cluster", "Engine", "Layout", "Mesh", "ParallelMode", "PerRank", "Plan", "Trainer", "blank", "get_algo_parameters",
    "get_auto_parallel_context", "load_sharded", "plan", "reset_algo_parameters", "reset_auto_parallel_context",
    "set_algo_parameters", "set_auto_parallel_context", "shard", "use",
]  # fmt: skip
