"""The settings of a session, typed.

Made by tools/stubs.py from what msnb.ops is; do not edit."""

from typing import Any

from typing_extensions import TypedDict

class ContextKeys(TypedDict, total=False):
    """The keys of ``set_context``."""

    mode: int | str
    device_target: str
    device_id: int
    soc_version: str
    save_graphs: bool | int
    save_graphs_path: str
    verify_graphs: bool
    runtime_num_threads: int
    jit_level: str
    matmul_precision: str
    max_call_depth: int
    deterministic: str
    pynative_synchronize: bool
    enable_graph_kernel: Any
    graph_kernel_flags: Any
    enable_compile_cache: Any
    compile_cache_path: Any
    jit_config: Any
    jit_syntax_level: Any
    max_device_memory: Any
    mempool_block_size: Any
    variable_memory_max_size: Any
    memory_optimize_level: Any
    memory_offload: Any
    enable_reduce_precision: Any
    auto_tune_mode: Any
    check_bprop: Any
    enable_sparse: Any
    grad_for_scalar: Any
    op_timeout: Any
    ascend_config: Any
    gpu_config: Any
    exec_order: Any
    env_config_path: Any
    print_file_path: Any
    disable_format_transform: Any
    support_binary: Any
    inter_op_parallel_num: Any
    aoe_tune_mode: Any
    aoe_config: Any
    reserve_class_name_in_scope: Any
    debug_level: Any
    enable_profiling: Any
    profiling_options: Any
    enable_dump: Any
    save_dump_path: Any
    enable_mem_reuse: Any
    enable_auto_mixed_precision: Any
    enable_loop_sink: Any
    enable_task_sink: Any
    enable_gpu_kernel_cache: Any
    enable_debugger: Any
    op_debug_option: Any
