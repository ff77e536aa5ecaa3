"""Graph mode: capture of programs, and their compilation."""
