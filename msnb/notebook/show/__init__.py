"""``ms.show``: every picture as a function."""
