"""MindSpore's module paths, and the module of msnb that each one shows.

``missing_names.MODULES`` has the paths that msnb knows under its own name too (``msnb.common.initializer``); here are
msnb's real packages, and the private paths that programs import.
"""

from __future__ import annotations

from msnb.base.missing_names import MODULES
from msnb.base.name_tables import homes

_PUBLIC = (
    "amp", "dataset", "dataset.audio", "dataset.text", "dataset.transforms", "dataset.vision", "nn",
    "nn.probability", "nn.probability.bijector", "nn.probability.distribution", "numpy", "numpy.fft", "ops", "parallel",
    "runtime", "train",
)  # fmt: skip
_HOMES = {
    "msnb.as_mindspore.private.private_names":
        "_c_expression _checkparam common._decorator common._grad_function ops._primitive_cache ops.op_info_register "
        "parallel._auto_parallel_context parallel._utils parallel._ps_context train._utils",
    "msnb.core.dtypes": "_c_expression.typing",
    "msnb.as_mindspore.private.executor_names": "_extends _extends.parse common.jit_begin_end hal utils utils.dlpack",
    "msnb.ops":
        "_extends.parse.standard_method ops._grad ops.auto_generate ops.auto_generate.gen_ops_def "
        "ops.auto_generate.gen_ops_prim ops.operations.linalg_ops ops.operations.sparse_ops "
        "ops.composite.multitype_ops ops.operations._grad_ops ops._utils ops._utils.utils",
    "msnb.as_mindspore.private.layer_names": "_c_expression.amp rewrite.common.namespace",
    "msnb.parallel.engine.client.process_group_api": "communication._comm_helper",
    "ml_dtypes": "common.np_dtype",
    "msnb.dataset.vision": "dataset.transforms.vision",
    "msnb.base.settings": "dataset.context",
    "msnb.as_mindspore.private.picture_functions": "dataset.vision.py_transforms_util",
    "msnb.ops.mindspore.mint_functional": "mint.functional",
    "msnb.core.tensor": "common._register_for_tensor",
    "msnb":
        "common.auto_dynamic_shape common.jit_config common.sparse_tensor graph graph.dynamic_shape "
        "common.dynamic_shape version",
    "msnb.api.compiler_hints": "common.mutable",
    "msnb.as_mindspore.log_functions": "log",
    "multiprocessing": "multiprocessing",
    "msnb.train.profiler": "profiler profiler.common profiler.common.constant",
    "msnb.as_mindspore.placeholders":
        "common._stub_tensor parallel._cost_model_context rewrite rewrite.common safeguard train.checkpoint_pb2 "
        "train.mind_ir_pb2 train.node_strategy_pb2 train.train_thor",
    "msnb.nn": "nn._loss nn._graph_kernels",
    "msnb.api": "ops.function.grad ops.function.grad.grad_func",
    "msnb.as_mindspore.functional_names": "ops.vm_impl_registry",
    "msnb.numpy.scipy.optimize.wolfe_search": "scipy.optimize.line_search",
    "msnb.numpy.scipy.optimize.minimization": "scipy.optimize.minimize",
    "msnb.train.amp": "train.amp train.loss_scale_manager",
    "msnb.train.metrics": "train.metrics",
    "msnb.train.model": "train.model",
    "msnb.train": "train.summary",
}  # fmt: skip
"""Module -> the paths that show it."""
_DEVICES = [f"device_context.{device}" for device in ("cpu", "gpu", "ascend")]
_PRIVATE = {
    **homes(_HOMES),
    **dict.fromkeys(
        ("device_context", *_DEVICES, *(f"{device}.op_{what}" for device in _DEVICES
                                        for what in ("tuning", "precision", "debug"))),
        "msnb.as_mindspore.private.executor_names"),
    **{f"ops.{path}": "msnb.ops" for path in (
        "_grad_experimental", *(f"_grad_experimental.grad_{kind}_ops" for kind in (
            "array", "comm", "debug", "inner", "math", "nn", "quant", "sparse")),
        "_grad_experimental.grad_base",
        *(f"operations._{kind}_ops" for kind in (
            "csr", "embedding_cache", "infer", "map_tensor", "quant", "rl_inner", "scalar", "sequence", "thor")))},
}  # fmt: skip
_NAMED: dict[str, str] = {
    "mindspore": "msnb",
    **{f"mindspore.{name}": f"msnb.{name}" for name in _PUBLIC},
    **{f"mindspore{path.removeprefix('msnb')}": home for path, home in MODULES.items()},
    **{f"mindspore.{path}": home for path, home in _PRIVATE.items()},
}
_FILES = {
    "boost":
        "adasum base boost boost_cell_wrapper dim_reduce grad_accumulation grad_freeze "
        "group_loss_scale_manager less_batch_normalization",
    "common":
        "_monad device dump dynamic_shape file_system hook_handle jit_context jit_trace lazy_inline mindir_util "
        "no_inline recompute storage symbol",
    "common.dynamic_shape": "auto_dynamic_shape enable_dynamic",
    "communication": "comm_func",
    "dataset": "callback",
    "dataset.callback": "ds_callback",
    "dataset.core": "validator_helpers",
    "dataset.engine": "cache_client datasets_audio datasets_text offload queue serializer_deserializer",
    "experimental": "map_parameter",
    "experimental.optim":
        "adadelta adagrad adam adamax adamw asgd lr_scheduler nadam optimizer radam rmsprop rprop sgd",
    "graph":
        "api custom_backend custom_infer custom_pass dynamic_shape jit_begin_end jit_config jit_context "
        "jit_trace lazy_inline mutable no_inline symbol",
    "graph.dynamic_shape": "auto_dynamic_shape enable_dynamic",
    "hal": "contiguous_tensors_handle device event memory stream",
    "mindrecord": "common config filereader filewriter mindpage",
    "mint.distributed": "distributed",
    "mint.nn": "layer",
    "mint.nn.layer": "activation basic conv normalization padding pooling",
    "mint.optim": "adam adamw fused_adamw sgd",
    "nn": "sparse",
    "nn.grad": "cell_grad",
    "nn.layer": "channel_shuffle combined dense padding thor_layer timedistributed transformer",
    "nn.optim": "adafactor adasum ftrl lars lazyadam proximal_ada_grad tft_wrapper thor",
    "nn.probability": "bnn_layers",
    "nn.probability.bijector": "bijector exp gumbel_cdf invert power_transform scalar_affine softplus",
    "nn.probability.bnn_layers": "bnn_cell_wrapper conv_variational dense_variational layer_distribution",
    "nn.probability.distribution":
        "bernoulli beta categorical cauchy distribution exponential gamma geometric gumbel half_normal "
        "laplace log_normal logistic normal poisson student_t transformed_distribution uniform",
    "nn.sparse": "sparse",
    "nn.utils": "init",
    "numpy": "array_creations array_ops dtypes logic_ops math_ops utils utils_const",
    "ops": "deprecated functional_overload signature tensor_method",
    "ops.auto_generate": "cpp_create_prim_instance_helper gen_extend_func pyboost_inner_prim",
    "ops.composite": "base env_ops math_ops",
    "ops.composite.multitype_ops":
        "add_impl bitwise_and_impl bitwise_or_impl bitwise_xor_impl div_impl equal_impl floordiv_impl greater_impl "
        "less_impl mod_impl mul_impl negative_impl ones_like_impl pow_impl sub_impl zeros_like_impl",
    "ops.function":
        "comm_func debug_func fft_func image_func other_func reshard_func sparse_func sparse_unary_func "
        "spectral_func vmap_func",
    "ops.operations": "control_ops custom_ops debug_ops inner_ops manually_defined reshard_ops spectral_ops",
    "ops.operations.manually_defined": "ops_def",
    "parallel":
        "algo_parameter_config checkpoint_convert checkpoint_transform function parameter_broadcast shard "
        "strategy transform_safetensors",
    "parallel.function": "reshard_func",
    "parallel.nn": "parallel_cell_wrapper parallel_grad_reducer",
    "profiler": "dynamic_profiler envprofiler experimental_config mstx profiler profiling schedule",
    "runtime": "device device_limit event executor memory stream stream_limit thread_bind_core",
    "safeguard": "rewrite_obfuscation",
    "scipy": "ops ops_wrapper utils",
    "scipy.optimize": "gradient_optimization_algorithm linear_sum_assignment",
    "train": "data_sink dataset_helper",
    "train.metrics":
        "accuracy auc bleu_score confusion_matrix cosine_similarity dice error fbeta hausdorff_distance loss "
        "mean_surface_distance metric occlusion_sensitivity perplexity precision recall roc "
        "root_mean_square_surface_distance topk",
    "train.summary": "enums summary_record",
    "train.train_thor": "convert_utils dataset_helper model_thor",
}
"""Package -> files of MindSpore 2.10 that lie in it: each shows what its package shows."""


