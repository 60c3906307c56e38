"""One forward on host and device, as the paper's Figure 2 draws it: calls above, work below."""

from __future__ import annotations

from statistics import median

import numpy as np

from ftax_micro.analysis.bounding.cases import CaseBounds
from ftax_micro.analysis.report.figure import Axis, Figure, Series, slug
from ftax_micro.analysis.report.material import Material, Materials, TraceMaterial
from ftax_micro.analysis.report.page import Section
from ftax_micro.analysis.sheet import Unit
from ftax_micro.analysis.tracks import cases, steps
from ftax_micro.analysis.tracks.contract import NONE, NS, Ints, Layer, Stretches
from ftax_micro.analysis.tracks.layers import HOST
from ftax_micro.units import format_seconds

NO_PASS = (
    "No case has a device pass: model_latency records one on a GPU, with a tracer "
    "(pip install 'ftax-micro[trace]')."
)
# Each holds hundreds of spans; a page with all of a large study would be too heavy to open.
MOST_TIMELINES = 6
# More spans than this are no longer told apart, and weigh the page down.
MOST_OPERATIONS = 1500
_KINDS = {"kernel": "kernels", "copy": "copies", "set": "sets"}


def timeline(found: Materials) -> Section:
    """A figure for each of the first cases with a device pass, of the smallest input first, and for
    the middle step of each trace on each device.
    """
    traced = [
        (material, each)
        for material in found.results
        for each in material.bounds
        if each.case.device_pass is not None and each.case.device_pass.operations
    ]
    traced.sort(key=lambda pair: (pair[1].case.batch, pair[1].case.sequence or 0))
    figures = [_of_case(found, *each) for each in traced[:MOST_TIMELINES]]
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
    figures += [each for trace in found.traces for each in _of_trace(found, trace)]
    missing = None if figures else NO_PASS
    heading = "One forward on host and device"
    return Section("timeline", "Timeline", heading, lines, figures, missing=missing)


def _of_case(found: Materials, material: Material, each: CaseBounds) -> Figure:
    layer, label = cases.measured_layer(each), cases.case_name(each.case)
    done = each.case.device_pass
    assert done is not None  # whoever asks has looked
    latency, busy = median(done.latency_s), median(done.busy_s)
    summary = (
        f"{len(layer.calls)} host calls and {len(layer.operations)} device operations of one "
        f"forward of {format_seconds(latency)}; the device is busy for {format_seconds(busy)} of "
        f"it ({busy / latency * 100:.0f} %)."
        if latency > 0
        else "One forward."
    )
    title = found.title(material, f"One forward of {label}")
    return _figure(slug("timeline", material.name, label), title, layer, summary)


def _of_trace(found: Materials, material: TraceMaterial) -> list[Figure]:
    """The middle step on each device; of a longer one its first operations."""
    if not material.windows:
        return []
    middle = material.windows[len(material.windows) // 2]
    figures = []
    for step, layer in steps.measured_layers(material.trace, middle):
        number, label = len(layer.operations), step.window.label
        of = "all" if number <= MOST_OPERATIONS else f"the first {MOST_OPERATIONS} of {number}"
        summary = (
            f"{of} operations of {label}, which takes {format_seconds(step.latency.value)}, and "
            "the host's calls."
        )
        title = found.title(material, f"{label} on cuda:{step.device}: {of} operations")
        name = slug("timeline", material.name, label, step.device)
        figures.append(_figure(name, title, layer, summary[0].upper() + summary[1:]))
    return figures


def _figure(name: str, title: str, layer: Layer, summary: str) -> Figure:
    """Rows of the host above those of the device."""
    calls, operations = layer.calls, layer.operations
    shown = np.arange(min(len(operations), MOST_OPERATIONS))
    asking = layer.call[shown]
    # Of a part, the calls that it hangs from; of all, those that waited for it as well.
    whole = len(shown) == len(operations)
    called = np.arange(len(calls)) if whole else np.unique(asking[asking != NONE])
    hosts, streams = sorted(calls.rows), sorted(operations.rows)
    lanes = (*(calls.rows[row] for row in hosts), *(operations.rows[row] for row in streams))
    above = np.searchsorted(hosts, calls.row)
    below = len(hosts) + np.searchsorted(streams, operations.row)
    kinds = np.array(operations.kind)
    spans = [_series(HOST, calls, called, above)]
    spans += [
        _series(words, operations, shown[kinds[shown] == kind], below)
        for kind, words in _KINDS.items()
    ]
    ends = np.stack([calls.start_ns, above]) if len(calls) else np.zeros((2, 1))
    return Figure(
        name,
        title,
        "timeline",
        Axis("time", Unit.SECONDS),
        Axis("lane", Unit.TEXT, names=lanes),
        tuple(each for each in spans if each.x),
        summary,
        links=tuple(
            (float(ends[0, call]) * NS, float(ends[1, call]), float(start) * NS, float(place))
            for call, start, place in zip(
                asking, operations.start_ns[shown], below[shown], strict=True
            )
            if call != NONE
        ),
    )


def _series(name: str, found: Stretches, which: Ints, lanes: Ints) -> Series:
    took = (found.end_ns - found.start_ns)[which]
    return Series(
        name=name,
        x=_seconds(took),
        y=tuple(map(float, lanes[which])),
        start=_seconds(found.start_ns[which]),
        labels=tuple(found.name[place] for place in which),
        colour=name,
    )


def _seconds(found: Ints) -> tuple[float, ...]:
    return tuple(map(float, found * NS))
