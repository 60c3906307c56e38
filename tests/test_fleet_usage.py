"""What a fleet is asked, checked before anything is sent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from stand_in import finish, start

from ftax_micro import cli, fleet
from ftax_micro.cli.fleet_options import build_parser
from ftax_micro.errors import UsageError


def test_options_are_parted() -> None:
    args = build_parser().parse_args(
        [
            "launch-floor",
            "--quick",
            "--probe",
            "submit,sync",
            "--address",
            "head:6379",
            "--together",
        ]
    )
    assert (args.command, args.address, args.together) == ("launch_floor", "head:6379", True)
    assert args.arguments == ["--quick", "--probe", "submit,sync"]
    assert args.output == Path("fleet-launch_floor")


def test_a_study_goes_with_the_job(tmp_path: Path) -> None:
    study = next((Path(__file__).parent.parent / "bench" / "paper").glob("*.toml"), None)
    if study is None:
        pytest.skip("the tests are not in a checkout")
    args = build_parser().parse_args(["model_latency", "--study", str(study)])
    job, settings = fleet._job(args)
    assert job["files"] == {"study.toml": study.read_bytes()}
    assert job["arguments"] == ["--study", str(study), "--study", "study.toml"]
    assert [*settings.files] == ["study.toml"]
    args = build_parser().parse_args(["model_latency", "--study", str(tmp_path / "none.toml")])
    with pytest.raises(UsageError, match=r"none\.toml"):
        fleet._job(args)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("launch_floor --qick", "unrecognized arguments: --qick"),
        ("launch_flor", "unknown command of a fleet 'launch_flor'; did you mean launch_floor?"),
        ("launch_floor --show a.json", "--show shows a saved result"),
        ("dispatch_ladder --list", "--list lists, and nothing is measured"),
        ("launch_floor --force", "--force replaces a file; --resume goes on with a folder"),
        ("model_latency --model a --log b", "--log writes a file on the node"),
        ("model_latency", "which model?"),
        ("model_latency --study a --batch 1", "--batch is what a study says itself"),
        ("dispatch_ladder --picture a.svg", "--picture is for dispatch_ladder --show"),
        ("launch_floor --min-time 5 --timeout 1", "--timeout (1 s) is below --min-time (5 s)"),
        ("launch_floor --wait forever", "'forever' is no time"),
        ("", "the following arguments are required: COMMAND"),
    ],
)
def test_what_makes_no_sense_is_one_line(line: str, says: str) -> None:
    with pytest.raises(UsageError) as raised:
        build_parser().parse_args(line.split())
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--format", "xml"], "unknown format 'xml'"),
        (["-o", "full"], "full is not empty: --resume goes on with it, -o names another folder"),
        (["-o", "full/a"], "full/a is a file; name a folder"),
    ],
)
def test_the_output_is_checked_before_a_cluster_is_looked_for(
    arguments: list[str],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "a").touch()
    assert cli.run(fleet.command, ["launch_floor", *arguments]) == 2
    assert says in capsys.readouterr().err


def test_without_ray_the_extra_is_named(tmp_path: Path) -> None:
    absent = "raise ModuleNotFoundError(\"No module named 'ray'\", name='ray')\n"
    (tmp_path / "ray.py").write_text(absent)
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    script = "import os, sys; os.environ['PYTHONPATH'] = sys.argv.pop(1); import ftax_micro.fleet; "
    script += "sys.exit(ftax_micro.fleet.main())"
    command = ["-c", script, path, "launch_floor", "-o", str(tmp_path / "out")]
    code, out, err = finish(start(*command))
    assert (code, out) == (1, "")
    assert err == "ftax-micro: error: ray is not installed: pip install 'ftax-micro[fleet]'\n"
    assert not (tmp_path / "out").exists()


def test_help_and_parsing_import_nothing_heavy() -> None:
    script = "import sys, ftax_micro.fleet as f; f.build_parser().parse_args(['launch_floor']); "
    script += "print(sorted({'ray', 'numpy', 'torch', 'rich'} & set(sys.modules)))"
    assert finish(start("-c", script))[:2] == (0, "[]\n")
