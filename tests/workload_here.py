"""One workload measured in all its modes in this process, where a test can reach into it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ftax_micro.models.workload import Workload
from ftax_micro.orchestration.workload.journal import Journal
from ftax_micro.orchestration.workload.request import LatencyProgress, WorkloadRequest
from ftax_micro.orchestration.workload.session import WorkloadSession
from ftax_micro.records import Case, Plan


class WorkloadRun:
    """One workload in all its modes, in this process; `cases()` is what is known at any time.

    `build` makes the workload where it is not made from the request.
    """

    def __init__(
        self,
        request: WorkloadRequest,
        modes: Sequence[str],
        plan: Plan,
        progress: LatencyProgress | None = None,
        build: Callable[[], Workload] | None = None,
    ) -> None:
        self._journal = Journal(request, modes, plan, progress, "needs a process of its own")
        self._session = WorkloadSession(request, modes, plan, self._journal.hear, build=build)

    def run(self) -> list[Case]:
        """Build, prepare, check and time. A mode that cannot run or goes wrong is a case with its
        reason, and so is every mode of a workload that cannot be built.

        Errors: `Interrupted`; what was measured before it is in `cases()`.
        """
        self._session.run()
        return self.cases()

    def cases(self) -> list[Case]:
        """The cases known so far, in the order of the modes."""
        return self._journal.cases()
