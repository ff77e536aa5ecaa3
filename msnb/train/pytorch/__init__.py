"""Programs of PyTorch: an exported graph is read, written out as Cells, and compared with the original."""
