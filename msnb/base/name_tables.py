"""The words of other frameworks, as data for ``msnb.base.missing_names``.

``MOVED``: module -> name -> where it lives ("module:name"). ``MODULES``: MindSpore's path -> ours. ``SAID``: owner
-> name -> what to say, a continuation of "ms.boost ..." (or a whole sentence that starts with "PyTorch").
"""

from __future__ import annotations

from collections.abc import Mapping


def homes(table: Mapping[str, str]) -> dict[str, str]:
    """Name -> module, of a table module -> names."""
    return {name: module for module, names in table.items() for name in names.split()}


def _placed(table: Mapping[str, str]) -> dict[str, str]:
    """Name -> "module:name", of a table module -> names."""
    return {name: f"{module}:{name}" for name, module in homes(table).items()}


_FILES = _placed({
    "msnb.train.files.model_files": "export load",
    "msnb.train.files.torch_weights": "load_torch_state_dict",
    "msnb.train.pytorch.conversion": "from_torch pytorch2mindspore source_of",
})  # fmt: skip
_AMP = _placed({"msnb.train.amp": "FixedLossScaleManager DynamicLossScaleManager build_train_network"})
_TAYLOR = _placed({"msnb.api.transforms.taylor": "jet derivative linearize get_grad"})
_AUTO_PARALLEL = _placed({
    "msnb.parallel.context":
        "set_auto_parallel_context get_auto_parallel_context reset_auto_parallel_context ParallelMode",
    "msnb.parallel.algorithm_parameters": "set_algo_parameters get_algo_parameters reset_algo_parameters",
})  # fmt: skip
_PYTORCH_LAYERS = ("AvgPool2d", "Dropout", "Embedding", "LayerNorm", "LogSoftmax", "MaxPool2d", "PReLU")

