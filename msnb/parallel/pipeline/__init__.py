"""Pipeline stages: microbatches, stage partition, placement, transfers."""
