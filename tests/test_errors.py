"""Errors end a command with the documented code and say what to do."""

from __future__ import annotations

import pytest

from ftax_micro import errors


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.FtaxError("x"), 1),
        (errors.UsageError("x"), 2),
        (errors.UnknownNameError("probe", "x", ["submit"]), 2),
        (errors.UnreadableResultError("x"), 2),
        (errors.UnreadableTraceError("x"), 2),
        (errors.DeviceUnavailableError("x"), 3),
        (errors.OutputError("x"), 4),
        (errors.MissingPackageError("torch", "models"), 1),
        (errors.ExtensionError("x"), 1),
        (errors.BusyError("x"), 1),
        (errors.Skip("x"), 1),
        (errors.Hung("x"), 1),
        (errors.Interrupted("SIGINT", 130), 130),
        (errors.Interrupted("SIGTERM", 143), 143),
    ],
)
def test_every_error_is_one_of_ours_and_has_its_exit_code(error: Exception, code: int) -> None:
    assert isinstance(error, errors.FtaxError)
    assert error.exit_code == code
    assert "\n" not in str(error)


def test_an_unknown_name_suggests_the_nearest_ones() -> None:
    error = errors.UnknownNameError("probe", "submitt", ["to_start", "submit", "sync"])
    assert error.suggestions == ["submit"]
    assert str(error) == "unknown probe 'submitt'; did you mean submit?"


def test_a_name_like_no_other_lists_what_is_known() -> None:
    error = errors.UnknownNameError("probe", "zzz", ["to_start", "submit"])
    assert error.suggestions == []
    assert str(error) == "unknown probe 'zzz'; known: submit, to_start"


def test_a_missing_package_names_the_extra_to_install() -> None:
    error = errors.MissingPackageError("cupti", "trace")
    assert "pip install 'ftax-micro[trace]'" in str(error)


def test_an_interruption_is_no_keyboard_interrupt_and_names_its_signal() -> None:
    error = errors.Interrupted("SIGTERM", 143)
    assert not isinstance(error, KeyboardInterrupt)
    assert str(error) == "stopped by SIGTERM"
