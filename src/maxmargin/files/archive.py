"""A document and named arrays in one file that is safe to open, wherever it comes from.

    document.json      the document, a JSON object
    arrays/NAME.npy    an array in NumPy's format; never a pickle
    the end            "blake2b " and 64 hexadecimal digits: the digest of every byte before them

It is a zip archive without compression, and the end is its comment. The digest tells damage, not forgery: a forger
can write a digest too. So nothing in an archive is believed. Names, sizes, types and shapes of all
members are held against the bytes that are there before memory is taken for them.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import zipfile
from typing import BinaryIO

import numpy as np

from ..runtime.atomic_file import write_atomically

ZIP_MAGIC = b"PK\x03\x04"  # of every archive
DIGEST_MARK = b"blake2b "
DIGEST_DIGITS = 64
CHUNK_BYTES = 1 << 20  # bytes read at a time
DOCUMENT = "document.json"
ARRAY_NAME = re.compile(r"arrays/[A-Za-z0-9_.]{1,200}\.npy")
DTYPE_KINDS = "biufUS"  # truth values, numbers and texts
MAX_HEADER_BYTES = 10_000  # bytes of the header of an array, at most
MEMBER_DATE = (1980, 1, 1, 0, 0, 0)  # the same for all members, so that the same model makes the same bytes


class DamagedFileError(ValueError):
    """Why a file cannot be read, without its name."""


# ---- writing --------------------------------------------------------------------------------------------------------


def write_archive(path: str | os.PathLike, document: dict, arrays: dict[str, np.ndarray]) -> None:
    """Put a document and arrays into a file, whole or not at all.

    Parameters
    ----------
    path : path
    document : dict
        What JSON can hold.
    arrays : dict of ndarray
        By names of letters, digits, dots and underscores; truth values, numbers or texts.
    """
    with write_atomically(path) as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            text = json.dumps(document, allow_nan=False, indent=1)
            archive.writestr(zipfile.ZipInfo(DOCUMENT, MEMBER_DATE), text)
            for name, array in arrays.items():
                with archive.open(zipfile.ZipInfo(f"arrays/{name}.npy", MEMBER_DATE), "w", force_zip64=True) as member:
                    little_endian = array.astype(array.dtype.newbyteorder("<"), copy=False)
                    np.lib.format.write_array(member, little_endian, allow_pickle=False)
            archive.comment = DIGEST_MARK + b"0" * DIGEST_DIGITS
        file.flush()
        file.seek(0, os.SEEK_END)
        body = file.tell() - DIGEST_DIGITS
        digest = compute_digest(file, body)
        file.seek(body)
        file.write(digest)


def compute_digest(file: BinaryIO, size: int) -> bytes:
    """The digest of the first `size` bytes, in hexadecimal digits."""
    digest = hashlib.blake2b(digest_size=DIGEST_DIGITS // 2)
    file.seek(0)
    while size > 0 and (chunk := file.read(min(CHUNK_BYTES, size))):
        digest.update(chunk)
        size -= len(chunk)
    return digest.hexdigest().encode()


# ---- reading --------------------------------------------------------------------------------------------------------


class Archive:
    """An archive that was opened: its document, and its arrays, read when they are asked for."""

    def __init__(self, file: BinaryIO):
        size = check_digest(file)
        try:
            self.zip = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, OSError, ValueError, EOFError, NotImplementedError) as error:
            raise DamagedFileError(f"it is not an archive: {error}") from error
        self.members = check_members(self.zip.infolist(), size)
        self.loaded: dict[str, np.ndarray] = {}

    def read_document(self) -> dict:
        """The JSON object."""
        try:
            document = json.loads(self.zip.read(self.members[DOCUMENT]), parse_constant=refuse_constant)
        except (ValueError, RecursionError, zipfile.BadZipFile, EOFError) as error:
            raise DamagedFileError(f"{DOCUMENT} is broken: {error}") from error
        if not isinstance(document, dict):
            raise DamagedFileError(f"{DOCUMENT} must hold an object, got {type(document).__name__}")
        return document

    def read_array(self, name: str) -> np.ndarray:
        """The array of a name; the same one if it is asked for again."""
        if name not in self.loaded:
            member = f"arrays/{name}.npy"
            if member not in self.members:
                raise DamagedFileError(f"it lacks the array {name[:200]!r}")
            try:
                self.loaded[name] = self.load_array(self.members[member])
            except (zipfile.BadZipFile, EOFError, ValueError) as error:
                raise DamagedFileError(f"the array {name!r} is broken: {error}") from error
        return self.loaded[name]

    def load_array(self, info: zipfile.ZipInfo) -> np.ndarray:
        """The array of a member, whose header must agree with its size before memory is taken."""
        with self.zip.open(info) as member:
            shape, columns_first, dtype = read_header(member)
            if dtype.hasobject or dtype.kind not in DTYPE_KINDS or dtype.fields or dtype.byteorder == ">":
                raise DamagedFileError(f"it has the type {dtype.str}, and numbers or texts are expected")
            expected = info.file_size - member.tell()
            if any(length < 0 for length in shape) or math.prod(shape) * dtype.itemsize != expected:
                raise DamagedFileError(f"its shape {shape} does not match its {expected} bytes")
            flat = np.empty(math.prod(shape), dtype)
            view, place = memoryview(flat.view(np.uint8) if flat.nbytes else b"").cast("B"), 0
            while place < expected:
                step = member.readinto(view[place : place + CHUNK_BYTES])
                if not step:
                    raise DamagedFileError("it ends too early")
                place += step
            member.read(1)  # at its end the checksum is compared
        check_values(flat)
        return flat.reshape(shape, order="F" if columns_first else "C")


def check_digest(file: BinaryIO) -> int:
    """The size of a file that ends in the digest of what comes before."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    if file.read(len(ZIP_MAGIC)) != ZIP_MAGIC:
        raise DamagedFileError("it does not start like a model file")
    body = size - DIGEST_DIGITS
    file.seek(max(body - len(DIGEST_MARK), 0))
    end = file.read()
    if not end.startswith(DIGEST_MARK) or len(end) != len(DIGEST_MARK) + DIGEST_DIGITS:
        raise DamagedFileError("its end is missing, so it was truncated or overwritten")
    if compute_digest(file, body) != end[len(DIGEST_MARK) :]:
        raise DamagedFileError("its bytes do not match the digest in it, so it is damaged")
    return size


