"""The documentation site before it is HTML: every public name has a page, and a page says what its record says."""

from __future__ import annotations

import importlib
import re
from functools import cache
from pathlib import Path

import pytest

from tools.docs_site import docstrings
from tools.docs_site.catalogue import TENSOR, Entry, entries, names_of
from tools.docs_site.entry_page import Page, page_of
from tools.docs_site.guides import guide_pages, with_site_links
from tools.docs_site.name_tables import mindspore_table, pytorch_table
from tools.docs_site.notebook_pages import notebook_page
from tools.docs_site.page_links import linked_names

ROOT = Path(__file__).resolve().parents[2]
NAMES = ROOT / "tests" / "api" / "public_names.txt"
FOR_ITSELF = {"load_ipython_extension", "unload_ipython_extension", "TYPE_CHECKING", "Any", "annotations", "tensor"}


@cache
def found() -> dict[str, Entry]:
    return names_of(entries())


@cache
def page(name: str) -> Page:
    return page_of(found()[name], found())


def is_function_of_msnb(name: str) -> bool:
    """Whether a line of the list of public names is a function, class or operator of ours."""
    module, _, last = name.rpartition(".")
    value = getattr(importlib.import_module(module), last)
    home = str(getattr(value, "__module__", type(value).__module__))
    return callable(value) and home.startswith("msnb") and last not in FOR_ITSELF


@pytest.mark.long
def test_every_public_function_and_class_has_a_page() -> None:
    """The list of public names is checked against what the packages show by a test of its own."""
    wanted = [name for name in NAMES.read_text(encoding="utf-8").split() if is_function_of_msnb(name)]
    assert len(wanted) > 1300
    spelled = [name.replace("msnb.", "" if name.count(".") > 1 else "ms.", 1) for name in wanted]
    helpers = {"nn.initializer.Tensor", "nn.initializer.DType", "nn.initializer.as_dtype", "nn.initializer.blank"}
    assert [name for name in spelled if name not in found() and name not in helpers] == []


@pytest.mark.long
def test_every_method_of_tensor_leads_to_a_page() -> None:
    import msnb as ms

    assert [n for n in dir(ms.Tensor) if n[0] != "_" and f"{TENSOR}.{n}" not in found()] == []


@pytest.mark.long
def test_no_two_pages_share_a_file_where_case_does_not_count() -> None:
    paths = [entry.path.lower() for entry in {id(e): e for e in found().values()}.values()]
    assert len(paths) == len(set(paths))
    assert found()["Tensor.T"].path.lower() != found()["Tensor.t"].path.lower() or "Tensor.t" not in found()


@pytest.mark.long
def test_a_thing_with_several_names_has_one_page() -> None:
    assert found()["ms.abs"] is found()["ops.abs"] is found()["mint.abs"]
    assert found()["nn.Adam"] is found()["optim.Adam"]
    assert found()["nn.Adam"].path == "api/nn/Adam"
    assert found()["ms.Model"].path == "api/train/Model"


@pytest.mark.long
def test_the_page_of_an_operator_says_what_its_record_says() -> None:
    text = page("ops.matmul").text
    assert "msnb.ops.matmul(x, y, /)" in text
    assert ">>> print(ms.ops.matmul(x, y).asnumpy().round(3))\n[[ 5.75  -1.688]" in text
    assert "| `f64[2,3]`, `f64[3,2]` | `f64[2,2]` |" in text
    assert "ShapeError: matmul: the last axis of x has size 3, the axis of y it meets has size 2." in text
    assert "hint: x [..., m, k] and y [..., k, n] share k" in text
    assert "\nat " not in text, "no line of the program that provoked the error"
    assert "`mindspore.ops.MatMul`" in text and "`torch.matmul`" in text


@pytest.mark.long
def test_the_gradient_is_a_picture_and_a_text() -> None:
    shown = page("ops.matmul")
    (picture,) = shown.pictures.values()
    assert isinstance(picture, str) and picture.startswith("<svg") and "transpose" in picture and "dout" in picture
    assert "![Gradient of ops.matmul: transpose, matmul](../../pictures/ops.matmul.svg)" in shown.text
    assert "matmul(dout, %1) : f32[2,3]" in shown.text


