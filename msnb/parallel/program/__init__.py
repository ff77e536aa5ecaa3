"""What every rank runs, as data: SPMD programs, the training graph, their documents."""
