"""Measures the structure of msnb/ and holds it against its bars.

    python tools/house.py            the table; exit status 1 if a measure is worse than its limit
    python tools/house.py --places   the same, and where each measure is broken
    python tools/house.py --walks    how many functions and files of msnb a warm call enters (runs msnb; no limits)

Every measure has a *bar* (what the house is meant to be) and a *limit* (what it has reached): a change may not go back
behind the limit, and whoever improves a measure lowers the limit here in the same commit.

    entries      modules and packages directly inside a folder, ``__init__`` not counted
    late import  an import inside a function; imports for type checkers do not count
    cycle        strongly connected modules, late imports counted
    words        of module and public class names, which docs/glossary.md must have
    op table     a literal at module level outside msnb/ops that names at least three operators and nothing else
    complexity   branches of a function plus one (McCabe), nested functions counted for themselves
    long waits   what starts a thread or waits for one in several steps of Python (``LONG_WAITS``): an interrupt between
                 them leaves a lock held for ever. The main thread uses ``base.threads.worker_threads`` instead
    code lines   lines with code: no blank line, comment or docstring
"""

from __future__ import annotations

import ast
import contextlib
import gc
import io
import re
import sys
import tokenize
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import CodeType, FrameType

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "msnb"
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_BRANCHES = (ast.If, ast.For, ast.While, ast.IfExp, ast.ExceptHandler, ast.comprehension, ast.match_case, ast.Assert)
_PARTICIPLES = {"Given", "Taken", "Known", "Held", "Found", "Built", "Bound", "Told", "Said", "Seen", "Sent", "Kept",
                "Made", "Drawn", "Shown", "Written", "Spread", "Met"}  # fmt: skip
_NOUNS = {"Embed", "Feed", "Speed", "Seed", "Need", "Bed"}
LONG_WAITS = {"Thread", "Timer", "Condition", "Event", "Semaphore", "BoundedSemaphore", "Barrier", "Queue", "LifoQueue",
              "PriorityQueue", "ThreadPoolExecutor", "ProcessPoolExecutor"}  # fmt: skip
