"""Python values as JSON and arrays, and back: what a model file can hold, and nothing that runs.

None, truth values, finite numbers, texts, lists    as JSON has them
{"float": "inf"}                                    numbers that JSON does not have
{"tuple": [...]}, {"dict": [[key, value], ...]}     keys of any kind
{"scalar": value, "dtype": "<f4"}                   a scalar of NumPy's
{"array": NAME}                                     an array, kept apart; {"objects": [...]} an array of texts
{"csr": NAME, "shape": [n, d], "kind": ...}         three arrays of a sparse matrix, NAME.data and so on
{"record": CLASS, "fields": {...}}                  an object of a class of `RECORDS`
{"type": CLASS}                                     one of `TYPES` itself
{"random_state": {...}}                             a RandomState of NumPy's
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import isroutine
from typing import Any

import numpy as np
import scipy.sparse as sp

from .archive import DTYPE_KINDS, DamagedFileError
from .records import OBSOLETE_FIELDS, RECORDS, TYPES, list_record_fields, name_record

CSR_TYPES = {"csr_array": sp.csr_array, "csr_matrix": sp.csr_matrix}
CSR_PARTS = ("data", "indices", "indptr")


class UnsupportedValueError(ValueError):
    """What a model file cannot hold, without the name of what it belongs to."""


# ---- to a file ------------------------------------------------------------------------------------------------------


class Packer:
    """Values to JSON; arrays are put aside under the name of the place where they were met, each once."""

    def __init__(self):
        self.arrays: dict[str, np.ndarray] = {}
        self.names: dict[int, str] = {}

    def pack(self, value: Any, name: str):
        """A value as JSON; `name` is its place."""
        if isinstance(value, np.generic):
            return self.pack_scalar(value)
        if value is None or isinstance(value, bool | str) or type(value) is int:
            return value
        if isinstance(value, float):
            return float(value) if np.isfinite(value) else {"float": repr(float(value))}
        if isinstance(value, np.ndarray):
            return self.pack_array(value, name)
        if sp.issparse(value):
            return self.pack_sparse(value, name)
        for kind, pack in PACKERS.items():
            if isinstance(value, kind):
                return pack(self, value, name)
        raise UnsupportedValueError(describe(value))

    def pack_scalar(self, value: np.generic):
        """A scalar of NumPy's, with its type."""
        if value.dtype.kind not in DTYPE_KINDS or not isinstance(value.item(), bool | int | float | str):
            raise UnsupportedValueError(f"a scalar of type {value.dtype}")
        return {"scalar": self.pack(value.item(), ""), "dtype": value.dtype.str}

    def pack_array(self, value: np.ndarray, name: str):
        """A reference to an array; texts and labels of Python's are written out."""
        if value.dtype.kind in "US" or (value.dtype.kind in DTYPE_KINDS and value.dtype.itemsize <= 8):
            return {"array": self.store(value, name)}
        if value.dtype.kind in "OT" and value.ndim == 1:
            return {"objects": [self.pack(each, name) for each in value.tolist()]}
        raise UnsupportedValueError(f"an array of type {value.dtype}")

    def pack_sparse(self, value, name: str):
        """The three arrays of a CSR matrix."""
        kind = type(value).__name__
        if kind not in CSR_TYPES:
            raise UnsupportedValueError(f"a sparse matrix of type {kind}")
        for part in CSR_PARTS:
            self.store(getattr(value, part), f"{name}.{part}")
        return {"csr": name, "shape": list(value.shape), "kind": kind}

    def store(self, array: np.ndarray, name: str) -> str:
        """The name under which an array is kept, that of its first place."""
        if id(array) not in self.names:
            self.names[id(array)] = name
            self.arrays[name] = array
        return self.names[id(array)]

    def pack_record(self, value, name: str):
        """The class and the fields of an object."""
        kind = name_record(type(value))
        if RECORDS.get(kind) is not type(value):
            raise UnsupportedValueError(describe(value))
        fields = {field: self.pack(getattr(value, field), f"{name}.{field}") for field in list_record_fields(kind)}
        return {"record": kind, "fields": fields}


def pack_type(packer: Packer, value: type, name: str):
    """A class by its name."""
    if TYPES.get(value.__name__) is not value:
        raise UnsupportedValueError(f"the class {value.__name__}")
    return {"type": value.__name__}


def pack_items(packer: Packer, value: dict, name: str):
    """A dict as pairs, in order."""
    pairs = [[packer.pack(key, name), packer.pack(each, f"{name}.{k}")] for k, (key, each) in enumerate(value.items())]
    return {"dict": pairs}


def pack_random_state(packer: Packer, value: np.random.RandomState, name: str):
    """The state of a Mersenne twister."""
    state = value.get_state(legacy=False)
    if state["bit_generator"] != "MT19937":
        raise UnsupportedValueError(f"a RandomState of {state['bit_generator']}")
    numbers = [int(state["state"]["pos"]), int(state["has_gauss"]), float(state["gauss"])]
    return {"random_state": packer.store(np.array(state["state"]["key"]), f"{name}.key"), "numbers": numbers}


def pack_list(packer: Packer, value: list, name: str) -> list:
    """Every item."""
    return [packer.pack(each, f"{name}.{k}") for k, each in enumerate(value)]


