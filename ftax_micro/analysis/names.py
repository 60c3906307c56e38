"""Names of kernels and ops, which anyone may have chosen, as text that is safe to show."""

from __future__ import annotations

import re

# Everything of a C++ kernel name that stands before its own name.
_RESULT = re.compile(r"^(?:.*>::type|void)\s+")
# A template argument that names what the kernel computes.
_TELLING = re.compile(r"functor|_kernel|Ops?$|^cutlass_", re.IGNORECASE)


def legible(name: str) -> str:
    """The name with everything that is no character to look at written out: ``\\x1b``, ``\\n``.

    A terminal obeys control characters, and they break rows of a table.
    """
    if name.isprintable():
        return name
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)


def kernel_name(name: str) -> str:
    """A kernel's own name, without result, parameters, namespaces and template arguments, but for
    the functor that an elementwise kernel applies.

    ``void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, …>(…)``
    is ``vectorized_elementwise_kernel<CUDAFunctor_add>``.
    """
    plain = _RESULT.sub("", legible(name).replace("(anonymous namespace)::", ""))
    head, arguments = _split(plain)
    own = head.rpartition("::")[2].strip() or head
    functor = next((each for each in map(_bare, arguments) if each), None)
    return f"{own}<{functor}>" if functor else own


def _bare(argument: str) -> str | None:
    """A template argument's own name where it names what the kernel computes."""
    name = _split(argument)[0].rpartition("::")[2].strip()
    return name if _TELLING.search(name) and name.isidentifier() else None


def _split(name: str) -> tuple[str, list[str]]:
    """What stands before the first ``<`` or ``(``, and the arguments between ``<`` and its end."""
    begin = next((i for i, c in enumerate(name) if c in "<("), len(name))
    if begin == len(name) or name[begin] == "(" or begin == 0:
        return name[:begin] or name, []
    depth, last, found = 0, begin + 1, []
    for i in range(begin, len(name)):
        if name[i] in "<(":
            depth += 1
        elif name[i] in ">)":
            depth -= 1
        if depth == 0 or (depth == 1 and name[i] == ","):
            found.append(name[last:i].strip())
            last = i + 1
        if depth == 0:
            break
    return name[:begin], found
