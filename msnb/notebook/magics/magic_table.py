"""The table of all magics: name, what runs, help, arguments; most show one view of ``msnb.show`` for a call."""

from __future__ import annotations

from typing import Any

from msnb.base import ArgumentError
from msnb.base.settings import GRAPH_MODE, PYNATIVE_MODE, get_context, in_graph_mode, set_context
from msnb.graph.compile import CompiledProgram
from msnb.ir.graph import Graph
from msnb.notebook.errors.error_pages import LESSONS
from msnb.notebook.magics import cell_magics
from msnb.notebook.magics.magic import BOXES, OUTPUT, QUIET, REST, Line, Magic, argument, call_magic, flag
from msnb.notebook.programs.call_line import call_of, calls_of, value_of
from msnb.notebook.show import program_views
from msnb.notebook.show.view_listing import VIEWS, ListingView
from msnb.notebook.views.view import GraphView, View

MODES = {"graph": GRAPH_MODE, "eager": PYNATIVE_MODE, "pynative": PYNATIVE_MODE}


def _mode(shell: Any, options: Any) -> Line:
    if options.mode:
        set_context(mode=MODES[options.mode])
    graph, eager = "graph mode: Cells are compiled", "eager mode: Cells run operator by operator"
    return Line(graph if in_graph_mode() else eager)


def _device(shell: Any, options: Any) -> Line:
    if options.device:
        set_context(device_target=options.device)
    return Line(f"device: {get_context('device_target')}")


def _ir(fn: Any, *args: Any, optimised: bool = False, max_boxes: int = 40, **kwargs: Any) -> GraphView:
    """The graph itself, where the line names one."""
    if isinstance(fn, (Graph, CompiledProgram, GraphView)):
        found = fn if isinstance(fn, Graph) else fn.graph
        return program_views.graph(found, optimised=optimised, max_boxes=max_boxes)
    return program_views.ir(fn, *args, optimised=optimised, max_boxes=max_boxes, **kwargs)


def _step(fn: Any, *args: Any, stop: list[str], gradient: bool, optimised: bool, **kwargs: Any) -> View:
    stops = [_stop(word) for word in stop]
    return program_views.step(fn, *args, stop=stops, gradient=gradient, optimised=optimised, **kwargs)


def _stop(word: str) -> str | int:
    """``exp`` is an op, ``4`` a line, ``%4`` a number in the IR."""
    if word.startswith("%") and word[1:].isdigit():
        return int(word[1:])
    return f"line {word}" if word.isdigit() else word


def _explain(shell: Any, options: Any) -> View:
    fn, _, _ = call_of(shell, " ".join(options.fn), "%ms_explain")
    return program_views.explain(fn, options.times, options.kernels)


def _compare(shell: Any, options: Any) -> View:
    calls = calls_of(shell, " ".join(options.calls), "%ms_compare")
    if len(calls) != 2:
        raise ArgumentError(f"%ms_compare takes two calls such as f(x), g(x), not {len(calls)}.")
    return program_views.compare(*(program_views.as_graph(*call) for call in calls))


def _plan(shell: Any, options: Any) -> View:
    if options.devices is not None and options.devices < 1:
        raise ArgumentError(f"%ms_plan --devices {options.devices} is not legal.", hint="at least 1.")
    fn, args, kwargs = call_of(shell, " ".join(options.call), "%ms_plan")
    how = {"device_num": options.devices, "search_mode": options.search, "pipeline_stages": options.stages,
           "view": options.view}  # fmt: skip
    return program_views.plan(fn, *args, **{k: v for k, v in how.items() if v is not None}, **kwargs)


def _aicore(shell: Any, options: Any) -> View:
    if len(options.sizes) != 3:
        raise ArgumentError(f"%ms_aicore takes three sizes, got {len(options.sizes)}.", hint="%ms_aicore 128 512 128")
    m, k, n = (value_of(shell, text) for text in options.sizes)
    return program_views.aicore(m, k, n, value_of(shell, f"({options.tile},)"), not options.single)


def _tensor(shell: Any, options: Any) -> View:
    text = " ".join(options.value)
    if not text:
        raise ArgumentError("%ms_tensor takes a tensor.", hint="%ms_tensor x")
    return program_views.tensor(value_of(shell, text), text if text.isidentifier() else "")


def _data(shell: Any, options: Any) -> View:
    text = " ".join(options.dataset)
    if not text:
        raise ArgumentError("%ms_data takes a dataset.", hint="%ms_data ds")
    return program_views.data(value_of(shell, text), options.seconds)