_THREADING = {"threading", "queue", "concurrent.futures", "multiprocessing"}
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Source:
    """One module: its file, dotted name and tree."""

    path: Path
    name: str
    tree: ast.Module
    text: str

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of its tree."""
        return list(ast.walk(self.tree))

    @property
    def package(self) -> str:
        return self.name if self.path.stem == "__init__" else self.name.rpartition(".")[0]


@dataclass(frozen=True)
class Measure:
    """A count, its bar and limit, and the places that it counts."""

    name: str
    value: int
    bar: int
    limit: int
    places: tuple[str, ...] = ()


def sources() -> list[Source]:
    found = []
    gc.disable()
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        text = path.read_text(encoding="utf-8")
        found.append(Source(path, name, ast.parse(text), text))
    gc.freeze()  # millions of nodes, which all stay
    gc.enable()
    return found


# ---- folders and names ---------------------------------------------------------------------------------------------


def entries() -> dict[str, int]:
    """Folder -> how many modules and packages stand in it."""
    folders = [PACKAGE, *(p.parent for p in PACKAGE.rglob("__init__.py") if p.parent != PACKAGE)]
    return {
        str(f.relative_to(ROOT)): sum(
            (p.suffix == ".py" and p.stem != "__init__") or (p / "__init__.py").exists() for p in f.iterdir()
        )
        for f in folders
    }


def repeated(names: Iterable[tuple[str, str]], least: int) -> list[str]:
    """Names that stand in ``least`` files or more, with the files."""
    homes: dict[str, set[str]] = defaultdict(set)
    for name, home in names:
        homes[name].add(home)
    return [f"{name}: {', '.join(sorted(found))}" for name, found in sorted(homes.items()) if len(found) >= least]


def classes(modules: list[Source]) -> Iterator[tuple[Source, ast.ClassDef]]:
    for source in modules:
        for node in source.nodes:
            if isinstance(node, ast.ClassDef):
                yield source, node


def words_of(name: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(name)}


def glossary() -> set[str]:
    """Words of the terms (first column) and of the last section."""
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    head, _, plain = text.partition("## Words that need no line")
    terms = " ".join(line.split("|")[1] for line in head.splitlines() if line.startswith("| "))
    found = set(re.findall(r"[a-z0-9]+", f"{terms} {plain}".lower()))
    return found | {f"{word}s" for word in found}


def strange_words(modules: list[Source]) -> list[str]:
    known = glossary()
    named = [(part, s.name) for s in modules for part in s.name.split(".")[1:]]
    named += [(c.name, s.name) for s, c in classes(modules) if not c.name.startswith("_") and c in s.tree.body]
    found = [(words_of(name) - known, name, home) for name, home in named]
    return sorted({f"{', '.join(sorted(words))}: {name} ({home})" for words, name, home in found if words})


def participles(modules: list[Source]) -> list[str]:
    return [
        f"{c.name} ({s.name})"
        for s, c in classes(modules)
        if (bare := c.name.strip("_")) in _PARTICIPLES or (re.fullmatch(r"[A-Z][a-z]+ed", bare) and bare not in _NOUNS)
    ]


# ---- imports -------------------------------------------------------------------------------------------------------


def _for_types(tree: ast.Module) -> set[ast.AST]:
    tests = [n for n in ast.walk(tree) if isinstance(n, ast.If) and "TYPE_CHECKING" in ast.dump(n.test)]
    return {inner for n in tests for stmt in n.body for inner in ast.walk(stmt)}


def late_imports(modules: list[Source]) -> list[tuple[Source, ast.Import | ast.ImportFrom]]:
    found = []
    for s in modules:
        seen: set[int] = set()
        for f in s.nodes:
            if isinstance(f, Function):
                for n in ast.walk(f):
                    if isinstance(n, ast.Import | ast.ImportFrom) and id(n) not in seen:
                        seen.add(id(n))
                        found.append((s, n))
    return found


def targets(node: ast.Import | ast.ImportFrom, names: set[str]) -> set[str]:
    """The modules of msnb that a statement imports."""
    if isinstance(node, ast.Import):
        return {a.name for a in node.names if a.name in names}
    base = node.module or ""
    return {f"{base}.{a.name}" if f"{base}.{a.name}" in names else base for a in node.names} & names


def edges(modules: list[Source]) -> dict[str, set[str]]:
    names = {s.name for s in modules}
    found: dict[str, set[str]] = {n: set() for n in names}
    for s in modules:
        typing_only = _for_types(s.tree)
        for n in s.nodes:
            if isinstance(n, ast.Import | ast.ImportFrom) and n not in typing_only:
                found[s.name] |= targets(n, names) - {s.name}
    return found


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Strongly connected components of more than one module (Tarjan, without recursion)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on: set[str] = set()
    found: list[list[str]] = []
    for root in sorted(graph):
        work = [(root, iter(sorted(graph[root])))] if root not in index else []
        while work:
            node, rest = work[-1]
            if node not in index:
                index[node] = low[node] = len(index)
                stack.append(node)
                on.add(node)
            for after in rest:
                if after not in index:
                    work.append((after, iter(sorted(graph[after]))))
                    break
                if after in on:
                    low[node] = min(low[node], index[after])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    part = stack[stack.index(node) :]
                    del stack[stack.index(node) :]
                    on -= set(part)
                    found += [sorted(part)] if len(part) > 1 else []
    return found


def contract() -> tuple[list[str], int]:
    """Names in the layers that are no module, and the longest line of the contracts."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    block = text[text.index("[tool.importlinter]") :]
    named = set(re.findall(r"msnb(?:\.\w+)+", " ".join(re.findall(r"layers = \[(.*?)\n\]", block, re.DOTALL))))
    gone = [n for n in named if not any((ROOT / n.replace(".", "/")).with_suffix(x).exists() for x in ("", ".py"))]
    lines = [line for part in re.findall(r"layers = \[(.*?)\n\]", block, re.DOTALL) for line in part.splitlines()]
    return gone, max(map(len, lines), default=0)


# ---- functions, classes, tables ------------------------------------------------------------------------------------


def _own(function: ast.AST) -> list[ast.AST]:
    found = [function]
    for node in found:
        inner = ast.iter_child_nodes(node)
        found.extend(child for child in inner if not isinstance(child, Function | ast.Lambda | ast.ClassDef))
    return found[1:]


def complexity(function: Function) -> int:
    """McCabe's number."""
    own = _own(function)
    bools = sum(len(n.values) - 1 for n in own if isinstance(n, ast.BoolOp))
    return 1 + bools + sum(isinstance(n, _BRANCHES) for n in own)


def functions(modules: list[Source]) -> Iterator[tuple[Source, Function]]:
    for s in modules:
        yield from ((s, n) for n in s.nodes if isinstance(n, Function))


def fields(node: ast.ClassDef) -> int:
    """Attributes that a class declares or that its methods set on ``self``."""
    declared = {n.target.id for n in node.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)}
    written = (n for n in ast.walk(node) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store))
    return len(declared | {n.attr for n in written if isinstance(n.value, ast.Name) and n.value.id == "self"})


