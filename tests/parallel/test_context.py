"""set/get/reset_auto_parallel_context: keys, values, modes, and the sentences of wrong ones."""

from __future__ import annotations

import pytest

import msnb as ms
from msnb.base import events
from msnb.parallel import context


@pytest.fixture(autouse=True)
def _clean():
    ms.reset_auto_parallel_context()
    yield
    ms.reset_auto_parallel_context()


def test_defaults_are_those_of_mindspore_0_3():
    keys = ("device_num", "global_rank", "mirror_mean", "cast_before_mirror", "parallel_mode", "parameter_broadcast",
            "strategy_ckpt_load_file", "strategy_ckpt_save_file")
    got = {k: ms.get_auto_parallel_context(k) for k in keys}
    assert got == {"device_num": 1, "global_rank": 0, "mirror_mean": False, "cast_before_mirror": True,
                   "parallel_mode": "stand_alone", "parameter_broadcast": False, "strategy_ckpt_load_file": "",
                   "strategy_ckpt_save_file": ""}


def test_set_get_reset():
    ms.set_auto_parallel_context(parallel_mode="auto_parallel", device_num=8, global_rank=3)
    assert ms.get_auto_parallel_context("device_num") == 8
    assert ms.get_auto_parallel_context("parallel_mode") == ms.ParallelMode.AUTO_PARALLEL
    ms.reset_auto_parallel_context()
    assert ms.get_auto_parallel_context("device_num") == 1


def test_the_names_of_2_x_are_the_same_keys():
    ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
    assert ms.get_auto_parallel_context("mirror_mean") is True
    ms.set_auto_parallel_context(auto_parallel_search_mode="recursive_programming")
    assert ms.get_auto_parallel_context("search_mode") == "recursive_programming"
    with pytest.raises(ValueError, match="two names"):
        ms.set_auto_parallel_context(mirror_mean=True, gradients_mean=False)


@pytest.mark.parametrize("changes, piece", [
    ({"device_num": 0}, "an int from 1 to 4096"),
    ({"device_num": 4097}, "an int from 1 to 4096"),
    ({"device_num": True}, "an int from 1 to 4096"),
    ({"global_rank": 4096}, "an int from 0 to 4095"),
    ({"global_rank": -1}, "an int from 0 to 4095"),
    ({"parallel_mode": "auto"}, "'auto_parallel'"),
    ({"mirror_mean": 1}, "True or False"),
    ({"search_mode": "greedy"}, "'dynamic_programming'"),
    ({"strategy_ckpt_load_file": 3}, "a file name"),
    ({"all_reduce_fusion_config": [5, 3]}, "ascending"),
    ({"dataset_strategy": "half"}, "'full_batch'"),
    ({"comm_fusion": {"allreduces": {"mode": "auto", "config": None}}}, "no key 'allreduces'; legal: openstate, allr"),
    ({"comm_fusion": {"allreduce": {"mode": "big", "config": 3}}}, "{'mode': 'size', 'config': megabytes}"),
    ({"comm_fusion": {"allreduce": {"mode": "size", "config": "64"}}}, "comm_fusion['allreduce']="),
    ({"comm_fusion": {"allreduce": {"mode": "index", "config": [3, 1]}}}, "[ascending positions]"),
    ({"comm_fusion": {"allreduce": {"mode": "auto"}}}, "{'mode': 'auto', 'config': None}"),
    ({"parallel_optimizer_config": {"optimizer_level": "level4"}}, "'level1', 'level2', 'level3'"),
    ({"parallel_optimizer_config": {"threshold": 3}}, "parallel_optimizer_threshold"),
    ({"parallel_optimizer_config": {"optimizer_weight_shard_size": "all"}}, "-1 or an int from 1 to 4096"),
    ({"pipeline_config": {"scheduler": "1f1b"}}, "no key 'scheduler'; legal: pipeline_interleave"),
    ({"pipeline_config": {"pipeline_scheduler": "zero_bubble_v"}}, "legal: 'gpipe', '1f1b', 'interleaved'"),
    ({"pipeline_config": {"stage_devices": 3}}, "one number of devices per stage, or 'auto'"),
    ({"strategy_ckpt_config": {"loadfile": "a"}}, "no key 'loadfile'; legal: load_file, save_file"),
    ({"strategy_ckpt_config": {"load_file": 3}}, "a file name"),
    ({"strategy_ckpt_config": "a.json"}, "None or a dict"),
    ({"devices": 8}, "legal: all_reduce_fusion_config"),
    ({"device_num": 8, "global_rank": 8}, "not below device_num=8"),
    ({"device_num": 8, "pipeline_stages": 3}, "does not divide"),
])
def test_wrong_values_name_the_legal_ones_and_change_nothing(changes, piece):
    with pytest.raises(ValueError) as told:
        ms.set_auto_parallel_context(**changes)
    assert piece in str(told.value)
    assert context._set == {}