OPTIMISED = "show the graph after the passes"
GRADIENT = {"--gradient": "of the gradient instead of the function"}
RAW = {"--raw": "before the passes"}
BOX_COUNT = {"--max-boxes": "how many boxes the picture may show"}
COSTS = {
    **GRADIENT,
    **RAW,
    "--times": "measure (times differ from run to run)",
    "--repeats": "how many runs to take the median of",
}

MAGICS = (
    # ---- the session ----
    Magic(
        "ms_mode", _mode, "Switch between eager and graph mode, or say which is on.\n\nExample: %ms_mode graph",
        (argument("mode", nargs="?", choices=sorted(MODES),
                  help="the mode to switch to; without it, say which is on"),),
    ),
    Magic(
        "ms_device", _device, "Switch the device, or say which is on.\n\nExample: %ms_device CPU",
        (argument("device", nargs="?", default="", help="the device to switch to; without it, say which is on"),),
        words=("Ascend", "CPU", "GPU", "SimulatedGPU"),
    ),
    Magic(
        "ms_info", lambda shell, options: program_views.info(),
        "Show versions, machine, settings and caches of this session.\n\nExample: %ms_info",
    ),
    Magic(
        "ms_error", lambda shell, options: program_views.error(options.kind or None),
        "Show the report of the last error again, or the page on a kind of error.\n\nExample: %ms_error ShapeError",
        (argument("kind", nargs="?", default="",
                  help="a kind of error, such as ShapeError; the last error by default"),),
        words=tuple(LESSONS),
    ),
    Magic(
        "ms_help", lambda shell, options: ListingView(" ".join(options.word)),
        "List every view: the question that it answers, its function, its magic.\n\nExample: %ms_help gradient",
        (argument("word", nargs=REST, help="only the views whose row has this word"),),
        words=tuple(view.name for view in VIEWS),
    ),
    Magic(
        "ms_tensor", _tensor,
        "Show a tensor: type, device, range, histogram, images.\n\nExample: %ms_tensor conv1.weight",
        (argument("value", nargs=REST, help="a tensor, or an expression that gives one"),),
    ),
    Magic(
        "ms_data", _data,
        "Run a data pipeline for a while and show which node limits it.\n\nExample: %ms_data ds",
        (argument("dataset", nargs=REST, help="a Dataset, or an expression that gives one"),
         argument("--seconds", type=float, default=2.0, help="for about how long")),
    ),
    # ---- cells ----
    Magic(
        "ms_graph", cell_magics.graph,
        "Run the cell, compile its functions, bind them, and show the graph of one.\n\nExample:\n"
        "    %%ms_graph f --args 'ms.Tensor([1.0, 2.0])'\n    def f(x):\n        return x * 2 + 1",
        (argument("fn", nargs="?", default="", help="the function of the cell to show (the last one by default)"),
         OUTPUT,
         argument("--args", metavar="EXPR", default=None,
                  help="arguments to capture it with, such as --args 'x, 2.0'"),
         flag("--optimised", OPTIMISED),
         flag("--times", "show the seconds of every stage (they differ from run to run)"), BOXES, QUIET),
        cell=True,
    ),
    Magic(
        "ms_eager", cell_magics.eager,
        "Run the cell in eager mode and show every op that ran, as a graph.\n\nExample:\n"
        "    %%ms_eager\n    y = x * 2\n    z = y.sum()",
        (argument("fn", nargs="?", default="",
                  help="show a call of this function of the cell; without it, the whole cell"),
         argument("--args", metavar="EXPR", default=None, help="arguments of the call, such as --args 'x, 2.0'"),
         OUTPUT, BOXES, QUIET),
        cell=True,
    ),
    # ---- views of a call ----
    call_magic(
        "ms_ir", _ir,
        "Show the IR of a function for the arguments of a call. The function is captured, not run.\n\n"
        "Example: %ms_ir f(x, 2.0)",
        {"--optimised": OPTIMISED, **BOX_COUNT}, "a call, such as f(x, 2); or the name of a graph",
    ),
    call_magic(
        "ms_grad", program_views.grad,
        "Show the IR of the gradient of a function (by its first argument; of a Cell, by its parameters).\n\n"
        "Example: %ms_grad loss(w, x)",
        {"--norms": "run it and show how large the gradient is at every node",
         "--raw": "show the graph before the passes", **BOX_COUNT},
        "a call, such as loss(w, x)",
    ),
    call_magic(
        "ms_passes", program_views.passes,
        "Show the compilation of a call stage by stage: laws, rewrites, and a check in numbers.\n\n"
        "Example: %ms_passes f(x, 2.0)",
        {**GRADIENT, "--only-changed": "leave out stages that changed nothing"},
    ),
    call_magic(
        "ms_diff", program_views.diff,
        "Run a call eagerly and as a graph, and show the first op whose values differ.\n\nExample: %ms_diff f(x, 2.0)",
        {**GRADIENT, "--tol": "largest difference that counts as agreement"},
    ),
    call_magic(
        "ms_mem", program_views.mem,
        "Show which buffers of a call live when, the peak, and who holds it.\n\n"
        "Example: %ms_mem --gradient loss(w, x)",
        {**GRADIENT, **RAW, "--arena": "what lies where in the compiled program's arena"},
    ),
    call_magic(
        "ms_profile", program_views.profile,
        "Show what each op and each line of a call costs: predicted, or measured with --times.\n\n"
        "Example: %ms_profile --times f(x)",
        COSTS,
    ),
    call_magic(
        "ms_roofline", program_views.roofline,
        "Show each op of a call against memory bandwidth and peak arithmetic: predicted, or measured with --times.\n\n"
        "Example: %ms_roofline --times f(x)",
        COSTS,
    ),
    call_magic(
        "ms_kernels", program_views.kernels,
        "Show how each node of a call runs, and the generated code: loops, LLVM IR, assembly.\n\n"
        "Example: %ms_kernels f(x)",
        GRADIENT,
    ),
    call_magic(
        "ms_timeline", program_views.timeline,
        "Show what a GPU runs for a call, step by step: launches, bytes, times predicted, or measured with --times.\n\n"
        "Example: %ms_timeline f(x)",
        {**GRADIENT, "--times": COSTS["--times"], "--repeats": "how many runs to take the least of"},
    ),
    call_magic(
        "ms_step", _step,
        "Show every node of a call with its values; breakpoints on ops and lines, and where a NaN first appears.\n\n"
        "Example: %ms_step --stop exp -o steps f(x)",
        {**GRADIENT, "--output": argument("-o", "--output", metavar="NAME", default="",
                                          help="bind the stepper to this name"),
         "--stop": "an op, a line (4), a number in the IR (%%4)",
         "--optimised": "step through the graph after the passes"},
    ),
    Magic(
        "ms_explain", _explain,
        "Show what a jitted function has compiled, why each version was made, and its guards.\n\n"
        "Example: %ms_explain f",
        (flag("--times", "show milliseconds (they differ from run to run)"),
         flag("--kernels", "show the generated code (it differs between processors)"),
         argument("fn", nargs=REST, help="a jitted function or a Cell that ran in graph mode")),
    ),
    Magic(
        "ms_compare", _compare,
        "Show two programs and what changed from the first to the second.\n\nExample: %ms_compare f(x), g(x)",
        (argument("calls", nargs=REST, help="two calls or graphs: f(x), g(x)"),),
    ),
    # ---- devices ----
    Magic(
        "ms_plan", _plan,
        "Show how a call is laid out over many devices: mesh, layouts, collectives, simulated timeline.\n\n"
        "Example: %ms_plan --devices 8 net(x)",
        (argument("--devices", type=int, default=None, help="how many devices (the context's by default)"),
         argument("--search", default=None, help="how to search: dynamic_programming, recursive_programming ..."),
         argument("--stages", type=int, default=None, help="pipeline stages of a PipelineCell"),
         argument("--view", default=None, help="one picture: graph, timeline, memory, mesh, segments, front"),
         OUTPUT, argument("call", nargs=REST, help="a call, such as f(x, 2)")),
    ),
    Magic(
        "ms_aicore", _aicore,
        "Show a matrix product on one core of the simulated Ascend, queue by queue.\n\n"
        "Sizes are numbers, or names and expressions of the session.\n\n"
        "Example: %ms_aicore --tile 64,128,64 256 512 256",
        (argument("sizes", nargs="*", help="rows of the left matrix, its columns, columns of the right one: m k n"),
         argument("--tile", default="128,128,128",
                  help="what the core works on at once: tm,tk,tn (multiples of 16)"),
         flag("--single", "without double buffering"), OUTPUT),
    ),
)  # fmt: skip
