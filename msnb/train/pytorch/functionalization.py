"""An exported program without in-place operators: what they wrote becomes a new value that all later calls read.

    relu_(x)            ->  x' = relu(x), and x' for x from there on
    x[:, 0].fill_(v)    ->  x[:, 0] = v, as a call ``msnb.write`` that gives x'; other slices of x are taken anew

What only gives its operand back is left out.

Blocks that only set PyTorch's gradient mode are opened.
"""

from __future__ import annotations

from typing import Any

from msnb.train.pytorch.exported_program import Call, ExportedProgram, Ref

WRITE = "msnb.write"
_VIEWS = ("select", "slice")


def make_functional(program: ExportedProgram) -> None:
    """Rewrite a program's calls, results and written buffers."""
    program.calls = list(_opened(program.calls, program))
    form = _Form(program)
    program.calls = [made for call in program.calls for made in form.call(call)]
    program.results = form.renamed(program.results)
    program.written = {
        name: form.now.get(value, value)
        for name, value in (program.written | form.buffers).items()
        if not name.endswith("num_batches_tracked")
    }


class _Form:
    """Follows which value stands for a name now."""

    def __init__(self, program: ExportedProgram) -> None:
        self.program = program
        self.now: dict[str, str] = {}
        self.view_of: dict[str, tuple[str, list[dict[str, Any]]]] = {}
        self.slice_of: dict[str, tuple[str, Call]] = {}  # a slice -> what it is a slice of when it was taken, its call
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
        again = [made for used in dict.fromkeys(call.used()) for made in self.taken_anew(used)]
        call.arguments = {key: self.renamed(value) for key, value in call.arguments.items()}
        target = next(iter(call.arguments.values()), None)
        if name == "broadcast_tensors":
            return [*again, *self.broadcast(call)]
        if not isinstance(target, Ref) or not call.results:
            return [*again, call]
        if self.gives_back(name, target, call):
            self.now |= dict.fromkeys(call.names(), target.name)
            return again
        self.note_view(name, target, call)
        if not name.endswith("_") or name.endswith("__"):
            return [*again, call]
        self.now[target.name] = call.results[0]
        if target.name in self.program.weights:
            self.buffers[self.program.weights[target.name]] = call.results[0]
        return [*again, call, *([self.written(target.name, call)] if target.name in self.view_of else [])]

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

    def note_view(self, name: str, target: Ref, call: Call) -> None:
        """Remember what a value is a slice of."""
        if name in _VIEWS:
            base, path = self.view_of.get(target.name, (target.name, []))
            self.view_of[call.results[0]] = (base, [*path, call.arguments])
            self.slice_of[call.results[0]] = (target.name, call)

    def taken_anew(self, name: str) -> list[Call]:
        """The slice again, where what it is a slice of was written since."""
        if name not in self.slice_of or name in self.now:
            return []
        base, call = self.slice_of[name]
        made = self.taken_anew(base)
        current = self.renamed(Ref(base))
        if current.name == base:
            return made
        self.count += 1
        fresh = f"{name}_again_{self.count}"
        self.program.types[fresh] = self.program.types[name]
        self.now[name] = fresh
        again = Call(call.target, call.arguments | {"self": current}, [fresh], call.modules, call.line)
        self.note_view(call.target.split(".")[1], current, again)
        return [*made, again]

    def written(self, view: str, call: Call) -> Call:
        """The write of a view's new value into what it is a view of."""
        base, path = self.view_of[view]
        self.count += 1
        result = f"written_{self.count}"
        base_now = self.renamed(Ref(base)).name
        self.program.types[result] = self.program.types[base_now]
        self.now[base_now] = result
        if base_now in self.program.weights:
            self.buffers[self.program.weights[base_now]] = result
        arguments: dict[str, Any] = {"self": Ref(base_now), "value": Ref(call.results[0])}
        for i, step in enumerate(path):
            arguments |= {f"{key}_{i}": value for key, value in step.items() if key != "self"}
        return Call(f"{WRITE}.{len(path)}", arguments, [result], call.modules, call.line)


def _opened(calls: list[Call], program: ExportedProgram) -> Any:
    """The calls, those inside blocks that set the gradient mode in place of the block."""
    for call in calls:
        values = list(call.arguments.values())
        block = next((value for value in values if isinstance(value, ExportedProgram)), None)
        if block is None or not call.target.startswith("higher_order.wrap_with"):
            yield call
            continue
        operands = values[values.index(block) + 1 :]
        rename = {inner.name: outer for inner, outer in zip(block.inputs, operands, strict=True)}
        results = {ref.name: name for ref, name in zip(block.results, call.names(), strict=True)}
        program.types |= block.types
        program.sizes |= block.sizes
        for inner in block.calls:
            inner.arguments = {key: _with(value, rename) for key, value in inner.arguments.items()}
            inner.results = [_result(result, results) for result in inner.results]
            inner.modules = inner.modules or call.modules
        yield from _opened(block.calls, program)


def _with(value: Any, rename: dict[str, Any]) -> Any:
    if isinstance(value, Ref):
        return rename.get(value.name, value)
    return [_with(part, rename) for part in value] if isinstance(value, list) else value


def _result(result: Any, results: dict[str, str]) -> Any:
    return [_result(part, results) for part in result] if isinstance(result, list) else results.get(result, result)
