"""The page about a result file, as Chromium shows it. Its contents are compared with the arrays of the file. It must be
readable without a network, without scripts, in both themes, on a desk and on a phone. One file, because every test
is about the one page."""

import base64
import io
import json
import re

import h5py
import numpy as np
import pytest
from PIL import Image

from tests.browser import Browser
from tests.children import measured
from tests.problems import (add_correlation, add_pair_energy, add_potential, add_solve, open_problem_file,
                            results_to_change)

STRANGE = "<img src=x onerror=alert(1)>&\"'\u202e"
ORIGIN, SPACING, SHAPE = np.array([-8.0, -6, -5]), np.array([0.4, 0.5, 0.6]), (40, 30, 20)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("browser"))
    yield browser
    browser.close()


def write_problems(path):
    """Writes sets of all kinds, some with failures."""
    rng = np.random.default_rng(3)
    with open_problem_file(path) as file:
        add_solve(file, STRANGE, batch=3000, n=12)
        a = file[f"solve/{STRANGE}/A"]
        for k in [5, 6, 7, 8, 100, 2000]:
            a[k] = -a[k]
        for k in range(500, 900, 7):
            a[k, 0, 0] = np.nan
        add_solve(file, "determinants", batch=50, n=4, nrhs="log_determinant")
        add_potential(file, "frames", rng.uniform(-4, 4, (60, 3)), rng.uniform(-1, 1, 60), offset=[0, 20, 40, 60],
                      shape=SHAPE, origin=ORIGIN, spacing=SPACING, output_unit="kT/e")
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


@pytest.fixture
def report(smallbatch, tmp_path):
    write_problems(tmp_path / "p.h5")
    smallbatch("run", "p.h5", "-o", "r.h5", expect=1)
    smallbatch("report", "r.h5", "--problems", "p.h5", "-o", "report.html")
    return tmp_path / "report.html"


def section(name):
    """JavaScript that finds the section of a set."""
    return f"[...document.querySelectorAll('section')].find(s => s.querySelector('h2').textContent === {name!r})"


def tables(browser, name):
    """{heading: rows of text} of a section's tables."""
    return {heading: rows for heading, rows in browser.evaluate(
        f"[...{section(name)}.querySelectorAll('.wide')].map(t => [t.previousElementSibling.textContent,"
        "[...t.querySelectorAll('tr')].map(r => [...r.children].map(c => c.textContent))])")}


def facts(browser, name):
    return dict(browser.evaluate(f"[...{section(name)}.querySelectorAll('dt')].map(d => [d.textContent,"
                                 "d.nextElementSibling.textContent])"))


