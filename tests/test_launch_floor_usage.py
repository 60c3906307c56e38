"""Wrong usage of ``launch_floor``, and devices that are not there."""

from __future__ import annotations

import pytest
from floor_command import RunFloor
from stand_in import OLD_RESULT

from ftax_micro.orchestration import floor


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("--probe submitt", "unknown probe 'submitt'; did you mean submit?"),
        ("--probe x", "unknown probe 'x'; known: call_direct, "),
        ("--probe submit,,sync", "'submit,,sync' has an empty name"),
        ("--probe=", "'' has an empty name"),
        ("--axis placment", "unknown axis 'placment'; did you mean placement?"),
        ("--axis idle --probe call_direct", "none of these rows varies by idle"),
        ("--device gpu", "unknown device 'gpu'; did you mean cpu?"),
        ("--device cuda:x", "unknown device 'cuda:x'; did you mean cuda"),
        ("--device cuda:-1", "unknown device"),
        ("--format cvs", "unknown format 'cvs'; did you mean csv?"),
        ("--min-samples 0", "--min-samples: 0 is not between 1 and"),
        ("--min-samples -1", "--min-samples: -1 is not between 1 and"),
        ("--min-samples 1000000000", "is not between 1 and"),
        ("--min-samples 1e9", "--min-samples: '1e9' is no whole number"),
        ("--min-samples abc", "'abc' is no whole number"),
        ("--min-samples", "expected one argument"),
        ("--processes 0", "--processes: 0 is not between 1 and"),
        ("--processes 100000", "is not between 1 and"),
        ("--min-time -1", "--min-time: '-1' is no time"),
        ("--min-time 1h", "'1h' is no time; write 0.5, 200ms or 1s"),
        ("--min-time 1e300", "longer than a day"),
        ("--timeout inf", "'inf' is no time"),
        ("--timeout nan", "'nan' is no time"),
        ("--timeout 0.1", "--timeout (0.1 s) is below --min-time (0.5 s)"),
        ("--timeout 1s --min-time 2s", "--timeout (1 s) is below --min-time (2 s)"),
        ("--quick --min-time 2s", "--timeout (0.5 s) is below --min-time (2 s)"),
        ("--watchdog -5", "--watchdog: '-5' is no time"),
        ("--confidence 1.0", "'1.0' is not between 0.5 and 1"),
        ("--confidence 0", "'0' is not between 0.5 and 1"),
        ("--confidence -0.95", "is not between 0.5 and 1"),
        ("--confidence 100%", "is not between 0.5 and 1"),
        ("--confidence nan", "is not between 0.5 and 1"),
        ("--confidence inf", "is not between 0.5 and 1"),
        ("--confidence high", "'high' is no confidence"),
        ("--prob submit --nonsense", "unrecognized arguments: --nonsense"),
        ("submit", "unrecognized arguments: submit"),
        ("--list -o x.json", "-o saves what is measured"),
        (f"--show {OLD_RESULT} -o x.json", "-o saves what is measured"),
        (f"--show {OLD_RESULT} --list", "--show and --list are two things"),
        (f"--show {OLD_RESULT} --quick", "--quick is for measuring; --show shows a result"),
        (f"--show {OLD_RESULT} --min-samples 9", "--min-samples is for measuring"),
        (f"--show {OLD_RESULT}", "--device is for measuring"),
        ("--list --axis idle", "--axis is for measuring; --list lists all"),
    ],
)
def test_wrong_usage(
    run_floor: RunFloor, monkeypatch: pytest.MonkeyPatch, arguments: str, words: str
) -> None:
    def measured(*_: object) -> None:
        raise AssertionError("it was measured")

    monkeypatch.setattr(floor, "measure_point", measured)
    more = [] if "--device" in arguments else ["--device", "cpu"]
    code, out, err = run_floor(*arguments.split(), *more)
    assert (code, out) == (2, "")
    assert err.startswith("ftax-micro: error: ")
    assert len(err.splitlines()) == 1
    assert words in err


@pytest.mark.parametrize("request_", ["cuda", "cuda:0", "cuda:7", "cuda:99999999999999999999"])
def test_a_device_asked_for_by_name_that_is_not_there(run_floor: RunFloor, request_: str) -> None:
    for more in ([], ["--processes", "2"], ["--list"]):
        code, out, err = run_floor("--device", request_, *more)
        assert (code, out) == (3, "")
        assert len(err.splitlines()) == 1
        assert err.startswith(f"ftax-micro: error: {request_} is not available: ")
