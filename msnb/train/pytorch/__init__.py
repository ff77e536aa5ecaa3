"""Programs of PyTorch: an exported graph is read, written out as the source of Cells, and compared with the original."""
