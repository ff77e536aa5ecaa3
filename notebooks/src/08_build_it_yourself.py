# %% [markdown]
# # Build it yourself
#
# A framework in one notebook, from nothing but NumPy: operators, a tensor, a graph, gradients, passes, a code generator, training
# in two modes. Nothing is imported from msnb until the last section; there the small one is compared with the big one, and it
# turns out that they speak the same language.
#
# What we build has the plan of every framework of this kind:
#
# ```
# your function --> engine: run now          (eager)
#               --> engine: write it down    (graph) --> gradient --> passes --> code --> run
# ```

# %%
# All that we take from outside
import math

import numpy as np

# %% [markdown]
# ## 1 One operator, once
# Everything that anyone will ask about an operator stands in one record: how to run it, its gradient, and, where it works element
# by element, how to write it for one element. Calling an operator does not run it. It asks the **engine**, and the engine decides
# what a call means at this moment.

# %%
# Records, and the slot for the engine
class Op:
    def __init__(self, name, run, grad=None, scalar=""):
        self.name, self.run, self.grad, self.scalar = name, run, grad, scalar

    def __call__(self, *inputs, **attrs):
        return engine(self, [x if isinstance(x, Tensor) else number(x) for x in inputs], attrs)


class Tensor:
    """A value with a shape; in a graph there is no value yet, but a node."""

    def __init__(self, data=None, node=None):
        self.data, self.node = data, node
        self.shape = np.shape(data) if node is None else node.shape

    def __add__(self, other): return add(self, other)
    def __mul__(self, other): return multiply(self, other)
    def __neg__(self): return negative(self)
    def __sub__(self, other): return add(self, negative(other if isinstance(other, Tensor) else number(other)))
    def __matmul__(self, other): return matmul(self, other)
    def sum(self, shape=()): return sum_to(self, shape=shape)


def run_now(op, inputs, attrs):
    """The eager engine: three words."""
    return Tensor(op.run(*[x.data for x in inputs], **attrs))


def number(x):
    return constant(value=float(x))


engine = run_now

# %% [markdown]
# Gradient rules are written **in operators**, not in NumPy. That is the trick from which the rest follows: a rule then works in
# every engine, and the gradient of a gradient needs no new rules.
#
# Broadcasting is the one nuisance. `a + b` may stretch `b`, and the way back must add up what was stretched. So `sum_to` and
# `broadcast_to` are operators, and each is the other's gradient.

# %%
# Eleven operators are enough
def back_to(d, x):
    return d if d.shape == x.shape else sum_to(d, shape=x.shape)


def _sum_to(a, shape):
    extra = tuple(range(a.ndim - len(shape)))
    ones = tuple(i + len(extra) for i, n in enumerate(shape) if n == 1)
    return a.sum(extra + ones, keepdims=True).reshape(shape)


constant = Op("constant", lambda value: np.float64(value))
add = Op("add", np.add, lambda d, out, a, b: (back_to(d, a), back_to(d, b)), "{0} + {1}")
multiply = Op("multiply", np.multiply, lambda d, out, a, b: (back_to(d * b, a), back_to(d * a, b)), "{0} * {1}")
negative = Op("negative", np.negative, lambda d, out, a: (-d,), "-{0}")
divide = Op("divide", np.divide,
            lambda d, out, a, b: (back_to(divide(d, b), a), back_to(-divide(d * out, b), b)), "{0} / {1}")
exp = Op("exp", np.exp, lambda d, out, a: (d * out,), "exp({0})")
log = Op("log", np.log, lambda d, out, a: (divide(d, a),), "log({0})")
tanh = Op("tanh", np.tanh, lambda d, out, a: (d * (-(out * out) + 1.0),), "tanh({0})")
sum_to = Op("sum_to", _sum_to, lambda d, out, a, shape: (broadcast_to(d, shape=a.shape),))
broadcast_to = Op("broadcast_to", np.broadcast_to, lambda d, out, a, shape: (sum_to(d, shape=a.shape),))
transpose = Op("transpose", lambda a, perm: np.transpose(a, perm), lambda d, out, a, perm: (transpose(d, perm=perm),))
matmul = Op("matmul", np.matmul, lambda d, out, a, b: (d @ transpose(b, perm=(1, 0)), transpose(a, perm=(1, 0)) @ d))

