"""Single operations of eager mode as native code."""
