"""Along the lines of an axis: running totals, and where extremes stand."""
