"""Public names of MindSpore 2.10 that msnb has not built: importing one works, using it says so.

A program imports more than it uses: a list of layers for mixed precision, a callback of another branch. So

    from mindspore.train import SummaryRecord gives a class that stands for the name
    SummaryRecord("dir"), SummaryRecord.flush raise PlaceholderError, with what there is instead
    class Mine(SummaryRecord) stands for a name too: Mine() raises
    isinstance(cell, nn.LARS) is False: nothing of this class can exist

``NAMES``: path below ``mindspore`` -> names; a path takes those of the nearest path above it.
"""

from __future__ import annotations

from typing import Any, NoReturn

from msnb.base.errors import MsnbError
from msnb.base.missing_names import MissingName
from msnb.base.name_tables import SAID, SAID_MODULES

__all__: list[str] = [] # some of MindSpore's paths show this module: it has no name of theirs


class PlaceholderError(MsnbError, AttributeError):
    """A program uses a name of MindSpore 2.10 that msnb has not built."""


class Placeholder(type):
    """The class of the classes that stand for names. Whatever a program does with one raises the error of the name."""

    sentence: str

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise PlaceholderError(cls.sentence)

    def __getattr__(cls, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise PlaceholderError(cls.sentence)

    def __getitem__(cls, index: Any) -> NoReturn:
        raise PlaceholderError(cls.sentence)

    def __repr__(cls) -> str:
        return f"<{cls.__module__}.{cls.__name__}, not part of msnb>"


def placeholder(path: str, name: str, missing: AttributeError) -> Placeholder | None:
    """What stands for ``name`` of the module ``path`` of MindSpore, or None if 2.10 has no such name there.

    Args:
        missing: the error that asking msnb for the name raised.
    """
    below = path.partition(".")[2]
    while below not in NAMES:
        below = below.rpartition(".")[0]
    if name not in NAMES[below].split():
        return None
    return Placeholder(name, (), {"__module__": path, "sentence": _sentence(f"{path}.{name}", missing)})


def _sentence(place: str, missing: AttributeError) -> str:
    text = str(missing)
    if isinstance(missing, MissingName) and "has no attribute" not in text:
        return text # msnb has a word for this very name
    said = SAID["msnb"].get(place.rpartition(".")[2], "PyTorch")
    if not said.startswith("PyTorch"):
        return f"{place} {said}"
    rooms = place.replace("mindspore", "msnb", 1)
    while (rooms := rooms.rpartition(".")[0]) not in ("", "msnb"):
        if rooms in SAID_MODULES:
            return f"{place} {SAID_MODULES[rooms]}"
    return f"{place} is not part of msnb yet{text[text.index(';'):] if ';' in text else '.'}"


NAMES: dict[str, str] = {
    "": """
        ConvertModelUtils ConvertNetUtils CustomPassType DeviceCtx Dirac FlopsUtilizationCollector MemPool Node NodeType
        PluggableAllocator QuantDtype ScopedValue Sparse StreamLimitCtx SummaryLandscape Symbol SymbolTree
        TrainFaultTolerance ValueType VarianceScaling build_searched_strategy clear_op_infer clear_op_wrapper
        convert_checkpoint_by_rank convert_checkpoints enable_dynamic export_split_mindir float8_e4m3fn float8_e5m2
        flops_collection get_ckpt_path_with_strategy get_device_limit
        get_ps_context get_py_obj_dtype get_stream_limit hifloat8 list_ load_distributed_checkpoint load_mindir
        load_obf_params_into_net load_segmented_checkpoints memory_replay merge_pipeline_strategys
        merge_sliced_parameter mindio_preload ms_memory_recycle number obfuscate_ckpt parameter_broadcast qint4x2
        rank_list_for_convert rank_list_for_transform register_custom_backend register_custom_pass register_op_infer
        register_op_wrapper register_saved_tensors_hooks rereset_stream_limit
        restore_group_info_list save_mindir saved_tensors_hooks set_cpu_affinity set_device_limit
        set_dump set_kernel_launch_capture set_kernel_launch_group set_mindio_server_info set_op_strategy_config
        set_ps_context set_stream_limit swap_tensors sync_pipeline_shared_parameters tensor_type
        transform_checkpoint_by_rank transform_checkpoints tuple_ type_none unified_safetensors use_mem_pool
    """,
    "boost": """
        AdaSum AutoBoost BoostTrainOneStepWithLossScaleCell DimReduce FreezeOpt GradientFreeze GroupLossScaleManager
        LessBN OptimizerProcess ParameterProcess freeze_cell
    """,
    "communication": """
        get_comm_name
    """,
    "dataset": """
        DecodeVideo OBSMindDataset Plugin Vad VideoDecoder read_video read_video_timestamps sync_wait_for_dataset
    """,
    "experimental": """
        MapParameter
    """,
    "graph": """
        CustomPassType clear_op_infer clear_op_wrapper register_custom_backend register_custom_pass register_op_infer
        register_op_wrapper
    """,
    "mint": """
        Adam AdamW AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d AvgPool1d
        AvgPool2d AvgPool3d BCELoss BCEWithLogitsLoss BatchNorm1d BatchNorm2d BatchNorm3d ConstantPad1d ConstantPad2d
        ConstantPad3d Conv1d Conv2d Conv3d ConvTranspose2d CosineEmbeddingLoss ELU Flatten Fold FusedAdamW GELU
        GroupNorm Hardshrink Hardsigmoid Hardswish Hardtanh Identity KLDivLoss L1Loss Linear LogSigmoid LogSoftmax
        MSELoss MaxUnpool2d Mish P2POp PReLU PixelShuffle ReLU ReLU6 ReflectionPad1d ReflectionPad2d ReflectionPad3d
        ReplicationPad1d ReplicationPad2d ReplicationPad3d SELU SGD SiLU Sigmoid SmoothL1Loss SoftMarginLoss Softmax
        SyncBatchNorm Tanh Threshold Unfold Upsample UpsamplingBilinear2d UpsamplingNearest2d ZeroPad1d ZeroPad2d
        ZeroPad3d adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d
        all_gather all_gather_into_tensor all_gather_into_tensor_uneven all_gather_object all_reduce all_to_all
        all_to_all_single avg_pool1d avg_pool2d avg_pool3d barrier batch_isend_irecv batch_norm binary_cross_entropy
        binary_cross_entropy_with_logits broadcast broadcast_object_list conv1d conv2d conv3d conv_transpose2d
        cosine_embedding_loss cross_entropy destroy_process_group dropout dropout2d elu elu_ embedding fold
        gather_object gelu get_backend get_global_rank get_group_rank get_process_group_ranks get_rank get_world_size
        glu grid_sample group_norm hardtanh hardtanh_ init_process_group interpolate inv irecv is_available
        is_initialized isend kl_div layer_norm leaky_relu linear log_softmax logsigmoid matrix_norm max_pool2d
        max_unpool2d mse_loss new_group nll_loss normalize one_hot pad pixel_shuffle prelu qr recv recv_object_list
        reduce reduce_scatter reduce_scatter_tensor reduce_scatter_tensor_uneven relu relu6 relu_ scatter_object_list
        send send_object_list sigmoid_ silu soft_margin_loss threshold threshold_ unfold upsample vector_norm
    """,
    "nn": """
        AdaSumByDeltaWeightWrapCell AdaSumByGradWrapCell Conv2dThor DenseThor EmbeddingLookupThor EmbeddingThor
        GetNextSingleOp OptTFTWrapper VirtualDatasetCellTriple thor
    """,
    "ops": """
        AiCPURegOp AkgAscendRegOp AkgGpuRegOp AllGatherV AlltoAllV AlltoAllVC ApplyRotaryPosEmb Barrier BatchISendIRecv
        CollectiveGather CollectiveScatter CopyWithSlice CpuRegOp CustomOpBuilder CustomRegOp DataType DtypeToEnum
        DumpGradient Expand GeSwitch GetNext GroupTopk MapCacheIdx Merge Morph NeighborExchangeV2 Pack PagedAttention
        PagedAttentionMask Pull Push PyExecute RNNTLoss Receive Reduce ReduceScatterV ReshapeAndCache Reshard Reusing
        SelectView Send SliceGetItem TBERegOp TCPStore TensorDump TransposeExtView TransposeView Unpack UpdateState
        all_gather_matmul all_to_all_v_c arg_dtype_cast arg_handler array_reduce broadcast_gradient_args
        cpp_create_prim_instance_helper custom_info_register distribute embed env_get environ_add environ_create
        environ_get environ_set fused_infer_attention_score geswitch get_vm_impl_fn incre_flash_attention
        is_dynamic_sequence_element_unknown is_tensor_bool_cond isconstant iter_converter lightning_indexer
        make_map_parameter matmul_reduce_scatter merge moe_distribute_combine moe_distribute_dispatch
        moe_init_routing_v2 ms_hasnext ms_next multi_scale_deformable_attn_function nsa_compress nsa_compress_attention
        nsa_select_attention prim_arg_register prompt_flash_attention pyboost_inner_prim recompute_block ref_to_embed
        reshard ring_attention_update set_comm_ops_inplace sparse_flash_attention speed_fusion_attention switch_layer
        tensor_operator_registry tensordump vm_impl_registry zip_operation
    """,
    "parallel": """
        GradAccumulation MicroBatchInterleaved build_searched_strategy convert_checkpoint_by_rank convert_checkpoints
        load_distributed_checkpoint load_segmented_checkpoints merge_pipeline_strategys
        merge_sliced_parameter rank_list_for_convert rank_list_for_transform
        restore_group_info_list set_op_strategy_config sync_pipeline_shared_parameters
        transform_checkpoint_by_rank transform_checkpoints unified_safetensors
    """,
    "profiler": """
        EnvProfiler HostSystem
    """,
    "rewrite": """
        Node NodeType ScopedValue SymbolTree ValueType
    """,
    "runtime": """
        MemPool PluggableAllocator StreamLimitCtx get_device_limit get_stream_limit memory_replay reset_stream_limit
        set_cpu_affinity set_device_limit set_kernel_launch_capture set_kernel_launch_group set_stream_limit
        use_mem_pool
    """,
    "safeguard": """
        load_obf_params_into_net obfuscate_ckpt
    """,
    "train": """
        AmpDecorator AmpLevel ConvertModelUtils ConvertNetUtils FlopsUtilizationCollector SummaryLandscape
        TrainFaultTolerance amp_cast build_searched_strategy create_amp_strategy export_split_mindir
        get_ckpt_path_with_strategy load_distributed_checkpoint merge_sliced_parameter pop_amp_strategy
        push_amp_strategy restore_group_info_list
    """,
    "train.train_thor": """
        ConvertModelUtils ConvertNetUtils
    """,
}