MOVED: dict[str, dict[str, str]] = {
    "msnb": {
        **{name: f"msnb.{name}" for name in ("dataset", "train", "numpy", "parallel")},
        "profiler": "msnb.train.profiler",
        "amp": "msnb.train.amp",
        "show": "msnb.notebook.show.program_views",
        "scipy": "msnb.numpy.scipy",
        "initializer": "msnb.nn.initializer",
        "ascend": "msnb.parallel.engine.ascend_profile",
        "ms_function": "msnb.api.jit:jit",
        "ms_class": "msnb.api.compiler_hints:jit_class",
        "get_grad": _TAYLOR["get_grad"],
        "SparseTensor": "msnb.ops.sparse.coordinates:COOTensor",
        **_placed({
            "msnb.train":
                "Model save_checkpoint load_checkpoint load_param_into_net Callback CheckpointConfig EarlyStopping "
                "History LambdaCallback LearningRateScheduler LossMonitor ModelCheckpoint ReduceLROnPlateau "
                "RunContext TimeMonitor",
            "msnb.train.profiler": "Profiler",
            "msnb.core.dtypes": "dtype_to_nptype dtype_to_pytype pytype_to_dtype",
            "msnb.core.random": "default_generator get_rng_state initial_seed manual_seed seed set_rng_state",
            "msnb.base.settings": "get_current_device set_deterministic set_device set_recursion_limit",
            "msnb.api.runtime":
                "Event Stream StreamCtx communication_stream current_stream default_stream dispatch_threads_num "
                "empty_cache max_memory_allocated max_memory_reserved memory_allocated memory_reserved memory_stats "
                "memory_summary reset_max_memory_allocated reset_max_memory_reserved reset_peak_memory_stats "
                "run_check set_cur_stream",
            "msnb.core.storage.byte_buffer": "frombuffer",
            "msnb.api.jit": "jit",
            "msnb.api.explain": "explain",
            "msnb.api.compiler_hints":
                "mutable constexpr jit_class lazy_inline no_inline JitConfig STRICT COMPATIBLE LAX",
            "msnb.api.transforms.shard": "shard",
            "msnb.parallel.sharding.layout": "Layout",
            "msnb.ops.sparse.coordinates": "COOTensor",
            "msnb.ops.sparse.compressed_rows": "CSRTensor",
            "msnb.ops.sparse.row_tensor": "RowTensor",
            # functions of ops that MindSpore 2.5 and later have at top level too
            "msnb.ops":
                "stop_gradient is_tensor zeros ones arange eye full linspace zeros_like ones_like full_like empty "
                "empty_like rand randn randint randperm rand_like randn_like normal multinomial bernoulli cat concat "
                "stack chunk split reshape permute squeeze unsqueeze transpose swapaxes tile where nonzero gather "
                "index_select masked_select scatter scatter_add take abs add sub mul div exp log sqrt rsqrt sin cos "
                "tan tanh sigmoid erf floor ceil round clamp pow square neg sign matmul bmm mm dot outer einsum addmm "
                "baddbmm sum mean std var prod max min amax amin argmax argmin argsort sort topk cumsum cumprod norm "
                "any all isnan isinf isfinite equal eq ne gt ge lt le maximum minimum logical_and logical_or "
                "logical_not logical_xor tril triu diag flatten flip roll repeat_interleave meshgrid unique bincount "
                "histc trace relu softmax",
        }),
        **_AMP,
        **_FILES,
        **_AUTO_PARALLEL,
    },
    "msnb.core": {"initializer": "msnb.nn.initializer:initializer"},
    "msnb.dataset": _placed({"msnb.train.callbacks.waited_callback": "WaitedDSCallback"}),
    "msnb.base.settings": _AUTO_PARALLEL,
    "msnb.parallel": {
        **_AUTO_PARALLEL,
        **_placed({
            "msnb.api.transforms.shard": "shard",
            "msnb.parallel.sharding.device_mesh": "Cluster Mesh",
            "msnb.parallel.sharding.layout": "Layout",
            "msnb.parallel.plans.plan": "Plan",
            "msnb.parallel.engine.planning_api": "plan",
            "msnb.parallel.engine.planned_function": "use",
            "msnb.parallel.engine.client.engine_client": "Engine",
            "msnb.parallel.engine.trainer": "Trainer",
            "msnb.parallel.engine.manual_plan": "PerRank",
            "msnb.parallel.engine.rank.sharded_checkpoint": "load_sharded",
            "msnb.core.tensor": "blank",
        }),
    },
    "msnb.nn": {
        "probability": "msnb.nn.probability",
        **_placed({
            "msnb.train.metrics":
                "Accuracy BleuScore ConfusionMatrix ConfusionMatrixMetric Dice F1 Fbeta HausdorffDistance Loss MAE "
                "MSE MeanSurfaceDistance Metric OcclusionSensitivity Perplexity Precision ROC Recall "
                "RootMeanSquareDistance Top1CategoricalAccuracy Top5CategoricalAccuracy TopKCategoricalAccuracy auc "
                "get_metric_fn get_metrics rearrange_inputs",
            "msnb.nn.mindspore.auto_parallel": "PipelineGradReducer",
            "msnb.nn.initializer": "no_init_parameters",
            "msnb.core.parameter": "Parameter ParameterTuple",
        }),
        **{f"{name}Ext": f"msnb.nn.mindspore.mint_layers:{name}" for name in _PYTORCH_LAYERS},
        "L1LossExt": "msnb.nn.training.loss:L1Loss",
        "Dropout2dExt": "msnb.nn.layers.basic:Dropout2d",
    },
    "msnb.ops": {
        **_TAYLOR,
        **_placed({
            "msnb.api": "grad value_and_grad vmap jvp vjp jacfwd jacrev GradOperation custom_vjp",
            "msnb.ops.mindspore.multitype_graph": "HyperMap Map MultitypeFuncGraph partial Partial",
            "msnb.ops.mindspore.sampling_primitives":
                "uniform_candidate_sampler log_uniform_candidate_sampler choice_with_mask "
                "multinomial_with_replacement randint_like",
            "msnb.api.compiler_hints": "constexpr",
            "msnb.api.python_op": "Custom",
            "msnb.api.transforms.custom_gradient": "HookBackward",
        }),
        **{f"tensor_{name}": f"msnb.ops:{name}" for name in ("add", "sub", "mul", "div", "pow", "mod")},
        "scalar_to_array": "msnb.core.tensor:Tensor",
    },
    "msnb.notebook.show.program_views": _placed({
        "msnb.notebook.show.plan_views": "aicore plan",
        "msnb.notebook.show.training_views": "confusion curves data features flow images lr_find watching",
    }),
    "msnb.train.model": _placed({"msnb.parallel.context": "ParallelMode"}),
    "msnb.train": {"amp": "msnb.train.amp", **_FILES, **_AMP},
}  # fmt: skip

