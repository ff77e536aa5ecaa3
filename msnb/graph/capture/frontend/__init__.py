"""Source text and syntax tree: a Python function is converted into one that asks the interpreter."""
