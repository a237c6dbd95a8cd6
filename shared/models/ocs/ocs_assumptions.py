"""Assumptions about optical circuit switches: the camera loop, telemetry, and switching times without
mirrors.

Numbers that a paper states are kept where they are used, with their source.
"""

from shared.models.assumptions import Assumption

ASSUMPTIONS: dict[str, Assumption] = {
    "slew_ms": Assumption(
        4.0,
        "ms",
        "drivers shape the step to a few periods of a mirror of about 1 kHz: as long for any angle",
    ),
    "pointing_urad": Assumption(
        300.0,
        "µrad",
        "standard deviation of either tilt after a slew: 0.3 % of 0.1 rad, as tables of voltages age",
    ),
    "frame_ms": Assumption(1.0, "ms", "a thousand images a second, taken and worked out"),
    "camera_noise_urad": Assumption(
        10.0, "µrad", "standard deviation of a tilt as one image tells it: a twentieth of a pixel"
    ),
    "capture_urad": Assumption(
        1_050.0, "µrad", "how far off the light of a mirror is still known as its own, not its neighbour's"
    ),
    "gain": Assumption(
        0.6, "", "share of the error seen that a frame corrects: below 1, for images are noisy"
    ),
    "tolerance_urad": Assumption(
        40.0, "µrad", "either mirror's error as seen: 0.016 dB each, a tenth of what a splice loses"
    ),
    "frames": Assumption(20.0, "frames", "of one try: three times what a sound one takes"),
    "tries": Assumption(3.0, "tries", "the first and two more, each from another slew"),
    "stray_misses_least": Assumption(
        4.0, "misses", "in a row before a mirror may be given up: once when commanded, and thrice again"
    ),
    "stray_chance": Assumption(
        1e-6, "", "that a sound mirror misses so often: a pod has 13,056, and hardly one is given up wrongly"
    ),
    "alignments_kept": Assumption(
        512.0, "mirrors", "of an array by which one is judged: beyond, what was seen counts half"
    ),
    "pointing_loss_db_per_mrad2": Assumption(
        10.0,
        "dB/mrad²",
        "one mirror: a beam of 0.15 mm waist over 0.1 m meets its fibre aside and askew by twice the error",
    ),
    "drift_urad_per_rt_h": Assumption(
        12.0,
        "µrad/√h",
        "a mirror that no camera holds: charging and warmth take either tilt on a random walk; no more, or "
        "it would darken circuits for longer than the published availability of light allows",
    ),
    "drive_full_v": Assumption(
        100.0, "V", "for a beam across the whole die: what [LF] Table C.1 has for MEMS switches"
    ),
    "drive_mirror_sigma": Assumption(
        0.02, "", "of mirrors about that, as a share: springs and gaps scatter from one to the next"
    ),
    "drive_noise_v": Assumption(0.05, "V", "from one reading of an amplifier to the next"),
    "error_images": Assumption(
        100.0, "images", "over which the error of a mirror is read, root mean square, that tell something new"
    ),
    "error_mirror_sigma": Assumption(
        0.03, "", "of mirrors, as a share of what is read: how well the scale of an image is known there"
    ),
    "camera_snr_db": Assumption(
        26.0,
        "dB",
        "of a spot over the noise: a twentieth of a pixel, where an image errs by `camera_noise_urad`",
    ),
    "camera_snr_sigma_db": Assumption(0.3, "dB", "of cameras about that: lenses and how they were aligned"),
    "camera_snr_noise_db": Assumption(0.1, "dB", "from one reading to the next"),
    "monitor_power_dbm": Assumption(
        0.0, "dBm", "of a beam as it is injected: a milliwatt, as small lasers of 850 nm give"
    ),
    "monitor_power_sigma_db": Assumption(0.4, "dB", "of sources and their photodiodes about that"),
    "monitor_power_noise_db": Assumption(0.05, "dB", "from one reading to the next, as of modules"),
    "core_rise_k": Assumption(
        15.0,
        "K",
        "of the optical core over the inlet, by a whole chassis' watts with all fans; more with less air",
    ),
    "thermometer_sigma_k": Assumption(
        0.5, "K", "of sensors on boards: half of what those in modules are off by"
    ),
    "thermometer_noise_k": Assumption(0.1, "K", "from one reading to the next, as of modules"),
    "supply_v": Assumption(12.0, "V", "what servers and switches give their boards"),
    "supply_sigma_v": Assumption(0.05, "V", "of supplies as made: half a percent"),
    "supply_noise_v": Assumption(0.02, "V", "ripple at the moment of the reading"),
    "supply_share_sigma": Assumption(0.01, "", "of what two supplies share, either way"),
    "supply_noise_a": Assumption(
        0.03, "A", "from one reading to the next: drivers and camera draw now more, now less"
    ),
    "fan_rpm": Assumption(6_000.0, "1/min", "of fans of 80 mm at the speed at which they run all day"),
    "fan_sigma_rpm": Assumption(60.0, "1/min", "of fans as made: a percent"),
    "fan_noise_rpm": Assumption(30.0, "1/min", "from one reading to the next"),
    "piezo_ms": Assumption(10.0, "ms", "actuators with position sensors of their own; the table says ms"),
    "robotic_s": Assumption(
        60.0, "s", "a robot unplugs, carries, cleans and plugs a fibre: the table says minutes"
    ),
    "solid_state_ns": Assumption(
        10.0, "ns", "guided wave and wavelength: the table says ns; the twin's clock shows a microsecond"
    ),
}
"""By name, unit last."""


def assumed(name: str) -> float:
    return ASSUMPTIONS[name].value
