"""A graph as text: printer, lexer, parser."""
