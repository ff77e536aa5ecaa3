"""MindSpore's module paths, and the module of msnb that each one shows.

``missing_names.MODULES`` has the paths that msnb knows under its own name too (``msnb.common.initializer``); here are
msnb's real packages, and the private paths that programs import.
"""

from __future__ import annotations

from msnb.base.missing_names import MODULES

_PUBLIC = (
    "amp", "dataset", "dataset.audio", "dataset.text", "dataset.transforms", "dataset.vision", "nn",
    "nn.probability", "nn.probability.bijector", "nn.probability.distribution", "numpy", "numpy.fft", "ops", "parallel",
    "runtime", "train",
)  # fmt: skip
_PRIVATE = {
    "_c_expression": "msnb.as_mindspore.private_names",
    "_c_expression.typing": "msnb.core.dtypes",
    "_checkparam": "msnb.as_mindspore.private_names",
    "_extends": "msnb.as_mindspore.executor_names",
    "_extends.parse": "msnb.as_mindspore.executor_names",
    "common.jit_begin_end": "msnb.as_mindspore.executor_names",
    "common.np_dtype": "ml_dtypes",
    **dict.fromkeys(
        ("device_context", *(f"device_context.{device}{part}" for device in ("cpu", "gpu", "ascend")
                             for part in ("", ".op_tuning", ".op_precision", ".op_debug"))),
        "msnb.as_mindspore.device_settings",
    ),
    "common._decorator": "msnb.as_mindspore.private_names",
    "common._register_for_tensor": "msnb.core.tensor",
    "common.auto_dynamic_shape": "msnb",
    "common.jit_config": "msnb",
    "common.sparse_tensor": "msnb",
    "common.mutable": "msnb.api.compiler_hints",
    "nn._loss": "msnb.nn",
    "nn._graph_kernels": "msnb.nn",
    "ops._grad": "msnb.ops",
    "ops._primitive_cache": "msnb.as_mindspore.private_names",
    "ops.auto_generate": "msnb.ops",
    "ops.auto_generate.gen_ops_def": "msnb.ops",
    "ops.auto_generate.gen_ops_prim": "msnb.ops",
    "ops.function.grad": "msnb.api",
    "ops.function.grad.grad_func": "msnb.api",
    "ops.operations.linalg_ops": "msnb.ops",
    "ops.operations.sparse_ops": "msnb.ops",
    "ops.composite.multitype_ops": "msnb.ops",
    "ops.operations._grad_ops": "msnb.ops",
    "ops.operations._csr_ops": "msnb.ops",
    "ops.op_info_register": "msnb.as_mindspore.private_names",
    "parallel._auto_parallel_context": "msnb.as_mindspore.private_names",
    "parallel._utils": "msnb.as_mindspore.private_names",
    "parallel._ps_context": "msnb.as_mindspore.private_names",
    "scipy.optimize.line_search": "msnb.numpy.scipy.optimize.wolfe_search",
    "scipy.optimize.minimize": "msnb.numpy.scipy.optimize.minimization",
    "train._utils": "msnb.as_mindspore.private_names",
    "train.amp": "msnb.train.amp",
    "train.loss_scale_manager": "msnb.train.amp",
    "train.metrics": "msnb.train.metrics",
    "train.model": "msnb.train.model",
}
PATHS: dict[str, str] = {
    "mindspore": "msnb",
    **{f"mindspore.{name}": f"msnb.{name}" for name in _PUBLIC},
    **{f"mindspore{path.removeprefix('msnb')}": home for path, home in MODULES.items()},
    **{f"mindspore.{path}": home for path, home in _PRIVATE.items()},
}
_FUNCTIONAL = "msnb.as_mindspore.functional_names"
_EXECUTORS = "msnb.as_mindspore.executor_names"
_GRADIENTS = "msnb.as_mindspore.gradient_operators"
FURTHER: dict[str, tuple[str, ...]] = {
    "mindspore.common.api": (_EXECUTORS,),
    "mindspore._checkparam": (_EXECUTORS,),
    "mindspore.common.sparse_tensor": ("msnb.as_mindspore.private_names",),
    **{f"mindspore.{path}": (_FUNCTIONAL, _GRADIENTS)
       for path in ("ops", "ops.functional", "ops.operations", "ops.operations._inner_ops", "ops.composite",
                    "ops.operations._grad_ops", "ops.operations.nn_ops", "ops.auto_generate",
                    "ops.auto_generate.gen_ops_def", "ops.auto_generate.gen_ops_prim")},
    **{f"mindspore.{path}": (_FUNCTIONAL,) for path in ("nn.grad", "nn.grad.cell_grad")},
}  # fmt: skip
"""Modules in which a path's names are looked up that its own module lacks: words of older programs, under the alias
alone."""
