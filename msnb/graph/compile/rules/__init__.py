"""One table of rewrite rules for each subject."""
