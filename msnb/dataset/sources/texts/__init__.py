"""Data sets of text, in the layouts of their publishers."""
