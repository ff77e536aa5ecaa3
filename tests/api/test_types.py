"""What editors know: stubs are as new as the package, type checkers and completion find what a name gives."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import msnb as ms
from tools import type_coverage

ROOT = Path(__file__).resolve().parents[2]
MATERIAL = Path(__file__).with_name("typed_material.py")


@pytest.mark.long
def test_stubs_are_as_new_as_the_package() -> None:
    """In a process of its own: names that other tests ask for, such as ``ops.ReLU``, are made when first read."""
    pytest.importorskip("ruff")
    run = subprocess.run([sys.executable, str(ROOT / "tools/stubs.py")], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


def wrong_lines() -> set[int]:
    """The lines of the material that every type checker must report, and no other."""
    found = {n for n, line in enumerate(MATERIAL.read_text().split("\n"), 1) if line.endswith("# wrong")}
    assert len(found) > 20
    return found


@pytest.mark.slow
@pytest.mark.skipif(bool(type_coverage.missing()), reason=type_coverage.missing())
def test_pyright_knows_what_is_right_and_what_is_wrong() -> None:
    found = type_coverage.asked(str(MATERIAL))["generalDiagnostics"]
    assert {d["range"]["start"]["line"] + 1 for d in found if d["severity"] == "error"} == wrong_lines()


@pytest.mark.slow
@pytest.mark.skipif(bool(type_coverage.missing()), reason=type_coverage.missing())
def test_95_percent_of_the_public_symbols_have_known_types() -> None:
    share, unknown = type_coverage.known()
    assert share >= type_coverage.BAR, [s["name"] for s in unknown if not s["name"].startswith("msnb.devices")]


@pytest.mark.slow
def test_a_type_checker_knows_what_is_right_and_what_is_wrong() -> None:
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--strict", "--show-absolute-path", str(MATERIAL)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found = re.findall(rf"{re.escape(str(MATERIAL))}:(\d+): error: (.*)", run.stdout)
    wrong = wrong_lines()
    assert [error for error in found if int(error[0]) not in wrong] == []
    assert wrong - {int(line) for line, _ in found} == set()


@pytest.mark.parametrize(
    "text, wanted",
    [
        ("x = ms.Tensor([1.0])\nx.su", "sum"),
        ("x = ms.Tensor([1.0])\nx.resh", "reshape"),
        ("ms.ops.matm", "matmul"),
        ("ms.ops.relu(ms.Tensor([1.0])).me", "mean"),
        ("ms.nn.Dense(2, 3)(ms.Tensor([1.0])).argm", "argmax"),
        ("ms.show.pass", "passes"),
        ("ms.LossMon", "LossMonitor"),
        ("ms.parallel.pl", "plan"),
        ("def f(x: ms.Tensor) -> ms.Tensor: return x\nms.jit(f).expl", "explain"),
    ],
)
def test_completion_without_running_anything(text: str, wanted: str) -> None:
    jedi = pytest.importorskip("jedi")
    script = jedi.Script(f"import msnb as ms\n{text}", project=jedi.Project(str(ROOT)))
    assert wanted in [completion.name for completion in script.complete()]


def test_modules_list_what_is_public() -> None:
    for module in (ms, ms.ops, ms.nn, ms.show, ms.train, ms.dataset, ms.numpy, ms.parallel):
        names = [name for name in dir(module) if name[0] != "_"]
        assert len(names) > 10
        assert {"Any", "annotations", "missing_names", "TYPE_CHECKING", "events"}.isdisjoint(names), module
        for name in names:
            getattr(module, name)
    assert {"ir", "grad", "plan", "flow"} <= set(dir(ms.show)) and "compile_graph" not in dir(ms.show)
    assert {"jit", "Tensor", "LossMonitor"} <= set(dir(ms)) and "matmul" in dir(ms.ops)


def test_every_method_of_a_tensor_says_what_it_does() -> None:
    names = [name for name in vars(ms.Tensor) if name[0] != "_"]
    assert len(names) > 300
    assert [name for name in names if not (getattr(ms.Tensor, name).__doc__ or "").strip()] == []


@pytest.mark.parametrize("word, mode", [("graph", 0), ("GRAPH_MODE", 0), ("PyNative", 1), ("eager", 1)])
def test_the_mode_may_be_a_word(word: str, mode: int) -> None:
    with ms.set_context(mode=word) as change:
        assert ms.get_context("mode") == mode
        assert repr(change) == f"{('graph', 'PyNative')[mode]} mode on {ms.get_context('device_target')}"


def test_a_key_or_device_that_is_nearly_right_is_named() -> None:
    with pytest.raises(ValueError, match="did you mean mode"):
        ms.set_context(**{"mod": 0})
    with pytest.raises(ValueError, match="did you mean 'GPU'"):
        ms.set_context(device_target="Gpu")


def test_public_objects_show_what_is_documented() -> None:
    """``dir`` and completion of the objects that a training has: public names with a docstring, no workings."""
    net = ms.nn.Dense(3, 2)
    optimizer = ms.nn.Adam(net.trainable_params())
    model = ms.Model(net, ms.nn.CrossEntropyLoss(), optimizer)
    data = ms.dataset.NumpySlicesDataset([1, 2, 3])
    plan = ms.parallel.plan(net, ms.ops.ones((4, 3)), device_num=2)
    for shown in (net, optimizer, model, data, plan, ms.jit(lambda x: x)):
        names = {name for name in dir(shown) if name[0] != "_"}
        assert len(names) > 3
        kind = type(shown)
        methods = [n for n in names if callable(getattr(kind, n, None)) or isinstance(getattr(kind, n, None), property)]
        bare = [n for n in methods if not (getattr(kind, n).__doc__ or "").strip()]
        assert bare == [], kind
    workings = {"prepare", "follow", "slots", "map_", "assignadd", "corrected", "has_precision", "breaks", "graph_for"}
    assert workings.isdisjoint({*dir(optimizer), *dir(net), *dir(ms.jit(lambda x: x))})
    assert {"construct", "trainable_params", "weight"} <= set(dir(net)) and "learning_rate" in dir(optimizer)


def test_a_plan_gives_tensors() -> None:
    net, x = ms.nn.Dense(3, 2), ms.ops.ones((4, 3))
    plan = ms.parallel.plan(net, x, device_num=2)
    assert isinstance(plan.run(x), ms.Tensor)
    assert abs(plan.run(x) - net(x)).max() < 1e-6
