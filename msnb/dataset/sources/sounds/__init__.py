"""Data sets of sounds, in the layouts of their publishers."""
