"""Loss and training step as Cells."""
