"""One rank at work: executor, segment compiler, state, worker process, sharded checkpoints."""