print((Tensor(np.array([1.0, 2.0])) * 3 + 1).data)

# %% [markdown]
# ## 2 The second engine writes down
# In graph mode the engine runs nothing. It appends a node to a list and gives back a tensor without data. The shape is known at
# once: run the operator on an array that holds one number and pretends to have the shape.

# %%
# A graph is a list of nodes, in the order in which they were asked for
class Node:
    def __init__(self, op, inputs, attrs, shape):
        self.op, self.inputs, self.attrs, self.shape = op, inputs, attrs, shape


class Graph:
    def __init__(self, name):
        self.name, self.params, self.nodes, self.outputs = name, [], [], []

    def add(self, op, inputs, attrs):
        """The graph engine."""
        stand_ins = [np.broadcast_to(1.0, x.shape) for x in inputs]
        node = Node(op, [x.node for x in inputs], attrs, np.shape(op.run(*stand_ins, **attrs)))
        self.nodes.append(node)
        return Tensor(node=node)


def trace(fn, *shapes, name=""):
    """What a function does, as a graph."""
    global engine
    graph, before = Graph(name or fn.__name__), engine
    graph.params = [Node(None, [], {}, tuple(s)) for s in shapes]
    engine = graph.add
    try:
        found = fn(*[Tensor(node=p) for p in graph.params])
    finally:
        engine = before
    graph.outputs = [t.node for t in (found if isinstance(found, tuple) else (found,))]
    return graph


# %% [markdown]
# A graph wants to be read. Small constants stand in the line that reads them.

# %%
# A graph as text
def text_of(graph):
    names = {p: f"p{i}" for i, p in enumerate(graph.params)}
    shown = [n for n in graph.nodes if n.op is not constant]
    names.update({n: f"%{i}" for i, n in enumerate(shown, 1)})
    names.update({n: f"~{n.attrs['value']!r}" for n in graph.nodes if n.op is constant})
    kind = lambda n: f"f64[{','.join(map(str, n.shape))}]"
    params = ", ".join(f"{names[p]}: {kind(p)}" for p in graph.params)
    lines = [f"graph {graph.name}({params}) -> ({', '.join(map(kind, graph.outputs))})"]
    for n in shown:
        words = [names[i] for i in n.inputs] + [f"{k}={v}" for k, v in n.attrs.items()]
        lines.append(f"  {names[n]} = {n.op.name}({', '.join(words)}) : {kind(n)}")
    return "\n".join([*lines, f"  return {', '.join(names[o] for o in graph.outputs)}"])


def f(x, w):
    y = tanh(x * w)
    return (y * y).sum()


graph = trace(f, (3,), (3,))
print(text_of(graph))

# %% [markdown]
# To run a graph, ask the operators again, in order. `replay` does not say which engine is on. With the eager one it runs the
# program; with a graph engine it copies it.

# %%
# One function runs, copies and (soon) differentiates
def replay(graph, params):
    values = dict(zip(graph.params, params))
    for node in graph.nodes:
        values[node] = node.op(*[values[i] for i in node.inputs], **node.attrs)
    return values


def call(graph, *arrays):
    values = replay(graph, [Tensor(np.asarray(a, float)) for a in arrays])
    return [values[o].data for o in graph.outputs]


x, w = np.array([0.5, 1.0, 2.0]), np.array([1.0, -1.0, 0.5])
print("graph", float(call(graph, x, w)[0]), "  eager", float(f(Tensor(x), Tensor(w)).data))

# %% [markdown]
# ## 3 Gradients: a graph from a graph
# Walk the nodes backwards. Each asks its rule what its operands get; who is read twice gets two parts, and they add up. Since the
# rules are made of operators, doing this *while tracing* gives a new graph.

# %%
# The chain rule in ten lines
def gradient(graph):
    """The graph of the derivatives of its first result by all its params."""

    def back(*params):
        values = replay(graph, params)
        d = {graph.outputs[0]: number(1)}
        for node in reversed(graph.nodes):
            if node in d and node.op.grad is not None:
                parts = node.op.grad(d[node], values[node], *[values[i] for i in node.inputs], **node.attrs)
                for i, part in zip(node.inputs, parts):
                    d[i] = d[i] + part if i in d else part
        return tuple(d.get(p, number(0)) for p in graph.params)

    return trace(back, *[p.shape for p in graph.params], name=f"grad_{graph.name}")


