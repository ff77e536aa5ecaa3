"""From a graph to SVG and JSON."""
