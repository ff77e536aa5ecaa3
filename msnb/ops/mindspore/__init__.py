"""MindSpore 1 spellings of operators: primitive classes, MultitypeFuncGraph, scalar conversions."""
