"""Reading, adding and writing at index tensors."""
