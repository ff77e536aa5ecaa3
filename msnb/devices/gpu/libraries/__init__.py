"""NVIDIA's libraries, called directly: matrix products (cuBLASLt), convolutions (cuDNN).

    problem (shapes, layouts, dtypes)  ->  plan (descriptors, the algorithm, its workspace)  ->  run (addresses, stream)

A plan is made once per problem and kept; ``run`` only launches: it allocates nothing and may be captured in a CUDA
graph. Everything here takes addresses as ints and imports no array package. ``plan`` answers None where the library is
missing or has no code for a problem, and the caller takes another way.
"""
