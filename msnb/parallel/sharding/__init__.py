"""Layouts of tensors over a device mesh: strategies, resharding, halos."""
