"""
Fringes from signals
====================

A radio interferometer correlates the signals of its antennas. This tutorial makes the signals of a row of antennas with
NumPy, writes them to a problem file, and correlates them with ``smallbatch run``. The phases of the result then say
where the source is.
"""

# %%
# The signals of a row of antennas
# --------------------------------
#
# Twelve antennas stand 8 m apart, in a row to the east. A source is 12 degrees east of the zenith. Its wave front
# reaches the easternmost antenna first. From one antenna to the next, the wave travels ``d sin(angle)`` less. In time
# this is ``tau = d sin(angle) / c``, here 5.5 nanoseconds.
#
# A receiver divides the band into channels. In the channel at frequency f, a lead of ``i tau`` turns the phase of
# antenna i by ``2 pi f i tau``. Noise of each antenna is added, with the power of the source. The real and imaginary
# parts are stored as int8, as in a telescope.

import shlex
import subprocess

import h5py
import matplotlib.pyplot as plt
import numpy as np
import smallbatch.plot

c = 299_792_458.0  # m/s
antennas, spacing = 12, 8.0
frequency = 120e6 + 0.5e6 * np.arange(96)  # Hz
samples = 2048
rng = np.random.default_rng(3)
i = np.arange(antennas)


def white(*shape):
    """Complex white noise of power 1."""
    return (rng.standard_normal((*shape, 2), "float32") / np.float32(np.sqrt(2))).view("complex64")[..., 0]


def wave(angle, power=1.0):
    """The signals that a source causes at the antennas, (channel, time, antenna)."""
    tau = spacing * np.sin(np.radians(angle)) / c
    turn = np.exp(2j * np.pi * frequency[:, None, None] * tau * i).astype("complex64")
    return np.float32(np.sqrt(power)) * white(len(frequency), samples, 1) * turn


def as_int8(voltage):
    """Scales to a deviation of 24 steps. Numbers beyond 127, one in ten million, become 127."""
    steps = np.float32(24 / np.sqrt(np.mean(np.abs(voltage) ** 2) / 2))
    return np.clip(np.rint(steps * voltage.view("float32")), -128, 127).astype("int8").reshape(*voltage.shape, 2)


angle = 12.0
signal = {}
noise = white(len(frequency), samples, antennas)
signal["one_source"] = as_int8(wave(angle) + noise)
signal["two_sources"] = as_int8(wave(angle) + wave(-20, 0.5) + noise)
print("signal", signal["one_source"].shape, signal["one_source"].dtype)

# %%
# A problem file
# --------------
#
# There are two skies, and each is a set. The attribute ``integrate`` asks for sums of 1024 samples, so there are two
# integrations. The word ``mean`` divides each sum by the number of samples that counted. Frequencies and positions are
# copied to the results.

with h5py.File("signals.h5", "w") as file:
    file.attrs["smallbatch_format"] = np.array([1, 9], "int32")
    for name, values in signal.items():
        group = file.create_group(f"correlation/{name}")
        group.attrs["integrate"], group.attrs["output"] = 1024, "mean"
        group["signal"] = values
        group["frequency"] = frequency
        group["input_position"] = np.stack([spacing * i, 0 * i, 0 * i], axis=-1)  # east, north, up; m


def sh(command):
    """Runs a command and prints what it prints."""
    print("$", command)
    print(subprocess.run(shlex.split(command), check=True, capture_output=True, text=True).stdout)


sh("smallbatch run signals.h5 -o visibilities.h5 --overwrite")

# %%
# The fringes
# -----------
#
# A visibility is the correlation of two antennas, ``V_ij = sum_t x_i(t) conj(x_j(t))``. The module ``smallbatch.plot``
# draws the magnitude and the phase of all baselines (i, j). The phase turns with the frequency, and it turns faster the
# farther the antennas are apart.


def show(figure):
    """Hands a figure of smallbatch.plot to pyplot."""
    figure.canvas.draw()
    plt.figure(figsize=figure.get_size_inches(), dpi=figure.dpi).figimage(figure.canvas.buffer_rgba())
    plt.show()


show(smallbatch.plot.correlation("visibilities.h5", "one_source", order="length"))

# %%
# Apart from noise, the magnitude is the same everywhere: one source lights all baselines equally. The phase depends on
# nothing but f and i - j. Baselines of one length therefore look alike, and the picture has eleven steps.
#
# The phase of one source
# -----------------------
#
# The signal at antenna i has the phase ``2 pi f i tau``. Therefore ``V_ij`` has the phase ``2 pi f tau (i - j)``. The
# dots are phases of the run. The lines are this formula with the true tau.

