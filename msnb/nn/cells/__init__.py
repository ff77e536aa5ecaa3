"""Cell, containers of Cells, and what a Cell knows of itself: state, tree, hooks, flags."""
