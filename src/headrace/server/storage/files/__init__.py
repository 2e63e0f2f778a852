"""Uploaded files, until they are part of a message."""

from headrace.server.storage.files.file_type import FileRefused, check_file
from headrace.server.storage.files.files import FileInfo, Files, FolderFiles

__all__ = ["FileInfo", "FileRefused", "Files", "FolderFiles", "check_file"]
