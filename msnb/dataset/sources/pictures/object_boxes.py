"""Pictures with objects in them: COCO and VOC.

    COCO   one JSON file: images (id, file_name), annotations (image_id, bbox, ...), categories (id, name)
    VOC    a list of names, per name JPEGImages/x.jpg and Annotations/x.xml or SegmentationClass/x.png

Source: cocodataset.org, "Data format"; Everingham et al., "The PASCAL VOC development kit";
`mindspore.dataset.CocoDataset`, `VOCDataset`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, ParseError, XMLParser

import numpy as np

from msnb.base import AttributeValueError
from msnb.base.files.bounded_reader import Refuse, read_file, read_json
from msnb.dataset.pipeline.rows import Array, Row
from msnb.dataset.row_cache import DatasetCache
from msnb.dataset.sources.pictures.picture_lists import refuse_decrypt
from msnb.dataset.sources.tables.file_parts import Name, chosen, file_in, folder_of, inner, picture, text, words_of
from msnb.dataset.sources.tables.record_file import refusal
from msnb.dataset.sources.tables.table_source import Order, RowChoice, Table, TableDataset

__all__ = ["CocoDataset", "VOCDataset"]

_MOST_JSON = 1 << 30
Entry = Mapping[str, Any]
# column -> (what of each annotation, dtype); one row of the column per annotation
_TASKS: dict[str, dict[str, tuple[str, Any]]] = {
    "Detection": {"bbox": ("bbox", np.float32), "category_id": ("category_id", np.uint32),
                  "iscrowd": ("iscrowd", np.uint32)},
    "Stuff": {"segmentation": ("segmentation", np.float32), "iscrowd": ("iscrowd", np.uint32)},
    "Keypoint": {"keypoints": ("keypoints", np.float32), "num_keypoints": ("num_keypoints", np.uint32)},
    "Panoptic": {"bbox": ("bbox", np.float32), "category_id": ("category_id", np.uint32),
                 "iscrowd": ("iscrowd", np.uint32), "area": ("area", np.uint32)},
    "Captioning": {"captions": ("caption", np.str_)},
}  # fmt: skip


class CocoDataset(TableDataset):
    """Pictures with annotations.

    Args:
        dataset_dir: the folder of the pictures. annotation_file: the JSON file.
        task: which columns stand behind image; n is the number of annotations of a picture:
            "Detection" (default)   bbox f32[n,4], category_id u32[n,1], iscrowd u32[n,1]
            "Stuff"                 segmentation f32[n,m], filled up with -1, iscrowd u32[n,1]
            "Keypoint"              keypoints f32[n,m], num_keypoints u32[n,1]
            "Panoptic"              bbox f32[n,4], category_id, iscrowd, area u32[n,1]
            "Captioning"            captions, text [n,1]
        decode: pixels at once. extra_metadata: a last column with the name of the file.
        decrypt: None; ImageFolderDataset reads encrypted pictures.
        num_samples and the others: as of every data set.

    Pictures without annotations are left out, as in MindSpore.
    Source: Lin et al. 2014 (arXiv:1405.0312); `mindspore.dataset.CocoDataset`.
    """

    def __init__(
        self, dataset_dir: Name, annotation_file: Name, task: str = "Detection", num_samples: int | None = None,
        num_parallel_workers: int | None = None, shuffle: Order = None, decode: bool = False, sampler: Any = None,
        num_shards: int | None = None, shard_id: int | None = None, cache: DatasetCache | None = None,
        extra_metadata: bool = False, decrypt: Callable[[str], bytes] | None = None,
    ) -> None:  # fmt: skip
        name, folder = type(self).__name__, folder_of(type(self).__name__, dataset_dir)
        wanted = _TASKS[chosen(name, "task", task, tuple(_TASKS), "Detection")]
        refuse_decrypt(name, decrypt)
        path = Path(annotation_file)
        if not path.is_file():
            raise FileNotFoundError(f"{name}: there is no file {str(path)!r}")
        refuse = refusal(name, path)
        page = read_json(read_file(path, refuse, _MOST_JSON), refuse, most=_MOST_JSON)
        try:
            files, notes, classes = _coco(page, task == "Panoptic")
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise refuse(f"it is no file of annotations: {type(error).__name__} {error}") from None
        rows = [(title, notes[key]) for key, title in files.items() if key in notes]

        def read(row: tuple[str, list[Entry]]) -> Row:
            image = picture(name, inner(name, folder, row[0]), decode)
            parts = [_stacked(row[0], row[1], *column, refuse) for column in wanted.values()]
            return (image, *parts, *([text(Path(row[0]).stem)] if extra_metadata else []))

        columns = ("image", *wanted, *(["_meta-filename"] if extra_metadata else []))
        choice = RowChoice(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id, cache)
        super().__init__(Table(columns, rows, read), choice)
        self._node.classes = {name: [number] for name, number in classes.items()}


def _coco(page: Any, panoptic: bool) -> tuple[dict[int, str], dict[int, list[Entry]], dict[str, int]]:
    """Files by id, annotations by id of the picture, ids of categories by name."""
    files = {int(image["id"]): str(image["file_name"]) for image in page["images"]}
    notes: dict[int, list[Entry]] = defaultdict(list)
    for entry in page["annotations"]:
        notes[int(entry["image_id"])] += entry["segments_info"] if panoptic else [entry]
    return files, {key: found for key, found in notes.items() if found}, {
        str(c["name"]): int(c["id"]) for c in page.get("categories", [])
    }  # fmt: skip


def _stacked(title: str, notes: list[Entry], key: str, dtype: Any, refuse: Refuse) -> Array:
    """One value of all annotations of a picture as rows, filled up with -1 where they differ in length."""
    try:
        values = [_flat(entry[key] if key != "iscrowd" else entry.get(key, 0)) for entry in notes]
        width = max(map(len, values))
        if dtype is np.str_:
            return np.array(values)
        found = np.full((len(values), width), -1 if dtype is np.float32 else 0, dtype)
        for row, value in zip(found, values):
            row[: len(value)] = value
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise refuse(f"an annotation of {title!r} has no proper {key!r}: {type(error).__name__} {error}") from None
    return found


def _flat(value: Any) -> list[Any]:
    if isinstance(value, Mapping):  # run lengths
        return list(value["counts"])
    if isinstance(value, list):
        return [part for inside in value for part in (inside if isinstance(inside, list) else [inside])]
    return [value]


class VOCDataset(TableDataset):
    """Pictures with the classes of their pixels or objects.

    Args:
        dataset_dir: the folder with ImageSets, JPEGImages, Annotations and SegmentationClass.
        task: "Segmentation" (default): columns image and target;
            "Detection": image, bbox f32[n,4] (x, y, width, height), label, difficult, truncate u32[n,1].
        usage: the name of a list in ImageSets/Segmentation or ImageSets/Main: "train" (default), "val", ...
        class_indexing: name -> label, Detection only; default: all in alphabetical order.
        decode: pixels at once. extra_metadata: a last column with the name of the file.
        decrypt: None; ImageFolderDataset reads encrypted pictures.
        num_samples and the others: as of every data set.

    Source: Everingham et al. 2010; `mindspore.dataset.VOCDataset`.
    """

    def __init__(
        self, dataset_dir: Name, task: str = "Segmentation", usage: str = "train",
        class_indexing: Mapping[str, int] | None = None, num_samples: int | None = None,
        num_parallel_workers: int | None = None, shuffle: Order = None, decode: bool = False, sampler: Any = None,
        num_shards: int | None = None, shard_id: int | None = None, cache: DatasetCache | None = None,
        extra_metadata: bool = False, decrypt: Callable[[str], bytes] | None = None,
    ) -> None:  # fmt: skip
        name, folder = type(self).__name__, folder_of(type(self).__name__, dataset_dir)
        boxes = chosen(name, "task", task, ("Segmentation", "Detection"), "Segmentation") == "Detection"
        refuse_decrypt(name, decrypt)
        if class_indexing is not None and not boxes:
            raise AttributeValueError(f"{name}: class_indexing belongs to the task 'Detection'")
        part = "Main" if boxes else "Segmentation"
        titles = [inner(name, folder, w.split()[0]).name
                  for w in words_of(name, file_in(name, folder, "ImageSets", part, f"{usage}.txt"))]  # fmt: skip
        objects: dict[str, list[_Thing]] = {}
        if boxes:
            objects = {t: _things(name, file_in(name, folder, "Annotations", f"{t}.xml")) for t in titles}
        classes = _classes(objects, class_indexing)
        if boxes:
            objects = {t: [o for o in things if o[0] in classes] for t, things in objects.items()}
            titles = [t for t in titles if objects[t]]

        def read(title: str) -> Row:
            image = picture(name, folder / "JPEGImages" / f"{title}.jpg", decode)
            if boxes:
                parts = _boxes(objects[title], classes)
            else:
                parts = [picture(name, folder / "SegmentationClass" / f"{title}.png", decode)]
            return (image, *parts, *([text(title)] if extra_metadata else []))

        own = ("image", "bbox", "label", "difficult", "truncate") if boxes else ("image", "target")
        columns = (*own, *(["_meta-filename"] if extra_metadata else []))
        choice = RowChoice(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id, cache)
        super().__init__(Table(columns, titles, read), choice)
        self._node.classes = classes


_Thing = tuple[str, list[float], int, int]


def _classes(objects: Mapping[str, list[_Thing]], chosen_ones: Mapping[str, int] | None) -> dict[str, int]:
    """Name of a class -> label."""
    names = sorted({thing[0] for things in objects.values() for thing in things})
    return dict(chosen_ones) if chosen_ones is not None else {n: i for i, n in enumerate(names)}


def _boxes(things: list[_Thing], classes: Mapping[str, int]) -> list[Array]:
    columns: list[tuple[Any, Any]] = [([t[1] for t in things], np.float32)]
    columns += [([[classes[t[0]]] for t in things], np.uint32)]
    columns += [([[t[i]] for t in things], np.uint32) for i in (2, 3)]
    return [np.array(values, dtype) for values, dtype in columns]


def _things(name: str, path: Path) -> list[_Thing]:
    """Name, box, difficult and truncated of the objects in an annotation."""
    refuse = refusal(name, path)
    content = read_file(path, refuse, 4 << 20)
    # entities of entities unfold without end: an annotation has no declarations
    if re.search(rb"<!(DOCTYPE|ENTITY)", content):
        raise refuse("it has declarations, which an annotation has not")
    try:
        parser = XMLParser()
        parser.feed(content)
        root: Element = parser.close()
        return [_thing(entry) for entry in root.findall("object")]
    except (ParseError, ValueError, OverflowError) as error:
        raise refuse(f"it is no annotation of objects: {error}") from None


def _thing(entry: Element) -> _Thing:
    left, top, right, bottom = (
        float(entry.findtext(f"bndbox/{side}", "")) for side in ("xmin", "ymin", "xmax", "ymax")
    )
    flags = [int(entry.findtext(flag) or 0) for flag in ("difficult", "truncated")]
    if not all(0 <= flag < 2**32 for flag in flags):
        raise ValueError(f"the flags {flags}")
    return entry.findtext("name", ""), [left, top, right - left, bottom - top], flags[0], flags[1]