df = gradient(graph)
print(text_of(df))

# %%
# Right? A difference quotient knows no rules
def quotient(fn, arrays, k, h=1e-6):
    out = np.zeros_like(arrays[k])
    for i in np.ndindex(out.shape):
        for sign in (1, -1):
            moved = [a.copy() for a in arrays]
            moved[k][i] += sign * h
            out[i] += sign * float(call(fn, *moved)[0]) / (2 * h)
    return out


print("first order: ", all(np.allclose(g, quotient(graph, [x, w], k)) for k, g in enumerate(call(df, x, w))))
first = trace(lambda x, w: replay(df, [x, w])[df.outputs[0]].sum(), (3,), (3,), name="sum_of_df")
print("second order:", np.allclose(call(gradient(first), x, w)[0], quotient(first, [x, w], 0)))

# %% [markdown]
# ## 4 Passes
# The gradient does superfluous things: it multiplies with 1, computes `%1` twice, computes results that nobody reads. A pass makes
# a better graph of a graph. Each is a law that never changes a value:
#
# | law | before | after |
# |---|---|---|
# | identities | `x * 1`, `x + 0`, `--x` | `x` |
# | common subexpressions | the same operator on the same operands, twice | once |
# | dead code | a node that no result needs | nothing |

# %%
# Laws and common subexpressions on the way, dead code at the end
def value_of(node):
    """The number that stands in every place of a node, if it is known."""
    while node.op is broadcast_to:
        node = node.inputs[0]
    return node.attrs["value"] if node.op is constant else None


def law(op, inputs, attrs):
    """A node that is the same as this operator on these operands, or None."""
    for a, b in (inputs, inputs[::-1]) if len(inputs) == 2 else ():
        neutral = {"multiply": 1.0, "add": 0.0}.get(op.name)
        if neutral is not None and value_of(b) == neutral and np.broadcast_shapes(a.shape, b.shape) == a.shape:
            return a
    if op is negative and inputs[0].op is negative:
        return inputs[0].inputs[0]
    if op in (sum_to, broadcast_to) and attrs["shape"] == inputs[0].shape:
        return inputs[0]
    return None


def simplify(graph):
    out, new, seen = Graph(graph.name), {}, {}
    out.params = [Node(None, [], {}, p.shape) for p in graph.params]
    new.update(zip(graph.params, out.params))
    for node in graph.nodes:
        inputs = [new[i] for i in node.inputs]
        key = node.op, tuple(map(id, inputs)), tuple(node.attrs.items())
        new[node] = law(node.op, inputs, node.attrs) or seen.get(key)
        if new[node] is None:
            new[node] = seen[key] = Node(node.op, inputs, node.attrs, node.shape)
            out.nodes.append(new[node])
    out.outputs = [new[o] for o in graph.outputs]
    return without_dead(out)


def without_dead(graph):
    needed = set(graph.outputs)
    for node in reversed(graph.nodes):
        if node in needed:
            needed.update(node.inputs)
    graph.nodes = [n for n in graph.nodes if n in needed]
    return graph


better = simplify(df)
print(text_of(better))
size = lambda g: sum(n.op is not constant for n in g.nodes)
same = all((a == b).all() for a, b in zip(call(df, x, w), call(better, x, w)))
print(size(df), "->", size(better), "nodes, same values:", same)

# %% [markdown]
# ## 5 A code generator
# Run node by node, every operator reads arrays from memory and writes one back. Most of that traffic is needless: element 7 of
# `tanh(x * w)` hangs on element 7 of `x` and `w` alone. So neighbours that work element by element are **fused**: one loop, and
# what lives only inside it never becomes an array.
#
# Our generator writes Python. A real one writes the same loops in LLVM or CUDA; the decisions are the same ones: what is in a
# group, and which values leave it.

# %%
# Groups of neighbours over one shape, then text
def groups_of(graph):
    """Runs of elementwise nodes of one shape; everything else stands alone."""
    out = []
    for node in (n for n in graph.nodes if n.op is not constant):
        fits = node.op.scalar and all(i.shape in (node.shape, ()) for i in node.inputs)
        last = out[-1] if out else None
        if fits and last and last["loop"] and last["shape"] == node.shape and not _reads_scalar_of(node, last["nodes"]):
            last["nodes"].append(node)
        else:
            out.append({"loop": bool(fits), "shape": node.shape, "nodes": [node]})
    return out


