"""What people are shown of programs of the GPU: code, steps and their costs, measured times, machine facts."""
