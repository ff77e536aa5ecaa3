"""Programs of the GPU: a graph as steps over one arena, launched one by one or as one CUDA graph."""
