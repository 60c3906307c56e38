"""The process in which the doctor imports what models need: ``python -m …import_trial``.

One JSON line per package, as soon as it is known, since a broken one may end the process: the line
names the package, says what else is worth knowing, or why its import fails.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

from ftax_micro.errors import FtaxError
from ftax_micro.models.torchvision_import import import_torchvision, operators_declared
from ftax_micro.models.transformers_spec import import_transformers
from ftax_micro.process_end import end_process


def _torch() -> str:
    import torch

    version = torch.version
    build = f"CUDA {version.cuda}" if version.cuda else f"ROCm {version.hip}" if version.hip else ""
    return f"built for {build}" if build else "built for the CPU only"


def _torchvision() -> str:
    import_torchvision()
    if not operators_declared():
        return "goes with this torch"
    return "built for another torch: its operators are declared, so that all but detection works"


def _transformers() -> str:
    library = import_transformers()
    library.BertModel  # noqa: B018 - model classes are imported when they are first named
    return "its models can be imported"


def _onnxruntime() -> str:
    import onnxruntime

    return f"built with {', '.join(onnxruntime.get_available_providers())}"


# In this order: torchvision has to be mended before transformers meets it.
TRIALS: dict[str, Callable[[], str]] = {
    "torch": _torch,
    "torchvision": _torchvision,
    "transformers": _transformers,
    "onnxruntime": _onnxruntime,
}


def main(names: list[str]) -> int:
    """Import the packages called `names`, one after the other."""
    for name in names:
        line = {"package": name, "detail": "", "error": None}
        try:
            line["detail"] = TRIALS[name]()
        except FtaxError as error:
            line["error"] = str(error)
        except Exception as error:  # whatever a broken installation raises
            line["error"] = f"{type(error).__name__}: {' '.join(str(error).split())}"
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    end_process(main(sys.argv[1:]))
