"""Programs written as models of ONNX: nodes by the facts of records, functions by their names."""

from msnb.onnx.export.model_writer import model_of, write

__all__ = ["model_of", "write"]
