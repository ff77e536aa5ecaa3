"""Where plans run: simulated ranks in one process (``inproc``), and the door that captures a program for planning."""
