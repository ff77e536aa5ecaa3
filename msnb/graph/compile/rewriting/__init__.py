"""What every pass is made of: pass records, rewrite rules, the rewriter, the rewrite log."""