def _reads_scalar_of(node, nodes):
    return any(i in nodes and i.shape != node.shape for i in node.inputs)


def generate(graph):
    """The text of a Python function, and how many arrays it writes."""
    names = {p: f"p{i}" for i, p in enumerate(graph.params)}
    names.update({n: f"t{i}" for i, n in enumerate(graph.nodes)})
    lines, written = [f"def {graph.name}({', '.join(names[p] for p in graph.params)}):"], 0
    for group in groups_of(graph):
        nodes = group["nodes"]
        if not group["loop"]:
            (n,) = nodes
            words = [_array(i, names) for i in n.inputs] + [f"{k}={v}" for k, v in n.attrs.items()]
            lines.append(f"    {names[n]} = {n.op.name}({', '.join(words)})")
            written += 1
            continue
        outside = [n for n in graph.nodes if n not in nodes]
        leaving = [n for n in nodes if n in graph.outputs or any(n in o.inputs for o in outside)]
        lines += [f"    {names[n]} = empty({n.shape})" for n in leaving]
        lines.append(f"    for i in range({math.prod(group['shape'])}):")
        for n in nodes:
            lines.append(f"        s{names[n]} = {n.op.scalar.format(*[_element(i, nodes, names) for i in n.inputs])}")
            lines += [f"        {names[n]}.flat[i] = s{names[n]}"] if n in leaving else []
        written += len(leaving)
    return "\n".join([*lines, f"    return {', '.join(_array(o, names) for o in graph.outputs)},"]), written


def _array(node, names):
    return repr(value_of(node)) if node.op is constant else names[node]


def _element(node, inside, names):
    if node in inside or node.op is constant:
        return f"s{names[node]}" if node in inside else repr(value_of(node))
    return f"{names[node]}.flat[{'i' if node.shape else 0}]"


code, written = generate(better)
print(code)
print(f"\n{written} arrays written instead of {size(better)}")

# %%
# From text to a function
TOOLS = {"empty": np.empty, "exp": math.exp, "log": math.log, "tanh": math.tanh}


def compiled(graph):
    called = (add, multiply, negative, divide, sum_to, broadcast_to, transpose, matmul)
    space = {**TOOLS, **{op.name: op.run for op in called}}
    exec(generate(graph)[0], space)
    fn = space[graph.name]
    return lambda *arrays: fn(*[np.asarray(a, float) for a in arrays])


print("same values:", all(np.allclose(a, b) for a, b in zip(compiled(better)(x, w), call(better, x, w))))

# %% [markdown]
# ## 6 A network learns, in both modes
# Two interleaved spirals, a layer of 12 tanh, a softmax. The whole step (loss, gradients, and new weights) is one function of
# tensors. Eager mode calls it; graph mode traces it once, simplifies it, generates code, and calls that.

# %%
# Data, network, step
def spirals(n=30):
    t = np.linspace(0.3, 2.2, n)
    arm = np.stack([t * np.cos(2.5 * t), t * np.sin(2.5 * t)], 1)
    return np.concatenate([arm, -arm]), np.repeat(np.eye(2), n, 0)


def loss(x, label, w1, b1, w2, b2):
    logits = tanh(x @ w1 + b1) @ w2 + b2
    log_p = logits - log(exp(logits).sum((x.shape[0], 1)))
    return -(label * log_p).sum() * (1 / x.shape[0])


data, label = spirals()
rng = np.random.default_rng(1)
start = [rng.normal(size=(2, 12)), np.zeros((1, 12)), rng.normal(size=(12, 2)) * 0.5, np.zeros((1, 2))]
shapes = [np.shape(a) for a in (data, label, *start)]
forward = trace(loss, *shapes)
backward = gradient(forward)


def step(x, label, *weights):
    """Loss and new weights."""
    value = replay(forward, (x, label, *weights))[forward.outputs[0]]
    grads = replay(backward, (x, label, *weights))
    return (value, *[w - grads[o] * 0.5 for w, o in zip(weights, backward.outputs[2:])])


captured = trace(step, *shapes)
program = simplify(captured)
text, written = generate(program)
print(f"one step: {size(captured)} nodes as captured, {size(program)} after the passes, "
      f"{written} arrays written by {len(groups_of(program))} groups")

