"""What every pass is made of: pass records, rewrite rules, the rewriter, the rewrite log."""

from msnb.graph.compile.rewriting.node_facts import const_of
from msnb.graph.compile.rewriting.pass_record import PASSES, Case, Pass, register_pass
from msnb.graph.compile.rewriting.rewrite_log import Log, Rewrite
from msnb.graph.compile.rewriting.rewrite_rule import Found, RewriteRule, kind, op_of, truth
from msnb.graph.compile.rewriting.rewriter import Answer, GraphRewriter, Rule, map_module, sweep_module, sweep_pass

__all__ = [
    "Answer", "Case", "Found", "GraphRewriter", "Log", "PASSES", "Pass", "Rewrite", "RewriteRule", "Rule", "const_of",
    "kind", "map_module", "op_of", "register_pass", "sweep_module", "sweep_pass", "truth",
]  # fmt: skip
