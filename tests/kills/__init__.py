"""Processes that are killed, and steps that are interrupted, at random moments of their work.

    python -m tests.kills --count 100                       every kind
    python -m tests.kills --kind ranks --count 100 --seed 7

    checkpoints   a writer is killed: the file is an old or a new one, whole; what was left goes with the next save
    workers       a worker of a dataset is killed: all rows, or the first and a DatasetError; the next epoch is whole
    ranks         a rank is killed while it trains with snapshots: the losses of a run in which nothing failed
    interrupts    Ctrl-C in a training step, eager and graph, O0 and O1: all state of the step is there, or none

A trial is a function of a random generator that says whether the kill came before the work was through, and what went
wrong; ``--count`` kills must come in time. A kind is a context that gives trials, so that what is dear (ranks,
networks) is made once. After each kind nothing may be left:
no process, no file. Same seed, same moments asked for; when they come, the machine decides.
"""
