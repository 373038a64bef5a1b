"""A picture of |V| end to end: the fringes of two sources are where the formula has them."""

import numpy as np
from PIL import Image

from tests.problems import add_correlation, add_potential, open_problem_file

INK, GREY = (64, 64, 64), (128, 128, 128)
FIRST, WIDTH, DELAY = 1.4e9, 1e5, 21.3e-9  # Hz, Hz, delay from an input to the next in seconds


def magnitudes(channels, inputs):
    """Returns the expected |V| of means as (channel, baseline). There are two sources of power 1, one of them without
    delay, and noise of power 1."""
    i, j = np.tril_indices(inputs)
    frequency = FIRST + WIDTH * np.arange(channels)[:, None]
    return np.abs(1 + np.exp(2j * np.pi * frequency * DELAY * (i - j)) + (i == j))


def runs(mask):
    """Returns [begin, end) of each run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], mask.astype(int), [0]))))
    return edges.reshape(-1, 2)


def cells(path, columns, rows):
    """Returns |V| by (row from below, column), from the colours of the cells and of the colour bar. Grey cells give
    NaN."""
    with Image.open(path) as image:
        pixels, texts = np.asarray(image.convert("RGB")).astype(int), dict(image.text)
    assert texts["Scale"] == "linear"
    ink = (pixels == INK).all(-1)
    frames = [end for begin, end in runs(ink.sum(0) > 500)]  # right of each vertical line of a frame
    assert len(frames) == 4
    bar = frames[2]
    left, top, width, height = map(int, texts["Map"].split(","))
    bottom = top + height
    assert left == frames[0] and ink[top - 1, left : left + width].all() and ink[bottom, left : left + width].all()
    assert width >= 768 and bottom - top >= 512 and width % columns == 0 and (bottom - top) % rows == 0
    step, height = width // columns, (bottom - top) // rows
    middle = pixels[top + height // 2 : bottom : height, left + step // 2 : left + width : step][::-1]
    assert middle.shape == (rows, columns, 3)
    scale = pixels[top:bottom, bar + 5][::-1]
    distance = np.abs(middle[:, :, None] - scale).sum(-1)
    value = distance.argmin(-1) / (len(scale) - 1) * float(texts["Highest colour"])
    value[(middle == GREY).all(-1)] = np.nan
    assert (distance.min(-1)[~np.isnan(value)] <= 12).all()
    return value, texts


def test_generated_sources_make_fringes(smallbatch, tmp_path):
    channels, inputs = 64, 32
    smallbatch("generate", "signal", "--channels", channels, "--times", 4096, "--inputs", inputs, "--delays",
               f"0,{DELAY * 1e9}", "--noise", 1, "--first-frequency", FIRST, "--channel-width", WIDTH, "--mean", "-o", "p.h5")
    smallbatch("run", "p.h5", "-o", "r.h5")
    done = smallbatch("export", "r.h5", "-o", "v.png")
    assert "correlation/array" in done.stdout and "528 baselines x 64 channels" in done.stdout
    found, texts = cells(tmp_path / "v.png", 528, channels)
    assert "correlation/array" in texts["Title"]
    expected = magnitudes(channels, inputs)
    # The noise of a mean of 4096 samples is a few times 3 / 64.
    assert np.abs(found - expected).max() < 0.35 and np.abs(found - expected).mean() < 0.05
    longest = 31 * 32 // 2  # baseline (31, 0)
    phase = (FIRST + WIDTH * np.arange(channels)) * DELAY * 31
    dark, light = (runs(x) for x in (found[:, longest] < 1, found[:, longest] > 1.5))
    for shown, offset in ((dark, 0.5), (light, 0)):
        fringes = np.arange(np.ceil(phase[0] - offset), phase[-1] - offset) + offset
        assert len(fringes) >= 4
        for fringe in fringes:
            channel = np.interp(fringe, phase, np.arange(channels))
            if 2 < channel < channels - 3:
                nearest = min(shown.mean(1) - 0.5, key=lambda middle: abs(middle - channel))
                assert abs(nearest - channel) <= 1.5


def test_any_integration_of_integers_and_what_is_flagged(smallbatch, tmp_path):
    """The second integration has one sample, so V_ij = x_i conj(x_j). The sample of input 1 in channel 2 is flagged."""
    rng = np.random.default_rng(5)
    signal = rng.integers(-128, 128, (3, 4, 3, 2)).astype(np.int8)
    flag = np.zeros((3, 4, 3), np.uint8)
    flag[2, 3, 1] = 1
    with open_problem_file(tmp_path / "p.h5") as file:
        add_correlation(file, "array", signal, flag, integrate=3)
        add_correlation(file, "none", signal[:0])
    smallbatch("run", "p.h5", "-o", "r.h5")
    smallbatch("export", "r.h5", "--set", "array", "--index", 1, "-o", "v.png")
    found, texts = cells(tmp_path / "v.png", 6, 3)
    assert "integration 1" in texts["Title"]
    power = np.hypot(*signal[:, 3].astype(float).transpose(2, 0, 1))
    i, j = np.tril_indices(3)
    expected = power[:, i] * power[:, j]
    expected[2, (i == 1) | (j == 1)] = np.nan
    assert (np.isnan(found) == np.isnan(expected)).all()
    assert np.nanmax(np.abs(found - expected)) < 0.02 * np.nanmax(expected)
    before = sorted(tmp_path.iterdir())
    for arguments, code, words in ((("--set", "array", "--index", 2), 2, "Choose one from 0 to 1."),
                                   (("--set", "array", "--index", -1), 2, "-1"),
                                   (("--set", "none"), 3, "no visibilities"),
                                   ((), 2, "--set"),
                                   (("--set", "other"), 2, "other")):
        assert words in smallbatch("export", "r.h5", "-o", "w.png", *arguments, expect=code).stderr
    assert "v.png" in smallbatch("export", "r.h5", "--set", "array", "-o", "v.png", expect=7).stderr
    assert sorted(tmp_path.iterdir()) == before


def test_sets_of_both_kinds_in_one_file(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_potential(file, "array")
        add_correlation(file, "array")
        add_correlation(file, "other")
    smallbatch("run", "p.h5", "-o", "r.h5")
    for name, words in (("array", "potential/array"), ("correlation/array", "correlation/array"),
                        ("other", "correlation/other"), ("potential/array", "potential/array")):
        done = smallbatch("export", "r.h5", "--set", name, "-o", "v.png", "--overwrite")
        assert words in done.stdout
