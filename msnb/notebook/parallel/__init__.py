"""Views of plans over many devices."""
