"""An exported program without in-place operators: what they wrote becomes a new value that all later calls read.

    relu_(x)            ->  x' = relu(x), and x' for x from there on
    x[:, 0].fill_(v)    ->  x[:, 0] = v, as a call ``msnb.write`` that gives x'; other views of x are taken anew
    x.view(-1).add_(v)  ->  x' = (x.view(-1) + v).reshape(x.shape): the view undone

What only gives its operand back is left out. A write through a view that cannot be undone (of a diagonal, of one of
several parts) is refused: it would be lost.

Blocks that only set PyTorch's gradient mode are opened; what comes out of one without gradients is detached.
"""

from __future__ import annotations

from typing import Any

from msnb.train.pytorch.exported_program import Call, ExportedProgram, Ref, references

WRITE = "msnb.write"
_PARTS = ("select", "slice", "narrow")
_RESHAPED = ("view", "reshape", "_unsafe_view", "view_as", "reshape_as", "unsqueeze", "squeeze", "flatten", "unflatten",
             "ravel")  # fmt: skip
_SELF_INVERSE = ("transpose", "swapaxes", "swapdims", "t", "numpy_T", "mT")
_FINAL = ("diagonal", "expand", "expand_as", "broadcast_to", "unfold", "as_strided", "real", "imag", "detach",
          "movedim", "unbind", "split", "split_with_sizes", "chunk", "tensor_split")  # fmt: skip
_VIEWS = {*_PARTS, *_RESHAPED, *_SELF_INVERSE, *_FINAL, "permute"}
Chain = tuple[tuple[Call, str], ...]  # views one after the other, each with the result that counts


def make_functional(program: ExportedProgram) -> None:
    """Rewrite a program's calls, results and written buffers."""
    program.calls = list(_opened(program.calls, program))
    form = _Form(program)
    program.calls = [made for call in program.calls for made in form.call(call)]
    program.calls += [made for name in dict.fromkeys(references(program.results)) for made in form.refreshed(name)]
    program.results = form.renamed(program.results)
    program.written = {
        name: form.now.get(value, value)
        for name, value in (program.written | form.buffers).items()
        if not name.endswith("num_batches_tracked")
    }


