"""``msnb.mindrecord``: rows in MindRecord files, as MindSpore has them."""

from msnb.dataset.sources.mindrecord.conversions import (
    Cifar10ToMR,
    Cifar100ToMR,
    CsvToMR,
    ImageNetToMR,
    MnistToMR,
    TFRecordToMR,
    set_dec_mode,
    set_enc_key,
    set_enc_mode,
)
from msnb.dataset.sources.mindrecord.file_writer import FileWriter
from msnb.dataset.sources.mindrecord.record_readers import FileReader, MindPage

__all__ = [
    "Cifar100ToMR", "Cifar10ToMR", "CsvToMR", "FileReader", "FileWriter", "ImageNetToMR", "MindPage", "MnistToMR",
    "TFRecordToMR", "set_dec_mode", "set_enc_key", "set_enc_mode",
]  # fmt: skip
