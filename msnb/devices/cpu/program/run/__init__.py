"""From a program image to results: loading, binding, execution, the program cache."""
