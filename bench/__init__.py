"""Side-by-side measurements of speed; see README.md."""
