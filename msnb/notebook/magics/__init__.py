"""The magics: each parses its line and calls a function of ``show``."""
