"""Sparse tensors: coordinates (COO), compressed rows (CSR), rows of a table; records that loop over stored values."""
