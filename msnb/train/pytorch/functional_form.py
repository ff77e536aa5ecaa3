"""An exported program without in-place operators: what they wrote becomes a new value that all later calls read.

    relu_(x)            ->  x' = relu(x), and x' for x from there on
    x[:, 0].fill_(v)    ->  x[:, 0] = v, as a call ``msnb.write`` that gives x'

Blocks that only set PyTorch's gradient mode are opened.
"""

from __future__ import annotations

from typing import Any

from msnb.train.pytorch.exported_program import Call, ExportedProgram, Ref

WRITE = "msnb.write"
_VIEWS = ("select", "slice")
_ALIASES = ("alias", "detach", "contiguous", "lift_fresh", "expand_as_self")


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
        first = next(iter(call.arguments.values()), None)
        call.arguments = {key: self.renamed(value) for key, value in call.arguments.items()}
        target = next(iter(call.arguments.values()), None)
        if name in _VIEWS and isinstance(target, Ref):
            base, path = self.view_of.get(target.name, (target.name, []))
            self.view_of[call.results[0]] = (base, [*path, call.arguments])
        if not name.endswith("_") or name.endswith("__") or not isinstance(target, Ref) or not call.results:
            return [call]
        assert isinstance(first, Ref)
        self.now[target.name] = call.results[0]
        if target.name in self.program.weights and target.name in self.program.weights:
            self.buffers[self.program.weights[target.name]] = call.results[0]
        if target.name in self.view_of:
            return [call, self.written(target.name, call)]
        return [call]

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
        block = call.arguments.get("operand_1")
        if not (call.target.startswith("higher_order.wrap_with") and isinstance(block, ExportedProgram)):
            yield call
            continue
        operands = [value for key, value in call.arguments.items() if key not in ("operand_0", "operand_1")]
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