@pytest.mark.long
def test_an_operator_without_gradient_says_why() -> None:
    assert "## Gradient\n\nNone: " in page("ops.floor").text or "## Gradient\n\nNone: " in page("ops.argmax").text


@pytest.mark.long
def test_the_page_of_a_layer_has_its_arguments_and_gradient() -> None:
    text = page("nn.Conv2d").text
    assert "- **`padding`** (`IntOrInts`, default `0`): int, (rows, columns)" in text
    assert "It has also the methods of [`nn.Cell`](Cell.md)." in text
    assert "register_forward_hook" not in text, "the methods of every Cell are told once"
    assert "by `x`, `weight`:" in text


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("mindspore.grad", "mindspore"),
        ("mindspore.Tensor.transpose", "mindspore/Tensor"),
        ("mindspore.nn.Conv2d", "nn"),
        ("mindspore.nn.probability.Normal", "nn_probability"),
        ("mindspore.dataset.vision.Resize", "dataset_vision"),
        ("mindspore.scipy.linalg.lu", "scipy"),
        ("mindspore.experimental.optim.Optimizer", "experimental/optim"),
    ],
)
def test_a_source_leads_to_the_page_of_that_name(name: str, folder: str) -> None:
    page = f"https://www.mindspore.cn/docs/en/master/api_python/{folder}/{name}.html"
    assert f"[`{name}`]({page})" in docstrings.markdown(f"One.\n\nSource: Gray 1953; `{name}`.\n")


def test_a_source_that_is_a_module_is_no_page() -> None:
    assert "](" not in docstrings.markdown("One.\n\nSource: the pages of these classes in `mindspore.dataset`.\n")


def test_a_docstring_means_its_stars_and_brackets() -> None:
    text = docstrings.markdown("a_b * c*d [x] <y>, ``p * q`` and `r_s`.\n\nArgs:\n    *xs: many. ValueError: none.\n")
    assert "a&#95;b &#42; c&#42;d &#91;x&#93; &#60;y&#62;, `p * q` and `r_s`." in text
    assert "- **`*xs`**: many.\n- **`ValueError`**: none." in text


def test_examples_become_programs_with_results() -> None:
    text = docstrings.markdown("One.\n\nExamples:\n    >>> 1 + 1\n    2\n")
    assert text.endswith("```pycon\n>>> 1 + 1\n2\n```")


def test_links_of_the_repository_become_links_of_the_site() -> None:
    pages = guide_pages()
    text = with_site_links("[a](docs/onnx.md#x) [b](msnb/base) ![c](docs/images/d.svg) [e](#f)", "README.md", pages)
    assert text == "[a](guides/onnx.md#x) b ![c](images/d.svg) [e](#f)"


@pytest.mark.long
def test_names_in_text_lead_to_their_pages() -> None:
    text = linked_names("Use `nn.Conv2d` or `ms.grad(f)`.\n\n```python\n`nn.Conv2d`\n```\n", "guides/a.md", found())
    assert text.startswith("Use [`nn.Conv2d`](../api/nn/Conv2d.md) or [`ms.grad(f)`](../api/ms/grad.md).")
    assert text.endswith("```python\n`nn.Conv2d`\n```\n")


@pytest.mark.long
def test_a_notebook_is_a_page_with_its_pictures() -> None:
    shown = notebook_page("notebooks/03_autograd.ipynb", guide_pages(), found())
    assert shown.text.startswith("# ") and "```python\n" in shown.text
    assert all(content.startswith("<svg") for path, content in shown.pictures.items() if path.endswith("svg"))
    assert len(re.findall(r"^!\[[^\]]+\]\(", shown.text, re.MULTILINE)) == len(shown.pictures) > 0


@pytest.mark.long
def test_the_tables_of_names() -> None:
    every = list({id(e): e for e in found().values()}.values())
    assert "| `mindspore.nn.Conv2d` | [`nn.Conv2d`](../api/nn/Conv2d.md) |" in mindspore_table(every)
    assert "| `mindspore.ops.MatMul` | [`ops.matmul`](../api/ops/matmul.md) |" in mindspore_table(every)
    torch = pytorch_table(every)
    assert "| `torch.nn.Module` | PyTorch's nn.Module is called nn.Cell here" in torch
    assert "| `torch.cat` | `ms.mint.cat` | [" in torch
