"""The page about a result file. Chromium opens it, and the text on the page is compared with the arrays of the file.
The page must be readable without a network, in both themes, on a desk and on a phone."""

import base64
import io
import json
import os
import re
import sys

import h5py
import numpy as np
import pytest
from PIL import Image

from tests.browser import Browser
from tests.children import measured
from tests.problems import (add_correlation, add_pair_energy, add_potential, add_solve, open_problem_file,
                            results_to_change)

pytestmark = pytest.mark.skipif("SMALLBATCH_PACKAGE" not in os.environ, reason="the Python package is not built")

STRANGE = "<img src=x onerror=alert(1)>&\"'$x$"
ORIGIN, SPACING, SHAPE = np.array([-8.0, -6, -5]), np.array([0.4, 0.5, 0.6]), (40, 30, 20)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("browser"))
    yield browser
    browser.close()


def write_problems(path):
    """Writes sets of all kinds. Some have problems that fail."""
    rng = np.random.default_rng(3)
    with open_problem_file(path) as file:
        add_solve(file, STRANGE, batch=3000, n=12)
        a = file[f"solve/{STRANGE}/A"]
        for k in [5, 6, 7, 8, 100, 2000]:
            a[k] = -a[k]
        for k in range(500, 900, 7):
            a[k, 0, 0] = np.nan
        add_solve(file, "determinants", batch=50, n=4, nrhs="log_determinant")
        frames = add_potential(file, "frames", rng.uniform(-4, 4, (60, 3)), rng.uniform(-1, 1, 60), offset=[0, 20, 40, 60],
                               shape=SHAPE, origin=ORIGIN, spacing=SPACING, output_unit="kT/e", cutoff=9.5, dielectric=4.0)
        frames["name"] = np.array([b"lysozyme", b"water", b"<b>salt</b>"])
        frames["atomic_number"] = np.full(60, 6, np.int8)
        points = add_potential(file, "points", rng.uniform(-4, 4, (9, 3)), rng.uniform(-1, 1, 9))
        for name in ("origin", "spacing"):
            del points[name]
        del points.attrs["shape"]
        points.attrs["targets"] = "points"
        points["points"] = rng.uniform(-9, 9, (500, 3))
        add_pair_energy(file, "pairs", rng.uniform(-5, 5, (400, 3)), rng.uniform(-1, 1, 400), offset=np.arange(0, 401, 10),
                        per_charge=1)
        signal = rng.standard_normal((20, 30, 6)) + 1j * rng.standard_normal((20, 30, 6))
        array = add_correlation(file, "array", signal.astype(np.complex64))
        array["frequency"] = 1.4e9 + 1e6 * np.arange(20)


