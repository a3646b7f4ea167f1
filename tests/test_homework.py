"""The exercises of Wu (2014): exponents above noise, sentences that follow from the numbers, rows on demand."""

from __future__ import annotations

import pytest

from experiments import growth, homework
from experiments.growth import Fit, Growth, say_growth, say_lead
from experiments.modelling import has_modelling_language, solve_model
from experiments.page import Figure, Table, Text
from experiments.two_clouds import pose
from maxmargin import SMO, solve
from maxmargin.certificates.certificate import judge

SIZES = (100, 200, 400, 800, 1600)


def grow(name: str, power: float, call: float = 1e-9, first: float = 0.01) -> Growth:
    """Seconds that grow as n to a power."""
    return Growth(name, SIZES, tuple(first * (n / SIZES[0]) ** power for n in SIZES), call)


# ---- the exponent ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("quick", [True, False])
def test_sizes_span_a_decade(quick):
    """Five of them at least."""
    sizes = growth.SIZES[quick]
    assert len(sizes) >= 5
    assert sizes[-1] >= 10 * sizes[0]


def test_the_exponent_is_that_of_the_power():
    """Of exact powers it is exact."""
    assert grow("SMO", 1.7).exponent == pytest.approx(1.7)


def test_sizes_within_noise_do_not_count():
    """A call that takes as long as the small fits does not flatten the exponent of the large ones."""
    seconds = tuple(max(0.02, 1.01e-6 * n**2) for n in SIZES)
    found = Growth("SMO", SIZES, seconds, 0.02)
    assert found.above_noise == [1, 2, 3, 4]
    assert found.exponent == pytest.approx(2.0)
    assert Growth("SMO", SIZES, seconds, 0.1).exponent is None


# ---- words ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("powers", "said"),
    [((1.0, 3.0), "cvxopt grows faster with n"), ((2.8, 1.0), "cvxopt grows more slowly with n"),
     ((2.0, 2.1), "both grow alike with n")],
)  # fmt: skip
def test_the_sentence_follows_from_the_exponents(powers, said):
    """Faster, slower, or alike: never the opposite of the numbers beside it."""
    sentence = say_growth([grow("SMO", powers[0]), grow("cvxopt", powers[1])])
    assert f"n^{powers[0]:.1f} (SMO), n^{powers[1]:.1f} (cvxopt)" in sentence
    assert said in sentence


def test_exponents_that_the_seconds_contradict_settle_nothing():
    """LIBSVM's exponent is that of its large fits; from the smallest n to the largest SMO's seconds grow by more."""
    flat_start = Growth("LIBSVM", SIZES, (0.02, 0.02, 0.06, 0.18, 0.54), 0.02)
    smo = grow("SMO", 1.25)
    assert flat_start.exponent > smo.exponent + 0.2
    assert smo.seconds[-1] / smo.seconds[0] > flat_start.seconds[-1] / flat_start.seconds[0]
    assert "which of them grows faster with n is not settled" in say_lead(smo, flat_start)


def test_the_lead_follows_from_the_seconds():
    """As fast or as long, at both ends."""
    quick, slow = grow("SMO", 1.0), grow("cvxopt", 2.0, first=0.005)
    assert "At n = 1,600 SMO is 8.0 times as fast as cvxopt, and at n = 100 it takes 2.0 times as long" in say_lead(
        quick, slow
    )


def test_no_exponent_is_made_up():
    """Where too few fits are above noise, this is said."""
    assert "Too few of the fits by LIBSVM" in say_growth([grow("SMO", 1.0), grow("LIBSVM", 1.0, call=1.0)])
    assert "No fit takes long enough" in say_growth([grow("SMO", 1.0, call=1.0)])


@pytest.mark.parametrize(("installed", "said"), [(True, "CVXPY, a modelling language"), (False, "is left out")])
def test_a_modelling_language_is_optional(monkeypatch, installed, said):
    """With it there is a column, without it a sentence."""
    monkeypatch.setattr(growth, "has_modelling_language", lambda: installed)
    assert ("CVXPY" in growth.list_programs()) is installed
    assert said in growth.say_setting()


# ---- runs -----------------------------------------------------------------------------------------------------


def test_smo_evaluates_rows_on_demand():
    """Not the whole matrix: fewer rows than samples, and most requests are hits."""
    fit = growth.time_smo(300)
    assert fit.gap <= growth.TOL
    assert 0 < fit.counters["rows"] < 300
    assert fit.counters["hits"] > fit.counters["misses"]


@pytest.mark.skipif(not has_modelling_language(), reason="CVXPY is not installed")
def test_the_model_is_the_dual():
    """CVXPY's duals and multiplier, judged, are optimal, and D is that of SMO."""
    problem = pose(80, 1.0)
    certificate = judge(problem, solve_model(problem))
    assert certificate.relative_gap <= 1e-6
    assert certificate.dual == pytest.approx(solve(pose(80, 1.0), SMO(), tol=1e-8).certificate.dual, rel=1e-6)


@pytest.mark.parametrize("share", [0.05, 0.5])
def test_the_cache_experiment_obeys_its_cache(share):
    """Also where the matrix is small enough to be formed."""
    problem, solver = pose(200, homework.CACHE_COST), homework.make_plain_smo(200, share)
    result = solve(problem, solver, tol=homework.CACHE_TOL)
    assert problem.features.whole is None
    assert result.counters["hits"] + result.counters["misses"] == 2 * result.n_iter
    assert result.counters["rows"] == result.counters["misses"] > 0


def test_chapter(monkeypatch):
    """On small sizes: every tick is told, every table is whole, and its rows are counted."""
    monkeypatch.setitem(growth.SIZES, True, (20, 30, 40, 50, 60))
    monkeypatch.setitem(homework.ROWS, True, 120)
    monkeypatch.setattr(homework, "N_SELECTION", {True: 60, False: 60})
    told: list[str] = []
    chapter = homework.write_chapter(True, told.append)
    assert len(told) == homework.count_ticks(True)
    assert [type(block) for block in chapter.blocks] == [Text, Table, Figure] * 3
    tables = [block for block in chapter.blocks if isinstance(block, Table)]
    assert all(len(row) == len(table.columns) for table in tables for row in table.rows)
    cache = tables[1]
    evaluated = [row[cache.columns.index("rows: evaluated")] for row in cache.rows]
    assert evaluated == sorted(evaluated, reverse=True)
    assert evaluated[-1] <= 120 < evaluated[0]
    assert f"{evaluated[0]:,} are evaluated" in chapter.blocks[3].sentences


def test_selections_are_warm(monkeypatch):
    """Each rule and kernel that is timed has run before: nothing is compiled while the clock runs."""
    seen = []
    monkeypatch.setattr(homework, "run_selection", lambda n, cost, kernel, rule: seen.append((type(kernel), rule)))
    homework.warm_up()
    assert len(set(seen)) == 2 * len(homework.SELECTIONS)


def test_counts_of_the_rows_in_words():
    """The shares are those of the counters."""
    said = growth.say_rows(1000, [Fit(0.1, 1e-7, {"rows": 393, "hits": 1335, "misses": 393})])
    assert "393 at n = 1,000" in said
    assert "77% of 1,728" in said
