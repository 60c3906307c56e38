"""One forward on host and device, as the paper's Figure 2 draws it: calls above, work below."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from ftax_micro.analysis.bounding.rows import case_label
from ftax_micro.analysis.report.figure import Axis, Figure, Series, slug
from ftax_micro.analysis.report.material import Material, Materials
from ftax_micro.analysis.report.page import Section
from ftax_micro.analysis.report.trace_timeline import trace_timelines
from ftax_micro.analysis.sheet import Unit
from ftax_micro.records import Case, DevicePass
from ftax_micro.units import format_seconds

NO_PASS = (
    "No case has a device pass: model_latency records one on a GPU, with a tracer "
    "(pip install 'ftax-micro[trace]')."
)
# Each holds hundreds of spans; a page with all of a large study would be too heavy to open.
MOST_TIMELINES = 6
_HOST = "host calls"
_KINDS = {"kernel": "kernels", "copy": "copies", "set": "sets"}


def timeline(found: Materials) -> Section:
    """A figure for each of the first cases with a device pass, of the smallest input first."""
    traced = [
        (material, case, case.device_pass)
        for material in found.results
        for case in (row.case for row in material.cases)
        if case.device_pass is not None and case.device_pass.operations and not case.twin
    ]
    traced.sort(key=lambda each: (each[1].batch, each[1].sequence or 0))
    figures = [_figure(found, *each) for each in traced[:MOST_TIMELINES]]
    lines = []
    if figures:
        lines.append(
            "Medians over the traced forwards, under the tracer, which slows the host: calls that "
            "gave the device work above, what the device did below, a line from each call to what "
            "it caused. Where the device's row has gaps, it waited."
        )
    if len(traced) > MOST_TIMELINES:
        lines.append(
            f"{len(traced) - MOST_TIMELINES} more cases have a device pass and are not drawn: "
            "report --format perfetto writes all of them, with the schedules of their bounds."
        )
    figures += [each for trace in found.traces for each in trace_timelines(found, trace)]
    missing = None if figures else NO_PASS
    heading = "One forward on host and device"
    return Section("timeline", "Timeline", heading, lines, figures, missing=missing)


def _figure(found: Materials, material: Material, case: Case, done: DevicePass) -> Figure:
    streams = sorted({each.stream for each in done.operations}, key=lambda each: each or 0)
    lanes = (_HOST, *(_lane(case.device, stream, len(streams)) for stream in streams))
    place = {stream: float(index) for index, stream in enumerate(streams, 1)}
    spans = [_calls(done)]
    spans += [_operations(done, kind, name, place) for kind, name in _KINDS.items()]
    latency, busy = median(done.latency_s), median(done.busy_s)
    summary = (
        f"{len(done.calls)} host calls and {len(done.operations)} device operations of one forward "
        f"of {format_seconds(latency)}; the device is busy for {format_seconds(busy)} of it "
        f"({busy / latency * 100:.0f} %)."
        if latency > 0
        else "One forward."
    )
    label = f"{case_label(case)}, {case.mode}"
    return Figure(
        slug("timeline", material.name, label),
        found.title(material, f"One forward of {label}"),
        "timeline",
        Axis("time", Unit.SECONDS),
        Axis("lane", Unit.TEXT, names=lanes),
        tuple(each for each in spans if each.x),
        summary,
        links=tuple(_links(done, place)),
    )


def _lane(device: str, stream: int | None, streams: int) -> str:
    return device if streams == 1 or stream is None else f"{device}, stream {stream}"


def _calls(done: DevicePass) -> Series:
    return Series(
        name=_HOST,
        x=tuple(median(call.duration_s) for call in done.calls),
        y=(0.0,) * len(done.calls),
        start=tuple(median(call.begin_s) for call in done.calls),
        labels=tuple(call.name for call in done.calls),
        colour=_HOST,
    )


def _operations(done: DevicePass, kind: str, name: str, place: dict[int | None, float]) -> Series:
    own = [each for each in done.operations if each.kind == kind]
    return Series(
        name=name,
        x=tuple(median(each.duration_s) for each in own),
        y=tuple(place[each.stream] for each in own),
        start=tuple(median(each.start_s) for each in own),
        labels=tuple(each.name for each in own),
        colour=name,
    )


def _links(
    done: DevicePass, place: dict[int | None, float]
) -> Sequence[tuple[float, float, float, float]]:
    return [
        (
            *(median(done.calls[each.call].begin_s), 0.0),
            *(median(each.start_s), place[each.stream]),
        )
        for each in done.operations
        if each.call is not None
    ]
