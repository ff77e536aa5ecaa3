"""A whole graph as one native call."""
