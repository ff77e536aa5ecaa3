"""Views, slices, creation, concatenation: operators that move or make elements and compute nothing."""