def test_stages_wait_for_the_number_of_devices(notices):
    ms.set_auto_parallel_context(pipeline_stages=2)
    assert ms.get_auto_parallel_context("pipeline_stages") == 2
    assert any("pipeline_stages=2 changes nothing before device_num=" in text for text in notices)
    with pytest.raises(ValueError, match="does not divide device_num=3"):
        ms.set_auto_parallel_context(device_num=3)
    ms.set_auto_parallel_context(device_num=4)
    ms.reset_auto_parallel_context()


def test_a_bad_key_next_to_a_good_one_changes_nothing():
    with pytest.raises(ValueError):
        ms.set_auto_parallel_context(device_num=8, nonsense=1)
    assert ms.get_auto_parallel_context("device_num") == 1


NOT_FOR = {"mirror_mean": (True, ["stand_alone"]),
           "cast_before_mirror": (False, ["stand_alone", "data_parallel", "hybrid_parallel"]),
           "parameter_broadcast": (True, ["stand_alone", "semi_auto_parallel", "auto_parallel"])}


@pytest.mark.parametrize("key", sorted(NOT_FOR))
@pytest.mark.parametrize("mode", context.MODES)
def test_which_mode_allows_which_key(key, mode):
    value, refused = NOT_FOR[key]
    if mode in refused:
        with pytest.raises(ValueError, match=f"{mode} has no use for {key}"):
            ms.set_auto_parallel_context(parallel_mode=mode, **{key: value})
    else:
        ms.set_auto_parallel_context(parallel_mode=mode, **{key: value})
        assert ms.get_auto_parallel_context(key) == value


def test_another_mode_needs_a_reset_when_a_key_does_not_fit_it():
    ms.set_auto_parallel_context(parallel_mode="data_parallel", parameter_broadcast=True)
    with pytest.raises(ValueError, match="reset_auto_parallel_context"):
        ms.set_auto_parallel_context(parallel_mode="auto_parallel")
    assert ms.get_auto_parallel_context("parallel_mode") == "data_parallel"
    ms.reset_auto_parallel_context()
    ms.set_auto_parallel_context(parallel_mode="auto_parallel")


@pytest.mark.parametrize("changes, piece", [
    ({"enable_alltoall": True}, "(enable_alltoall=True) changes nothing: a reshard takes an all-to-all"),
    ({"grad_accumulation_step": 4}, "nn.PipelineCell(net, n) adds up the gradients"),
    ({"dump_local_norm_path": "/tmp"}, "no norms are written"),
    ({"comm_fusion": {"allgather": {"mode": "auto", "config": None}}}, "comm_fusion['allgather']"),
    ({"strategy_ckpt_config": {"only_trainable_params": False}}, "strategy_ckpt_config['only_trainable_params']=False"),
])
def test_what_changes_nothing_is_told_once(changes, piece, capsys):
    events.forget_notices()
    for _ in range(2):
        ms.set_auto_parallel_context(**changes)
    assert capsys.readouterr().err.count(piece) == 1
    ms.set_auto_parallel_context(device_num=8, enable_alltoall=False, comm_fusion=None)
    assert capsys.readouterr().err == ""


def test_get_of_an_unknown_key():
    with pytest.raises(ValueError, match="get_auto_parallel_context has no key 'size'"):
        ms.get_auto_parallel_context("size")
