"""Devices: where buffers live and how ops and graphs run."""
