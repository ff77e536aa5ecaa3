"""What holds of a graph: verification, structural hash, isomorphism."""
