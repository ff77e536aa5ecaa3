"""Training: the Model, its callbacks and metrics, checkpoints."""