_SAME = {
    "msnb.dataset.transforms": "c_transforms py_transforms transforms",
    "msnb.dataset": "core engine",
    "msnb.dataset.text": "transforms utils",
    "msnb.dataset.audio": "transforms utils",
    "msnb.dataset.vision": "transforms utils c_transforms py_transforms",
    "msnb.nn": "layer cell loss wrap transformer loss.loss utils wrap.cell_wrapper wrap.grad_reducer wrap.loss_scale",
    "msnb.ops": "composite function functional operations primitive",
    "msnb.train": "callback serialization",
}
"""Modules below a room whose names are the room's."""
MODULES = {
    **{f"{room}.{name}": room for room, names in _SAME.items() for name in names.split()},
    "msnb.amp": "msnb.train.amp",
    "msnb.communication": "msnb.parallel.engine.client.process_group_api",
    "msnb.communication.management": "msnb.parallel.engine.client.process_group_api",
    "msnb.context": "msnb.base.settings",
    "msnb.scipy": "msnb.numpy.scipy",
    "msnb.scipy.fft": "msnb.numpy.scipy.cosine_transforms",
    "msnb.scipy.linalg": "msnb.numpy.scipy.linalg",
    "msnb.scipy.optimize": "msnb.numpy.scipy.optimize",
    "msnb.dtype": "msnb.core.dtypes",
    "msnb.common": "msnb",
    "msnb.common.api": "msnb",
    "msnb.common.dtype": "msnb.core.dtypes",
    "msnb.common.generator": "msnb.core.random",
    "msnb.common.initializer": "msnb.nn.initializer",
    "msnb.common.parameter": "msnb.core.parameter",
    "msnb.common.seed": "msnb",
    "msnb.common.tensor": "msnb.core.tensor",
    "msnb.dataset.config": "msnb.dataset.pipeline.config",
    "msnb.dataset.samplers": "msnb.dataset.pipeline.samplers",
    "msnb.log": "logging",
    "msnb.runtime": "msnb.api.runtime",
    "msnb.mint": "msnb.ops.mindspore.mint",
    "msnb.mint.distributed": "msnb.parallel.engine.client.distributed",
    "msnb.mint.linalg": "msnb.ops.mindspore.mint_special",
    "msnb.mint.special": "msnb.ops.mindspore.mint_special",
    "msnb.mint.nn": "msnb.nn.mindspore.mint_layers",
    "msnb.mint.nn.functional": "msnb.ops.mindspore.mint_functional",
    "msnb.mindrecord": "msnb.dataset.sources.mindrecord",
    "msnb.nn.dynamic_lr": "msnb.optim.dynamic_lr",
    "msnb.nn.grad": "msnb.api",
    "msnb.nn.learning_rate_schedule": "msnb.optim.lr_schedules",
    "msnb.nn.metrics": "msnb.train.metrics",
    "msnb.nn.optim": "msnb.optim",
    "msnb.boost": "msnb.nn.training.gradient_accumulation",
    "msnb.experimental": "msnb.optim.experimental",
    "msnb.experimental.optim": "msnb.optim.experimental.optim",
    "msnb.experimental.optim.lr_scheduler": "msnb.optim.experimental.epoch_schedulers",
    "msnb.mint.optim": "msnb.optim.experimental.mint_methods",
    "msnb.parallel.auto_parallel": "msnb.nn.mindspore.auto_parallel",
    "msnb.parallel.nn": "msnb.nn.mindspore.auto_parallel",
    "msnb.ops.communication": "msnb.parallel.engine.client.distributed",
}

