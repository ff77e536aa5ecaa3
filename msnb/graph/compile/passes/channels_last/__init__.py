"""The pass from NCHW to NHWC, with the choice of values and the rules of axes."""
