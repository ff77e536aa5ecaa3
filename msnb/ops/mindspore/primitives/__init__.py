"""MindSpore's operator classes, family by family: tables of functions for ``primitive_classes``."""