def check_members(members: list[zipfile.ZipInfo], size: int) -> dict[str, zipfile.ZipInfo]:
    """The members by name: known names, each once, not compressed, and together no larger than the file."""
    found: dict[str, zipfile.ZipInfo] = {}
    for info in members:
        if info.filename != DOCUMENT and not ARRAY_NAME.fullmatch(info.filename):
            raise DamagedFileError(f"it holds {info.filename[:60]!r}, which does not belong in a model file")
        if info.filename in found:
            raise DamagedFileError(f"it holds {info.filename!r} twice")
        if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size or info.flag_bits & 1:
            raise DamagedFileError(f"{info.filename!r} is compressed or encrypted, which no member of a model file is")
        found[info.filename] = info
    if sum(info.file_size for info in members) > size:
        raise DamagedFileError("its members claim more bytes than it has")
    if DOCUMENT not in found:
        raise DamagedFileError(f"it lacks {DOCUMENT}")
    return found


def read_header(member) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Shape, order and type of an array in NumPy's format."""
    version = np.lib.format.read_magic(member)
    if version == (1, 0):
        return np.lib.format.read_array_header_1_0(member, max_header_size=MAX_HEADER_BYTES)
    if version == (2, 0):
        return np.lib.format.read_array_header_2_0(member, max_header_size=MAX_HEADER_BYTES)
    raise DamagedFileError(f"it is written in version {version} of NumPy's format")


def check_values(flat: np.ndarray) -> None:
    """Refuse bytes that stand for no truth value or no character: they would only be noticed later, far from here."""
    if flat.dtype.kind == "b" and flat.size and flat.view(np.uint8).max() > 1:
        raise DamagedFileError("it holds truth values that are neither true nor false")
    if flat.dtype.kind == "U" and flat.size and flat.dtype.itemsize:
        code_points = flat.view(np.uint32)
        if code_points.max() > 0x10FFFF:
            raise DamagedFileError("it holds characters that are not valid")


def refuse_constant(text: str):
    """NaN and Infinity are no JSON."""
    raise DamagedFileError(f"{text} is not a number of JSON")