# below these paths MindSpore has one module per family; here a family's names are those of the whole room
_FAMILIES = {
    "msnb.nn.layer": "basic conv normalization pooling activation embedding container math rnns rnn_cells image",
    "msnb.nn.optim": "adam sgd momentum optimizer rmsprop lamb adagrad adadelta adamax ada_grad rprop asgd",
    "msnb.nn.metrics": "metric accuracy loss precision recall fbeta error topk confusion_matrix",
    "msnb.ops.operations": "comm_ops nn_ops math_ops array_ops random_ops other_ops image_ops _inner_ops",
    "msnb.ops.function": "math_func nn_func array_func clip_func linalg_func random_func parameter_func",
    "msnb.train.callback": "_callback _checkpoint _loss_monitor _time_monitor _lr_scheduler_callback _early_stop",
    "msnb.dataset.engine": "datasets samplers iterators datasets_user_defined datasets_standard_format datasets_vision",
}
MODULES |= {f"{room}.{family}": room for room, families in _FAMILIES.items() for family in families.split()}
MODULES |= {path: MODULES.get(room, room) for path, room in MODULES.items()}

_PART = "is not part of msnb yet"
_FRAMES = f"{_PART}; Pillow and imageio read and write files, GeneratorDataset takes what they give."
_LOADER = (
    "PyTorch's DataLoader is a chain here: ms.dataset.GeneratorDataset(source, ['x', 'y'], shuffle=True).batch(32), "
    "where source has __getitem__ and __len__."
)
_ROWS = f"{_PART}; GeneratorDataset takes any Python object with __getitem__ and __len__."
_DATA = {
    "msnb.dataset": {
        **dict.fromkeys(("DataLoader", "Dataset", "TensorDataset"), _LOADER),
        **dict.fromkeys(("OBSMindDataset", "Plugin"), _ROWS),
    },
    "msnb.dataset.vision": dict.fromkeys(
        ("DecodeVideo", "ReadVideo", "ReadVideoTimestamps"), _FRAMES),
}  # fmt: skip
SAID_MODULES = {
    **{f"{room}.{name}": said for room, names in _DATA.items() for name, said in names.items()},
    "msnb.train.callback.SummaryLandscape": f"{_PART}; ms.show draws trainings, History keeps their numbers.",
    "msnb.hal": f"{_PART}; ms.runtime has synchronize().",
    "msnb.parallel._utils": "is private to MindSpore; ms.get_auto_parallel_context('device_num') and friends say it.",
    "msnb.parallel._auto_parallel_context":
        "is private to MindSpore; ms.get_auto_parallel_context('gradients_mean') and friends say it.",
    "msnb.multiprocessing": f"{_PART}.",
    "msnb.rewrite": f"{_PART}.",
}  # fmt: skip

_TORCH = "PyTorch's {} is called {} here."


def _torch(there: str, here: str) -> str:
    return _TORCH.format(there, here)


_WISH = "PyTorch's requires_grad is for Parameters here; ms.grad(fn, grad_position) says what else to differentiate by."

_SCHEDULES = (
    "PyTorch's schedulers are the optimizer's learning_rate here: a schedule (nn.ExponentialDecayLR, nn.CosineDecayLR, "
    "nn.WarmUpLR ...) or a list with one rate per step (nn.piecewise_constant_lr ...)."
)
_CLIPS = (
    "PyTorch's clip_grad_norm_ gives new gradients here: gradients = ops.clip_by_global_norm(gradients, limit), or "
    "ops.clip_by_value(gradients, low, high)."
)
_PACKED = "PyTorch's pack_padded_sequence is an argument here: nn.LSTM(...)(x, seq_length=lengths)."

