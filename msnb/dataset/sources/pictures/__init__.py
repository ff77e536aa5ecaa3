"""Data sets of pictures, in the layouts of their publishers."""
