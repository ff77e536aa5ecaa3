"""The plan that users hold."""