SAID: dict[str, dict[str, str]] = {
    **_DATA,
    "msnb": {
        **{path.partition(".")[2]: said for path, said in SAID_MODULES.items() if path.count(".") == 1},
        "SummaryLandscape": SAID_MODULES["msnb.train.callback.SummaryLandscape"],
        "get_grad": f"{_PART}; gradients come in the order of the parameters.",
        "fft": "is spelled ms.ops.fft, or ms.numpy.fft.fft as in NumPy.",
        "load_mindir": "is spelled ms.load: a file that ms.export wrote.",
        "no_grad": "is not needed: gradients are recorded inside ms.grad and ms.value_and_grad only.",
        **dict.fromkeys(("utils", "data"), _LOADER),
        "func": "PyTorch's torch.func is here ms.grad, ms.vmap, ms.vjp, ms.jvp, ms.jacrev, ms.jacfwd, ms.hessian.",
        "set_default_dtype": "PyTorch's set_default_dtype is dtype= here: float32 is the default; net.to_float(dtype).",
        "set_default_device": "PyTorch's set_default_device is called ms.set_context(device_target=...) here.",
        "cuda": "PyTorch's cuda is a device of the context here: ms.set_context(device_target='GPU').",
        "device": "PyTorch's device is a word of the context here: ms.set_context(device_target='CPU').",
        "float": "is spelled ms.float32.",
        "int": "is spelled ms.int32.",
        "bool": "is spelled ms.bool_.",
        "string": f"{_PART}: tensors hold numbers.",
        "long": "is spelled ms.int64.",
        "save": f"{_PART}; save_checkpoint stores a Cell or its state_dict(), pickle any Tensor or Cell.",
        "compile": "PyTorch's compile is called ms.jit here.",
        "autograd": "PyTorch's autograd.Function is a Cell with a bprop method here, or ms.custom_vjp(fn, bprop).",
        "checkpoint": "PyTorch's checkpoint is called ms.recompute here.",
        "custom_jvp": f"{_PART}; ms.custom_vjp(fn, bprop) gives a function a gradient of its own.",
        "lax": f"{_PART}: compiled functions take Python's own if, for and while, also on tensors.",
        "random": f"{_PART}; ops has randn, rand, randint, normal ..., and ms.set_seed.",
        **dict.fromkeys(
            ("tree_map", "tree_util", "tree"),
            f"{_PART}; gradients come in the trees of their arguments: write {{k: f(v) for k, v in params.items()}}.",
        ),
    },
    "msnb.base.settings": {},
    "msnb.optim": {"lr_scheduler": _SCHEDULES},
    "msnb.numpy": dict.fromkeys(
        ("histogram2d", "polyfit"), f"{_PART}; NumPy itself takes Tensors, outside compiled functions.",
    ),
    "msnb.nn": {
        "Module": "PyTorch's nn.Module is called nn.Cell here, and its forward is called construct.",
        "Sequential": _torch("nn.Sequential", "nn.SequentialCell"),
        "ModuleList": _torch("nn.ModuleList", "nn.CellList"),
        "ModuleDict": _torch("nn.ModuleDict", "nn.CellDict"),
        "functional": _torch("nn.functional", "ms.ops"),
        "init": "PyTorch's nn.init is called ms.common.initializer here: p.set_data(initializer('normal', p.shape)).",
        "utils": "PyTorch's nn.utils.clip_grad_norm_ is called ops.clip_by_global_norm(gradients, limit) here.",
        "ParameterList": _torch("nn.ParameterList", "ms.ParameterTuple"),
        "ConvTranspose2d": _torch("nn.ConvTranspose2d", "nn.Conv2dTranspose"),
        "ConvTranspose1d": _torch("nn.ConvTranspose1d", "nn.Conv1dTranspose"),
        "Hardswish": "is spelled nn.HSwish.",
        "Hardsigmoid": "is spelled nn.HSigmoid.",
        **dict.fromkeys(("StepLR", "MultiStepLR", "LambdaLR", "CosineAnnealingLR", "OneCycleLR"), _SCHEDULES),
        **dict.fromkeys(("clip_grad_norm_", "clip_grad_value_"), _CLIPS),
        **dict.fromkeys(("rnn", "pack_padded_sequence", "pad_packed_sequence"), _PACKED),
    },
    "msnb.ops": {
        "Primitive": f"{_PART}; a plug-in (entry point msnb.ops) brings an op of its own.",
        "PrimitiveWithInfer": f"{_PART}; a plug-in (entry point msnb.ops) brings an op of its own.",
        **dict.fromkeys(("clip_grad_norm", "clip_grad_norm_", "clip_grad_value_"), _CLIPS),
        **dict.fromkeys(
            ("NPUAllocFloatStatus", "NPUGetFloatStatus", "NPUClearFloatStatus"),
            f"{_PART}; amp.all_finite(gradients) tells an overflow, and a loss scaler acts on it.",
        ),
        **dict.fromkeys(
            ("ScalarSummary", "TensorSummary", "ImageSummary", "HistogramSummary"),
            f"{_PART}; callbacks such as SummaryCollector and History keep what a training gives.",
        ),
        "no_grad": "is not needed: gradients are recorded inside ms.grad and ms.value_and_grad only.",
        "as_tensor": _torch("as_tensor", "ms.tensor"),
        **dict.fromkeys(
            ("scan", "while_loop", "fori_loop", "cond", "Scan", "WhileLoop", "ForiLoop"),
            f"{_PART}: compiled functions take Python's own if, for and while, also on tensors.",
        ),
        "batch_dot": f"{_PART}; ops.bmm and ops.einsum compute it.",
    },
    "Tensor": {
        "backward": "PyTorch's backward() is a function here: ms.grad(fn)(x), or ms.value_and_grad(fn, None, params).",
        "grad": "PyTorch's x.grad is a result here: ms.grad(fn)(x) returns it.",
        "requires_grad": _WISH,
        "requires_grad_": _WISH,
        "data": "PyTorch's x.data is x.detach() to read; a Parameter takes values by set_data(...) or copy_(...).",
        "is_leaf": "PyTorch's is_leaf has no meaning here: gradients are asked for by ms.grad(fn)(x).",
        "element_size": _torch("element_size()", "itemsize"),
    },
    "Cell": {
        "forward": _torch("forward", "construct"),
        "parameters": _torch("parameters()", "trainable_params() or get_parameters()"),
        "named_parameters": _torch("named_parameters()", "parameters_and_names()"),
        "children": _torch("children()", "cells()"),
        "modules": _torch("modules()", "cells_and_names()"),
        "named_modules": _torch("named_modules()", "cells_and_names()"),
        "add_module": "PyTorch's add_module is an assignment here, or insert_child_to_cell(name, cell).",
        "register_parameter": "PyTorch's register_parameter is an assignment here: net.name = Parameter(...).",
        "weight": "PyTorch's weight is called embedding_table in an Embedding here, and gamma in a norm.",
        "bias": "PyTorch's bias is called beta in a norm here.",
        "running_mean": _torch("running_mean", "moving_mean"),
        "running_var": _torch("running_var", "moving_variance"),
        "train": _torch("train()", "set_train()"),
        "eval": _torch("eval()", "set_train(False)"),
        "zero_grad": "PyTorch's zero_grad() is not needed: ms.value_and_grad returns fresh gradients.",
        "half": _torch("half()", "to_float(ms.float16)"),
        "cuda": "PyTorch's cuda() is a word of the context here: ms.set_context(device_target='GPU').",
        "step": "PyTorch's optimizer.step() is a call here: optimizer(gradients).",
        "param_groups": "PyTorch's param_groups is called group settings here: dicts given to the optimizer.",
    },
}  # fmt: skip
