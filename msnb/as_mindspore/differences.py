"""Where MindSpore 2.10 and msnb give other answers to the same call, and which one holds under the alias.

The rule: MindSpore's answer holds where a program could otherwise go wrong without a word, or fail (dtypes of indices,
pairs of results, defaults). msnb's holds where MindSpore's loses information (means of integers, NaN through relu).
``answer`` is the function that gives MindSpore's; ``test`` is the test in ``tests/mindspore_alias`` that shows both.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Difference:
    """One row: a name, both answers, and which one holds.

    Attributes:
        name: with its module, as ``ops.argsort``; a name of the package itself has none, as ``grad``.
        mindspore, msnb: what each gives.
        holds: whose answer a program gets under the alias.
        why: the reason.
        test: the test that shows it.
        answer: "module:object" with MindSpore's answer; empty where msnb's holds.
    """

    name: str
    mindspore: str
    msnb: str
    holds: Literal["MindSpore", "msnb"]
    why: str
    test: str
    answer: str = ""


def _theirs(name: str, mindspore: str, msnb: str, why: str, test: str) -> Difference:
    place = f"msnb.as_mindspore.answers:{name.rpartition('.')[2]}"
    return Difference(name, mindspore, msnb, "MindSpore", why, test, place)


def _numpy(name: str, mindspore: str, msnb: str, why: str, test: str) -> Difference:
    place = f"msnb.as_mindspore.array_answers:{name}"
    return Difference(f"numpy.{name}", mindspore, msnb, "MindSpore", why, test, place)


def _ours(name: str, mindspore: str, msnb: str, why: str, test: str) -> Difference:
    return Difference(name, mindspore, msnb, "msnb", why, test)


def _each(make: Callable[..., Difference], home: str, names: str, *told: str) -> list[Difference]:
    """One row for each name of a module; ``told`` is all the rest of it."""
    return [make(home + name, *told) for name in names.split()]


_SILENT = "a program goes on with other values, without a word"
_DTYPE = "a dtype that differs spreads through a program and its checkpoints"
_PAIR = "a program takes the pair apart"

IN_TURN = {"AdagradV2": 3, "AdagradDA": 4, "Ftrl": 4, "FtrlV2": 4, "Momentum": 4, "ProximalGradientDescent": 5,
           "RMSProp": 5, "CenteredRMSProp": 9}  # fmt: skip
"""SparseApply...: where the indices stand among the inputs, behind the gradient."""
DIFFERENCES: tuple[Difference, ...] = (
    *_each(_theirs, "ops.", "argmin argsort sort topk cummin count_nonzero bucketize",
           "int32", "int64", _DTYPE, "test_dtype_of_indices"),
    *_each(_theirs, "", "ops.adaptive_max_pool3d nn.AdaptiveMaxPool3d ops.dense_to_sparse_coo",
           "int32", "int64", _DTYPE, "test_places_of_volumes_and_coordinates"),
    *_each(_theirs, "ops.", "hann_window kaiser_window",
           "float64", "float32, as the other windows", _DTYPE, "test_window_of_hann"),
    _theirs("ops.cross", "the first operand's dtype", "the wider of both", _DTYPE, "test_dtype_of_cross"),
    _theirs("ops.stop_gradient", "numbers stay; tuples, lists and dicts part by part", "one tensor of them", _DTYPE,
            "test_stop_gradient_of_others_than_tensors"),
    _theirs("nn.NaturalExpDecayLR", "rate per step", "per decay_steps, as its page", _SILENT, "test_natural_decay"),
    _theirs("nn.SoftmaxCrossEntropyWithLogits", "the gradient is softmax - labels", "the loss's, for any labels",
            _SILENT, "test_gradient_of_labels_whose_sum_is_not_one"),
    *_each(_theirs, "", "ops.index_add mint.index_add", "writes into x", "x stays", _SILENT, "test_index_add_writes"),
    Difference("Tensor.index_add", "writes into x", "x stays", "MindSpore", _SILENT, "test_index_add_writes",
               "msnb.as_mindspore.array_answers:_index_add"),
    _theirs("ops.clip_by_value", "a list gives a tuple; halves beside float32 bounds stay halves", "a list; float32",
            _DTYPE, "test_bounds_of_lists_and_halves"),
    *_each(_theirs, "", "ops.leaky_relu nn.LeakyReLU ops.hardtanh nn.Hardtanh ops.clip_by_value ops.relu6 nn.ReLU6 "
           "ops.hardswish nn.HSwish", "on a bound half of each gradient, or that from within", "that from outside",
           _SILENT, "test_gradients_on_a_bound"),
    *(Difference(f"ops.{name}", "on a bound the gradient from within", "from outside", "MindSpore", _SILENT,
                 "test_primitives_on_a_bound", f"msnb.as_mindspore.answers:Primitive{name}")
      for name in ("ReLU6", "HSwish")),
    *_each(_theirs, "ops.", "argmax argmin", "of all elements with keepdims: no axes", "every axis of size 1", _SILENT,
           "test_places_of_all_elements"),
    *_each(_theirs, "ops.", "lstsq cartesian_prod", "of a vector: a column", "a vector", _SILENT, "test_columns"),
    *_each(_theirs, "ops.", "exp2 copysign", "bfloat16 in, float32 out", "bfloat16 in, bfloat16 out", _DTYPE,
           "test_powers_and_signs_of_bfloat16"),
    *_each(_theirs, "", "ops.xlogy mint.xlogy",
           "halves by a number: float32", "halves", _DTYPE, "test_xlogy_of_a_number"),
    _theirs("ops.cov", "float16 in, float32 out", "float16 in, float16 out", _DTYPE, "test_covariance_of_halves"),
    _theirs("ops.bincount", "float32", "int64", _DTYPE, "test_counts_of_numpy"),
    _theirs("ops.multinomial", "int32", "int64", _DTYPE, "test_width_of_places"),
    _theirs("ops.bernoulli", "(input, p): input has the shape", "(p, shape)", _SILENT, "test_bernoulli"),
    *_each(_theirs, "ops.", "reduce_sum nansum cumsum trace",
           "int32 in, int32 out", "int32 in, int64 out", _DTYPE, "test_sums_of_int32"),
    _theirs("mint.nansum", "int32 in, int32 out", "int32 in, int64 out", _DTYPE, "test_sums_of_int32"),
    *_each(_theirs, "ops.", "max min", "(value, place 0)", "the value", _PAIR, "test_extreme_of_all_elements"),
    _theirs("ops.rms_norm", "(normalized, 1 / root mean square)", "normalized", _PAIR, "test_rms_norm"),
    *_each(_theirs, "ops.", "median nanmedian",
           "(values, places) along the last axis", "the value of all", _PAIR, "test_medians"),
    *_each(_theirs, "ops.", "div divide",
           "has rounding_mode=", "mint.div has it", "programs use it", "test_rounded_division"),
    _theirs("ops.round", "has decimals=", "mint.round has it", "programs use it", "test_rounded_division"),
    _theirs("ops.subtract", "has alpha=", "mint.subtract has it", "programs use it", "test_rounded_division"),
    _theirs("ops.unique", "(values as they come, places)", "the values in order", _PAIR, "test_unique"),
    *_each(_numpy, "", "argmin count_nonzero searchsorted digitize diag_indices tril_indices triu_indices "
           "tril_indices_from triu_indices_from unravel_index intersect1d",
           "int32", "int64", _DTYPE, "test_places_of_numpy"),
    _numpy("unique", "values as they come", "values in order", _SILENT, "test_unique_of_numpy"),
    _numpy("take", 'by itself and "clip": from -n to n - 1', 'an error; "clip": from 0', _SILENT,
           "test_places_outside_of_take"),
    _numpy("bincount", "float32", "int64", _DTYPE, "test_counts_of_numpy"),
    _numpy("indices", "a list", "a tensor", _PAIR, "test_lists_of_numpy"),
    *_each(_numpy, "", "atleast_1d atleast_2d atleast_3d",
           "of several: a list", "of several: a tuple", _PAIR, "test_lists_of_numpy"),
    *_each(_numpy, "", "split array_split hsplit vsplit dsplit", "between named places: a list", "a tuple", _PAIR,
           "test_parts_of_numpy"),
    _numpy("meshgrid", "a list", "a tuple", _PAIR, "test_parts_of_numpy"),
    _numpy("gradient", "halves in, float32 out", "halves in, halves out", _DTYPE, "test_halves_of_numpy"),
    _numpy("arctan2", "float16 by integers: float32", "float16", _DTYPE, "test_halves_of_numpy"),
    *_each(_numpy, "", "column_stack dstack hstack vstack",
           "one tensor stays", "its rows are stacked", _SILENT, "test_stacks_of_one_array"),
    *_each(_numpy, "", "cumsum cumprod nancumsum nansum",
           "int32 in, int32 out", "int32 in, int64 out", _DTYPE, "test_dtypes_of_numpy"),
    _numpy("polyval", "all but float64 is float32", "as an array of them", _DTYPE, "test_dtypes_of_numpy"),
    *_each(_numpy, "", "ceil fix sign trunc",
           "integers and bfloat16 in, float32 out", "the dtype stays", _DTYPE, "test_dtypes_of_numpy"),
    *_each(_numpy, "", "cov corrcoef norm nanmean nanvar nanstd unwrap",
           "float16 in, float32 out", "float16 in, float16 out", _DTYPE, "test_dtypes_of_numpy"),
    *_each(_numpy, "", "copysign heaviside",
           "integers in, integers out", "integers in, float32 out", _DTYPE, "test_dtypes_of_numpy"),
    _numpy("float_power", "float32", "float64, as NumPy", _DTYPE, "test_dtypes_of_numpy"),
    _numpy("full_like", "the dtype of a tensor that fills", "the dtype of a", _DTYPE, "test_dtypes_of_numpy"),
    *_each(_theirs, "ops.", "avg_pool1d avg_pool2d avg_pool3d",
           "stride 1", "the kernel's size", _SILENT, "test_stride_of_avg_pool"),
    *_each(_theirs, "ops.", "max_pool2d max_pool3d",
           "padding is fourth", "pad_mode is", "programs use it", "test_order_of_max_pool"),
    _theirs("ops.diag", "of a matrix: four axes", "of a matrix: its diagonal", _SILENT, "test_diag_of_a_matrix"),
    _theirs("ops.stack", "one tensor is one part", "its rows are stacked", _SILENT, "test_stack_of_one_tensor"),
    _theirs("ops.outer", "of a number: the shape of vec2", "[1, n]", _SILENT, "test_outer_of_a_number"),
    _theirs("ops.conv3d_transpose", "(inputs, weight, pad_mode, padding, stride ...)", "the order of conv3d",
            "programs use it", "test_order_of_conv_transpose2d"),
    _theirs("ops.conv_transpose2d", "PyTorch's order", "MindSpore's order of conv2d", "programs use it",
            "test_order_of_conv_transpose2d"),
    _theirs("ops.squeeze", "other sizes than 1 stay", "an error", "programs rely on it", "test_squeeze"),
    *_each(_theirs, "", "ops.interpolate ops.upsample nn.Upsample",
           "bicubic: slope -0.5, no weight outside the image", "slope -0.75, borders repeated", _SILENT,
           "test_cubics_between_pixels"),
    _numpy("squeeze", "other sizes than 1 stay", "an error", "programs rely on it", "test_squeeze"),
    _theirs("nn.CosineSimilarity", "a metric", "a layer", "it has no update", "test_cosine_similarity_is_a_metric"),
    _theirs("nn.Dropout", "Dropout(0.8) keeps 80%", "an error", "courses write it", "test_positional_dropout"),
    *_each(_ours, "ops.", "mean reduce_mean std var",
           "integers, cut off", "float32", "a mean cut off is wrong", "test_means_of_integers"),
    *_each(_ours, "numpy.", "std var", "the mean of integers, cut off", "float32", "it is of other numbers",
           "test_deviations_of_integers"),
    *_each(_ours, "numpy.", "select ediff1d clip", "what comes to integers, cut off", "float32", "0.5 becomes 0",
           "test_cut_off_beside_integers"),
    _ours("numpy.logaddexp2", "powers of integers, cut off", "float32", "2 ** -1 becomes 0",
          "test_cut_off_beside_integers"),
    _ours("mint.mean", "integers, cut off", "float32", "a mean cut off is wrong", "test_means_of_integers"),
    *_each(_ours, "numpy.", "mean average exp2 reciprocal",
           "integers, cut off", "float32", "a mean cut off is wrong", "test_cut_off_in_numpy"),
    *_each(_ours, "numpy.", "divide true_divide trapz round",
           "float64 in, float32 out", "float64 in, float64 out", "digits are lost", "test_digits_of_numpy"),
    *_each(_ours, "numpy.", "sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh",
           "8 bits and bool in, float16 out", "float32", "digits are lost", "test_digits_of_numpy"),
    *_each(_ours, "numpy.", "maximum minimum",
           "integers by 1.5: cut off", "float32", "1.5 becomes 1", "test_cut_off_in_numpy"),
    *_each(_ours, "ops.", "abs norm vector_norm matrix_norm svd slogdet",
           "complex in, complex out", "the real number", "sizes are compared, complex numbers not",
           "test_sizes_of_complex_numbers"),
    _ours("numpy.ravel_multi_index", "float32", "int64", "float32 has no place above 2**24", "test_digits_of_numpy"),
    *_each(_ours, "ops.", "relu maximum sign",
           "0", "NaN", "a NaN that becomes 0 hides an overflow", "test_nan_stays"),
    *_each(_ours, "ops.", "selu hardsigmoid",
           "integers", "float32", "the slope is cut off to 0 there", "test_activations_of_integers"),
    *_each(_theirs, "", "grad value_and_grad ops.grad ops.value_and_grad ops.GradOperation vjp ops.vjp",
           "in integers", "an error", "courses and tests do it", "test_gradients_by_integers"),
    *_each(_theirs, "", "grad value_and_grad",
           "of (0,): the gradient; others than tensors left out", "of (0,): a tuple; others: an error",
           _PAIR, "test_gradients_by_one_position"),
    _ours("ops.cast", "to integers or bool: hands the gradient on, cut off", "ends it: 0",
          "a step has no slope; what is cut off adds up wrong", "test_gradients_through_integers"),
    _ours("nn.probability.distribution.Gumbel", "kl_loss without (loc_a - loc_b) / scale_b", "with it",
          "theirs is no divergence: it gets below 0", "test_divergence_of_gumbel"),
    *_each(_ours, "", "nn.FTRL ops.ApplyFtrl", "l1 pushes weights up from 0", "l1 pulls all weights to 0",
           "its page and its own SparseApplyFtrl say so", "test_pull_of_ftrl"),
    _ours("common.initializer.VarianceScaling", "truncated_normal: uniform", "a normal distribution, cut off",
          "its name and its page say so; the deviation is the same", "test_truncated_first_values"),
    _ours("common.initializer.Normal", "np.random.seed begins its draws anew", "set_seed alone does",
          "ranks that are threads share NumPy's stream: no run is as the other", "test_first_values_and_numpys_seed"),
    _ours("common.initializer.Constant", "of a tensor: it stays, without a word", "it is filled, as an array is",
          "who writes that wants it filled", "test_first_values_into_a_tensor"),
    *(
        Difference(f"train.{name}.add", "the sum over all elements by the number of rows", "the mean of all elements",
                   "MindSpore", _SILENT, "test_errors_by_row", "msnb.as_mindspore.array_answers:_add_rows")
        for name in ("MAE", "MSE")
    ),
    _theirs(
        "ops.assign", "ends gradients, so does p = v", "hands gradients on", _SILENT, "test_gradients_of_assignments"
    ),
    *_each(_theirs, "ops.", "lu_solve lu_unpack LuSolve LuUnpack",
           "pivots from 1", "pivots from 0, as scipy.linalg.lu_factor gives", _SILENT, "test_pivots_of_lu"),
    *(
        Difference(f"ops.SparseApply{name}", "gradients of one row one after another", "once, their sum", "MindSpore",
                   _SILENT, "test_rows_that_come_back", f"msnb.as_mindspore.functional_names:SparseApply{name}")
        for name in IN_TURN
    ),
    *_each(_theirs, "", "save_checkpoint train.save_checkpoint",
           ".ckpt is protobuf", ".ckpt is safetensors", "MindSpore must load it", "test_checkpoints"),
    *_each(_theirs, "", "load_param_into_net train.load_param_into_net",
           "strict_load=True: dtypes; names that do not fit are given back", "names too; others raise",
           "a program loads files with more names, and says so", "test_names_of_strict_loading"),
    Difference("Tensor.repeat", "x.repeat(2): the tensor twice, as tile", "every element twice, as NumPy", "MindSpore",
               _SILENT, "test_repeats", "msnb.as_mindspore.array_answers:_repeat"),
    Difference("Tensor.__invert__", "~x of numbers: bool, where they are 0", "their bits, turned over; no floats",
               "MindSpore", _SILENT, "test_inversion_of_numbers", "msnb.as_mindspore.array_answers:exchange"),
    *(Difference(f"Tensor.{name}", f"beside a list or tuple: {found}", "element by element", "MindSpore", _SILENT,
                 "test_lists_beside_a_tensor", "msnb.ops.tensor.operators:tell_lists_from_tensors")
      for name, found in (("__eq__", False), ("__ne__", True))),
    *(Difference(f"Tensor.{name}", "a pair in PyNative mode, the values in Graph mode: in both a pair that computes as "
                 "its values do", "a pair, which does not compute", "MindSpore", "programs of either mode",
                 "test_extremes_compute", "msnb.as_mindspore.array_answers:ReductionResult")
      for name in ("max", "min")),
    Difference("Tensor.__contains__", "[1] in x and an array in x: False", "whether they equal an element", "MindSpore",
               _SILENT, "test_lists_in_a_tensor", "msnb.as_mindspore.array_answers:_contains"),
    _ours("nn.Conv2dTranspose", "output_padding: zeros", "the sums that lie there", "its other devices and PyTorch",
          "test_output_padding"),
    _ours("nn.Momentum", "use_nesterov changes nothing on a CPU", "it looks ahead", "their own page says so",
          "test_nesterov"),
    *_each(_ours, "ops.", "mul true_divide", "float16 by a 0-d float32 tensor: float16", "float32",
           "digits are lost, against its own rule of conversion: ops.add gives float32", "test_halves_by_a_number"),
    _ours("ops.any", "of uint8: uint8; along an axis of floats: False", "bool", "its CPU kernel reads bytes",
          "test_truth_of_numbers"),
    _ours("Parameter", "its uses while requires_grad is False have no gradient", "the state after the run counts",
          "a program has one state", "test_a_parameter_that_is_off_for_a_while"),
    *_each(_ours, "ops.", "l1_loss clip_by_norm dist inv addcmul", "integers, cut off", "float32",
           "a fraction cut off is wrong", "test_fractions_of_integers"),
    *_each(_ours, "ops.", "le less_equal gt greater ge greater_equal maximum minimum clamp clip",
           "uint8 by -1: -1 counts as 255", "-1 is below 0", "a comparison of other numbers", "test_bytes_by_numbers"),
    *_each(_ours, "ops.", "bessel_k0 bessel_k0e bessel_k1 bessel_k1e bessel_y0 bessel_y1", "below 0: infinite", "NaN",
           "they have no value there", "test_bessel_below_zero"),
    *_each(_ours, "ops.", "norm std pow cumprod atan2", "at 0 the gradient is NaN", "0, or the limit",
           "one row of zeros spoils all weights", "test_gradients_at_zero"),
    *_each(_ours, "", "ops.selu nn.SeLU", "the gradient below 0 is too low by 0.8", "scale alpha exp(x)",
           "theirs is no derivative", "test_gradient_of_selu"),
    _ours("ops.kl_div", "no gradient by the target", "its gradient", "what is missing is lost",
          "test_gradient_of_targets"),
    _ours("ops.cholesky_inverse", "reads both triangles", "the one that upper= names", "a factor has one",
          "test_triangle_of_a_factor"),
    _ours("ops.full", "without dtype: int64, 1.5 becomes 1", "the dtype of the number", "1.5 becomes 1",
          "test_full_of_a_number"),
    _ours("ops.LayerNorm", "float64: statistics in float32", "in float64", "digits are lost",
          "test_statistics_of_layer_norm"),
    _ours("ops.is_nonzero", "a Python bool", "a bool tensor", "works in compiled functions too", "test_is_nonzero"),
    _ours("ops.allclose", "a Python bool", "a bool tensor", "works in compiled functions too", "test_allclose"),
)  # fmt: skip


def answers() -> dict[str, dict[str, str]]:
    """Module of msnb -> name -> the place of MindSpore's answer."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for row in DIFFERENCES:
        module, _, name = row.name.rpartition(".")
        if row.holds == "MindSpore":
            home = "ops.mindspore.mint" if module == "mint" else module
            found[f"msnb.{home}".rstrip(".")][name] = row.answer
    return dict(found)


ANSWERS = answers()