def number(text):
    """Reads a number as the page writes it: 1 234, −1.5, 2×10⁻⁷."""
    text = re.sub(r"(?:×|^)10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)$", lambda found: ("e" if found.start() else "1e") + found[1].translate(
        str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")), text)
    return float(text.replace("\u202f", "").replace("−", "-"))


def charts(browser, name):
    """The charts of a section: name, texts and their places, counts of the bars, pictures."""
    return browser.evaluate(f"""[...{section(name)}.querySelectorAll('svg[role=img]')].map(svg => ({{
        name: svg.getAttribute('aria-label'),
        caption: (svg.parentElement.querySelector('figcaption') || {{textContent: ''}}).textContent,
        texts: [...svg.querySelectorAll('text')].map(t => [t.textContent, +t.getAttribute('x'), +t.getAttribute('y'),
                                                           t.getAttribute('text-anchor'), t.getAttribute('class')]),
        bars: [...svg.querySelectorAll('rect.bar')].map(r => [+r.getAttribute('x'), +r.getAttribute('width'),
                                                             r.textContent, +r.getAttribute('height')]),
        images: [...svg.querySelectorAll('image')].map(i => ['x', 'y', 'width', 'height'].map(a => +i.getAttribute(a))
                                                            .concat(i.getAttribute('href'))),
        dots: svg.querySelectorAll('circle').length}}))""")


def pixels_of(uri):
    assert uri.startswith("data:image/png;base64,")
    with Image.open(io.BytesIO(base64.b64decode(uri.split(",")[1], validate=True))) as image:
        return np.asarray(image.convert("RGB")).astype(int)


def luminance(colour):
    channels = np.array([int(part) for part in re.findall(r"\d+", colour)[:3]]) / 255
    return np.dot([0.2126, 0.7152, 0.0722], np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4))


def test_it_fits_and_is_legible_everywhere(browser, report):
    paper = {}
    for scheme in ("light", "dark"):
        for width in (390, 1280):
            browser.open(report, width, scheme)
            assert browser.complaints() == []
            assert all(url.startswith(("file:", "data:")) for url in browser.requests())
            assert sum(url.startswith("file:") for url in browser.requests()) == 1
            assert browser.evaluate("document.documentElement.scrollWidth") <= width
            assert browser.evaluate("document.scripts.length + document.querySelectorAll('img,link,iframe,object').length") == 0
            # Only tables may be wider than their column; they scroll.
            assert browser.evaluate("[...document.querySelectorAll('body *:not(.wide *):not(svg *)')].filter(e => "
                                    "e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80))") == []
            # No word of a chart is cut off, too small, or over another one.
            assert browser.evaluate("""[...document.querySelectorAll('svg[role=img]')].flatMap(svg => {
                const box = svg.getBoundingClientRect();
                const texts = [...svg.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect()]);
                const apart = (a, b) => a.right <= b.left + 1 || b.right <= a.left + 1 || a.bottom <= b.top + 3 || b.bottom <= a.top + 3;
                return texts.filter(([text, r], k) => r.left < box.left - 1 || r.right > box.right + 1 || r.top < box.top - 1
                    || r.bottom > box.bottom + 1 || Math.min(r.width, r.height) < 5
                    || texts.some(([other, s], m) => m > k && !apart(r, s))).map(([text]) => svg.getAttribute('aria-label') + ': ' + text);
            })""") == []
            colours = browser.evaluate("""(() => { const paper = getComputedStyle(document.body).backgroundColor;
                return [...document.querySelectorAll('p, dt, dd, td, th, h1, h2, h3, figcaption, svg text')].map(e =>
                    [e instanceof SVGElement ? getComputedStyle(e).fill : getComputedStyle(e).color, paper]); })()""")
            for ink, page in set(map(tuple, colours)):
                light, dark = sorted((luminance(ink), luminance(page)), reverse=True)
                assert (light + 0.05) / (dark + 0.05) >= 4.5, (ink, page)
            paper[scheme] = luminance(colours[0][1])
    assert paper["light"] > 0.9 and paper["dark"] < 0.05


def test_statuses_are_those_of_the_file(browser, report):
    browser.open(report, 1280, "light")
    name = "solve/" + STRANGE.replace("\u202e", "\ufffd")
    assert browser.evaluate("document.body.textContent.includes('onerror=alert')")
    with h5py.File(report.parent / "r.h5") as file:
        info = file[f"solve/{STRANGE}/info"][:]
    found = {int(number(row[0])): row for row in tables(browser, name)["Statuses"][1:]}
    assert set(found) == set(info[info != 0])
    assert found[1][1:] == ["pivot 1 is not positive", "6", "5–8, 100, 2000"]
    indices = np.flatnonzero(info == -1)
    assert number(found[-1][2]) == len(indices)
    listed, more = found[-1][3].split(" and ")
    assert [int(index) for index in listed.split(", ")] == list(indices[:24])
    assert more == f"{len(indices) - 24} more"
    assert facts(browser, name)["solved"].split(" of ")[0].replace("\u202f", "") == str((info == 0).sum())
    badge = browser.evaluate("document.querySelector('header .badge').textContent")
    assert number(badge.split()[0]) == (info != 0).sum()


def test_histograms_count_every_solved_system(browser, report):
    browser.open(report, 1280, "light")
    name = "solve/" + STRANGE.replace("\u202e", "\ufffd")
    shown = {chart["name"]: chart for chart in charts(browser, name)}
    with h5py.File(report.parent / "r.h5") as file:
        group = file[f"solve/{STRANGE}"]
        solved = group["info"][:] == 0
        values = {title: group[dataset][:][solved].astype(float)
                  for title, dataset in (("backward error", "backward_error"), ("rcond", "rcond"))}
    for title, expected in values.items():
        chart = shown[title]
        assert sum(number(bar[2]) for bar in chart["bars"]) == (expected > 0).sum()
        # The ticks give the bounds of the bars. Counting again within these bounds gives the same counts.
        ticks = [(x, np.log10(number(text))) for text, x, y, anchor, kind in chart["texts"]
                 if anchor == "middle" and kind == "tick"]
        assert len(ticks) >= 2
        slope, begin = np.polyfit(*zip(*ticks), 1)
        for x, width, count, _ in chart["bars"]:
            low, high = (10 ** (begin + slope * edge) for edge in (x - 0.5, x + width + 0.5))
            again = ((expected > low * 0.999) & (expected < high * 1.001)).sum()
            assert abs(again - number(count)) <= 2 + 0.02 * len(expected)
        tallest = max(chart["bars"], key=lambda bar: number(bar[2]))
        for bar in chart["bars"]:
            assert bar[3] == pytest.approx(tallest[3] * number(bar[2]) / number(tallest[2]), abs=1.1)
    worst = tables(browser, name)["Largest errors, relative to their bounds"]
    with h5py.File(report.parent / "r.h5") as file:
        error = file[f"verification/solve/{STRANGE}/error_over_bound"][:]
        rcond = file[f"solve/{STRANGE}/rcond"][:]
    assert [number(row[0]) for row in worst[1:]] == list(np.argsort(-error, kind="stable")[:5])
    assert [number(row[1]) for row in worst[1:]] == pytest.approx(np.sort(error)[::-1][:5], rel=1e-3)
    singular = tables(browser, name)["Nearest to a singular matrix"]
    column = singular[0].index("rcond")
    assert [number(row[column]) for row in singular[1:]] == pytest.approx(np.sort(rcond[solved])[:5], rel=1e-3)
    assert {"rcond", "ln det A"} <= {chart["name"] for chart in charts(browser, "solve/determinants")}


def test_slices_have_the_colours_and_coordinates_of_v(browser, report):
    browser.open(report, 390, "dark")
    with h5py.File(report.parent / "r.h5") as file:
        problem = file["verification/potential/frames"].attrs["worst_index"]
        v = file["potential/frames/V"][problem].astype(float)
        group = file["potential/frames"]
        expected = [[k, *(group[name][k] for name in ("V_min", "V_max", "V_mean"))] for k in range(3)]
    maps = [chart for chart in charts(browser, "potential/frames") if chart["images"]]
    assert len(maps) == 3
    cuts = [(v[SHAPE[2] // 2], 0, 1), (v[:, SHAPE[1] // 2], 0, 2), (v[:, :, SHAPE[0] // 2], 1, 2)]
    for chart, (plane, right, up), across in zip(maps, cuts, (2, 1, 0)):
        (x, y, width, height, uri), (_, bar_y, _, bar_height, bar_uri) = chart["images"]
        pixels, bar = pixels_of(uri)[::-1], pixels_of(bar_uri)[::-1, 0]
        assert pixels.shape[:2] == plane.shape
        assert width / height == pytest.approx(plane.shape[1] * SPACING[right] / (plane.shape[0] * SPACING[up]), rel=0.01)
        ticks = {"middle": [], "end": [], "start": []}
        for text, tx, ty, anchor, kind in chart["texts"]:
            if kind == "tick":
                ticks[anchor].append((tx if anchor == "middle" else ty - 4, number(text)))
        for (places, begin, extent), axis in (((ticks["middle"], x, width), right), ((ticks["end"], y + height, -height), up)):
            assert len(places) >= 3
            low, count = ORIGIN[axis] - SPACING[axis] / 2, SHAPE[axis]
            for place, value in places:
                assert (place - begin) / extent * count * SPACING[axis] + low == pytest.approx(value, abs=0.03)
        # The numbers of the colour bar give V for each pixel's colour.
        slope, level = np.polyfit(*zip(*[(place, value) for place, value in ticks["start"]]), 1)
        rows = bar_y + bar_height * (1 - (np.arange(len(bar)) + 0.5) / len(bar))
        told = (slope * rows + level)[np.abs(pixels[:, :, None] - bar).sum(-1).argmin(-1)]
        limit = abs(slope) * bar_height / 2
        assert np.abs(told - np.clip(plane, -limit, limit)).max() < 0.03 * limit
        assert f"{'xyz'[across]} = " in chart["caption"]
        words = [text for text, *_, kind in chart["texts"] if kind == "label"]
        assert words == [f"{'xyz'[right]} (Å)", f"{'xyz'[up]} (Å)", "V (kT/e)"]
    with h5py.File(report.parent / "p.h5") as file:
        charges = file["potential/frames/position"][20 * problem : 20 * problem + 20]
    low, high = ORIGIN - SPACING / 2, ORIGIN + (np.array(SHAPE) - 0.5) * SPACING
    for chart, across, middle in zip(maps, (2, 1, 0), (ORIGIN + np.array(SHAPE) // 2 * SPACING)[::-1]):
        others = [axis for axis in range(3) if axis != across]
        inside = ((charges >= low) & (charges <= high))[:, others].all(1)
        assert chart["dots"] == (inside & (np.abs(charges[:, across] - middle) <= 1)).sum()
    shown = [[number(cell) for cell in (row[0], *row[2:])] for row in tables(browser, "potential/frames")["Problems"][1:]]
    np.testing.assert_allclose(shown, expected, rtol=1e-3)


def test_the_other_kinds_are_there(browser, report):
    browser.open(report, 1280, "light")
    with h5py.File(report.parent / "r.h5") as file:
        energy = file["pair_energy/pairs/energy"][:]
        visibility = np.abs(file["correlation/array/visibility"][0])
        note = dict(file["provenance"].attrs)
    rows = tables(browser, "pair_energy/pairs")["The first problems"][1:]
    assert [number(row[2]) for row in rows] == pytest.approx(energy[:12], rel=1e-3)
    names = [chart["name"] for chart in charts(browser, "pair_energy/pairs")]
    assert "energy (V·e)" in names and "energy of a charge (V·e)" in names
    assert "V (V)" in [chart["name"] for chart in charts(browser, "potential/points")]
    (chart,) = [chart for chart in charts(browser, "correlation/array") if chart["images"]]
    pixels, bar = (pixels_of(image[-1])[::-1] for image in chart["images"])
    assert pixels.shape[:2] == visibility.shape
    place = np.abs(pixels[:, :, None] - bar[:, 0]).sum(-1).argmin(-1) / (len(bar) - 1)
    assert np.abs(place * visibility.max() - visibility).max() < 0.02 * visibility.max()
    assert {"baseline", "frequency (MHz)", "|V|"} <= {text for text, *_ in chart["texts"]}
    shown = facts(browser, "Provenance")
    for key in ("command_line", "host", "input_hash", "libraries", "created"):
        assert note[key].decode() in shown.values()
    time = browser.evaluate(section("Time") + ".textContent")
    assert all(stage in time for stage in ("set-up", "read", "compute", "verify", "write"))


def test_what_is_no_number_is_not_shown_as_one(smallbatch, browser, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_potential(file, "none", [[np.nan] * 3], [1], shape=(4, 3, 1))
        add_potential(file, "one", [[1, 1, 0]], [1], shape=(4, 3, 1))
        add_potential(file, "zero", [[1, 1, 0]], [0], shape=(4, 3, 1))
    smallbatch("run", "p.h5", "-o", "r.h5", expect=1)
    smallbatch("report", "r.h5", "-o", "r.html")
    browser.open(tmp_path / "r.html", 1280, "light")
    shown = {name: charts(browser, f"potential/{name}")[0]["caption"] for name in ("none", "one", "zero")}
    assert shown["none"].endswith("no numbers") and shown["zero"].endswith("values from 0 to 0")
    assert shown["one"].endswith("1 infinite")
    # An arrow marks an end of the colour bar if values lie beyond it, here an infinite one.
    assert browser.evaluate(f"{section('potential/one')}.querySelectorAll('svg .arrow').length") == 1
    assert browser.evaluate(f"{section('potential/zero')}.querySelectorAll('svg .arrow').length") == 0
    told = {name: smallbatch("export", "r.h5", "--set", name, "-o", f"{name}.png").stdout for name in shown}
    assert told["none"].endswith("no numbers\n") and "1 infinite" in told["one"]
    assert told["zero"].endswith("values from 0 to 0\n")
    for name, is_there in (("one", True), ("zero", False), ("none", False)):
        with Image.open(tmp_path / f"{name}.png") as picture:
            left, top, width, height = map(int, picture.text["Map"].split(","))
            pixels = np.asarray(picture.convert("RGB"))[:, left + width + 40 : left + width + 80]
        assert (pixels[top - 8] != 255).any() == is_there  # above the colour bar
        assert (pixels[top + height + 8] == 255).all()


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
        a = file["solve/systems/A"]
        a[3] = 1  # of rank 1: three pivots are 0
    smallbatch("run", "p.h5", "-o", "r.h5", "--pivot-floor", 1e-3, expect=None)
    with h5py.File(tmp_path / "r.h5") as file:
        repaired, perturbation = (file[f"solve/systems/{name}"][:] for name in ("repaired", "perturbation"))
    assert repaired.sum() == repaired[3] == 3
    words = f"3 pivots of 1 system raised to the floor of 0.001, by at most {perturbation.max():.3g} of a diagonal element"
    assert words in smallbatch("info", "r.h5").stdout
    smallbatch("report", "r.h5", "-o", "r.html")
    browser.open(tmp_path / "r.html", 1280, "light")
    assert facts(browser, "solve/systems")["repaired"] == words
    assert "1 repaired" in browser.evaluate("document.querySelector('header').textContent")
    (chart,) = [chart for chart in charts(browser, "solve/systems") if chart["name"] == "perturbation"]
    assert [bar[2] for bar in chart["bars"]] == ["1"]


def test_page_and_file_say_what_the_summary_says(smallbatch, browser, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        maps = add_potential(file, "maps", [[0.1, 0, 0], [0.2, 0, 0]], [1, 1], offset=[0, 1, 2])
        maps["name"] = np.array([b"lysozyme", b"water"])
    summary = json.loads(smallbatch("run", "p.h5", "-o", "r.h5", "--json").stdout)
    with h5py.File(tmp_path / "r.h5") as file:
        note = dict(file["provenance"].attrs)
    for stage, seconds in summary["seconds"].items():
        assert note.get(f"{stage}_seconds", seconds) == seconds
    # No set was solved or correlated.
    assert not {"solver", "method", "pivot_floor", "pair_energy", "correlator"} & set(note)
    assert {"potential", "precision", "singular"} <= set(note)
    smallbatch("report", "r.h5", "-o", "r.html")
    browser.open(tmp_path / "r.html", 1280, "light")
    time, bound = browser.evaluate(section("Time") + ".textContent"), summary["bound_by"]
    assert f"slowest stage: {bound}" in time if bound else "slowest stage" not in time
    widths = browser.evaluate(f"[...{section('Time')}.querySelectorAll('.track rect')].map(bar => +bar.getAttribute('width'))")
    assert len(widths) == 6 and 80 < sum(widths) < 102  # per cent: the only block is in one stage at a time
    worst = summary["sets"][0]["verification"]["worst_index"]
    name = ["lysozyme", "water"][worst]
    assert facts(browser, "potential/maps")["largest error"].endswith(f"at index {worst} ({name})")
    assert f"of problem {worst} ({name}), which has the largest error" in browser.evaluate("document.body.textContent")
    assert [row[-1] for row in tables(browser, "potential/maps")["Problems"]] == ["known as", "lysozyme", "water"]
    smallbatch("run", "p.h5", "-o", "n.h5", "--verify", "none")
    smallbatch("report", "n.h5", "-o", "n.html")
    browser.open(tmp_path / "n.html", 1280, "light")
    assert "largest error" not in browser.evaluate("document.body.textContent")
    assert smallbatch("info", "n.h5").stdout.splitlines()[1].endswith("; not verified")


def test_packed_systems_are_not_called_dense(smallbatch, browser, tmp_path):
    smallbatch("generate", "spd", "-o", "p.h5", "--batch", 128, "--n", 32, "--storage", "packed")
    smallbatch("run", "p.h5", "-o", "r.h5")
    smallbatch("report", "r.h5", "-o", "r.html")
    browser.open(tmp_path / "r.html", 1280, "light")
    for text in (smallbatch("info", "r.h5").stdout, browser.evaluate("document.body.textContent").replace("×", "x")):
        assert "128 systems 32x32 float32" in text and "dense" not in text


def test_the_page_stays_small(smallbatch, browser, tmp_path):
    rng = np.random.default_rng(1)
    with open_problem_file(tmp_path / "p.h5") as file:
        solve = file.create_group("solve/many")
        solve["A"] = np.where(rng.random((200_000, 1, 1)) < 0.5, -1.0, 1.0).astype("float32")
        solve["b"] = np.ones((200_000, 1), "float32")
        for k in range(60):
            add_potential(file, f"map{k:02}", shape=(3, 3, 3))
        add_potential(file, "large", shape=(900, 700, 1))
    smallbatch("run", "p.h5", "-o", "r.h5", expect=1)
    smallbatch("report", "r.h5", "-o", "report.html")
    assert (tmp_path / "report.html").stat().st_size < 2_000_000
    browser.open(tmp_path / "report.html", 390, "light")
    assert browser.complaints() == []
    assert browser.evaluate("document.documentElement.scrollWidth") <= 390
    text = browser.evaluate("document.body.textContent")
    assert "more sets" in text and "every 3. point along x is shown; every 2. point along y is shown" in text and "No map is drawn" in text
    with h5py.File(tmp_path / "r.h5") as file:
        failed = (file["solve/many/info"][:] != 0).sum()
    assert number(tables(browser, "solve/many")["Statuses"][1][2]) == failed
    assert "more" in tables(browser, "solve/many")["Statuses"][1][3]


def test_sets_that_are_not_shown_count(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        for k in range(50):  # the page shows 40
            group = file.create_group(f"solve/s{k:02}")
            group["A"] = np.where(np.arange(k + 1) % 2 == (k < 45), -1.0, 1.0).astype("float32").reshape(-1, 1, 1)
            group["b"] = np.ones((k + 1, 1), "float32")
        singular = file.create_group("solve/singular")
        singular["A"], singular["b"] = np.ones((7, 2, 2), "float32"), np.ones((7, 2), "float32")
        for k in range(3):
            add_potential(file, f"map{k}", shape=(3, 3, 3))
    smallbatch("run", "p.h5", "-o", "r.h5", "--pivot-floor", 1e-3, "--verify", "sample=2", expect=1)
    smallbatch("report", "r.h5", "-o", "r.html")
    with h5py.File(tmp_path / "r.h5") as file:
        info = np.concatenate([group["info"][:] for kind in ("solve", "potential") for group in file[kind].values()])
        checked = sum(group.attrs["checked"] for kind in file["verification"].values() for group in kind.values())
        assert (file["solve/singular/repaired"][:] == 1).all()
    page = (tmp_path / "r.html").read_text()
    header = " ".join(re.sub("<[^>]*>", " ", page.split("<header>")[1].split("</header>")[0]).split())
    assert f"{(info != 0).sum()} failed 7 repaired holds {len(info)} problems in 54 sets," in header
    assert f"verified {checked} computed on" in header
    assert "And 14 more sets." in page


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
    assert browser.evaluate(section("Time")) is not None
    assert facts(browser, "solve/systems")["solved"] == "2 of 2 systems"


def images_of(chart):
    (x, y, width, height, uri), _ = chart["images"]
    return (x, y, width, height), pixels_of(uri)[::-1]


def test_long_lattices_and_values_that_are_no_numbers(smallbatch, browser, tmp_path):
    columns, rows = 4001, 10
    with open_problem_file(tmp_path / "p.h5") as file:
        for name in ("long", "none", "infinite"):
            add_potential(file, name, [[100, 0.3, 0.5]], [1], shape=(columns, rows, 1), origin=[[0, -0.5, 0]],
                          spacing=[[0.1, 0.1, 0.1]])
    smallbatch("run", "p.h5", "-o", "r.h5")
    with results_to_change(tmp_path / "r.h5") as file:
        v = np.where(np.arange(rows)[:, None] < rows // 2, -1.0, 1.0) * np.ones(columns)
        v[:, 2000:] = -v[:, 2000:]
        file["potential/long/V"][0, 0] = v
        file["potential/none/V"][...] = np.nan
        v[0, 7] = np.inf
        file["potential/infinite/V"][0, 0] = v
    smallbatch("report", "r.h5", "-o", "r.html", "--problems", "p.h5")
    browser.open(tmp_path / "r.html", 1280, "light")
    (chart,) = charts(browser, "potential/long")
    (x, _, width, _), pixels = images_of(chart)
    assert pixels.shape[:2] == (rows, 364)  # every 11th column, and every row
    is_red = pixels[..., 0] > pixels[..., 2]
    assert (is_red == (np.arange(rows)[:, None] >= rows // 2) ^ (11 * np.arange(364) >= 2000)).all()
    # A pixel begins where the numbers of the axis say.
    ticks = [(tx, number(text)) for text, tx, _, anchor, kind in chart["texts"] if kind == "tick" and anchor == "middle"]
    for tx, value in ticks:
        assert (tx - x) / width * 364 * 11 * 0.1 - 0.05 == pytest.approx(value, abs=0.2)
    for side in ("end", "start"):  # numbers do not overlap
        heights = [ty for text, _, ty, anchor, kind in chart["texts"] if kind == "tick" and anchor == side]
        assert len(heights) >= 2 and np.diff(np.sort(heights)).min() >= 12
    assert chart["dots"] == 1
    assert "every 11. point along x is shown" in chart["caption"] and "along y" not in chart["caption"]
    assert "no numbers" in charts(browser, "potential/none")[0]["caption"]
    assert "from −1 to 1, and 1 infinite" in charts(browser, "potential/infinite")[0]["caption"]
    for name, says in (("none", "no numbers"), ("infinite", "values from -1 to 1, and 1 infinite")):
        assert says in smallbatch("export", "r.h5", "--set", name, "-o", f"{name}.png").stdout


def test_memory_does_not_grow_with_the_file(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_potential(file, "map", [[0, 0, 9]], [1], shape=(5000, 4000, 1))
        add_potential(file, "small", [[0, 0, 9]], [1], shape=(5, 4, 1))
    smallbatch("run", "p.h5", "-o", "r.h5", "--verify", "none")
    with h5py.File(tmp_path / "r.h5") as file, h5py.File(tmp_path / "small.h5", "w") as small:
        for name in file:
            file.copy(name, small)
        for group in ("potential", "verification/potential", "provenance/potential"):
            if group in small and "map" in small[group]:
                del small[group]["map"]
        for name, value in file.attrs.items():
            small.attrs[name] = value

    def peak(name):
        return measured(smallbatch.program, "report", name, "-o", name + ".html", cwd=tmp_path).bytes

    assert peak("r.h5") - peak("small.h5") < 5000 * 4000 * 4  # V in the file; as doubles it would be twice as large


def test_counts_that_are_not_those_of_the_verdicts_are_refused(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file)
    smallbatch("run", "p.h5", "-o", "r.h5")
    with h5py.File(tmp_path / "r.h5", "r+") as file:
        file["verification/solve/systems"].attrs["agreed"] = np.int64(4)
    assert "agreed" in smallbatch("report", "r.h5", "-o", "r.html", expect=3).stderr


def test_another_problem_file_is_refused(smallbatch, tmp_path):
    for seed, name in ((1, "p.h5"), (2, "other.h5")):
        smallbatch("generate", "charges", "-o", name, "--shape", 4, "--charges", 5, "--seed", seed)
    smallbatch("run", "p.h5", "-o", "r.h5")
    smallbatch("report", "r.h5", "-o", "r.html", "--problems", "p.h5")
    done = smallbatch("report", "r.h5", "-o", "other.html", "--problems", "other.h5", expect=3)
    assert "its hash differs" in done.stderr and not (tmp_path / "other.html").exists()


def test_calls_without_sense_leave_nothing(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file)
    smallbatch("run", "p.h5", "-o", "r.h5")
    (tmp_path / "old.html").touch()
    done = smallbatch("report", "r.h5", "-o", "needed.html", "--problems", "p.h5")
    assert "p.h5 is not needed" in done.stderr and (tmp_path / "needed.html").exists()
    before = sorted(tmp_path.iterdir())
    for arguments, code in ((("p.h5", "-o", "x.html"), 3), (("r.h5", "-o", "old.html"), 7), (("no.h5", "-o", "x.html"), 4), (("r.h5",), 2),
                            (("r.h5", "-o", "p.h5"), 2), (("r.h5", "-o", "x.png"), 2), (("r.h5", "-o", "r.html/x"), 7), (("r.h5", "-o", "r.h5", "--overwrite"), 2),
                            (("r.h5", "-o", "p.h5", "--problems", "p.h5", "--overwrite"), 2)):
        smallbatch("report", *arguments, expect=code)
        assert sorted(tmp_path.iterdir()) == before
