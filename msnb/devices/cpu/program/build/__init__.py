"""From a graph to a program image: kernel selection, lowering, memory planning, encoding."""