def length(node: ast.ClassDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def long_waits(modules: list[Source]) -> list[str]:
    """Where `LONG_WAITS` are called outside of ``base.threads``."""
    found = []
    for s in (s for s in modules if not s.name.startswith("msnb.base.threads")):
        bare = {a.asname or a.name for n in s.nodes if isinstance(n, ast.ImportFrom) and n.module in _THREADING
                for a in n.names}  # fmt: skip
        for call in (n.func for n in s.nodes if isinstance(n, ast.Call)):
            whole = isinstance(call, ast.Attribute) and ast.unparse(call.value) in _THREADING
            name = call.attr if whole else call.id if isinstance(call, ast.Name) and call.id in bare else ""
            found += [f"{s.name}:{call.lineno} {name}"] if name in LONG_WAITS else []
    return found


def op_names(modules: list[Source]) -> set[str]:
    calls = (n for s in modules for n in s.nodes if isinstance(n, ast.Call))
    firsts = (c.args[0] for c in calls if c.args and ast.unparse(c.func) in ("define", "unary", "binary"))
    return {a.value for a in firsts if isinstance(a, ast.Constant) and isinstance(a.value, str)}


def op_tables(modules: list[Source]) -> list[str]:
    names, found = op_names(modules), []
    for s in modules:
        if s.name.startswith("msnb.ops"):
            continue
        for n in s.tree.body:
            value = n.value if isinstance(n, ast.Assign | ast.AnnAssign) else None
            if value is None:
                continue
            keys = value.keys if isinstance(value, ast.Dict) else list(ast.walk(value))
            texts = [c.value for c in keys if isinstance(c, ast.Constant) and isinstance(c.value, str)]
            texts = [w for t in texts for w in t.split()]
            if len(texts) >= 3 and sum(t in names for t in texts) >= max(3, 0.8 * len(texts)):
                target = n.targets[0] if isinstance(n, ast.Assign) else n.target  # type: ignore[union-attr]
                found.append(f"{s.name}: {ast.unparse(target)}")
    return found


def code_lines(source: Source) -> int:
    docs: set[int] = set()
    for n in source.nodes:
        body = getattr(n, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            value = body[0].value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                docs.update(range(value.lineno, (value.end_lineno or value.lineno) + 1))
    skipped = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
        if token.type not in skipped:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - docs)


# ---- the table -----------------------------------------------------------------------------------------------------


def _names(modules: list[Source], held: dict[str, int]) -> Iterator[Measure]:
    crowded = [f"{f}: {n}" for f, n in held.items() if n > (18 if f == "msnb" else 15)]
    inner = max(n for f, n in held.items() if f != "msnb")
    yield Measure("entries of the fullest folder", inner, 15, 15, tuple(f"{f}: {n}" for f, n in held.items() if n > 15))
    yield Measure("folders above 15 entries", len(crowded), 0, 0, tuple(crowded))
    twice = repeated(((s.path.stem, s.name) for s in modules if s.path.stem != "__init__"), 2)
    yield Measure("file names that stand twice", len(twice), 22, LIMITS["twice"], tuple(twice))
    thrice = repeated(((c.name, s.name) for s, c in classes(modules)), 3)
    yield Measure("class names in 3 files or more", len(thrice), 0, 0, tuple(thrice))
    strange = strange_words(modules)
    yield Measure("names with words outside the glossary", len(strange), 0, 0, tuple(strange))
    forms = participles(modules)
    yield Measure("participles as class names", len(forms), 0, 0, tuple(forms))


def _imports(modules: list[Source]) -> Iterator[Measure]:
    late, names = late_imports(modules), {s.name for s in modules}
    ours = [f"{s.name}:{n.lineno} -> {', '.join(sorted(targets(n, names)))}" for s, n in late if targets(n, names)]
    yield Measure("late imports of our modules", len(ours), 40, LIMITS["late ours"], tuple(ours))
    yield Measure("late imports", len(late), 65, LIMITS["late"])
    graph = edges(modules)
    plain = {s.name for s in modules if s.path.stem != "__init__"}
    inner = cycles({n: {t for t in graph[n] if t in plain} for n in plain})
    yield Measure("import cycles, late imports counted", len(inner), 0, LIMITS["cycles"], tuple(map(" ".join, inner)))
    gone, longest = contract()
    yield Measure("modules in the contract that do not exist", len(gone), 0, 0, tuple(gone))
    yield Measure("longest line of the contract", longest, 120, 120)


def _sizes(modules: list[Source]) -> Iterator[Measure]:
    tables = op_tables(modules)
    yield Measure("tables of op names outside ops/", len(tables), 10, LIMITS["tables"], tuple(tables))
    counted = sorted(((complexity(f), f"{s.name}.{f.name}") for s, f in functions(modules)), reverse=True)
    high = tuple(f"{n} {where}" for n, where in counted if n > 15)
    yield Measure("functions of complexity above 15", len(high), 10, LIMITS["complex"], high)
    yield Measure("highest complexity", counted[0][0], 20, LIMITS["highest"])
    wide = tuple(f"{n} {s.name}.{c.name}" for s, c in classes(modules) if (n := fields(c)) > 15)
    yield Measure("classes of more than 15 fields", len(wide), 2, LIMITS["wide"], wide)
    long = tuple(f"{n} {s.name}.{c.name}" for s, c in classes(modules) if (n := length(c)) > 250)
    yield Measure("classes of more than 250 lines", len(long), 6, LIMITS["long"], long)
    waits = long_waits(modules)
    yield Measure("long waits outside base/threads", len(waits), 6, LIMITS["waits"], tuple(waits))
    yield Measure("code lines", sum(map(code_lines, modules)), 55_800, LIMITS["lines"])


LIMITS = {
    "twice": 22, "late ours": 32, "late": 59, "cycles": 0, "tables": 10, "complex": 5, "highest": 19, "wide": 2,
    "long": 6, "waits": 6, "lines": 116_240,
}  # fmt: skip


def measures() -> list[Measure]:
    modules = sources()
    return [*_names(modules, entries()), *_imports(modules), *_sizes(modules)]


# ---- walks -----------------------------------------------------------------------------------------------------------


def entered(run: Callable[[], object]) -> tuple[int, int]:
    """How many functions of msnb a run enters, and how many files they stand in."""
    codes: set[CodeType] = set()
    inside = f"{PACKAGE}/"

    def profile(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(inside):
            codes.add(frame.f_code)

    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(None)
    return len(codes), len({c.co_filename for c in codes})


def walks() -> Iterator[tuple[str, Callable[[], object]]]:
    """What a newcomer would step through, after two calls of the same."""
    sys.path.insert(0, str(ROOT))  # this checkout, whichever one is installed
    import numpy as np

    import msnb as ms

    x, y = (ms.Tensor(np.ones((2, 3), np.float32)) for _ in range(2))
    gradient = ms.grad(lambda a, b: ms.ops.add(a, b).sum())
    yield "second ops.add", lambda: ms.ops.add(x, y)
    yield "grad of add, warm", lambda: gradient(x, y)
    net = ms.nn.SequentialCell(ms.nn.Dense(3, 4), ms.nn.ReLU(), ms.nn.Dense(4, 2))
    optimizer = ms.nn.SGD(net.trainable_params(), 0.1)
    backward = ms.value_and_grad(lambda a: (net(a) ** 2).mean(), None, optimizer.parameters)

    @ms.jit
    def step(a: ms.Tensor) -> ms.Tensor:
        loss, grads = backward(a)
        optimizer(grads)
        return loss

    yield "jitted step, warm", lambda: step(x)
    try:
        from IPython.core.interactiveshell import InteractiveShell
        from traitlets.config import Config
    except ImportError:  # the notebook extra is not installed: the other walks are all there is
        return
    shell = InteractiveShell(config=Config({"HistoryManager": {"enabled": False}}))
    shell.run_line_magic("load_ext", "msnb")
    shell.push({"ms": ms, "x": x})
    sizes = iter(range(1, 100))  # a new program each time
    cell = "def f(a):\n    return ms.ops.relu(a * {0} + {0}).sum()"
    yield "%%ms_graph to picture", lambda: shell.run_cell_magic("ms_graph", "--args x", cell.format(next(sizes)))


def print_walks() -> None:
    print(f"{'walk':<44}{'functions':>10}{'files':>8}")
    for name, run in walks():
        with contextlib.redirect_stdout(io.StringIO()):
            run()
            run()
            functions_, files = entered(run)
        print(f"{name:<44}{functions_:>10,}{files:>8,}")


def main(argv: list[str]) -> int:
    if "--walks" in argv:
        print_walks()
        return 0
    found = measures()
    print(f"{'measure':<44}{'value':>8}{'limit':>8}{'bar':>8}")
    for m in found:
        verdict = "  WORSE THAN ITS LIMIT" if m.value > m.limit else ""
        print(f"{m.name:<44}{m.value:>8,}{m.limit:>8,}{m.bar:>8,}{verdict}")
        if m.places and ("--places" in argv or m.value > m.limit):
            print("".join(f"    {place}\n" for place in m.places), end="")
    worse = [m.name for m in found if m.value > m.limit]
    if worse:
        print(f"tools/house.py: {', '.join(worse)}: see the head of the file", file=sys.stderr)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
