"""The assumptions of a captured program, checked at every call."""
