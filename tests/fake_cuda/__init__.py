"""A CUDA driver for machines without one: same symbols, known costs, strict about wrong use.

`FakeCuda` talks to a loaded fake driver beside whoever else uses it: it sets costs and faults,
counts calls, and tells what was used wrongly and what was not given back. The names and defaults of
all settings are in `keys.def` beside this file; FAKE_CUDA="key=value,..." sets them at load.
"""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

_KEYS = Path(__file__).resolve().parent / "keys.def"

# What `hang` takes for every kernel.
ANY_KERNEL = "any"


def keys() -> dict[str, int]:
    """The settings of the fake with their defaults, in nanoseconds where the name ends in _ns."""
    found = re.findall(r"^KEY\((\w+), (-?\d+)\)", _KEYS.read_text(), re.MULTILINE)
    return {name: int(value) for name, value in found}


class FakeCuda:
    """A fake driver library in this process; loading it twice gives the same state."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.driver = ctypes.CDLL(str(path))
        for name in ("configure", "misuse", "leaks", "all_calls"):
            getattr(self.driver, f"fake_cuda_{name}").restype = ctypes.c_char_p
        for name in ("calls", "config"):
            getattr(self.driver, f"fake_cuda_{name}").restype = ctypes.c_int64
        self.driver.fake_cuda_reset.restype = None

    def configure(self, **settings: int | str) -> None:
        """Changes settings from now on; ValueError for an unknown name or value."""
        for name, value in settings.items():
            complaint: bytes = self.driver.fake_cuda_configure(f"{name}={value}".encode())
            if complaint:
                raise ValueError(complaint.decode())

    def fail(self, function: str, nth: int, error: int, *, sticky: bool = False) -> None:
        """Makes the n-th call from now on (0: each) of an exported function return a CUresult.

        "*" means any call but those that need no initialised driver. A sticky error is then
        returned by everything that needs a context, as after an illegal address, until the context
        is released. A release that fails releases all the same.
        """
        tail = ":sticky" if sticky else ""
        self.configure(fail=f"{function}:{nth}:{error}{tail}")

    def slow(self, function: str, nth: int, ns: int) -> None:
        """Makes the n-th call from now on (0: each) of an exported function take at least `ns`."""
        self.configure(slow=f"{function}:{nth}:{ns}")

    def hang(self, kernel: str = ANY_KERNEL, nth: int = 1) -> None:
        """From the n-th launch of a kernel on, it never ends, whatever its deadline says."""
        self.configure(hang=f"{kernel}:{nth}")

    def reset(self) -> None:
        """Ends and forgets everything; settings as at load. cuInit stays done."""
        self.driver.fake_cuda_reset()

    def calls(self, function: str = "*") -> int:
        """Calls of an exported function since load or reset."""
        return int(self.driver.fake_cuda_calls(function.encode()))

    def all_calls(self) -> dict[str, int]:
        """Calls of each function called since load or reset."""
        pairs = (line.split("=") for line in self._lines("all_calls"))
        return {name: int(count) for name, count in pairs}

    def misuse(self) -> list[str]:
        """One line for each wrong use since load or reset."""
        return self._lines("misuse")

    def leaks(self) -> list[str]:
        """One line for each object that is alive now, and each context still retained."""
        return self._lines("leaks")

    def cost(self, name: str) -> int:
        """A setting's effective value; also spacing_ns, round_trip_ns, to_start_idle_ns,
        to_start_active_ns and graph_node_ns, which follow from others. KeyError if unknown.
        """
        value = int(self.driver.fake_cuda_config(name.encode()))
        if value == -1:
            raise KeyError(name)
        return value

    def costs(self) -> dict[str, int]:
        """All settings, effective now."""
        return {name: int(self.driver.fake_cuda_config(name.encode())) for name in keys()}

    def _lines(self, name: str) -> list[str]:
        text: bytes = getattr(self.driver, f"fake_cuda_{name}")()
        return text.decode().splitlines()
