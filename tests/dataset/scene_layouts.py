"""More small data sets in the layouts of their publishers; pictures are BMP, which needs NumPy alone."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from tests.dataset.layouts import matlab, pixels, put


def bitmap(rows: np.ndarray) -> bytes:
    """Pixels uint8[h,w] as a BMP of 256 greys; the width is a multiple of 4."""
    height, width = rows.shape
    greys = b"".join(bytes((i, i, i, 0)) for i in range(256))
    head = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 8, 0, width * height, 0, 0, 256, 0)
    start = 14 + len(head) + len(greys)
    return b"BM" + struct.pack("<IHHI", start + rows.size, 0, 0, start) + head + greys + rows[::-1].tobytes()


PICTURE = bitmap(pixels(4, 8))


def caltech101(folder: Path) -> None:
    for title, place, n in (("Faces", "Faces_2", 2), ("ant", "ant", 1)):
        for i in range(1, n + 1):
            put(folder / "101_ObjectCategories" / title / f"image_{i:04}.jpg", PICTURE)
            contour = np.arange(6.0).reshape(2, 3) + i
            put(
                folder / "Annotations" / place / f"annotation_{i:04}.mat",
                matlab(obj_contour=contour, box_coord=contour),
            )
    put(folder / "101_ObjectCategories/BACKGROUND_Google/image_0001.jpg", PICTURE)


def kitti(folder: Path) -> None:
    images, labels = folder / "data_object_image_2", folder / "data_object_label_2/training/label_2"
    for i in range(2):
        put(images / f"training/image_2/00000{i}.png", PICTURE)
        put(images / f"testing/image_2/00000{i}.png", PICTURE)
    put(labels / "000000.txt", "Car 0.50 1 -1.57 1 2.5 3 4 1.5 1.6 3.7 -2.5 1.7 9.6 -1.6\n"
                               "DontCare -1 -1 -10 5 6 7 8 -1 -1 -1 -1000 -1000 -1000 -10\n"
                               "Pedestrian 0.00 0 0.1 1 2 3 4 1 2 3 4 5 6 0.2\n")  # fmt: skip
    put(labels / "000001.txt", "Van 0.00 2 0.25 5.5 6 7 8 1 1 1 2 2 2 0.5\n")


def lfw(folder: Path) -> None:
    for place in ("lfw", "lfw_funneled", "lfw-deepfunneled"):
        for person, n in (("Ann_A", 2), ("Bo_B", 1), ("Cy_C", 2)):
            for i in range(1, n + 1):
                put(folder / place / person / f"{person}_{i:04}.jpg", PICTURE)
    put(folder / "lfw-names.txt", "Ann_A\t2\nBo_B\t1\nCy_C\t2\n")
    put(folder / "peopleDevTrain.txt", "2\nAnn_A\t2\nBo_B\t1\n")
    put(folder / "peopleDevTest.txt", "1\nCy_C\t2\n")
    put(folder / "people.txt", "2\n2\nAnn_A\t2\nBo_B\t1\n1\nCy_C\t2\n")
    put(folder / "pairsDevTrain.txt", "1\nAnn_A\t1\t2\nAnn_A\t1\tBo_B\t1\n")
    put(folder / "pairsDevTest.txt", "1\nCy_C\t1\t2\nBo_B\t1\tCy_C\t2\n")
    put(folder / "pairs.txt", "2\t1\nAnn_A\t1\t2\nAnn_A\t1\tBo_B\t1\nCy_C\t1\t2\nBo_B\t1\tCy_C\t2\n")


def phototour(folder: Path) -> None:
    place = folder / "liberty"
    put(place / "patches0000.bmp", bitmap(pixels(1024, 1024)))
    put(place / "info.txt", "".join(f"{i // 2} 0\n" for i in range(5)))
    put(place / "m50_100000_100000_0.txt", "0 0 0 1 0 0 0\n1 0 0 3 1 0 0\n")


def _element(kind: int, content: bytes) -> bytes:
    return struct.pack("<II", kind, len(content)) + content + bytes(-len(content) % 8)


def _nested(cls: int, shape: tuple[int, ...], *parts: bytes, name: bytes = b"") -> bytes:
    head = _element(6, struct.pack("<II", cls, 0)) + _element(5, np.array(shape, "<i4").tobytes())
    return _element(14, head + _element(1, name) + b"".join(parts))


def _sparse(dense: np.ndarray) -> bytes:
    columns, rows = np.nonzero(dense.T)
    ends = np.concatenate([[0], np.cumsum((dense != 0).sum(0))])
    parts = (_element(5, rows.astype("<i4").tobytes()), _element(5, ends.astype("<i4").tobytes()))
    return _nested(5, dense.shape, *parts, _element(2, dense.T[columns, rows].astype(np.uint8).tobytes()))


def boundaries(index: int) -> np.ndarray:
    return np.stack([(np.arange(32).reshape(4, 8) % (k + 2 + index) == 1).astype(np.uint8) for k in range(20)])


def sbd(folder: Path) -> None:
    for index, part in enumerate(("train", "val")):
        kinds = _nested(1, (20, 1), *map(_sparse, boundaries(index)))
        segments = _nested(9, (4, 8), _element(2, pixels(4, 8).tobytes(order="F")))
        names = _element(5, struct.pack("<I", 16)) + _element(
            1, b"Boundaries".ljust(16, b"\0") + b"Segmentation".ljust(16, b"\0")
        )
        body = _nested(2, (1, 1), names, kinds, segments, name=b"GTcls")
        put(folder / f"cls/a{index}.mat", b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM" + body)
        put(folder / f"img/a{index}.jpg", PICTURE)
        put(folder / f"{part}.txt", f"a{index}\n")
    put(folder / "train_noval.txt", "a0\n")


def wider(folder: Path) -> None:
    for part in ("train", "val", "test"):
        for i in range(2):
            put(folder / f"WIDER_{part}/images/0--Parade/{part}_{i}.jpg", PICTURE)
        text = (f"0--Parade/{part}_0.jpg\n2\n1 2 3 4 0 0 1 0 2 0 \n5 6 7 8 1 1 0 1 0 1 \n"
                f"0--Parade/{part}_1.jpg\n0\n0 0 0 0 0 0 0 0 0 0 \n")  # fmt: skip
        if part != "test":
            put(folder / f"wider_face_split/wider_face_{part}_bbx_gt.txt", text)
    put(folder / "wider_face_split/wider_face_test_filelist.txt", "0--Parade/test_0.jpg\n0--Parade/test_1.jpg\n")


def sphere(samples: np.ndarray, rate: int = 16000, order: str = "01") -> bytes:
    """A NIST SPHERE file of 16 bits."""
    head = (f"NIST_1A\n   1024\nsample_count -i {len(samples)}\nsample_n_bytes -i 2\nchannel_count -i 1\n"
            f"sample_byte_format -s2 {order}\nsample_rate -i {rate}\nsample_coding -s3 pcm\nend_head\n")  # fmt: skip
    return head.encode().ljust(1024, b"\n") + samples.astype("<i2" if order == "01" else ">i2").tobytes()


def tedlium(folder: Path) -> None:
    stm = ("{0} 1 {0} 0.0 0.5 <o,f0,male> hello  there (2)\n{0} 1 {0} 0.25 1.0 <o,f0,male> "
           "ignore_time_segment_in_scoring\n{0} 1 spk 0.5 1.0 <o,f0,female> good {{breath}} bye\n")  # fmt: skip
    for place in ("train", "dev", "test", "data"):
        name = f"Talk{place.title()}_2010"
        put(folder / place / "sph" / f"{name}.sph", sphere(np.arange(16000) % 3000 - 1500, order="10"))
        put(folder / place / "stm" / f"{name}.stm", stm.format(name))


def iwslt(folder: Path) -> None:
    for place, tag in ((folder / "texts/de/en/de-en", "IWSLT16"),
                       (folder / "texts/DeEnItNlRo/DeEnItNlRo/DeEnItNlRo-DeEnItNlRo", "IWSLT17")):  # fmt: skip
        for language in ("de", "en"):
            put(
                place / f"train.tags.de-en.{language}",
                f"<url>x</url>\n<title>t</title>\n eins {language} \n zwei {language}\n",
            )
            for part in ("dev2010", "tst2010", "tst2013", "tst2014"):
                page = (f'<?xml version="1.0" encoding="UTF-8"?>\n<mteval>\n<srcset setid="x" srclang="{language}">\n'
                        f'<doc docid="1" genre="lectures">\n<url>http://x</url>\n<title>t</title>\n'
                        f'<seg id="1"> eins {part} &amp; {language} </seg>\n<seg id="2"> zwei {language} </seg>\n'
                        "</doc>\n</srcset>\n</mteval>\n")  # fmt: skip
                put(place / f"{tag}.TED.{part}.de-en.{language}.xml", page)
