"""Collectives between ranks: communicator, back ends (MPI, NCCL, simulated), failures."""