def pack_tuple(packer: Packer, value: tuple, name: str):
    """A plain tuple, or a record."""
    return {"tuple": pack_list(packer, value, name)} if type(value) is tuple else packer.pack_record(value, name)


PACKERS: dict[type, Callable] = {
    list: pack_list,
    tuple: pack_tuple,
    dict: pack_items,
    type: pack_type,
    np.random.RandomState: pack_random_state,
    **{kind: Packer.pack_record for kind in RECORDS.values() if not issubclass(kind, tuple)},
}


def describe(value) -> str:
    """What cannot be kept."""
    if isroutine(value):
        return f"the function {value.__name__}, and a file of functions would not be safe to open"
    return f"an object of the class {type(value).__name__}"


# ---- from a file ----------------------------------------------------------------------------------------------------


class Unpacker:
    """JSON to values; `read_array` gives the array of a name."""

    def __init__(self, read_array: Callable[[str], np.ndarray]):
        self.read_array = read_array

    def unpack(self, value):
        """The value that was packed."""
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, list):
            return [self.unpack(each) for each in value]
        for tag, unpack in UNPACKERS.items():
            if tag in value:
                return unpack(self, value)
        raise DamagedFileError(f"a value has the unknown form {sorted(map(str, value))[:3]}")

    def unpack_sparse(self, value: dict):
        """A CSR matrix whose indices were looked at: compiled code believes them."""
        name, kind = value["csr"], CSR_TYPES.get(value["kind"])
        n, d = value["shape"]
        if kind is None or not all(type(length) is int and length >= 0 for length in (n, d)):
            raise DamagedFileError(f"{str(name)[:60]!r} is not a sparse matrix")
        data, indices, indptr = (self.read_array(f"{name}.{part}") for part in CSR_PARTS)
        if data.dtype.kind != "f" or any(index.dtype.kind != "i" for index in (indices, indptr)):
            raise DamagedFileError(f"the sparse matrix {name!r} holds numbers of other types")
        sound = data.ndim == indices.ndim == indptr.ndim == 1 and len(data) == len(indices) and len(indptr) == n + 1
        sound = sound and indptr[0] == 0 and indptr[-1] == len(data) and (np.diff(indptr) >= 0).all()
        if not sound or (len(indices) and (indices.min() < 0 or indices.max() >= d)):
            raise DamagedFileError(f"the parts of the sparse matrix {name!r} do not fit together")
        return kind((data, indices, indptr), shape=(n, d))

    def unpack_record(self, value: dict):
        """An object of a known class with known fields."""
        kind, fields = value["record"], value["fields"]
        if kind not in RECORDS:
            raise DamagedFileError(f"it names the unknown class {str(kind)[:60]!r}")
        fields = {name: each for name, each in fields.items() if name not in OBSOLETE_FIELDS.get(kind, ())}
        strange = sorted(set(fields) - set(list_record_fields(kind)))
        if strange:
            raise DamagedFileError(f"{kind} has no {strange[0][:60]!r}")
        return RECORDS[kind](**{name: self.unpack(each) for name, each in fields.items()})

    def unpack_scalar(self, value: dict):
        """A scalar of NumPy's; a text is as long as it is, whatever its type says."""
        dtype, item = np.dtype(value["dtype"]), self.unpack(value["scalar"])
        if dtype.kind == "U" and isinstance(item, str):
            return np.str_(item)
        if dtype.kind not in "biuf" or dtype.itemsize > 8:
            raise DamagedFileError(f"a scalar has the type {dtype.str}")
        return np.array(item).astype(dtype)[()]

    def unpack_random_state(self, value: dict) -> np.random.RandomState:
        """A Mersenne twister in its state."""
        key, (position, has_gauss, gauss) = self.read_array(value["random_state"]), value["numbers"]
        state = {"bit_generator": "MT19937", "state": {"key": key, "pos": position}}
        if key.shape != (624,) or key.dtype != np.uint32 or not 0 <= position <= 624:
            raise DamagedFileError("the state of random_state is not valid")
        generator = np.random.RandomState()
        generator.set_state({**state, "has_gauss": has_gauss, "gauss": gauss})
        return generator


def unpack_objects(unpacker: Unpacker, value: dict) -> np.ndarray:
    """Texts and labels of Python's as an array."""
    items = unpacker.unpack(value["objects"])
    array = np.empty(len(items), object)
    array[:] = items
    return array


def unpack_type(unpacker: Unpacker, value: dict) -> type:
    """A known class."""
    if value["type"] not in TYPES:
        raise DamagedFileError(f"it names the unknown class {str(value['type'])[:60]!r}")
    return TYPES[value["type"]]


UNPACKERS: dict[str, Callable] = {
    "float": lambda unpacker, value: float(value["float"]),
    "tuple": lambda unpacker, value: tuple(unpacker.unpack(value["tuple"])),
    "dict": lambda unpacker, value: {unpacker.unpack(key): unpacker.unpack(each) for key, each in value["dict"]},
    "scalar": Unpacker.unpack_scalar,
    "array": lambda unpacker, value: unpacker.read_array(value["array"]),
    "objects": unpack_objects,
    "csr": Unpacker.unpack_sparse,
    "record": Unpacker.unpack_record,
    "type": unpack_type,
    "random_state": Unpacker.unpack_random_state,
}
