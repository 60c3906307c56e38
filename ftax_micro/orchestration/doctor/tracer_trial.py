"""Whether a tracer can work here, found out in a process of its own, which then counts as traced.

``python -m …tracer_trial NAME FILE`` starts the tracer and leaves the reason against it in FILE,
empty where there is none. No CUDA context is made.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ftax_micro.errors import Skip
from ftax_micro.orchestration.point.measure import reason_of
from ftax_micro.profilers import TRACERS

# Importing a tracer's package and initialising the driver, on a machine that is busy.
_LIMIT_S = 60.0


def tracer_refusal(name: str, limit_s: float = _LIMIT_S) -> str | None:
    """Why the tracer called `name` cannot work here, in a sentence; None where it can."""
    with tempfile.TemporaryDirectory(prefix="ftax-micro-") as folder:
        answer = Path(folder) / "answer"
        command = [
            sys.executable,
            "-m",
            "ftax_micro.orchestration.doctor.tracer_trial",
            name,
            str(answer),
        ]
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=limit_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"it did not start within {limit_s:g} s"
        except OSError as error:
            return f"it could not be tried: {error}"
        if not answer.exists():
            code = done.returncode
            how = f"was killed by signal {-code}" if code < 0 else f"ended with {code}"
            return f"the process that tried it {how}"
        return answer.read_text(encoding="utf-8") or None


def main(arguments: Sequence[str]) -> int:
    """Try the tracer and leave the answer. Returns 0."""
    name, answer = arguments
    reason = ""
    try:
        TRACERS.open(name).start()
    except Exception as error:
        reason = str(error) if isinstance(error, Skip) else reason_of(error)
    Path(answer).write_text(reason, encoding="utf-8")
    os._exit(0)  # the answer is there: what a tracer does when its process ends is not asked for


if __name__ == "__main__":
    main(sys.argv[1:])
