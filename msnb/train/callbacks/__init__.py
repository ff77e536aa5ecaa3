"""What a training run calls: callbacks for control, logging, checkpoints."""
