"""The compiled extension; private, the Python package is the API."""

from . import cuda as cuda
from . import host as host
from . import traces as traces

version: str
source_digest: str
has_cuda: bool  # without it there is no submodule `cuda`
