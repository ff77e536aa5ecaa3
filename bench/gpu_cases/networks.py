"""Training steps: small ones, where launches are what takes time, and large ones.

The transformer is a GPT of 12 layers, 768 wide, on 1024 tokens; ResNet-50 trains on 64 images of 224 x 224. In
bfloat16 weights stay float32, and products and convolutions round their operands, as torch.autocast does.
"""

from __future__ import annotations

from dataclasses import replace

from bench.cases import lenet, mlp, resnet, transformer
from bench.gpu_cases.gpu_case import GpuCase

RESNET = resnet._case(replace(resnet.RESNET50, batch=64), 1, 2e-2)
GPT = replace(
    transformer.step_case(transformer.Form(12, 768, 12, 1024, 8, 32000), tolerance=1e-2),
    title="GPT of 12 layers, 768 wide, 1024 tokens, batch 8",
)
LAST = (("torch", "channels_last"), ("jax", "nhwc"))

CASES = [
    GpuCase("mlp_step", mlp.CASES[0], bar=1.5, graphs=True),
    GpuCase("lenet_step", lenet.CASES[0], bar=1.5, graphs=True),
    GpuCase("resnet50_step_bf16", RESNET, "bfloat16", variants=LAST),
    GpuCase("resnet50_step_tf32", RESNET, "tf32", variants=LAST),
    GpuCase("transformer_step_bf16", GPT, "bfloat16"),
]
