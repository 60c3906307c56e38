"""Empty functions for compilers that read Python: Numba's, and Triton's from this very file.

Without annotations, which Triton would take for its own types.
"""

from __future__ import annotations


def ftax_null():
    """No argument."""


def ftax_null_5(a0, a1, a2, a3, a4):
    """Five arguments of any type."""


def ftax_null_19(
    a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18
):  # fmt: skip
    """Nineteen arguments of any type."""


# By the number of arguments.
EMPTY = {0: ftax_null, 5: ftax_null_5, 19: ftax_null_19}
