"""Values during capture: outside sources, lazy scalars, the mutation journal, merged variables."""
