"""Views over a training run."""
