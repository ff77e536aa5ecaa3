"""Every network of the zoo is planned and predicted by the one public call; the deep ones with fewer layers."""

from __future__ import annotations

import math

import pytest
import zoo_detection as detection
import zoo_mobile as mobile
import zoo_vision as vision
from zoo_inception import InceptionV3, InceptionV4
from zoo_language import GPT, Bert, ViT, sentences, texts
from zoo_ranking import DeepFM, WideDeep, clicks
from zoo_segmentation import UNet, slides
from zoo_translation import Recurrent, Translator, masked_pairs, pairs
from zoo_vision import images

import msnb as ms
from msnb import nn

pytestmark = pytest.mark.slow

SMALL = detection.anchors_of((10, 5, 3, 2, 1, 1), 3)
PYRAMID = detection.anchors_of((16, 8, 4, 2, 1))
NETS = {
    "se_resnet": (lambda: vision.ResNet((1, 1, 1, 1), excite=True, first="deep"), images),
    "vgg": (vision.VGG16, images),
    "vgg_plain": (lambda: vision.VGG16(1000, False), images),
    "googlenet": (vision.GoogLeNet, images),
    "densenet": (lambda: vision.DenseNet((2, 2, 2, 2)), images),
    "squeezenet": (vision.SqueezeNet, images),
    "inception_v3": (InceptionV3, lambda n: images(n, 299)),
    "inception_v4": (InceptionV4, lambda n: images(n, 299)),
    "mobilenet_v1": (mobile.MobileNetV1, images),
    "mobilenet_v2": (mobile.MobileNetV2, images),
    "mobilenet_v3": (mobile.MobileNetV3, images),
    "efficientnet": (mobile.EfficientNet, images),
    "ssd_mobile": (detection.ssd_mobile, lambda n: detection.scenes(n, 160, SMALL)),
    "ssd_vgg": (detection.ssd_vgg,
                lambda n: detection.scenes(n, 300, detection.anchors_of((38, 19, 10, 5, 3, 2), 3))),
    "ssd_pyramid": (detection.ssd_mobile_pyramid, lambda n: detection.scenes(n, 128, PYRAMID)),
    "yolo": (detection.Yolo, lambda n: detection.yolo_scenes(n, 64)),
    "unet": (lambda: UNet(16), lambda n: slides(n, 188)),
    "bert": (lambda: Bert(1000, 64, 4, 2, reach=0), sentences),
    "bert_512": (lambda: Bert(1000, 64, 4, 2, 512, reach=0), lambda n: sentences(n, 512)),
    "nezha": (lambda: Bert(1000, 64, 4, 2), sentences),
    "gpt": (lambda: GPT(1000, 64, 4, 2, 128), lambda n: texts(n, 128)),
    "vit": (lambda: ViT(32, 64, 4, 2), images),
    "transformer": (lambda: Translator(1000, 64, 4, 1, 32), lambda n: masked_pairs(n, 32)),
    "gru": (lambda: Recurrent(1000, 64), lambda n: pairs(n, 6)),
    "lstm": (lambda: Recurrent(1000, 64, nn.LSTM, 2), lambda n: pairs(n, 6)),
    "wide_deep": (WideDeep, clicks),
    "deepfm": (DeepFM, clicks),
}  # fmt: skip


@pytest.mark.parametrize("name", NETS)
def test_planned_and_predicted(name):
    make, inputs = NETS[name]
    with nn.no_init_parameters():
        net = make()
    net.set_train()
    plan = ms.parallel.plan(net, *inputs(8 * 2), device_num=8, parallel_mode="data_parallel")
    line = plan.timeline
    assert 0 < line.computed < plan.step_time < math.inf
    assert len(line.gradients) == len(plan.program.gradients) > 0, "every weight's gradient is summed"
    network = [what for stream, _, _, what in line.events if stream == "network"]
    assert all(what.startswith("all_reduce gradients") for what in network), "replicas exchange nothing else"
    assert plan.memory["total"] > 4 * sum(w.type.size for w in plan.program.weights)


def test_precision_is_a_habit_of_the_software():
    with nn.no_init_parameters():
        net = mobile.MobileNetV1()
    net.set_train()
    halves, full = (
        ms.parallel.plan(net, *images(8), device_num=1, cluster=ms.parallel.Cluster(amp_level=level)).step_time
        for level in ("O3", "O0")
    )
    assert 1.3 * halves < full < 2.5 * halves, "images of 32 bits are twice as many bytes, products stay as they are"
    with pytest.raises(ValueError, match="amp_level='O1' is not known; legal: 'O3', 'O2', 'O0'"):
        ms.parallel.Cluster(amp_level="O1")
