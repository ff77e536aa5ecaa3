"""The cases of `make bench-gpu`: programs of bench/cases at the sizes of a GPU."""

from __future__ import annotations

from bench.gpu_cases.gpu_case import GpuCase
from bench.gpu_cases.kernels import CASES as KERNELS
from bench.gpu_cases.networks import CASES as NETWORKS

CASES: list[GpuCase] = [*KERNELS, *NETWORKS]


def chosen(words: str) -> list[GpuCase]:
    """The cases whose names begin with one of the words, which commas part; all of them without a word."""
    wanted = [word.strip() for word in words.split(",") if word.strip()]
    return [case for case in CASES if not wanted or any(case.name.startswith(word) for word in wanted)]
