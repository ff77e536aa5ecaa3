"""The magics through an IPython shell: what they show, bind, complete and refuse."""

from __future__ import annotations

import re

import numpy as np
import pytest

import msnb as ms
from msnb.base import events
from msnb.base.errors import ArgumentError, MsnbError, ShapeError, UnsupportedSyntaxError
from msnb.notebook.errors.error_view import report
from msnb.notebook.extension import NAMES, OPTIONS
from msnb.notebook.views.view import GraphView
from tests.kernels import executed
from tests.shells import fresh_shell, run

CELLS = ("ms_graph", "ms_eager")


@pytest.fixture
def shell(capsys):
    with fresh_shell() as shell:
        shell.run_line_magic("load_ext", "msnb")
        start = "import msnb as ms\nx = ms.Tensor([1.0, 2.0])\ndef f(a, k=2.0):\n    return a * k + 1"
        shell.run_cell(start, store_history=True)
        yield shell


def test_mode(shell):
    assert repr(run(shell, "%ms_mode")).startswith("eager mode")
    assert repr(run(shell, "%ms_mode graph")).startswith("graph mode")
    assert ms.get_context("mode") == ms.GRAPH_MODE
    run(shell, "%ms_mode eager")
    assert ms.get_context("mode") == ms.PYNATIVE_MODE


def test_ir_shows_the_call_and_the_cell(shell):
    view = run(shell, "%ms_ir f(x, k=3.0)")
    assert isinstance(view, GraphView)
    assert view.text.startswith("graph f(a: f32[2], k: ~f64[]) -> (f32[2])\n  %1 = multiply(a, k) : f32[2]")
    assert "# cell [1] line 4" in view.text


def test_ir_does_not_run_the_function(shell):
    run(shell, "p = ms.Parameter(ms.Tensor([1.0]), name='p')")
    run(shell, "def step(x):\n    p.set_data(p + x.sum())\n    return p * 2")
    view = run(shell, "%ms_ir step(x)")
    assert "state" in view.text
    assert shell.user_ns["p"].asnumpy().tolist() == [1.0]


def test_ir_of_a_graph(shell):
    shell.user_ns["view"] = run(shell, "%ms_ir f(x)")
    assert run(shell, "%ms_ir view").text == shell.user_ns["view"].text
    assert run(shell, "%ms_ir view.graph").text == shell.user_ns["view"].text


def test_optimised(shell):
    run(shell, "def g(a):\n    return (a * 1.0) - (-a)")
    assert "negative" in run(shell, "%ms_ir g(x)").text
    text = run(shell, "%ms_ir --optimised g(x)").text
    assert "negative" not in text


def test_grad(shell):
    run(shell, "def loss(w):\n    return (w * w).sum()")
    view = run(shell, "%ms_grad loss(x)")
    assert view.text.startswith("graph `grad(loss)`(w: f32[2]) -> (f32[2])")
    assert ms.show.grad(shell.user_ns["loss"], shell.user_ns["x"]).text == view.text


CELL = "%%ms_graph {} \ndef helper(v):\n    return v * 2\n\ndef g(v):\n    return helper(v) + 1"


def test_graph_cell_binds_compiled_functions(shell):
    view = run(shell, CELL.format("--args x -o shown"))
    assert view.text.startswith("graph g(v: f32[2])")
    assert "# cell [2] line 3" in view.text
    assert shell.user_ns["shown"] is view
    assert (shell.user_ns["g"](shell.user_ns["x"]).asnumpy() == np.array([3, 5])).all()
    assert shell.user_ns["helper"](shell.user_ns["x"]).asnumpy().tolist() == [2, 4]


def test_graph_cell_shows_the_function_asked_for(shell):
    assert run(shell, CELL.format("helper --args x")).text.startswith("graph helper(v: f32[2])")
    assert run(shell, CELL.format("--args x --quiet")) is None
    assert repr(run(shell, CELL.format(""))) == "helper, g: compiled when called; --args shows a graph"


def test_times_only_when_asked(shell):
    assert " ms" not in repr(run(shell, CELL.format("--args x")))
    view = run(shell, CELL.format("--args x --times"))
    assert "captured: " in repr(view)
    assert view.compiled.timings["compile"] >= 0


def test_quoted_arguments(shell):
    assert "w: f32[2], k: ~f64[]" in run(shell, "%%ms_graph --args 'x, 2.5'\ndef h(w, k):\n    return w * k").text


