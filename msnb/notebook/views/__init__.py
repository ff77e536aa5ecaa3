"""One view class for each picture."""
