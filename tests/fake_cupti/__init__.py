"""A stand-in for NVIDIA's cupti-python, to be put on the path of a process on the fake driver.

`FAKE_CUPTI="key=value,..."` makes it go wrong: `import=1` its import breaks, `refuse=NAME` with
that status of CUPTI, `late=NAME` the same when records are flushed; `drop=N` it says that it
dropped N records at each flush; `lose=kernels:N` or `lose=calls:N` one in N kernels or launches,
by chance, is missing, `untimed=N` one in N kernels has no times; `shift=NS` is added to all kernel
times; `crash=N` and `hang=N` at the N-th flush.
"""

from __future__ import annotations

from pathlib import Path

# What belongs on the path.
FOLDER = Path(__file__).parent
