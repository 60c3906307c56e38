"""Pools: groups, machines that count once, spreads, ratios and outliers of made-up fleets."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from fake_results import around, correction, device, environment, gpu, result, row, slope_row
from pool_results import machine_result, of_rows, placed
from timed_cases import case, data

from ftax_micro import pool_results
from ftax_micro.analysis.pools.contract import Cell, Pool
from ftax_micro.analysis.pools.keys import KEYS
from ftax_micro.analysis.pools.values import POOLED
from ftax_micro.analysis.quantities import KINDS
from ftax_micro.errors import UnknownNameError, UsageError
from ftax_micro.records import Case, Measurement
from ftax_micro.results import Result

GROUP = ["gpu"]


def submit(number: int, value_s: float, **changes: Any) -> Result:
    """Machine `number`, whose launches take exactly so long."""
    return of_rows(number, row("submit", [value_s] * 9, device="cuda:0"), **changes)


def model_result(*cases: Case) -> Result:
    devices = [device("cpu"), device("cuda:0")]
    return result(kind="model_latency", cases=list(cases), devices=devices)


def pooled(*results: Result | str, group: list[str] | None = None, **options: Any) -> Pool:
    named = [(f"{index}.json", each) for index, each in enumerate(results)]
    return pool_results(named, group=group or GROUP, **options)


def cell(pool: Pool, place: int = 0, row: int = 0) -> Cell:
    found = pool.rows[row].cells[place]
    assert found is not None
    return found


def test_every_headline_is_that_of_a_comparison() -> None:
    rows = [
        row("submit", around(2e-6), corrections=[correction(1e-7, 0.0, 2e-7)]),
        row("submit", around(3e-6, 1), process=1),
        slope_row("spacing", 1e-6),
        row("sync", around(4e-6), device="cuda:0", setting={"wait": "spin"}),
    ]
    made = msgspec.structs.replace(of_rows(1, *rows), rungs=[slope_row("driver", 2e-6)], cases=[])
    models = model_result(case(2e-3, host=1e-3, pipelined=data(1.5e-3)), case(1e-3, mode="fast"))
    for whole in (made, models, machine_result(3)):
        for kind, values in POOLED.items():
            expected = {
                (each.device, each.name, each.quantity, frozenset(each.setting.items())): each.value
                for each in KINDS.open(kind).quantities(whole, 0.95)
            }
            found = list(values(whole))
            assert len(found) == len(expected)
            for each in found:
                name = each.row
                key = (each.device, name.name, name.quantity, frozenset(name.setting))
                assert each.value == pytest.approx(expected[key].value, rel=1e-12)
                assert each.unit == expected[key].unit


def test_groups_are_set_against_each_other() -> None:
    fast = [submit(n, (2 + n / 1000) * 1e-6) for n in range(20)]
    slow = [submit(100 + n, (3 + n / 1000) * 1e-6, model="NVIDIA A100") for n in range(19)]
    pool = pooled(*slow, *fast)
    assert [(each.label, each.machines) for each in pool.groups] == [
        ("NVIDIA H100", 20),
        ("NVIDIA A100", 19),
    ]
    assert pool.baseline == 0
    assert cell(pool).median.value == pytest.approx(2.0095e-6)
    assert cell(pool).ratio is None
    other = cell(pool, 1)
    assert other.ratio is not None
    assert other.ratio.value == pytest.approx(3.009 / 2.0095)
    assert other.verdict == "slower"
    assert pooled(*slow, *fast, baseline="NVIDIA A100").rows[0].cells[0].verdict == "faster"  # type: ignore[union-attr]
    assert pooled(*slow, *fast, baseline="2").baseline == pooled(*slow, *fast, baseline=1).baseline


def test_a_difference_within_the_margin_is_the_same() -> None:
    fast = [submit(n, (2 + n / 10_000) * 1e-6) for n in range(20)]
    near = [submit(100 + n, (2.01 + n / 10_000) * 1e-6, model="NVIDIA A100") for n in range(19)]
    assert cell(pooled(*fast, *near), 1).verdict == "same"
    assert cell(pooled(*fast, *near, margin=0.0), 1).verdict == "slower"
    few = pooled(*fast[:4], *near[:3])
    assert (cell(few, 1).verdict, cell(few, 1).median.low) == ("ambiguous", None)


def test_a_machine_measured_often_counts_once() -> None:
    one = [submit(1, value, created_at=f"{n}") for n, value in enumerate([5e-6] * 4 + [5.1e-6] * 5)]
    pool = pooled(*one, submit(2, 2e-6), submit(3, 3e-6))
    assert (cell(pool).machines, cell(pool).files) == (3, 11)
    assert cell(pool).median.value == 3e-6  # of 2, 3 and 5.1; over files it were 5
    assert cell(pool).within == pytest.approx(0.0)
    assert cell(pool).most == pytest.approx(5.1e-6)


def test_spread_between_machines_is_not_that_within_one() -> None:
    results = [
        submit(n, (1 + 0.1 * n) * (1 + 0.001 * run) * 1e-6, created_at=f"{run}")
        for n in range(11)
        for run in (0, 1)
    ]
    found = cell(pooled(*results))
    assert found.within is not None
    assert found.between is not None
    assert 0.0005 < found.within < 0.0015
    assert 0.2 < found.between < 0.4


def test_machines_are_known_by_name_or_by_gpu() -> None:
    def place(number: int, host: str, uuid: str) -> Result:
        return submit(number, 1e-6 * number, hostname=host, uuid=uuid)

    same = pooled(place(1, "box", "GPU-1"), place(2, "box", "GPU-2"))
    assert same.groups[0].machines == 1
    containers = pooled(place(1, "4f2a", "GPU-1"), place(2, "91bc", "GPU-1"))
    assert containers.groups[0].machines == 1
    linked = pooled(place(1, "a", "GPU-1"), place(2, "b", "GPU-2"), place(3, "a", "GPU-2"))
    assert linked.groups[0].machines == 1
    assert pooled(place(1, "a", "GPU-1"), place(2, "b", "GPU-2")).groups[0].machines == 2


def test_the_same_name_on_another_processor_is_another_machine() -> None:
    host = msgspec.structs.replace(environment().host, cpu_model="Another Processor")
    one, two = submit(1, 1e-6), submit(2, 2e-6)
    facts = msgspec.structs.replace(two.environment, hostname="node0001", host=host)
    assert pooled(one, msgspec.structs.replace(two, environment=facts)).groups[0].machines == 2


def test_a_copy_is_no_repetition() -> None:
    pool = pooled(submit(1, 1e-6), submit(1, 1e-6), submit(1, 1e-6, created_at="later"))
    assert pool.groups[0].files == 2
    assert "left out, since they are copies of others: 1 files" in pool.notes


def test_one_that_is_off_is_named_with_its_file() -> None:
    values = [1.0, 1.01, 1.02, 0.99, 0.98, 1.0, 1.01, 0.99, 1.5]
    pool = pooled(*(submit(n, value * 1e-6) for n, value in enumerate(values)))
    (outlier,) = cell(pool).outliers
    assert (outlier.host, outlier.file, outlier.files) == ("node0008", "8.json", 1)
    assert outlier.times == pytest.approx(1.5)
    assert outlier.score > 3.5
    assert cell(pool).median.value == 1e-6  # and kept


def test_the_margin_keeps_ticks_of_a_clock_from_being_outliers() -> None:
    values = [1.0] * 12 + [1.001]
    results = [submit(n, value * 1e-6) for n, value in enumerate(values)]
    assert cell(pooled(*results)).outliers == ()
    assert len(cell(pooled(*results, margin=0.0)).outliers) == 1


def test_a_file_that_cannot_be_read_is_a_row_with_its_reason() -> None:
    pool = pooled(submit(1, 1e-6), "is empty")
    assert pool.unread == (("1.json", "is empty"),)
    with pytest.raises(UsageError, match=r"none of 1 files could be read: 0\.json: is empty"):
        pooled("is empty")
    with pytest.raises(UsageError, match="none of 0 files"):
        pooled()


@pytest.mark.parametrize("key", KEYS)
def test_every_key_is_a_fact_of_results(key: str) -> None:
    bare = msgspec.structs.replace(model_result(case(1e-3)), devices=[])
    for each in (submit(1, 1e-6), bare):
        value = KEYS[key](each, "cuda:0")
        assert value is None or isinstance(value, str)


def test_keys_are_facts_or_packages() -> None:
    pool = pooled(submit(1, 1e-6), group=["gpu", "cpu", "driver", "host", "cores"])
    assert pool.groups[0].values == ("NVIDIA H100", "A Processor", "580.1", "node0001", "4")
    process = msgspec.structs.replace(environment().process, packages={"torch": "2.15.0"})
    facts = environment(process=process)
    with_torch = msgspec.structs.replace(submit(1, 1e-6), environment=facts)
    pool = pooled(with_torch, submit(2, 1e-6), group=["torch"])
    assert sorted(each.label for each in pool.groups) == ["2.15.0", "not known"]
    with pytest.raises(UnknownNameError, match="unknown key 'tortch'; did you mean torch"):
        pooled(with_torch, group=["tortch"])
    with pytest.raises(UnknownNameError, match=r"known: .*clock, .*driver, .*torch"):
        pooled(with_torch, group=["xxxx"])


def test_each_gpu_of_a_mixed_machine_is_in_its_own_group() -> None:
    rows = [row("submit", [1e-6 * n] * 9, device=f"cuda:{n}") for n in (1, 2)]
    mixed = of_rows(1, *rows)
    devices = [
        msgspec.structs.replace(mixed.devices[1], name=f"cuda:{n}", model=f"GPU {n}")
        for n in (1, 2)
    ]
    pool = pooled(msgspec.structs.replace(mixed, devices=devices))
    assert [each.label for each in pool.groups] == ["GPU 1", "GPU 2"]
    assert [cell(pool, place).median.value for place in (0, 1)] == [1e-6, 2e-6]


def test_gpus_of_one_machine_are_its_repeats() -> None:
    rows = [row("submit", [1e-6 * n] * 9, device=f"cuda:{n}") for n in range(1, 9)]
    mixed = of_rows(1, *rows)
    devices = [device(f"cuda:{n}") for n in range(1, 9)]
    found = cell(pooled(msgspec.structs.replace(mixed, devices=devices)))
    assert (found.machines, found.files) == (1, 1)
    assert found.median.value == pytest.approx(4.5e-6)
    assert found.between is None
    assert found.within is not None


def test_what_was_timed_another_way_is_a_row_of_its_own() -> None:
    corrected = row("submit", [2e-6] * 9, device="cuda:0", corrections=[correction(1e-7, 0, 2e-7)])
    pool = pooled(submit(1, 1e-6), of_rows(2, corrected))
    assert len(pool.rows) == 2
    assert [each.told.partition(":")[0] for each in pool.rows] == ["corrections"] * 2
    assert "corrections: none" in pool.rows[0].title


def test_rows_without_a_value_are_told_with_their_reason() -> None:
    gone = msgspec.structs.replace(
        row("sync", device="cuda:0"), status="skipped", reason="one core", data=None
    )
    pool = pooled(of_rows(1, row("submit", [1e-6] * 9, device="cuda:0"), gone))
    assert [each.row.name for each in pool.rows] == ["submit"]
    assert "no value of cuda sync (1): skipped: one core" in pool.notes


def test_failures_are_told_before_what_could_not_run() -> None:
    def absent(name: str, status: str, reason: str) -> Measurement:
        found = row(name, device="cuda:0")
        return msgspec.structs.replace(found, status=status, reason=reason, data=None)

    there = row("submit", [1e-6] * 9, device="cuda:0")
    gone, broken = absent("sync", "skipped", "one core"), absent("memset", "failed", "no memory")
    pool = pooled(of_rows(1, there, gone), of_rows(2, there, gone), of_rows(3, there, broken))
    told = [note for note in pool.notes if note.startswith("no value")]
    assert told == [
        "no value of cuda memset (1): failed: no memory",
        "no value of cuda sync (2): skipped: one core",
    ]
    some = pooled(of_rows(1, there, gone), of_rows(2, there), probes=["submit"])
    assert not [note for note in some.notes if note.startswith("no value")]


def test_settings_are_shown_as_they_were_written_and_are_the_same_in_any_order() -> None:
    one = row("sync", [1e-6] * 9, setting={"wait": "spin", "idle_ns": 0})
    other = row("sync", [1e-6] * 9, setting={"idle_ns": 0, "wait": "spin"})
    (found,) = pooled(of_rows(1, one), of_rows(2, other)).rows
    assert found.title == "cpu sync wait=spin idle_ns=0"
    assert cell(pooled(of_rows(1, one), of_rows(2, other))).machines == 2


def test_what_was_not_alike_is_said() -> None:
    quick = msgspec.structs.replace(submit(1, 1e-6).plan, quick=True)
    pool = pooled(
        submit(1, 1e-6, plan=quick, complete=False, incomplete_reason="stopped"),
        submit(2, 1e-6, tool_version="0.2.0"),
    )
    told = "\n".join(pool.notes)
    assert "several versions of this program: 0.1.0 (1), 0.2.0 (1)" in told
    assert "1 of 2 files were measured with --quick" in told
    assert "incomplete, since stopped early: 1 of 2 files" in told


def test_warnings_of_environments_are_counted() -> None:
    slow = placed(submit(1, 1e-6), 1)
    facts = msgspec.structs.replace(slow.environment, gpus=[gpu(persistence_mode=False)])
    pool = pooled(msgspec.structs.replace(slow, environment=facts), submit(2, 1e-6))
    assert "files with warnings of what shifts times: persistence (1)" in pool.notes


def test_probes_and_kinds_choose_rows() -> None:
    both = of_rows(1, row("submit", [1e-6] * 9), row("sync", [1e-6] * 9))
    assert [each.row.name for each in pooled(both, probes=["sync"]).rows] == ["sync"]
    with pytest.raises(UnknownNameError, match="unknown probe 'sink'; did you mean sync"):
        pooled(both, probes=["sink"])
    with pytest.raises(UsageError, match="nothing to summarise"):
        pooled(both, kinds=["latency"])
    with pytest.raises(UnknownNameError, match="floor, ladder, latency"):
        pooled(both, kinds=["tax"])
    models = model_result(case(2e-3, pipelined=data(1e-3)), case(1e-3, mode="fast"))
    found = pooled(models, probes=["fast", "latency"])
    assert [(dict(e.row.setting)["mode"], e.row.quantity) for e in found.rows] == [
        ("fast", "latency")
    ]


@pytest.mark.parametrize("baseline", [5, -1])
def test_a_baseline_that_is_no_group_is_refused(baseline: int) -> None:
    with pytest.raises(UsageError, match="none of the 1 groups"):
        pooled(submit(1, 1e-6), baseline=baseline)
    with pytest.raises(UnknownNameError, match="unknown baseline"):
        pooled(submit(1, 1e-6), baseline="V100")


def test_a_median_that_is_not_positive_has_no_ratio() -> None:
    legs = [correction(2e-6, 0, 4e-6)]
    below = [
        of_rows(
            n, row("submit", [1e-6] * 9, device="cuda:0", corrections=legs), model="NVIDIA A100"
        )
        for n in range(9)
    ]
    above = [
        of_rows(100 + n, row("submit", [5e-6] * 9, device="cuda:0", corrections=legs))
        for n in range(9)
    ]
    pool = pooled(*above, *below)
    place = [each.label for each in pool.groups].index("NVIDIA A100")
    assert cell(pool, place).median.value == pytest.approx(-1e-6)
    assert all(each.ratio is None for each in pool.rows[0].cells if each)


def test_results_are_taken_one_by_one_and_none_is_kept() -> None:
    made_up: list[weakref.ref[Kept]] = []
    most = 0

    def files() -> Iterator[tuple[str, Result]]:
        nonlocal most
        for number in range(200):
            made = Kept(**{f: getattr(submit(number, 1e-6), f) for f in Result.__struct_fields__})
            made_up.append(weakref.ref(made))
            most = max(most, sum(each() is not None for each in made_up))
            yield f"{number}.json", made

    pool = pool_results(files(), group=GROUP)
    assert pool.groups[0].files == 200
    assert most <= 2  # the one that is read, and the one that was


class Kept(Result, frozen=True, kw_only=True, weakref=True):
    """A result that tells whether it is still there."""