class _Form:
    """Follows which value stands for a name now. A tensor has versions: a view that was taken of an older one is taken
    anew where it is read.

    Attributes:
        now: a name -> the value that took its place.
        views: a value -> the tensor that it is a view of, and how. roots: a version of a tensor -> its first one.
        version: of a tensor how often it was written. seen: of a view the version that it shows.
    """

    def __init__(self, program: ExportedProgram) -> None:
        self.program = program
        self.now: dict[str, str] = {}
        self.views: dict[str, tuple[str, Chain]] = {}
        self.roots: dict[str, str] = {}
        self.version: dict[str, int] = {}
        self.seen: dict[str, int] = {}
        self.latest: dict[tuple[str, ...], str] = {}  # the results of a chain -> its value
        self.buffers: dict[str, str] = {}
        self.count = 0

    def renamed(self, value: Any) -> Any:
        if isinstance(value, Ref):
            name = value.name
            while name in self.now:
                name = self.now[name]
            return Ref(name)
        return [self.renamed(part) for part in value] if isinstance(value, list) else value

    def call(self, call: Call) -> list[Call]:
        """What stands for a call."""
        name = call.target.split(".")[1] if "." in call.target else call.target
        again = [made for used in dict.fromkeys(call.used()) for made in self.refreshed(used)]
        call.arguments = {key: self.renamed(value) for key, value in call.arguments.items()}
        target = next(iter(call.arguments.values()), None)
        if name == "broadcast_tensors":
            return [*again, *self.broadcast(call)]
        if not isinstance(target, Ref) or not call.results:
            return [*again, call]
        if self.gives_back(name, target, call):
            self.now |= dict.fromkeys(call.names(), target.name)
            return again
        if name in _VIEWS:
            self.note_view(target.name, call)
        if not name.endswith("_") or name.endswith("__"):
            return [*again, call]
        return [*again, call, *self.wrote(target.name, call.results[0], call)]

    # ---- views ----

    def note_view(self, base: str, call: Call) -> None:
        """Remember what a value is a view of."""
        root, chain = self.views.get(base, (self.roots.get(base, base), ()))
        for result in call.names():
            self.keep(result, root, (*chain, (call, result)))

    def keep(self, name: str, root: str, chain: Chain) -> None:
        """``name`` is this view of the tensor as it is now."""
        self.views[name] = root, chain
        self.seen[name] = self.version.get(root, 0)
        self.latest[tuple(result for _, result in chain)] = name

    def refreshed(self, name: str) -> list[Call]:
        """The view again, where what it is a view of was written since."""
        name = self.renamed(Ref(name)).name
        root, chain = self.views.get(name, (name, ()))
        if not chain or self.seen[name] == self.version.get(root, 0):
            return []
        calls: list[Call] = []
        self.now[name] = self.take(root, chain, calls)
        return calls

    def take(self, root: str, chain: Chain, calls: list[Call]) -> str:
        """The value of a view as the tensor is now; ``calls`` gets what makes it."""
        if not chain:
            found: str = self.renamed(Ref(root)).name
            return found
        known = self.latest.get(tuple(result for _, result in chain))
        if known is not None and self.seen[known] == self.version.get(root, 0):
            return known
        base, (call, result) = self.take(root, chain[:-1], calls), chain[-1]
        names = {old: self.fresh(f"{old}_again", old) for old in call.names()}
        first = next(iter(call.arguments))
        arguments = call.arguments | {first: Ref(base)}
        calls.append(Call(call.target, arguments, _result(call.results, names), call.modules, call.line))
        self.keep(names[result], root, chain)
        return names[result]

    def fresh(self, name: str, like: str) -> str:
        """A new value of the type of another."""
        self.count += 1
        self.program.types[f"{name}_{self.count}"] = self.program.types[like]
        return f"{name}_{self.count}"

    # ---- writes ----

    def wrote(self, name: str, value: str, call: Call) -> list[Call]:
        """``value`` is written to ``name``: the tensor that this is a view of gets a new version."""
        root, chain = self.views.get(name, (self.roots.get(name, name), ()))
        made: list[Call] = []
        last = self.written_back(root, chain, value, call, made)
        self.version[root] = self.version.get(root, 0) + 1
        self.now[self.renamed(Ref(root)).name] = last
        self.roots[last] = root
        if chain:
            self.now[name] = value
            self.keep(value, root, chain)
        if root in self.program.weights:
            self.buffers[self.program.weights[root]] = last
        return made

    def written_back(self, root: str, chain: Chain, value: str, call: Call, made: list[Call]) -> str:
        """The tensor whose view ``chain`` has this value. Parts of parts are one write."""
        while chain:
            start = len(chain)
            while start and _is_part(chain[start - 1][0]):
                start -= 1
            undone = [view for view, _ in chain[min(start, len(chain) - 1) :]]
            chain = chain[: len(chain) - len(undone)]
            base = self.take(root, chain, made)
            if _is_part(undone[0]):
                target, arguments = f"{WRITE}.{len(undone)}", _written_part(undone, base, value)
            else:
                target, arguments = _inverse(undone[0], Ref(value), Ref(base), call)
            value = self.fresh("written", base)
            made.append(Call(target, arguments, [value], call.modules, call.line))
        return value

    def gives_back(self, name: str, target: Ref, call: Call) -> bool:
        """Whether the result is the operand."""
        types = [self.program.types.get(value) for value in (target.name, *call.names())]
        if name in ("alias", "contiguous", "lift_fresh", "to", "type_as", "view", "reshape", "expand"):
            return None not in types and all(kind == types[0] for kind in types[1:])
        return False

    def broadcast(self, call: Call) -> list[Call]:
        """``expand`` for each of the tensors that is not of the common shape."""
        made = []
        for operand, name in zip(call.arguments["tensors"], call.names(), strict=True):
            kind = self.program.types[name]
            if kind == self.program.types[operand.name]:
                self.now[name] = operand.name
            elif any(isinstance(size, str) for size in kind.shape):
                return [call]
            else:
                arguments = {"self": operand, "size": list(kind.shape)}
                made.append(Call("aten.expand.default", arguments, [name], call.modules, call.line))
        return made


