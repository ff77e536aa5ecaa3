"""A net for readers of files: good files, changed at random, and what a reader may do with them.

    python -m tests.mutation --files 10000                all formats, each in a process of its own
    python -m tests.mutation --files 2000 --only mindir records --seed 7

A reader may take a file or refuse it with an error of msnb that is the format's own. Anything else is a finding: a
foreign exception, more than five seconds, more than 500 MB, a crash. ``changes`` makes the changes, ``formats`` knows
the formats, ``trial`` runs one file, ``__main__`` many under limits. Same seed, same files.
"""
