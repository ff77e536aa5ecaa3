"""What every pass is made of: pass records, rewrite rules, the rewriter, the rewrite log."""

from msnb.graph.compile.rewriting.node_facts import const_of
from msnb.graph.compile.rewriting.pass_record import Case, Pass, register_pass
from msnb.graph.compile.rewriting.rewrite_log import Log
from msnb.graph.compile.rewriting.rewrite_rule import Found, RewriteRule, op_of
from msnb.graph.compile.rewriting.rewriter import Answer, GraphRewriter, Rule, map_module, sweep_module

__all__ = [
    "Answer", "Case", "Found", "GraphRewriter", "Log", "Pass", "RewriteRule", "Rule", "const_of", "map_module",
    "op_of", "register_pass", "sweep_module",
]  # fmt: skip