@pytest.mark.parametrize(
    ("cell", "sentence"),
    [
        ("%ms_ir f(x", "%ms_ir takes a call such as"),
        ("%ms_ir 1 + 1", "%ms_ir takes a call such as"),
        ("%ms_grad", "%ms_grad takes a call such as"),
        ("%ms_passes f(", "%ms_passes takes a call such as"),
        ("%ms_diff f(x), f(x)", "%ms_diff takes a call such as"),
        ("%ms_step --stop tanh f(x)", "at the breakpoint 'tanh'"),
        ("%ms_compare f(x)", "takes two calls such as"),
        ("%ms_explain f", "compiled with jit"),
        ("%ms_profile --times --repeats 0 f(x)", "at least one repeat"),
        ("%%ms_graph\nx = 1", "found no function in the cell"),
        ("%%ms_graph nope\ndef f(): pass", "the cell defines no function 'nope'; it defines f"),
    ],
)
def test_mistakes_are_real_errors(shell, cell, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        run(shell, cell)


def test_a_wrong_program_points_into_the_cell(shell, capsys):
    run(shell, "def bad(a):\n    return a + ms.Tensor([1.0, 2.0, 3.0])")
    for cell in ("bad(x)", "%ms_ir bad(x)"):
        result = shell.run_cell(cell, store_history=True)
        assert isinstance(result.error_in_exec, ShapeError)
        out = capsys.readouterr().out
        assert "at cell [2] line 2" in out
        assert "^^^" in out
        assert "Traceback" not in out
        assert "dispatch" not in out


def test_refused_syntax_gets_a_short_report(shell, capsys):
    shell.user_ns["E"] = UnsupportedSyntaxError
    shell.run_cell("raise E('no such statement in graph mode.', hint='write a loop.')", store_history=True)
    out = capsys.readouterr().out
    head = "UnsupportedSyntaxError: no such statement in graph mode.\n  hint: write a loop.\nat cell [2]"
    assert out.startswith(head)


def test_reports_name_the_users_line_when_the_error_does_not():
    try:
        raise MsnbError("wrong.")
    except MsnbError as error:
        lines = report(error)
    assert lines[0] == "MsnbError: wrong."
    assert lines[1].startswith("at test_magics.py line ")


@pytest.mark.parametrize(
    ("line", "words"),
    [("%%ms_graph --a", ["--args"]), ("%ms_mode g", ["graph"]), ("%ms_ir --o", ["--optimised"]),
     ("%ms_profile --t", ["--times"]), ("%ms_step --s", ["--stop"]), ("%ms_diff --g", ["--gradient"])],
)  # fmt: skip
def test_options_complete(shell, line, words):
    assert shell.complete(line.split()[-1], line, len(line))[1] == words


@pytest.mark.parametrize("name", NAMES)
def test_every_magic_has_help(shell, name):
    kind = "cell" if name in CELLS else "line"
    doc = shell.find_magic(name, kind).__doc__
    assert "Example:" in doc
    assert re.search(rf"%{name}( [\[.]|\n)", doc)


def test_every_magic_completes_all_its_options(shell):
    for name in NAMES:
        cell = name in CELLS
        words = OPTIONS[f"{'%%' if cell else '%'}{name}"]
        doc = shell.find_magic(name, "cell" if cell else "line").__doc__
        found = set(re.findall(r"--[a-z-]+", doc))
        assert found == {word for word in words if word.startswith("--")}, name


@pytest.mark.parametrize(
    ("line", "kind", "words"),
    [
        ("%ms_passes f(x)", "passes", "captured"),
        ("%ms_passes --gradient --only-changed g(x)", "passes", "captured"),
        ("%ms_diff --tol 1e-6 f(x, k=3.0)", "diff", "eager and graph agree"),
        ("%ms_mem f(x)", "memory", "held at the peak"),
        ("%ms_mem --gradient --raw g(x)", "memory", "held at the peak"),
        ("%ms_mem --arena f(x)", "memory", "arena"),
        ("%ms_profile f(x)", "profile", "cell [1] line 4"),
        ("%ms_profile --times --repeats 2 f(x)", "profile", "median of 2 runs"),
        ("%ms_step --stop 4 -o steps f(x)", "step", "breakpoint line 4"),
        ("%ms_step --stop %1 f(x)", "step", "breakpoint 1"),
        ("%ms_explain j", "explain", "first call"),
        ("%ms_compare f(x), f(x, k=3)", "compare", "only in the first"),
    ],
)
def test_view_magics(shell, line, kind, words):
    run(shell, "def g(a):\n    return (a * a).sum()\nj = ms.jit(f)\n_ = j(x)")
    view = run(shell, line)
    assert view.kind == kind
    assert words in repr(view)
    if "-o steps" in line:
        assert [e.op for e in shell.user_ns["steps"]] == ["multiply", "add"]


def test_steps_and_costs_point_into_the_cell(shell):
    assert run(shell, "%ms_step --stop 4 f(x)").run().place == "cell [1] line 4"
    assert [c.place for c in run(shell, "%ms_profile f(x)").lines] == ["cell [1] line 4"]


def test_graphs_show_themselves(shell):
    data, _ = shell.display_formatter.format(run(shell, "%ms_ir f(x)").graph)
    assert data["text/plain"].startswith("graph f(")
    assert "image/svg+xml" in data


def test_tensors_show_their_images_while_loaded(shell):
    image = ms.ops.ones((28, 28))
    assert "data:image" in shell.display_formatter.format(image)[0]["text/html"]
    shell.run_line_magic("unload_ext", "msnb")
    assert "data:image" not in shell.display_formatter.format(image)[0]["text/html"]
    shell.run_line_magic("load_ext", "msnb")


def test_unload_takes_everything_back(shell):
    shell.run_line_magic("unload_ext", "msnb")
    assert shell.find_cell_magic("ms_graph") is None
    assert not hasattr(MsnbError, "_render_traceback_")
    shell.run_line_magic("load_ext", "msnb")


@pytest.mark.slow
def test_in_a_real_kernel():
    _, seen, failed = executed(
        "%load_ext msnb\nimport msnb as ms",
        "%%ms_graph --args 'ms.Tensor([1.0])'\ndef f(x):\n    return x * 2",
        "f(ms.Tensor([1.0, 2.0]) @ ms.Tensor([1.0]))",
        allow_errors=True,
    )
    assert "# cell [2] line 3" in seen.outputs[0].data["text/plain"]
    assert failed.outputs[0].ename == "ShapeError"
    assert "at cell [3] line 1" in failed.outputs[0].evalue


@pytest.mark.parametrize(
    ("line", "kind", "words"),
    [
        ("%ms_roofline f(x)", "roofline", "predicted on a model machine"),
        ("%ms_plan --devices 4 -o laid f(x)", "plan", "= 4 devices"),
        ("%ms_aicore --tile 64,128,64 -o laid 128 len(x)*128 64", "aicore", "simulated"),
        ("%ms_aicore --single 128 256 128", "aicore", "simulated"),
        ("%ms_tensor x", "tensor", "x: f32[2] on CPU"),
        ("%ms_kernels f(x)", "kernels", "f: "),
        ("%ms_info", "info", "python"),
        ("%%ms_eager\ny = x * 2\nz = y.sum()", "graph", "# cell [2] line 3"),
        ("%%ms_eager h --args 'x'\ndef h(v):\n    return v * 3", "graph", "graph h(v: f32[2]) -> (f32[2])"),
    ],
)
def test_run_magics(shell, line, kind, words):
    view = run(shell, line)
    assert view.kind == kind
    assert words in repr(view)
    if "laid" in line:
        assert shell.user_ns["laid"] is view
    if line.startswith("%%ms_eager\n"):
        assert shell.user_ns["z"].tolist() == 6.0
        assert len(view.graph.outputs) == 2


def test_device(shell):
    assert repr(run(shell, "%ms_device")) == "device: CPU"
    assert repr(run(shell, "%ms_device CPU")) == "device: CPU"
    with pytest.raises(ms.MsnbError, match="is not legal; legal: Ascend, CPU, GPU"):
        run(shell, "%ms_device nowhere")


@pytest.mark.parametrize(
    ("cell", "sentence"),
    [("%ms_tensor", "takes a tensor"), ("%ms_plan 1 + 1", "%ms_plan takes a call"),
     ("%ms_aicore 128 128", "takes three sizes, got 2"),
     ("%%ms_eager g\ndef h(): pass", "defines no function 'g'"), ("%%ms_eager --args x\ny = 1", "found no function")],
)  # fmt: skip
def test_mistakes_in_run_magics_are_real_errors(shell, cell, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        run(shell, cell)


def test_the_extension_listens_to_no_step_of_a_training(shell):
    """What nobody looks at costs nothing: the extension asks for no event that a running program sends."""
    shell.run_line_magic("unload_ext", "msnb")
    before = {name: list(found) for name, found in events.listeners.items()}
    shell.run_line_magic("load_ext", "msnb")
    run(shell, "ms.jit(f)(x)")
    after = {name: list(found) for name, found in events.listeners.items()}
    for name in ("op", "stage", "rewrite", "step"):
        assert after.get(name, []) == before.get(name, [])


# ---- mistakes --------------------------------------------------------------------------------------------------------

ANSI = re.compile(r"\x1b\[[0-9;]*m")


def told(shell, capsys, cell: str) -> str:
    """What a cell prints, an error's report included, without colours."""
    capsys.readouterr()
    assert not shell.run_cell(cell, store_history=True).success
    return ANSI.sub("", "".join(capsys.readouterr()))


@pytest.mark.long
@pytest.mark.parametrize(
    ("cell", "line", "sentence"),
    [
        ("%%ms_graph f --args x\ndef f(a):\n    return missing * a", "missing * a", "'missing' is not defined"),
        ("%%ms_graph f --args x,x\ndef f(a):\n    return a", "ms_graph", "takes 1 positional argument but 2"),
        ("%%ms_eager\ny = 1 / 0", "y = 1 / 0", "division by zero"),
        ("%ms_ir missing(x)", "missing(x)", "'missing' is not defined"),
        ("%ms_step f()", "f()", "missing 1 required positional argument: 'a'"),
        ("ms.jit(f)(x, wrong=1)", "f)(x, wrong=1)", "unexpected keyword argument 'wrong'"),
    ],
)
def test_pythons_own_errors_end_at_the_users_line(shell, capsys, cell, line, sentence):
    text = told(shell, capsys, cell)
    assert line in text.rpartition("-->")[2]
    assert sentence in text
    assert "msnb/" not in text.replace("\\", "/"), "no frames of ours"


def test_errors_beside_msnb_keep_all_their_frames(shell, capsys):
    text = told(shell, capsys, "import json\njson.loads('{')")
    assert "decoder.py" in text
    assert "Expecting property name" in text


def test_a_slip_of_the_pen_in_a_cell_magic_is_shown_at_its_line(shell, capsys):
    text = told(shell, capsys, "%%ms_graph\ndef f(a):\n    return a +")
    assert "line 3" in text
    assert "return a +" in text
    assert "ast.py" not in text
    assert text.count("\n") < 8


@pytest.mark.parametrize("cell", ["# why\n%ms_ir f(", "%%ms_graph nothing\ndef g(a):\n    return a"])
def test_the_caret_is_under_the_magic_as_it_was_typed(shell, cell):
    typed = next(line for line in cell.split("\n") if line.startswith("%"))
    error = shell.run_cell(cell, store_history=True).error_in_exec
    assert report(error)[-4:-1] == [f"at cell [2] line {cell.split(chr(10)).index(typed) + 1}", f"    {typed}",
                                    f"    {'^' * len(typed)}"]  # fmt: skip


@pytest.mark.parametrize(
    ("cell", "sentence"),
    [("%ms_diff f(x) --tol 0", "options stand before the call: %ms_diff --tol 0 f\\(x\\)"),
     ("%ms_tensor x +", "is no Python expression"),
     ("%ms_plan --devices 0 f(x)", "--devices 0 is not legal"),
     ("%%ms_graph\nclass Net(ms.nn.Cell):\n    pass", "%ms_ir net")],
)  # fmt: skip
def test_mistakes_name_the_way_out(shell, cell, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        run(shell, cell)


# ---- cells that run again --------------------------------------------------------------------------------------------


def test_a_class_that_was_changed_is_shown_as_it_is_now(shell):
    text = "class Net(ms.nn.Cell):\n    def construct(self, v):\n        return v * {}\nnet = Net()"
    run(shell, text.format(2))
    assert "~2" in run(shell, "%ms_ir net(x)").text
    run(shell, text.format(3))
    view = run(shell, "%ms_ir net(x)")
    assert "~3" in view.text
    assert "# Net   cell [4] line 3" in view.text


def test_a_helper_that_was_changed_is_compiled_again(shell):
    run(shell, "def helper(v):\n    return v + 1")
    run(shell, "%%ms_graph g --args x\ndef g(v):\n    return helper(v) * 3")
    assert run(shell, "g(x).tolist()") == [6.0, 9.0]
    run(shell, "def helper(v):\n    return v + 2")
    assert run(shell, "g(x).tolist()") == [9.0, 12.0]
    assert "add(v, ~2)" in run(shell, "%ms_ir g(x)").text


def test_a_habit_of_another_framework_is_answered_below_the_traceback(shell, capsys):
    cells = ("x.size(0)", "def rows(x):\n    return x.view(x.size(0), -1)\n\nrows(x)")
    for cell in cells:
        assert isinstance(shell.run_cell(cell, store_history=True).error_in_exec, TypeError)
        told = capsys.readouterr()
        assert "'int' object is not callable" in told.out
        assert "PyTorch's x.size(0) is x.shape[0] here, and x.size() is x.shape" in told.err
    for cell in ("n = 3\nn(0)", "nothing.size(0)"):
        shell.run_cell(cell, store_history=True)
        assert "PyTorch" not in capsys.readouterr().err
