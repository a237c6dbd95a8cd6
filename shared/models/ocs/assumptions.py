"""What no paper gives of an optical circuit switch: the camera loop of its mirrors, and how long technologies
without mirrors take.

A number that a paper states stands where it is used, with its source; only assumptions stand here.
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
    "pointing_loss_db_per_mrad2": Assumption(
        10.0,
        "dB/mrad²",
        "one mirror: a beam of 0.15 mm waist over 0.1 m meets its fibre aside and askew by twice the error",
    ),
    "drift_urad_per_rt_h": Assumption(
        60.0,
        "µrad/√h",
        "a mirror that no camera holds: dielectric charging and warmth take either tilt on a random walk",
    ),
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
    """The value of an assumption."""
    return ASSUMPTIONS[name].value
