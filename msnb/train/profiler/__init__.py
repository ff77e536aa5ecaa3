"""Profiles of running programs: which op, program and step takes how long."""

from msnb.train.profiler.dynamic_monitor import DynamicProfilerMonitor
from msnb.train.profiler.profile_options import (
    AicoreMetrics,
    ExperimentalConfig as _ExperimentalConfig,
    ExportType,
    ProfilerAction,
    ProfilerActivity,
    ProfilerLevel,
    schedule,
)
from msnb.train.profiler.program_profile import Profiler, profile, tensorboard_trace_handler
from msnb.train.profiler.trace_recorder import mstx

__all__ = [
    "AicoreMetrics", "DynamicProfilerMonitor", "ExportType", "Profiler", "ProfilerAction", "ProfilerActivity",
    "ProfilerLevel", "mstx", "profile", "schedule", "tensorboard_trace_handler",
]  # fmt: skip
