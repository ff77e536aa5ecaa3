"""Checkpoints and MindIR files."""