with h5py.File("visibilities.h5") as results:
    V = results["correlation/one_source/visibility"][0]  # the first integration: (channel, baseline)
first, second = np.tril_indices(antennas)  # baseline (i, j), i >= j, has the place i (i + 1) / 2 + j
tau = spacing * np.sin(np.radians(angle)) / c

figure, axis = plt.subplots(figsize=(8, 3.6), layout="constrained")
for k, distance in enumerate((1, 4, 11)):
    baseline = np.flatnonzero((first == distance) & (second == 0))[0]
    turns = frequency * tau * distance
    line = np.degrees(np.angle(np.exp(2j * np.pi * turns)))
    line[1:][np.diff(np.round(turns)) > 0] = np.nan  # no line from 180 degrees to -180
    axis.plot(frequency / 1e6, line, color=f"C{k}", linewidth=1)
    axis.plot(frequency / 1e6, np.degrees(np.angle(V[:, baseline])), ".", color=f"C{k}", label=f"({distance}, 0)")
axis.set(xlabel="frequency (MHz)", ylabel="phase (degrees)", ylim=(-185, 185), yticks=[-180, -90, 0, 90, 180])
axis.legend(title="baseline", loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
plt.show()

# %%
# From phases to the delay
# ------------------------
#
# A phase is known up to whole turns. Between neighbouring channels it changes by less than half a turn, so ``unwrap``
# follows it through the band. Its slope over ``2 pi f (i - j)`` is a first estimate of tau. No whole turn can disturb
# it.

cross = first > second
distance = (first - second)[cross]
phase = np.unwrap(np.angle(V[:, cross]), axis=0)
slope_by_f = phase - phase.mean(axis=0)
x = 2 * np.pi * (frequency - frequency.mean())[:, None] * distance
by_slope = (x * slope_by_f).sum() / (x**2).sum()

# %%
# The estimate is good enough to count the whole turns of each phase. With these turns, the formula has tau as its only
# unknown. Least squares find it.

x = 2 * np.pi * frequency[:, None] * distance
phase += 2 * np.pi * np.round((x * by_slope - phase) / (2 * np.pi))
by_phase = (x * phase).sum() / (x**2).sum()
rest = phase - x * by_phase

print(f"tau, from slopes  {by_slope * 1e9:.5f} ns")
print(f"tau, from phases  {by_phase * 1e9:.5f} ns")
print(f"tau, true         {tau * 1e9:.5f} ns")
print(f"angle             {np.degrees(np.arcsin(c * by_phase / spacing)):.4f} degrees; true: {angle}")

# %%
# The remaining phases are noise. With n samples and the coherence ``g = |V| / sqrt(V_ii V_jj)``, a phase has the
# variance ``(1 - g^2) / (2 n g^2)``. Here g is 1/2, because half of the power is noise.

expected = np.sqrt((1 - 0.5**2) / (2 * 1024 * 0.5**2))
print(f"deviation of a phase {np.degrees(rest.std()):.2f} degrees, expected {np.degrees(expected):.2f}")

figure, axis = plt.subplots(figsize=(6, 3), layout="constrained")
axis.hist(np.degrees(rest.ravel()), bins=80, density=True, color="tab:blue", alpha=0.6, label=f"{rest.size:,} phases")
t = np.linspace(-8, 8, 200)
width = np.degrees(expected)
axis.plot(t, np.exp(-((t / width) ** 2) / 2) / (np.sqrt(2 * np.pi) * width), color="black", label="expected")
axis.set(xlabel="phase less 2 pi f tau (i - j) (degrees)", xlim=(-8, 8))
axis.legend(frameon=False)
plt.show()

# %%
# Two sources
# -----------
#
# The second set has another source, 20 degrees west, with half the power. The visibilities of both sources add up:
#
# ``V_ij = exp(2 pi i f tau_1 (i - j)) + exp(2 pi i f tau_2 (i - j)) / 2``
#
# The unit is the power of the first source. The magnitude is large where the two phases agree, and small where they
# are opposed. No single tau explains these phases.

show(smallbatch.plot.correlation("visibilities.h5", "two_sources", order="length"))

# %%
# Larger jobs
# -----------
#
# The command ``run`` reads a file of any size block by block. Pictures need no script:
#
# ``python -m smallbatch.plot visibilities.h5 --set two_sources -o fringes.png``
#
# The command ``smallbatch export`` writes the visibilities as UVH5 for imaging programs. With
# ``smallbatch generate signal`` you make larger signals for trials.
