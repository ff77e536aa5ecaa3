"""Regrouping: sums and products in another order, where that is less work; for devices that ask for it.

The hardware-independent laws keep every bit. A device whose kernels and libraries add up in an order of their own
anyway loses nothing by laws that change last digits (``laws_sums``, ``laws_products``), and they save whole walks over
memory: one sum for many, one matrix product for a sum of products. Products with named axes become products of matrices
first (``laws_einsum``). The exact laws are tried on what they leave. Then
small products are gathered (``gathering``), which needs a look at many nodes at once. What is a product with a vector
after that becomes a sum (``laws_vectors``), last, for gathered vectors are a matrix.
"""

from __future__ import annotations

from msnb.graph.compile.passes.algebraic_simplification import LAWS, Simplifier
from msnb.graph.compile.passes.dce import without_dead_nodes
from msnb.graph.compile.passes.matmul_batching import gather
from msnb.graph.compile.passes.matmul_batching_cases import CASES
from msnb.graph.compile.rewriting import Log, Pass, RewriteRule, Rule, register_pass, sweep_module
from msnb.graph.compile.rules.einsum import EINSUMS
from msnb.graph.compile.rules.matmul import PRODUCTS
from msnb.graph.compile.rules.matvec import VECTORS
from msnb.graph.compile.rules.reductions import SUMS
from msnb.graph.compile.rules.variance import VARIANCES
from msnb.ir.graph import Graph

REGROUPINGS: tuple[RewriteRule, ...] = (*SUMS, *PRODUCTS, *VECTORS, *EINSUMS, *VARIANCES)
_EXACT = [law for law in LAWS if law.exact]
_BEFORE, _BEHIND = Simplifier([*EINSUMS, *VARIANCES, *SUMS, *PRODUCTS, *_EXACT]), Simplifier([*VECTORS, *_EXACT])


def _run(graph: Graph, log: Log) -> Graph:
    out = _swept(graph, _BEFORE, log)
    gathered = gather(out, log)
    return _swept(out if gathered is out else without_dead_nodes(gathered, Log()), _BEHIND, log)


def _swept(graph: Graph, rule: Rule, log: Log) -> Graph:
    before = log.total
    out = sweep_module(graph, "regroup", lambda: rule, log)
    # what laws tried and dropped is in ``out`` alone
    return without_dead_nodes(out, Log()) if log.total > before else graph


REGROUP = register_pass(
    Pass(
        name="regroup",
        law="Sums are shared and products gathered where that is less work; last digits may change.",
        needs="hardware_independent",
        gives="hardware_independent",
        cases=(*(case for law in REGROUPINGS for case in law.cases), *CASES),
        run=_run,
    )
)
