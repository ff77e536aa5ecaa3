"""Small data sets in the layouts of their publishers, written into a folder; needs NumPy alone."""

from __future__ import annotations

import io
import json
import struct
import zlib
from pathlib import Path

import numpy as np

JPEG = b"\xff\xd8\xff\xe0 not decoded here"


def put(path: Path, content: bytes | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def wave(samples: np.ndarray, rate: int = 16000, channels: int = 1) -> bytes:
    bits = 8 * samples.dtype.itemsize
    kind = 3 if samples.dtype.kind == "f" else 1
    form = struct.pack("<HHIIHH", kind, channels, rate, rate * channels * bits // 8, channels * bits // 8, bits)
    data = samples.tobytes()
    body = b"WAVEfmt " + struct.pack("<I", len(form)) + form + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


def matlab(packed: bool = False, **arrays: np.ndarray) -> bytes:
    """A MATLAB file of version 5."""

    def element(kind: int, content: bytes) -> bytes:
        return struct.pack("<II", kind, len(content)) + content + bytes(-len(content) % 8)

    classes = {"uint8": (9, 2), "float64": (6, 9), "uint16": (11, 4)}
    out = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM"
    for name, array in arrays.items():
        cls, stored = classes[str(array.dtype)]
        body = element(6, struct.pack("<II", cls, 0)) + element(5, np.array(array.shape, "<i4").tobytes())
        body += element(1, name.encode()) + element(stored, array.tobytes(order="F"))
        matrix = element(14, body)
        out += (lambda z: struct.pack("<II", 15, len(z)) + z)(zlib.compress(matrix)) if packed else matrix
    return out


def pixels(*shape: int) -> np.ndarray:
    return (np.arange(np.prod(shape)) % 251).astype(np.uint8).reshape(shape)


def idx(magic: int, *shape: int, data: bytes) -> bytes:
    return struct.pack(f">I{len(shape)}I", magic, *shape) + data


def svhn(folder: Path) -> None:
    put(folder / "train_32x32.mat", matlab(True, X=pixels(32, 32, 3, 3), y=np.array([[1.0], [10.0], [3.0]])))
    put(folder / "test_32x32.mat", matlab(X=pixels(32, 32, 3, 2), y=np.array([[2], [9]], np.uint8)))
    put(folder / "extra_32x32.mat", matlab(X=pixels(32, 32, 3, 1), y=np.array([[5]], np.uint8)))


def stl10(folder: Path) -> None:
    for part, n in (("train", 2), ("test", 1), ("unlabeled", 1)):
        put(folder / f"{part}_X.bin", pixels(n, 3, 96, 96).tobytes())
        if part != "unlabeled":
            put(folder / f"{part}_y.bin", bytes(range(1, n + 1)))


def emnist(folder: Path) -> None:
    for part, n in (("train", 3), ("test", 2)):
        put(folder / f"emnist-digits-{part}-images-idx3-ubyte", idx(0x803, n, 28, 28, data=pixels(n, 28, 28).tobytes()))
        put(folder / f"emnist-digits-{part}-labels-idx1-ubyte", idx(0x801, n, data=bytes(range(n))))


def qmnist(folder: Path) -> None:
    for stem, n in (("qmnist-train", 3), ("qmnist-test", 2), ("xnist", 1)):
        put(folder / f"{stem}-images-idx3-ubyte", idx(0x803, n, 28, 28, data=pixels(n, 28, 28).tobytes()))
        labels = np.arange(8 * n, dtype=">u4").reshape(n, 8)
        put(folder / f"{stem}-labels-idx2-int", idx(0xC02, n, 8, data=labels.tobytes()))


def usps(folder: Path) -> None:
    line = " ".join(f"{i}:{v:.4f}" for i, v in zip(range(1, 257), np.linspace(-1, 1, 256)))
    put(folder / "usps", f"3 {line}\n10 {line}\n")
    put(folder / "usps.t", f"1 {line}\n")


def semeion(folder: Path) -> None:
    bits = " ".join(f"{i % 2}.0000" for i in range(256))
    put(folder / "semeion.data", f"{bits} 0 0 1 0 0 0 0 0 0 0 \n")


def celeba(folder: Path) -> None:
    names = " ".join(f"a{i}" for i in range(40))
    rows = "\n".join(f"{i:06d}.jpg  " + "  ".join("1" if (i + j) % 2 else "-1" for j in range(40)) for i in (1, 2, 3))
    put(folder / "list_attr_celeba.txt", f"3\n{names}\n{rows}\n")
    put(folder / "list_eval_partition.txt", "000001.jpg 0\n000002.jpg 1\n000003.jpg 2\n")
    for i in (1, 2, 3):
        put(folder / f"{i:06d}.jpg", JPEG + bytes([i]))


def coco(folder: Path) -> None:
    page = {
        "images": [{"id": 1, "file_name": "1.jpg"}, {"id": 2, "file_name": "2.jpg"}, {"id": 3, "file_name": "3.jpg"}],
        "annotations": [
            {"id": 1, "image_id": 1, "bbox": [1, 2, 3.5, 4], "category_id": 7, "iscrowd": 0, "area": 12,
             "segmentation": [[1, 2, 3, 4, 5, 6]], "keypoints": [1, 2, 2, 4, 5, 0], "num_keypoints": 1},
            {"id": 2, "image_id": 1, "bbox": [0, 0, 9, 9], "category_id": 3, "iscrowd": 1, "area": 81,
             "segmentation": [[1, 2, 3, 4]], "keypoints": [1, 2, 2, 4, 5, 0], "num_keypoints": 1},
            {"id": 3, "image_id": 3, "bbox": [5, 5, 5, 5], "category_id": 3, "iscrowd": 0, "area": 25,
             "segmentation": [[9, 9, 9, 9, 9, 9]], "keypoints": [0, 0, 0, 1, 1, 2], "num_keypoints": 1},
        ],
        "categories": [{"id": 3, "name": "cat"}, {"id": 7, "name": "dog"}],
    }  # fmt: skip
    put(folder / "boxes.json", json.dumps(page))
    notes = [{"id": i, "image_id": 1 + i % 2, "caption": f"a cat {i}"} for i in range(3)]
    put(folder / "captions.json", json.dumps({"images": page["images"], "annotations": notes}))
    for i in (1, 2, 3):
        put(folder / "pictures" / f"{i}.jpg", JPEG + bytes([i]))


def voc(folder: Path) -> None:
    thing = ("<object><name>{}</name><difficult>{}</difficult><truncated>1</truncated><bndbox><xmin>1</xmin>"
             "<ymin>2</ymin><xmax>11</xmax><ymax>22</ymax></bndbox></object>")  # fmt: skip
    for i, things in ((1, [("dog", 0), ("cat", 1)]), (2, [("cat", 0)])):
        put(folder / "JPEGImages" / f"{i}.jpg", JPEG + bytes([i]))
        put(folder / "SegmentationClass" / f"{i}.png", JPEG + bytes([10 + i]))
        inner = "".join(thing.format(*t) for t in things)
        put(folder / "Annotations" / f"{i}.xml", f"<annotation><folder>x</folder>{inner}</annotation>")
    for part in ("Main", "Segmentation"):
        put(folder / "ImageSets" / part / "train.txt", "1\n2\n")


def speech(folder: Path) -> None:
    for word, speaker in (("cat", "a1"), ("dog", "b2"), ("dog", "c3")):
        put(folder / word / f"{speaker}_nohash_0.wav", wave(np.array([0, 16384, -32768], np.int16)))
    put(folder / "testing_list.txt", "dog/b2_nohash_0.wav\n")
    put(folder / "validation_list.txt", "dog/c3_nohash_0.wav\n")


def yesno(folder: Path) -> None:
    put(folder / "0_1_0_0_1_1_0_1.wav", wave(np.array([0, 8192], np.int16), 8000))


def ljspeech(folder: Path) -> None:
    put(folder / "metadata.csv", "LJ001-0001|Dr. A|Doctor A\n")
    put(folder / "wavs" / "LJ001-0001.wav", wave(np.array([1, 2, 3], np.int16), 22050))


def gtzan(folder: Path) -> None:
    for kind in ("blues", "rock"):
        put(folder / kind / f"{kind}.00000.wav", wave(np.array([0, 16384], np.int16), 22050))


def arctic(folder: Path) -> None:
    put(folder / "cmu_us_aew_arctic" / "etc" / "txt.done.data", '( arctic_a0001 "Author of the trail, etc." )\n')
    put(folder / "cmu_us_aew_arctic" / "wav" / "arctic_a0001.wav", wave(np.array([1, 2], np.int16)))


def libri(folder: Path) -> None:
    place = folder / "dev-clean" / "116" / "288045"
    put(place / "116_288045.trans.tsv", "116_288045_000003_000000\tTo 1\tTo one\n")
    put(place / "116_288045_000003_000000.wav", wave(np.array([1, 2], np.int16), 24000))


def imdb(folder: Path) -> None:
    for part in ("train", "test"):
        for kind in ("pos", "neg"):
            put(folder / part / kind / "0_9.txt", f"{part} {kind} film")


def tagged(folder: Path) -> None:
    for part in ("train", "test", "dev"):
        put(folder / f"{part}.txt", "He PRP B-NP\nran VBD B-VP\n\nGo VB B-VP\n")
        put(folder / f"en-ud-tag.v2.{part}.txt", "He\tPRON\tPRP\nran\tVERB\tVBD\n\nGo\tVERB\tVB\n")


def squad(folder: Path) -> None:
    def page(*answers: tuple[str, int]) -> str:
        found = [{"text": t, "answer_start": s} for t, s in answers]
        qas = [{"id": "1", "question": "who?", "answers": found}]
        return json.dumps(
            {"version": "1.1", "data": [{"title": "t", "paragraphs": [{"context": "Ann ran", "qas": qas}]}]}
        )

    put(folder / "train-v1.1.json", page(("Ann", 0)))
    put(folder / "dev-v1.1.json", page(("Ann", 0), ("ran", 4)))


def reviews(folder: Path, fields: int) -> None:
    for part in ("train", "test"):
        rest = ",".join(f'"{part} said ""{i}"", and"' for i in range(fields - 1))
        put(folder / f"{part}.csv", f'"3",{rest}\n"4",{rest}\n')


def lines(folder: Path) -> None:
    for part in ("train", "test", "valid"):
        put(folder / f"wiki.{part}.tokens", f" \n = {part} = \n\n word <unk> \n")
        put(folder / f"ptb.{part}.txt", f" {part} one \n two \n")
    for place, part in (("training", "train"), ("validation", "val"), ("mmt16_task1_test", "val")):
        put(folder / place / f"{part}.en", f"a {part}\nb\n")
        put(folder / place / f"{part}.de", f"ein {part}\nzwei\n")
    put(folder / "enwik9", "<page>\n text\n</page>\n")
    put(folder / "train.tsv", "sentence\tlabel\nfine film\t1\nbad\t0\n")
    put(folder / "dev.tsv", "sentence\tlabel\nso so\t1\n")
    put(folder / "test.tsv", "index\tsentence\n0\twhat a film\n")


def png() -> bytes:
    """A picture of one red point."""
    chunks = [
        (b"IHDR", struct.pack(">II5B", 1, 1, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(b"\0\xff\0\0")),
        (b"IEND", b""),
    ]
    file = io.BytesIO(b"\x89PNG\r\n\x1a\n")
    file.seek(0, 2)
    for kind, data in chunks:
        file.write(struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)))
    return file.getvalue()
