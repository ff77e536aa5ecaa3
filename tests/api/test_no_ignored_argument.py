"""No argument of a public function is ignored in silence: the body reads it, or there is a reason here."""

from __future__ import annotations

import ast
import functools
import inspect
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import msnb as ms
import msnb.dataset as ds
from msnb import ops
from msnb.base import missing_names
from msnb.dataset import text, transforms, vision
from msnb.ops.indexing import parameter_scatter
from msnb.ops.mindspore.primitive_classes import _POSITIONAL, _TABLE

ROOT = str(Path(ms.__file__).parent)
MODULES = [ms, ms.nn, ms.ops, ms.numpy, ms.amp, ms.train, ms.parallel, ms.mindrecord, ds, text, transforms, vision]

ALLOWED = {
    "Identity(args)": "those of the layer that it stands for, as in PyTorch and MindSpore",
    "Identity(kwargs)": "those of the layer that it stands for, as in PyTorch and MindSpore",
    "Cell.init_parameters_data(auto_parallel_mode)": "Parameters have their data from the start, in every mode",
    "Dropout(dtype)": "MindSpore's layer does not read it either: the result has the dtype of the input",
    "Tensor.init_data(args)": "a tensor has its values from the start",
    "Tensor.init_data(kwargs)": "a tensor has its values from the start",
    "Tensor.move_to(blocking)": "False permits waiting later; the copy is complete when it is used",
    "Parameter.copy_(non_blocking)": "True permits waiting later; the copy is complete when it is used",
    "Tensor.argsort(stable)": "False permits equal elements in any order; they keep theirs",
    "Tensor.sort(stable)": "False permits equal elements in any order; they keep theirs",
    "Tensor.unique(sorted)": "False permits any order; these are in order",
    "Optimizer.prepare(step)": "an interface: optimizers that need the number of steps write it",
    "argsort(stable)": "False permits equal elements in any order; they keep theirs",
    "constexpr(check)": "what is computed while a program is captured is checked there",
    "constexpr(name)": "such a function leaves no node that could carry a name",
    "constexpr(reuse_result)": "a program keeps what was computed while it was captured",
    "depend(expr)": "that it was computed is the point",
    "lazy_inline(attrs)": "a hint for a compiler; results do not depend on it",
    "sort(stable)": "False permits equal elements in any order; they keep theirs",
    "CTCLossV2.fn(zero_infinity)": "MindSpore's loss is infinite either way; there is no gradient",
    "IndexAdd.fn(check_index_bound)": "indices are always checked",
    "BatchNormGrad.fn(reserve)": "what MindSpore's kernels keep for themselves; x, mean and variance tell it all",
    **{f"{name}CandidateSampler.fn(num_true)": "the classes say it: [batch, num_true]"
       for name in ("LogUniform", "Uniform")},
    "Range.fn(maxlen)": "a bound for memory that MindSpore takes before it knows the size",
    **{f"SparseMatrixNNZ.fn({name})": "the places where matrices of a batch begin say it"
       for name in ("indices", "indptr", "shape", "values")},
    **{f"{name}(use_locking)": "a program writes a Parameter at one place at a time: there is nothing to lock"
       for name in parameter_scatter.__all__},
}  # fmt: skip


@functools.cache
def definitions(path: str) -> dict[tuple[int, str], ast.FunctionDef]:
    """The functions of a file, by line (of the first decorator, as code objects have it) and name."""
    found = {}
    for node in ast.walk(ast.parse(Path(path).read_text())):
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            found[first, node.name] = node
    return found


def unread(node: ast.FunctionDef) -> list[str]:
    """Parameters that the body never reads. A body that only refuses reads nothing and ignores nothing."""
    body = [n for n in node.body if not (isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant))]
    if all(isinstance(n, ast.Raise | ast.Pass) for n in body):
        return []
    args = node.args
    names = [a.arg for a in [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg] if a]
    inside = [n for part in body for n in ast.walk(part)]
    read = {n.id for n in inside if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Store)}
    if "locals" in read:
        return []
    return [name for name in names if name not in read and name not in ("self", "cls") and name[0] != "_"]


def public() -> Iterator[tuple[str, Any, type | None]]:
    """Functions, and methods of classes with the class."""
    for name in (*_TABLE, *_POSITIONAL):  # classes of operators are made when they are named
        getattr(ops, name)
    for module in MODULES:
        for name in {*dir(module), *missing_names.MOVED.get(module.__name__, {})}:
            if name.startswith("_"):
                continue
            value = getattr(module, name)
            if isinstance(value, type):
                for method, what in vars(value).items():
                    if method[0] != "_" or method in ("__init__", "__call__", "__new__"):
                        yield f"{value.__name__}.{method}".removesuffix(".__init__"), what, value
            elif callable(value):
                yield getattr(value, "__name__", name), value, None


def overrides(kind: type | None, method: str) -> bool:
    """Has a class above a method of this name? Then the parameters are the interface's."""
    return kind is not None and method not in ("__init__", "__new__") and any(
        method in vars(base) for base in kind.__mro__[1:-1]
    )  # fmt: skip


def ignored() -> dict[str, str]:
    """``function(parameter)`` and where it is defined."""
    found = {}
    for name, value, kind in public():
        fn = (
            inspect.unwrap(getattr(value, "__func__", value)) if callable(value) or hasattr(value, "__func__") else None
        )
        code = getattr(fn, "__code__", None)
        if not isinstance(fn, types.FunctionType) or code is None or not code.co_filename.startswith(ROOT):
            continue
        node = definitions(code.co_filename).get((code.co_firstlineno, code.co_name))
        if node is not None and not overrides(kind, code.co_name):
            found.update({f"{name}({p})": f"{code.co_filename}:{node.lineno}" for p in unread(node)})
    return found


# operator classes of optimizers, there once a program has named them: a Parameter is written at one place at a time
OF_PRIMITIVES = ".fn(use_locking)"


@pytest.mark.long
def test_every_argument_has_an_effect_or_a_reason() -> None:
    found = ignored()
    new = {what: where for what, where in found.items() if what not in ALLOWED and not what.endswith(OF_PRIMITIVES)}
    assert not new, "read them, refuse them, or say once (events.notice) that they have no effect here"
    assert not ALLOWED.keys() - found.keys(), "reasons for what is no longer ignored"


def test_an_ignored_argument_is_seen() -> None:
    source = "def f(a, b, *c, d=1, **e):\n    '''Words.'''\n    b = a\n    return [d for _ in (a,)]\n"
    node = ast.parse(source).body[0]
    assert isinstance(node, ast.FunctionDef) and unread(node) == ["b", "c", "e"]
    refuses = ast.parse("def f(a):\n    '''Words.'''\n    raise TypeError\n").body[0]
    assert isinstance(refuses, ast.FunctionDef) and unread(refuses) == []