def _paths() -> dict[str, str]:
    found = dict(_NAMED)
    for package, files in _FILES.items():
        for path in (f"mindspore.{package}.{name}" for name in files.split()):
            found.setdefault(path, found[f"mindspore.{package}"])
    return found


PATHS = _paths()
_FUNCTIONAL = "msnb.as_mindspore.functional_names"
_DTYPES = "msnb.as_mindspore.dtype_names"
_TYPES = "msnb.as_mindspore.type_names"
_EXECUTORS = "msnb.as_mindspore.private.executor_names"
_LAYERS = "msnb.as_mindspore.private.layer_names"
_RANKS = "msnb.parallel.engine.client.distributed"
_GRADIENTS = "msnb.as_mindspore.gradient_operators"
FURTHER: dict[str, tuple[str, ...]] = {
    "mindspore": (_DTYPES, _TYPES, "msnb.train", "msnb.runtime", "msnb.as_mindspore.private.private_names",
                  "msnb.as_mindspore.log_functions", "msnb.train.loss_scale_manager"),
    **dict.fromkeys(("mindspore.common", "mindspore.common.dtype", "mindspore.dtype",
                     "mindspore._c_expression.typing"), (_DTYPES, _TYPES)),
    **dict.fromkeys(("mindspore.dataset", "mindspore.dataset.engine", "mindspore.dataset.engine.datasets"), (_TYPES,)),
    **{f"mindspore.dataset.{path}": ("msnb.as_mindspore.private.picture_functions",) for path in (
        "transforms.transforms", "transforms.py_transforms", "vision.transforms", "vision.py_transforms")},
    "mindspore.common.api": (_EXECUTORS, _LAYERS, "msnb.as_mindspore.private.private_names"),
    **dict.fromkeys(("mindspore.train", "mindspore.train.data_sink"),
                    ("msnb.as_mindspore.private.private_names", "msnb.train.loss_scale_manager")),
    **dict.fromkeys(("mindspore.common.seed", "mindspore.context"),
                    ("msnb.as_mindspore.private.private_names", _LAYERS, "msnb.api.compiler_hints")),
    "mindspore._checkparam": (_EXECUTORS,),
    **{f"mindspore.{path}": (_LAYERS,) for path in (
        "communication._comm_helper", "dataset.core.validator_helpers", "nn.wrap.loss_scale", "train.amp")},
    "mindspore.communication.comm_func": (_RANKS,),
    "mindspore.mint": ("msnb.core.tensor",),
    **{f"mindspore.{path}": ("msnb.as_mindspore.private.private_names", "msnb", _LAYERS)
       for path in ("common.sparse_tensor", "nn.layer.activation", "nn.layer.conv", "nn.layer.normalization",
                    "nn.loss.loss", "nn.optim.optimizer", "nn.wrap.cell_wrapper", "numpy.utils", "numpy.utils_const",
                    "train.model", "train.serialization")},
    **dict.fromkeys(("mindspore.train.callback", "mindspore.train.callback._callback", "mindspore.train.summary.enums",
                     "mindspore.train.summary.summary_record"), (
        "msnb.as_mindspore.private.private_names", _EXECUTORS, "msnb")),
    **{path: (_FUNCTIONAL, _GRADIENTS) for path in PATHS if path.startswith("mindspore.ops.")},
    "mindspore.ops.function.nn_func": (_FUNCTIONAL, _GRADIENTS, _LAYERS, "msnb.as_mindspore.private.private_names"),
    "mindspore._extends.parse.standard_method": (_FUNCTIONAL, "msnb.numpy"),
    "mindspore.nn.layer.rnn_cells": ("msnb.nn.layers.recurrent_cells",),
    **{f"mindspore.{path}": (_FUNCTIONAL,) for path in ("nn.grad", "nn.grad.cell_grad")},
    "mindspore._c_expression": (_EXECUTORS, _LAYERS, "msnb.nn.initializer"),
    **{f"mindspore.scipy.{name}": (_FUNCTIONAL,) for name in ("ops", "ops_wrapper", "utils")},
    "mindspore.common.parameter": ("msnb.nn.cells.cell_state", _EXECUTORS),
    "mindspore.ops": (_FUNCTIONAL, _GRADIENTS, _RANKS),
}  # fmt: skip
"""Modules in which a path's names are looked up that its own module lacks: words of older programs, under the alias
alone."""
