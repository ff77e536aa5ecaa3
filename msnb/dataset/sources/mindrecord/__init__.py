"""``msnb.mindrecord``: rows in MindRecord files, as MindSpore has them."""

from msnb.dataset.sources.mindrecord.file_writer import FileWriter
from msnb.dataset.sources.mindrecord.record_readers import FileReader, MindPage

__all__ = ["FileReader", "FileWriter", "MindPage"]