def _is_part(call: Call) -> bool:
    name, sizes = call.target.split(".")[1], [call.arguments.get(key, 0) for key in ("start", "length")]
    return name in _PARTS and (name != "narrow" or all(type(size) is int for size in sizes))


def _written_part(parts: list[Call], base: str, value: str) -> dict[str, Any]:
    """The arguments of a write: the axes and ends of all parts, by their number."""
    arguments: dict[str, Any] = {"self": Ref(base), "value": Ref(value)}
    for i, part in enumerate(parts):
        step = {key: given for key, given in part.arguments.items() if key != "self"}
        if "length" in step:  # of ``narrow``
            step["end"] = step["start"] + step.pop("length")
        arguments |= {f"{key}_{i}": given for key, given in step.items()}
    return arguments


def _inverse(view: Call, value: Ref, base: Ref, call: Call) -> tuple[str, dict[str, Any]]:
    """The operator, and its arguments, that undoes a view of ``base``, through which ``call`` writes."""
    name, dims = view.target.split(".")[1], view.arguments.get("dims")
    if name in _RESHAPED:
        return "aten.reshape_as.default", {"self": value, "other": base}
    if name in _SELF_INVERSE:
        return view.target, view.arguments | {"self": value}
    if name != "permute" or not isinstance(dims, list):
        raise ValueError(f"{call.target} writes through {view.target}")
    order = [dim % len(dims) for dim in dims]
    return view.target, {"self": value, "dims": [order.index(i) for i in range(len(order))]}


def _opened(calls: list[Call], program: ExportedProgram) -> Any:
    """The calls, those inside blocks that set a mode in place of the block."""
    for call in calls:
        block = next((value for value in call.arguments.values() if isinstance(value, ExportedProgram)), None)
        if block is None or not call.target.startswith("higher_order.wrap_with"):
            yield call
        else:
            yield from _opened(_of_block(call, block, program), program)


def _of_block(call: Call, block: ExportedProgram, program: ExportedProgram) -> list[Call]:
    """The calls inside a block, whose values have names that no others have; what a block without gradients gives is
    detached."""
    values = list(call.arguments.values())
    if call.target.endswith("autocast") and True in values[2:3]:
        raise ValueError("autocast is on in a part of it")
    names = {name: _unused(name, program) for name in (*block.types, *block.sizes)}
    program.types |= {names[name]: kind for name, kind in block.types.items()}
    program.sizes |= {names[name]: size for name, size in block.sizes.items()}
    rename = {old: Ref(new) for old, new in names.items()}
    operands = values[values.index(block) + 1 :]
    rename |= {inner.name: outer for inner, outer in zip(block.inputs, operands, strict=True)}
    for inner in block.calls:
        inner.arguments = {key: _with(value, rename) for key, value in inner.arguments.items()}
        inner.results = [_result(result, names) for result in inner.results]
        inner.modules = inner.modules or call.modules
    off = call.target.endswith("set_grad_enabled") and values[0] is False
    target = "aten.detach.default" if off else "aten.alias.default"
    return block.calls + [
        Call(target, {"self": _with(ref, rename)}, [name], call.modules, call.line)
        for ref, name in zip(block.results, call.names(), strict=True)
    ]


def _unused(name: str, program: ExportedProgram) -> str:
    """The name, with as many underscores as tell it from others."""
    while name in program.types or name in program.sizes:
        name += "_"
    return name


def _with(value: Any, rename: dict[str, Any]) -> Any:
    if isinstance(value, Ref):
        return rename.get(value.name, value)
    return [_with(part, rename) for part in value] if isinstance(value, list) else value


def _result(result: Any, names: dict[str, str]) -> Any:
    return [_result(part, names) for part in result] if isinstance(result, list) else names.get(result, result)