# %%
# The same numbers in both modes
def train(run, steps=150):
    weights, losses = list(start), []
    for _ in range(steps):
        value, *weights = run(data, label, *weights)
        losses.append(float(value))
    return losses, weights


eager_losses, _ = train(lambda *arrays: [t.data for t in step(*map(Tensor, arrays))])
graph_losses, weights = train(compiled(program))
print("both modes give the same losses:", np.allclose(eager_losses, graph_losses, rtol=1e-6))
print("from", round(graph_losses[0], 2), "to less than half of it:", graph_losses[-1] < graph_losses[0] / 2)

# %% [markdown]
# ## 7 Against the big one
# Now msnb. The same loss, the same weights, its own operators and its own gradient rules.

# %%
# The same loss in msnb
import msnb as ms
from msnb import ops
from msnb.ir.text.parser import parse

# %load_ext msnb


def big_loss(x, label, w1, b1, w2, b2):
    logits = ops.tanh(x @ w1 + b1) @ w2 + b2
    log_p = logits - ops.log(ops.exp(logits).sum(1, keepdims=True))
    return -(label * log_p).sum() * (1 / x.shape[0])


arrays = [ms.Tensor(a) for a in (data, label, *start)]
ours = call(backward, data, label, *start)[2:]
theirs = ms.grad(big_loss, (2, 3, 4, 5))(*arrays)
print("loss:     ", np.isclose(float(big_loss(*arrays)), graph_losses[0]))
print("gradients:", all(np.allclose(a, b.asnumpy()) for a, b in zip(ours, theirs)))

# %% [markdown]
# We were careful to write our graphs in msnb's own notation. So its parser reads them, and its tools work on them: here is the
# program that *we* derived, drawn by msnb.

# %%
# Our gradient, read and drawn by msnb
read_back = parse(text_of(better))
ms.show.graph(read_back, title="made in this notebook")

# %%
# And run by msnb: its compiler on our graph
from msnb.graph.compile import compile_graph

big = compile_graph(read_back)
print("same values:", all(np.allclose(a, b) for a, b in zip(big([x, w]), call(better, x, w))))

# %% [markdown]
# ## What the big one does beyond
# | here | msnb |
# |---|---|
# | one function at a time is traced | `if`, `while`, `for` on tensors become nodes; guards make sure that nothing is stale |
# | shapes are fixed | dimensions may be symbols; dtypes promote |
# | three laws | some hundred, each with a test and a reason; see `%ms_passes` |
# | Python loops | LLVM, vectors, threads; oneDNN for products and convolutions |
# | arrays come and go | a memory plan; see `%ms_mem` |
# | gradients by replay | the same, plus forward mode, `vmap`, loops, and derivatives of any order |
# | one device | a planner for many; see `%ms_plan` |
#
# ## Try it
# 1. Add `sqrt`, with rule and scalar form; test it against the quotient.
# 2. Write the law `transpose(transpose(x)) = x`. Where is it used: in the step, or in the gradient of a gradient?
# 3. Make `generate` reuse arrays: a name may be given again when nobody reads the array any more. How few does a step need?
# 4. Forward mode: carry a derivative *along* while replaying. Which of the two is cheaper for a function with one input and
#    many results?
#
# <details><summary>Solutions</summary>
#
# 1. The derivative of the root is 1 / (2 root), and the root is known already:
#
#    ```python
#    sqrt = Op("sqrt", np.sqrt, lambda d, out, a: (divide(d, out + out),), "sqrt({0})")
#    TOOLS["sqrt"] = math.sqrt
#    ```
#
# 2. In `law`: `if op is transpose and inputs[0].op is transpose: return inputs[0].inputs[0]` (the permutations of matrices undo
#    each other). The step has four transposes and no double one; the rule of `matmul` applied to the gradient of a `matmul` makes
#    them, so it is the gradient of a gradient that gains.
# 3. Count backwards who reads an array last; a group that begins may take what is free. At most 7 arrays are alive at once, where
#    the step writes 32.
# 4. Forward mode: one run gives the derivative of all results by one input. Backward mode is its mirror, one run gives the
#    derivative of one result (a loss) by all inputs; that is why training uses it.
#
# </details>
