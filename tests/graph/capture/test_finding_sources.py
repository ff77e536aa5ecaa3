"""Where the source of a function may come from, and that the right one is found."""

from __future__ import annotations

import ast
import functools
import subprocess
import sys
import textwrap
from typing import Any

import pytest

import msnb as ms
from msnb.graph.capture import register_source
from msnb.graph.capture.frontend import converter, function_source

X = ms.Tensor([1.0, -2.0, 3.0])


def same(fn: Any, *args: Any) -> None:
    assert ms.jit(fn)(*args).tolist() == fn(*args).tolist()


def test_lambdas_on_one_line() -> None:
    first, second, third = (lambda x: x + 1), (lambda x: x - 1), (lambda x: x * 1)
    same(first, X)
    same(second, X)
    same(third, X)


def twice(fn: Any) -> Any:
    @functools.wraps(fn)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs) * 2

    return wrapper


@twice
def decorated(x: Any, k: float = 3.0) -> Any:
    return x * k if x.sum() > 0 else x


def test_decorated_partial_and_callable_objects() -> None:
    class Scale:
        def __init__(self, k: float) -> None:
            self.k = k

        def __call__(me, x: Any) -> Any:
            return x * me.k if x.sum() > 0 else -x

    same(decorated, X)
    same(functools.partial(decorated, k=5.0), X)
    same(Scale(2.0), X)
    same(Scale(2.0), -X)


class Base:
    def go(self, x: Any) -> Any:
        return x * 2


class Child(Base):
    def __init__(self) -> None:
        self.__k = 3.0

    def go(this, x: Any) -> Any:
        if x.sum() > 0:
            return super().go(x) + this.__k
        return super().go(x)


def test_super_and_private_names_share_the_class_cell() -> None:
    same(Child().go, X)
    same(Child().go, -X)


def test_recursion_through_its_own_global_name() -> None:
    same(power, X, 3)


def power(x: Any, n: int) -> Any:
    return x if n == 0 else power(x * 2, n - 1)


def test_exec_and_eval() -> None:
    space: dict[str, Any] = {}
    exec("def f(x):\n    if x.sum() > 0:\n        return x * 2\n    return x\n", space)
    same(space["f"], X)
    same(eval("lambda x: x * 2 if x.sum() > 0 else -x"), -X)


def test_registered_source() -> None:
    text = "def f(x):\n    return x * 7 if x.sum() > 0 else x\n"
    space: dict[str, Any] = {}
    register_source("<a cell>", text)
    exec(compile(text, "<a cell>", "exec"), space)
    same(space["f"], X)


def run_python(*command: str, text: str = "") -> str:
    done = subprocess.run([sys.executable, *command], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


PROGRAM = textwrap.dedent(
    """
    import msnb as ms
    @ms.jit
    def f(x):
        if x.sum() > 0:
            return x * 2
        return x
    print(f(ms.Tensor([1.0])).tolist())
    """
)


@pytest.mark.long
def test_command_line() -> None:
    assert run_python("-c", PROGRAM) == "[2.0]"
    assert run_python("-c", "import msnb as ms; print(ms.jit(lambda x: x * 2)(ms.Tensor([1.0])).tolist())") == "[2.0]"


@pytest.mark.long
def test_standard_input_from_a_file(tmp_path: Any) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    with path.open() as file:
        done = subprocess.run([sys.executable], stdin=file, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[2.0]", done.stderr


def test_source_that_cannot_be_found() -> None:
    space: dict[str, Any] = {}
    tree = ast.parse("def g(x):\n    return x + 41\n")
    exec(compile(tree, "<from a tree>", "exec"), space)
    with pytest.raises(ms.MsnbError, match="source of g cannot be found"):
        ms.jit(space["g"])(X)


@pytest.mark.long
def test_trees_that_others_have_written_on() -> None:
    """Operators are one object for all trees of Python; IPython's tracebacks hang the parent of a node on each."""
    program = "import ast\nfor node in ast.walk(ast.parse('a > b and not c + d')):\n"
    program += "    for child in ast.iter_child_nodes(node):\n        child.parent = node\n"
    program += "import msnb as ms\ndef f(x):\n    return x if x.sum() + 1 > 0 and not x.max() > 9 else -x\n"
    assert run_python("-c", program + "print(ms.jit(f)(ms.Tensor([1.0])).tolist())") == "[1.0]"


@pytest.mark.long
def test_a_text_that_was_compiled_before_msnb_could_listen() -> None:
    program = "import msnb as ms\ndef f(x):\n    return x * 2\ntry:\n    ms.jit(f)(ms.Tensor([1.0]))\n"
    program += "except ms.MsnbError as e:\n    print(str(e).splitlines()[:2])"
    found = run_python("-c", f"exec({program!r})")
    assert "source of f cannot be found" in found and "import msnb before" in found


def test_an_edited_file_is_refused(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "edited_module.py"
    path.write_text("def f(x):\n    return x + 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    import edited_module  # type: ignore[import-not-found]

    path.write_text("def f(x):\n    return x - 1000\n")
    with pytest.raises(ms.MsnbError, match="has changed since it was defined"):
        ms.jit(edited_module.f)(X)


def test_conversion_leaves_the_source_as_it_is() -> None:
    def outer(x: Any) -> Any:
        def inner(y: Any) -> Any:
            return y * 2 if y.sum() > 0 else -y

        return [inner(x) for _ in range(2)][0]

    before = ast.dump(function_source.find(outer.__code__).node, include_attributes=True)
    converter._converted_anew(outer.__code__)
    assert ast.dump(function_source.find(outer.__code__).node, include_attributes=True) == before
    same(outer, X)
