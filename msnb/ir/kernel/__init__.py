"""One fused group as loops: the kernel IR, iteration spaces, strided views."""
