"""Small models of a library of transformers, drawn by a seed: outputs of all layers, gradients of all weights.

They are made of configurations: nothing is downloaded.
"""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
library = pytest.importorskip("transformers")

import msnb as ms  # noqa: E402

SEED = 20261130
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64, "vocab_size": 90,
         "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}  # fmt: skip
GROUPS = SIZES | {"num_key_value_heads": 2}
EXPERTS = GROUPS | {"moe_intermediate_size": 16, "num_experts": 4, "num_local_experts": 4, "num_experts_per_tok": 2}
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "BertForMaskedLM": ("BertConfig", SIZES),
    "RobertaForSequenceClassification": ("RobertaConfig", SIZES | {"max_position_embeddings": 64}),
    "GPT2LMHeadModel": ("GPT2Config", SIZES | {"n_embd": 32, "n_layer": 2, "n_head": 4}),
    "LlamaForCausalLM": ("LlamaConfig", GROUPS),
    "Gemma3ForCausalLM": ("Gemma3TextConfig", GROUPS | {"head_dim": 8}),
    "MixtralForCausalLM": ("MixtralConfig", EXPERTS),
    "Qwen3MoeForCausalLM": ("Qwen3MoeConfig", EXPERTS | {"head_dim": 8}),
    "T5Model": ("T5Config", SIZES | {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4}),
    "ViTModel": ("ViTConfig", SIZES | {"image_size": 32, "patch_size": 8}),
    "SegformerModel": ("SegformerConfig", {"hidden_sizes": [8, 16, 16, 32], "depths": [1] * 4}),
    "HubertModel": ("HubertConfig", SIZES | {
        "conv_dim": [16, 16], "conv_kernel": [3, 3], "conv_stride": [2, 2], "num_feat_extract_layers": 2,
        "num_conv_pos_embeddings": 8, "num_conv_pos_embedding_groups": 2}),
    "Wav2Vec2ConformerModel": ("Wav2Vec2ConformerConfig", SIZES | {
        "conv_dim": [16, 16], "conv_kernel": [3, 3], "conv_stride": [2, 2], "num_feat_extract_layers": 2}),
    "Llama4ForCausalLM": ("Llama4TextConfig", EXPERTS | {"head_dim": 8, "intermediate_size_mlp": 64}),
}  # fmt: skip


class Results(torch.nn.Module):  # type: ignore[misc,name-defined]
    """A model with inputs by place and results in one tuple."""

    def __init__(self, model: Any, names: list[str]) -> None:
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *inputs: Any) -> Any:
        return tuple(leaves(self.model(**dict(zip(self.names, inputs)), use_cache=False, return_dict=False)
                            if "input_ids" in self.names else self.model(*inputs, return_dict=False)))  # fmt: skip


def leaves(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [leaf for part in value for leaf in leaves(part)]
    return [value] if isinstance(value, torch.Tensor) else []


def given(model: Any) -> dict[str, Any]:
    """What the model takes."""
    if model.main_input_name == "pixel_values":
        return {"pixel_values": torch.randn(2, 3, 32, 32)}
    if model.main_input_name == "input_values":
        return {"input_values": torch.randn(2, 200)}
    ids = torch.randint(3, 90, (2, 9))
    mask = torch.ones_like(ids)
    mask[1, 6:] = 0
    found = {"input_ids": ids, "attention_mask": mask}
    return found | ({"decoder_input_ids": ids[:, :5]} if model.config.is_encoder_decoder else {})


@pytest.mark.parametrize("name", MODELS)
def test_model(name: str) -> None:
    torch.manual_seed(SEED)
    kind, settings = MODELS[name]
    model = getattr(library, name)(getattr(library, kind)(**settings)).eval()
    for weight in model.parameters():  # no ties between experts, nothing that is 0
        weight.data.add_(torch.randn_like(weight) * 0.05)
    inputs = given(model)
    network = Results(model, list(inputs)).eval()
    network(*inputs.values())  # tables that a first call makes are constants of the program
    found = ms.from_torch(torch.export.export(network, tuple(inputs.values()), strict=False))
    assert not found.missing, found.missing
    report = found.compare(network, *inputs.values())
    assert report.same, report
    assert len(report.gradients) > 10
    arguments = [ms.Tensor(value.numpy()) for value in inputs.values()]
    for a, b in zip(ms.jit(found.cell)(*arguments), network(*inputs.values()), strict=True):
        assert abs(a.asnumpy() - b.detach().numpy()).max() < 1e-4 * max(1, float(b.abs().max()))
