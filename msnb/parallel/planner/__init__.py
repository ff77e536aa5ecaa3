"""From a graph to a cost graph and back: cost models, constraints, the Pareto front."""
