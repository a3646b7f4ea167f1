"""The contracts of the package: an abstract base for each kind of thing that can be plugged in.

Required members are abstract; optional ones have a default in the base. Shapes and units are in the docstrings. An
object says what it is by the class it derives from and by the attributes of that class, and is never asked by `hasattr`.
"""
