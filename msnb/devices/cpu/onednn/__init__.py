"""oneDNN: the field's library for convolutions, matrix products and poolings on x86, through its C interface."""
