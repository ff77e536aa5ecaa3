"""``mindspore`` as a view of msnb: one identity, private paths, sentences for what is not there."""

from __future__ import annotations

import importlib
import importlib.metadata
import pickle
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import msnb
from msnb.as_mindspore import AliasError, install, uninstall
from msnb.as_mindspore.module_paths import PATHS

ROOT = Path(__file__).resolve().parents[2]


def test_one_object_one_identity() -> None:
    import mindspore
    from mindspore import Parameter, Tensor, context, nn, ops
    from mindspore.common.tensor import Tensor as inner
    from mindspore.ops import functional as F, operations as P

    assert mindspore.__version__ == "2.10.0" and Path(mindspore.__file__).is_file()
    assert Tensor is inner is msnb.Tensor and Parameter is msnb.Parameter
    assert nn.Dense is msnb.nn.Dense and ops.relu is F.relu is msnb.ops.relu and P.ReLU is msnb.ops.ReLU
    assert context.set_context is mindspore.set_context is msnb.set_context


@pytest.mark.parametrize("path", sorted(PATHS))
def test_every_path_is_importable_and_lists_its_names(path: str) -> None:
    module = importlib.import_module(path)
    assert module.__name__ == path and module.__all__ and set(module.__all__) <= set(dir(module))


def test_private_paths_that_programs_import() -> None:
    from mindspore import context
    from mindspore._c_expression import disable_multi_thread
    from mindspore._checkparam import Rel, Validator, check_positive_int
    from mindspore.parallel._auto_parallel_context import auto_parallel_context
    from mindspore.parallel._utils import _get_device_num, _get_gradients_mean, _get_parallel_mode

    assert (_get_device_num(), _get_gradients_mean(), _get_parallel_mode()) == (1, False, "stand_alone")
    context.set_auto_parallel_context(device_num=8, gradients_mean=True)
    try:
        assert _get_device_num() == 8 and auto_parallel_context().get_gradients_mean() is True
    finally:
        context.reset_auto_parallel_context()
    disable_multi_thread()
    assert check_positive_int(3, "n", "Net") == 3
    assert Validator.check_int_range(2, 1, 3, Rel.INC_NEITHER, "n") == 2
    with pytest.raises(ValueError, match="For 'Net', the 'n' must be int and must > 0, but got '-1'"):
        check_positive_int(-1, "n", "Net")
    with pytest.raises(TypeError, match="'rate' must be float"):
        Validator.check_positive_float(True, "rate")
    with pytest.raises(ValueError, match=r"'n' must be in range of \(1, 3\), but got 3"):
        Validator.check_int_range(3, 1, 3, Rel.INC_NEITHER, "n")


def test_a_network_trains_through_the_alias(mode: int) -> None:
    import mindspore as ms
    from mindspore import Tensor, nn, ops
    from mindspore.common.initializer import Normal

    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Dense(3, 1, weight_init=Normal(0.1))
            self.drop = nn.Dropout(0.8)

        def construct(self, x):
            return ops.squeeze(self.drop(self.fc(x)), -1)

    ms.set_seed(1)
    net = Net()
    x = Tensor(np.eye(3), ms.float32)
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 0.1)).set_train()
    losses = [float(step(x, Tensor([1.0, 2.0, 3.0]))) for _ in range(30)]
    assert losses[-1] < losses[0]
    assert [p.name for p in net.trainable_params()] == ["fc.weight", "fc.bias"]


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ("from mindspore.ops import sofmax", "did you mean softmax"),
        ("from mindspore import Tensr", "did you mean Tensor"),
        ("import mindspore.commn", "did you mean mindspore.common"),
        ("from mindspore.nn._secret import x", "_secret"),
        ("import mindspore.ops._no.deeper", "_no"),
    ],
)
def test_what_is_not_there_gets_a_sentence(statement: str, sentence: str) -> None:
    with pytest.raises(ImportError, match=sentence):
        exec(statement)


def test_missing_attributes() -> None:
    import mindspore

    assert not hasattr(mindspore.ops, "sofmax")
    with pytest.raises(AttributeError, match="did you mean softmax"):
        mindspore.ops.sofmax


def test_star_imports() -> None:
    names: dict[str, object] = {}
    exec("from mindspore.ops import *\nfrom mindspore.nn import *", names)
    import mindspore

    assert names["relu"] is msnb.ops.relu and names["Dense"] is msnb.nn.Dense
    assert names["argsort"] is mindspore.ops.argsort is not msnb.ops.argsort


def test_the_real_package_is_not_pushed_aside() -> None:
    uninstall()
    real = ModuleType("mindspore")
    real.__version__ = "2.3.0"  # type: ignore[attr-defined]
    sys.modules["mindspore"] = real
    try:
        with pytest.raises(AliasError, match=r"mindspore 2\.3\.0 is imported in this process already"):
            install()
        assert sys.modules["mindspore"] is real and importlib.import_module("mindspore") is real
    finally:
        del sys.modules["mindspore"]


def test_uninstall_takes_everything_back() -> None:
    importlib.import_module("mindspore.nn")
    uninstall()
    assert not [name for name in sys.modules if name.partition(".")[0] == "mindspore"]
    install()
    assert importlib.import_module("mindspore").Tensor is msnb.Tensor


def test_downloads_say_which_file_is_needed(tmp_path: Path) -> None:
    from download import download

    place = tmp_path / "data"
    with pytest.raises(FileNotFoundError, match=r"needs MNIST_Data\.zip from https://x\.org") as error:
        download("https://x.org/a/MNIST_Data.zip", str(place), kind="zip", replace=True)
    assert f"unpack MNIST_Data.zip into {place}" in str(error.value)
    (place / "train").mkdir(parents=True)
    assert download("https://x.org/a/MNIST_Data.zip", str(place), kind="zip") == str(place)


PROGRAM = """
import sys
import helper
import mindspore as ms
print(sys.argv[1:], helper.NAME, ms.Tensor([1.0]).shape, __name__)
sys.exit(3)
"""


@pytest.mark.long
def test_a_program_runs_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("NAME = 'next to the program'")
    (tmp_path / "program.py").write_text(PROGRAM)
    run = [sys.executable, "-m", "msnb.as_mindspore"]
    done = subprocess.run([*run, str(tmp_path / "program.py"), "-x"], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stdout.split("\n")[0]) == (3, "['-x'] next to the program (1,) __main__"), done.stderr
    lost = subprocess.run([*run, "nowhere.py"], capture_output=True, text=True, cwd=ROOT)
    assert lost.returncode == 2 and "there is no file 'nowhere.py'" in lost.stderr


def test_modules_travel_by_name() -> None:
    import mindspore.dataset as ds

    assert pickle.loads(pickle.dumps(ds.config)) is ds.config and pickle.loads(pickle.dumps(ds)) is ds


def test_libraries_find_the_version() -> None:
    assert importlib.metadata.version("mindspore") == "2.10.0"
    assert "mindspore" in [found.metadata["Name"] for found in importlib.metadata.distributions()]
    uninstall()
    try:
        with pytest.raises(importlib.metadata.PackageNotFoundError):
            importlib.metadata.version("mindspore")
    finally:
        install()
