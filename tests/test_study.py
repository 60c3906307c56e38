"""Studies: what a file asks for, what is wrong with it and where, and the paper's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from ftax_micro.errors import UsageError
from ftax_micro.orchestration.latency.run import LATENCY_PLAN
from ftax_micro.orchestration.latency.study import load_study

PAPER = Path(__file__).parent.parent / "bench" / "paper"
STUDY = """\
title = "Two of them"
source = "nowhere"

[plan]
min_samples = 7

[[workloads]]
models = ["layer_norm", "conv2d"]
modes = ["eager"]
batches = "1..4"
sequences = [8, 16]

[[workloads]]
models = ["layer_norm"]
modes = ["torchscript", "eager"]
batches = [1]
sequences = [8]
twin = true
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "study.toml"
    path.write_text(text)
    return path


def test_a_study_is_every_combination_and_each_workload_once(tmp_path: Path) -> None:
    study = load_study(written(tmp_path, STUDY))
    tasks = study.tasks("cpu", 2)
    found = [
        (t.request.model.text, t.request.shape.batch, t.request.shape.sequence, t.request.twin)
        for t in tasks
    ]
    assert found == [
        *(("layer_norm", batch, length, False) for batch in (1, 2, 4) for length in (8, 16)),
        *(("conv2d", batch, None, False) for batch in (1, 2, 4)),
        ("layer_norm", 1, 8, True),
    ]
    assert tasks[0].modes == ("eager", "torchscript")
    assert tasks[1].modes == ("eager",)
    assert {task.request.threads for task in tasks} == {2}
    plan = study.on(LATENCY_PLAN)
    assert (plan.min_samples, plan.timeout_s) == (7, LATENCY_PLAN.timeout_s)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("modes = [", "mods = [", ":9: unknown key 'mods'; did you mean modes"),
        ("twin =", "twins =", ":18: unknown key 'twins'; did you mean twin?"),
        ("title =", "titlee =", ":1: unknown key 'titlee'; did you mean title?"),
        ("min_samples =", "samples =", ":5: unknown key 'samples'; did you mean min_samples?"),
        ("[plan]", "[plans]", ": unknown key 'plans'; did you mean plan?"),
        ("twin = true", 'twin = "yes"', ":18: twin: Expected `bool`, got `str`"),
        ("min_samples = 7", "min_samples = 7.5", ":5: min_samples: Expected `int"),
        ('modes = ["eager"]', "modes = [1]", ":9: modes: Expected `str`, got `int`"),
        ('"conv2d"', '"conv3d"', ":7: unknown model 'conv3d'; did you mean conv2d"),
        ('["eager"]', '["eger"]', ":7: unknown mode 'eger'; did you mean eager?"),
        ('"1..4"', '"4..1"', ":7: 4..1 goes down"),
        ("sequences = [8, 16]", "images = [0]", ":7: image must be at least 1"),
        ('"nowhere"', '"nowhere', ": not TOML: "),
        ('models = ["layer_norm"]\n', "", "Object missing required field `models`"),
    ],
)
def test_what_is_wrong_is_named_with_file_line_and_key(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    path = written(tmp_path, STUDY.replace(old, new))
    with pytest.raises(UsageError) as caught:
        load_study(path)
    assert str(caught.value).startswith(f"{path}")
    assert message in str(caught.value)


def test_a_file_that_is_not_there_or_no_text(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        load_study(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="not UTF-8"):
        load_study(tmp_path / "bytes.toml")


def test_every_experiment_of_the_paper_is_a_study() -> None:
    names = {path.stem for path in PAPER.glob("*.toml")}
    figures = {f"figure_{number:02}" for number in (1, *range(3, 14))}
    assert names == figures | {"table_1", "table_3", "section_5_fnet"}


@pytest.mark.parametrize("path", sorted(PAPER.glob("*.toml")), ids=lambda path: path.stem)
def test_the_paper_s_studies_ask_for_what_there_is(path: Path) -> None:
    pytest.importorskip("transformers", reason="the models extra is not installed")
    study = load_study(path)
    assert study.source.startswith("arXiv 2302.06117, ")
    assert study.tasks()
    assert path.read_text().startswith("# ")