@pytest.fixture(scope="module")
def report(smallbatch_program, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    smallbatch = smallbatch_program(folder)
    write_problems(folder / "p.h5")
    smallbatch("run", "p.h5", "-o", "r.h5", expect=1)
    smallbatch("report", "r.h5", "--problems", "p.h5", "-o", "report.html")
    return folder / "report.html"


def section(name):
    """Returns JavaScript that finds the section of a set."""
    return f"[...document.querySelectorAll('section')].find(s => s.querySelector('h2').textContent === {json.dumps(name)})"


def tables(browser, name):
    """Returns the rows of a section's tables. The table of statuses comes first."""
    return browser.evaluate(f"[...{section(name)}.querySelectorAll('table')].map(t => "
                            "[...t.querySelectorAll('tr')].map(r => [...r.children].map(c => c.textContent)))")


def facts(browser, name):
    return dict(browser.evaluate(f"[...{section(name)}.querySelectorAll('dt')].map(d => [d.textContent,"
                                 "d.nextElementSibling.textContent])"))


def number(text):
    """Returns the value of a number on the page, such as 1 234, −1.5 or 2×10⁻⁷."""
    text = re.sub(r"(?:×|^)10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)$", lambda found: ("e" if found.start() else "1e") + found[1].translate(
        str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")), text)
    return float(text.replace("\u202f", "").replace("−", "-").replace("-e", "-1e"))


def pictures(browser, name):
    """Returns (alternative text, width, height) of each picture of a section."""
    return browser.evaluate(f"[...{section(name)}.querySelectorAll('img')].map(i => [i.alt, i.naturalWidth, i.naturalHeight])")


def luminance(colour):
    channels = np.array([int(part) for part in re.findall(r"\d+", colour)[:3]]) / 255
    return np.dot([0.2126, 0.7152, 0.0722], np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4))


def test_it_fits_and_is_legible_everywhere(browser, report):
    paper = {}
    for scheme in ("light", "dark"):
        for width in (390, 1280):
            browser.open(report, width, scheme)
            assert browser.complaints() == []
            assert all(url.startswith(("file:", "data:", "about:")) for url in browser.requests())
            assert sum(url.startswith("file:") for url in browser.requests()) == 1
            assert browser.evaluate("document.documentElement.scrollWidth") <= width
            assert browser.evaluate("document.scripts.length + document.querySelectorAll('link,object').length") == 0
            # Only tables may be wider than the window, because they scroll by themselves.
            assert browser.evaluate("[...document.querySelectorAll('body *:not(.wide *)')].filter(e => "
                                    "e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80))") == []
            colours = browser.evaluate("""(() => { const paper = getComputedStyle(document.body).backgroundColor;
                return [...document.querySelectorAll('p, dt, dd, td, th, h1, h2, h3, figcaption')].map(e =>
                    [getComputedStyle(e).color, paper]); })()""")
            for ink, page in set(map(tuple, colours)):
                light, dark = sorted((luminance(ink), luminance(page)), reverse=True)
                assert (light + 0.05) / (dark + 0.05) >= 4.5, (ink, page)
            paper[scheme] = luminance(colours[0][1])
    assert paper["light"] > 0.9 and paper["dark"] < 0.05


def test_statuses_are_those_of_the_file_and_have_a_legend(browser, report):
    browser.open(report, 1280, "light")
    name = f"solve/{STRANGE}"
    with h5py.File(report.parent / "r.h5") as file:
        info = file[f"solve/{STRANGE}/info"][:]
    rows = {row[0]: row for row in tables(browser, name)[0][1:]}
    assert list(rows) == ["0", "1", "−1", "−2", "−3", "−4", "−5"]
    assert rows["1"][1:] == ["pivot 1 is not positive", "6", "5–8, 100, 2\u202f000"]
    assert number(rows["0"][2]) == (info == 0).sum() and rows["0"][1] == "solved"
    indices = np.flatnonzero(info == -1)
    assert number(rows["−1"][2]) == len(indices) and rows["−5"][1] == "the solution underflowed"
    listed, more = rows["−1"][3].split(" and ")
    assert [int(index) for index in listed.split(", ")] == list(indices[:24])
    assert more == f"{len(indices) - 24} more"
    assert number(facts(browser, name)["solved"].split(" of ")[0]) == (info == 0).sum()
    assert number(browser.evaluate("document.querySelector('header .badge').textContent").split()[0]) == (info != 0).sum()


def test_results_come_before_timing_and_all_of_it_is_there(browser, report):
    browser.open(report, 1280, "light")
    titles = browser.evaluate("[...document.querySelectorAll('h2')].map(h => h.textContent)")
    assert titles == [f"solve/{STRANGE}", "solve/determinants", "potential/frames", "potential/points", "pair_energy/pairs",
                      "correlation/array", "Time", "Provenance"] or sorted(titles[:2]) == sorted([f"solve/{STRANGE}", "solve/determinants"])
    assert titles[-2:] == ["Time", "Provenance"]
    shown = facts(browser, "Provenance")
    with h5py.File(report.parent / "r.h5") as file:
        note = dict(file["provenance"].attrs)
        energy = file["pair_energy/pairs/energy"][:]
        rcond = file[f"solve/{STRANGE}/rcond"][:200]
    for key in ("command_line", "host", "input_hash", "libraries", "created"):
        assert note[key].decode() in shown.values()
    assert number(shown["input bytes"]) == note["input_bytes"]
    rows = tables(browser, "pair_energy/pairs")[1]
    assert [number(row[rows[0].index("energy (eV)")]) for row in rows[1:]] == pytest.approx(energy, rel=1e-3)
    first = tables(browser, f"solve/{STRANGE}")[-1]
    values = [row[first[0].index("rcond")] for row in first[1:]]
    assert [np.nan if value == "NaN" else number(value) for value in values] == pytest.approx(rcond, rel=1e-3, nan_ok=True)
    for name, alts in ((f"solve/{STRANGE}", ["Backward errors", "Reciprocal condition", "Errors of what"]),
                       ("solve/determinants", ["Reciprocal condition", "ln det A"]), ("potential/points", ["V at all points"]),
                       ("pair_energy/pairs", ["Energies of all problems", "Energies of all charges"]),
                       ("correlation/array", ["magnitude and phase"])):
        found = pictures(browser, name)
        for alt in alts:
            assert any(alt in words and width > 100 for words, width, _ in found), (name, alt)


def test_bars_of_stages_add_up(browser, report):
    browser.open(report, 1280, "light")
    with h5py.File(report.parent / "r.h5") as file:
        seconds = {name: file["provenance"].attrs[f"{name}_seconds"] for name in ("set_up", "start", "read", "compute", "verify", "write", "total")}
    bars = browser.evaluate(f"[...{section('Time')}.querySelectorAll('.bar')].map(b => [...b.children].map(s => [s.className, parseFloat(s.style.width)]))")
    assert all(sum(width for _, width in bar) == pytest.approx(100, abs=0.01) for bar in bars)
    whole = dict(map(tuple, bars[0]))
    assert whole["setup"] == pytest.approx(100 * seconds["set_up"] / seconds["total"], abs=0.01)
    blocks = seconds["total"] - seconds["set_up"] - seconds["start"]
    stages = [name for name in ("read", "compute", "verify", "write") if seconds[name] > 0]
    for name, bar in zip(stages, bars[1:], strict=True):
        assert bar[0] == ["work", pytest.approx(min(100, 100 * seconds[name] / blocks), abs=0.01)]


def test_formulas_are_said_in_words(browser, report):
    browser.open(report, 1280, "light")
    text = browser.evaluate(section("potential/frames") + ".textContent")
    assert "is the charge, divided by its distance from the point. V is the sum over all charges." in text
    assert "cut-off of 9.5 Å" in text and "relative permittivity 4" in text and "temperature" not in text
    assert "complex conjugate of the signal of j" in browser.evaluate(section("correlation/array") + ".textContent")


def test_maps_thumbnails_and_the_surface_are_there(browser, report):
    browser.open(report, 1280, "light")
    with h5py.File(report.parent / "r.h5") as file:
        worst = int(file["verification/potential/frames"].attrs["worst_index"])
    name = ["lysozyme", "water", "<b>salt</b>"][worst]
    found = pictures(browser, "potential/frames")
    for axis in "xyz":
        (alt,) = [alt for alt, width, _ in found if re.search(rf", {axis} = \S+ Å, \d+ atoms", alt) and width >= 800]
        assert f"problem {worst} ({name})" in alt
    thumbnails = browser.evaluate(section("potential/frames") + ".querySelectorAll('.thumbnails figure').length")
    assert thumbnails == 3
    captions = browser.evaluate(f"[...{section('potential/frames')}.querySelectorAll('.thumbnails figcaption')].map(c => c.textContent)")
    assert captions == ["0 (lysozyme)", "1 (water)", "2 (<b>salt</b>)"]
    frame = browser.evaluate("[...document.querySelectorAll('iframe')].map(f => [f.getAttribute('sandbox'), f.srcdoc.length])")
    assert len(frame) == 1 and frame[0][0] == "allow-scripts" and frame[0][1] > 500_000


def test_the_surface_turns_in_the_browser(browser, report, tmp_path):
    """The page in the frame draws the surface with WebGL. After a drag with the mouse, the page shows another side of
    the surface."""
    browser.open(report, 1280, "light")
    frame = browser.evaluate("document.querySelector('iframe').srcdoc")
    (tmp_path / "frame.html").write_text(frame, encoding="utf-8")
    browser.open(tmp_path / "frame.html", 600, "light")

    def seen():
        picture = base64.b64decode(browser.call("Page.captureScreenshot", format="png")["data"])
        return np.asarray(Image.open(io.BytesIO(picture)).convert("RGB")).astype(int)

    for _ in range(100):
        before = seen()
        if (before.min(-1) < 250).mean() > 0.02:
            break
    assert (before.min(-1) < 250).mean() > 0.02 and np.ptp(before, axis=-1).max() > 60
    for kind, x in (("mousePressed", 300), ("mouseMoved", 380), ("mouseMoved", 450), ("mouseReleased", 450)):
        browser.call("Input.dispatchMouseEvent", type=kind, x=x, y=400, button="left", buttons=1, clickCount=1)
    for _ in range(100):
        if np.abs(seen() - before).max() > 60:
            break
    assert np.abs(seen() - before).max() > 60
    assert not {entry["method"] for entry in browser.complaints()} & {"Runtime.exceptionThrown", "Network.loadingFailed"}
    assert all(url.startswith(("file:", "data:")) for url in browser.requests())


def test_scripts_of_names_are_not_run(smallbatch, browser, tmp_path):
    evil = "</script><script>document.title='run'</script>"
    with open_problem_file(tmp_path / "p.h5") as file:
        group = add_potential(file, evil.replace("/", "∕"), [[0, 0, 0.5]], [1], shape=(9, 9, 9), origin=(-4, -4, -4))
        group["name"] = np.array([evil.encode()])
        group["atomic_number"] = np.int8([8])
    smallbatch("run", "p.h5", "-o", "r.h5")
    with results_to_change(tmp_path / "r.h5") as file:
        file["provenance"].attrs["host"] = np.bytes_(evil.encode())
    smallbatch("report", "r.h5", "-o", "r.html", "--problems", "p.h5")
    browser.open(tmp_path / "r.html", 1280, "light")
    assert browser.evaluate("document.title") == "r.h5 – smallbatch" and browser.complaints() == []
    assert facts(browser, "Provenance")["host"] == evil


def test_any_problem_is_drawn_by_name_or_index(smallbatch, browser, report):
    report_ = ["report", "r.h5", "-o", "some.html", "--overwrite"]
    smallbatch.folder = report.parent
    smallbatch(*report_, "--problem", "water", "--problem", "2", "--range", "7 volt")
    browser.open(report.parent / "some.html", 1280, "light")
    text = browser.evaluate(section("potential/frames") + ".textContent")
    assert "problem 1 (water)" in text and "problem 2 (<b>salt</b>)" in text and "from −7 (red) to 7 V (blue)" in text
    assert "no set of r.h5 has a problem 'ice'" in smallbatch(*report_, "--problem", "ice", expect=2).stderr
    assert "no unit of a potential" in smallbatch(*report_, "--range", "7 furlong", expect=2).stderr


def test_without_python_the_remedy_is_said(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file)
    smallbatch("run", "p.h5", "-o", "r.h5")
    (tmp_path / "bin").mkdir()
    done = smallbatch("report", "r.h5", "-o", "r.html", env={"PATH": str(tmp_path / "bin")}, expect=2)
    assert "python3 cannot be run" in done.stderr and "pip install '.[report]'" in done.stderr
    for script, told in (("echo '/usr/bin/python3: No module named smallbatch' >&2; exit 1", "No module named smallbatch"), ("exit 3", "without a word")):
        (tmp_path / "bin" / "python3").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "bin" / "python3").chmod(0o755)
        done = smallbatch("report", "r.h5", "-o", "r.html", env={"PATH": str(tmp_path / "bin")}, expect=2)
        assert told in done.stderr and "pip install" in done.stderr
    done = smallbatch("report", "r.h5", "-o", "r.html", "--json", env={"PATH": str(tmp_path / "bin")}, expect=2)
    assert "no page can be made" in json.loads(done.stdout)["error"]["message"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bin", "p.h5", "r.h5"]
    (tmp_path / "r.html").write_text("there")
    assert "r.html" in smallbatch("report", "r.h5", "-o", "r.html", expect=7).stderr


def test_changed_verdicts_are_refused(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file, batch=5)
    smallbatch("run", "p.h5", "-o", "r.h5")
    with results_to_change(tmp_path / "r.h5") as file:
        file["verification/solve/systems/verdict"][2] = 2
        file["verification/solve/systems/error_over_bound"][2] = 7
    done = smallbatch("report", "r.h5", "-o", "r.html", expect=3)
    assert "These verdicts were changed" in done.stderr and not (tmp_path / "r.html").exists()


def test_raised_pivots_are_told(smallbatch, browser, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file, batch=9, n=4)
        file["solve/systems/A"][3] = 1  # of rank 1: three pivots are 0
    smallbatch("run", "p.h5", "-o", "r.h5", "--pivot-floor", 1e-3, expect=None)
    smallbatch("report", "r.h5", "-o", "r.html")
    browser.open(tmp_path / "r.html", 1280, "light")
    assert facts(browser, "solve/systems")["repaired"].startswith("pivots of 1 of the systems were raised")
    assert "1 repaired" in browser.evaluate("document.querySelector('header').textContent")


def test_many_sets_and_problems_keep_page_and_memory_small(smallbatch, browser, tmp_path):
    sizes = []
    for many in (1000, 400_000):
        with open_problem_file(tmp_path / "p.h5") as file:
            solve = file.create_group("solve/many")
            solve["A"] = np.where(np.arange(many) % 2 == 0, -1.0, 1.0).astype("float32").reshape(-1, 1, 1)
            solve["b"] = np.ones((many, 1), "float32")
            for k in range(60):
                add_potential(file, f"map{k:02}", shape=(3, 3, 3))
        smallbatch("run", "p.h5", "-o", f"{many}.h5", "--verify", "none", expect=1)
        words = ["-m", "smallbatch.report", tmp_path / f"{many}.h5", "-o", tmp_path / f"{many}.html"]
        sizes.append(measured(sys.executable, *words, env=smallbatch.environment).bytes)
    assert sizes[1] < 1.1 * sizes[0]
    page = (tmp_path / "400000.html").read_text(encoding="utf-8")
    assert len(page) < 6_000_000 and "And 21 more sets." in page and "enough of them above" in page
    header = re.sub("<[^>]*>", " ", page.split("<header>")[1].split("</header>")[0]).replace("\u202f", "")
    header = " ".join(header.split())
    assert "200000 failed" in header and "holds 400060 problems in 61 sets" in header
    browser.open(tmp_path / "400000.html", 390, "light")
    assert browser.complaints() == [] and browser.evaluate("document.documentElement.scrollWidth") <= 390


def test_results_without_times_or_problems_have_a_page(smallbatch, browser, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file, batch=4)
        add_potential(file, "none", np.zeros((0, 3)), [], offset=[0], origin=np.zeros((0, 3)), spacing=np.zeros((0, 3)))
    for k in (1, 2):
        smallbatch("run", "p.h5", "-o", f"{k}.h5", "--shard", f"{k}/2", "--verify", "none")
    smallbatch("merge", "1.h5", "2.h5", "-o", "m.h5")
    for name in ("m", "2"):
        smallbatch("report", f"{name}.h5", "-o", f"{name}.html", "--problems", "p.h5")
        browser.open(tmp_path / f"{name}.html", 390, "light")
        assert browser.complaints() == []
        assert "not verified" in browser.evaluate("document.body.textContent")
