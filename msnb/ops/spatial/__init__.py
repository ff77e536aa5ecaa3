"""Operators with windows over images and volumes: convolution, pooling, resizing, regions."""
