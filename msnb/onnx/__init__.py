"""Models in ONNX's format: read, run in both modes, differentiated, trained further, and written.

    ms.load("net.onnx")      a SavedGraph; ``nn.GraphCell`` runs it
    msnb.onnx.backend        ONNX's backend interface (``onnx.backend.test`` runs on it)

    model_reader     file -> ModelGraph, without code of the file and without a byte outside its folder
    operators/       one function per operator and version, by family
    program          a ModelGraph as a program: its nodes go through whatever engine runs or records
    export/          SavedGraph -> file, by the facts of the records and the names of functions

The format's definition, functions and checks are the package ``onnx``'s (extra: ``msnb[onnx]``); nothing here runs
another runtime.
"""

from msnb.onnx.export import write
from msnb.onnx.program import OnnxProgram, load

__all__ = ["OnnxProgram", "load", "write"]
