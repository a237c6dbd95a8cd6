"""Every number that the models had to assume because no paper gives it, each with its reason.

Numbers that a paper states are kept where they are used, with their source.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Assumption:
    """A named number that no paper gives.

    `unit` is written as in text, "" for none.
    """

    value: float
    unit: str
    reason: str


ASSUMPTIONS: dict[str, Assumption] = {
    "ocs_collimator_loss_db": Assumption(
        0.4,
        "dB",
        "a fibre array and lens array couple with a few tenths of a dB; two make half of the typical loss",
    ),
    "ocs_mirror_loss_db": Assumption(
        0.12, "dB", "median of a gold mirror near 1300 nm (0.1 dB) and its residual curvature and pointing"
    ),
    "ocs_mirror_loss_spread": Assumption(
        0.25,
        "",
        "logistic scale of the logarithm: the quarter of a die that is left out loses 1.4 times the median",
    ),
    "ocs_deflection_loss_db": Assumption(
        0.25,
        "dB",
        "a beam across the whole die meets both mirrors at a few degrees more: clipping and astigmatism",
    ),
    "ocs_splice_loss_db": Assumption(
        0.15, "dB", "mean of the splices and connectors of one port: the exponential tail of [LF] Figure 10"
    ),
    "ocs_splice_loss_max_db": Assumption(
        0.75, "dB", "a port that loses more is spliced again, which keeps every pair below the goal of 3 dB"
    ),
    "ocs_return_loss_spread_db": Assumption(
        1.3,
        "dB",
        "logistic scale: nine ports in ten between -50 and -42 dB, one in 500 reworked for the specification",
    ),
    "ocs_matrix_accuracy_db": Assumption(
        0.1,
        "dB",
        "of the factory's loss matrix, either way: a power meter, and its reference connector mated again",
    ),
    "laser_launch_dbm": Assumption(
        0.4,
        "dBm",
        "of a lane into the mux, up to 50 Gb/s; calibrated: a pod's worst pairing has two orders of margin",
    ),
    "laser_fast_launch_dbm": Assumption(
        1.0,
        "dBm",
        "of a lane of 100 Gb/s; calibrated with its receiver: such lanes have the same margin as others",
    ),
    "laser_extinction_db": Assumption(
        5.0, "dB", "an externally modulated laser, in the middle of what PAM4 modules have (3.5 to 6 dB)"
    ),
    "laser_intensity_noise_db_per_hz": Assumption(
        -147.0,
        "dB/Hz",
        "of a distributed-feedback laser over its average power, well within what transmitters may",
    ),
    "signal_to_distortion_db": Assumption(
        38.0,
        "dB",
        "outer swing over what transmitter and signal processing distort: a floor far below the outer code",
    ),
    "laser_extinction_sigma_db": Assumption(
        0.3, "dB", "of lanes about the design, set at the test station in steps of a quarter dB"
    ),
    "laser_launch_module_sigma_db": Assumption(0.25, "dB", "of modules about the design, cut at two sigmas"),
    "laser_launch_lane_sigma_db": Assumption(0.3, "dB", "of the lanes of a module, cut at two sigmas"),
    "laser_wavelength_sigma_nm": Assumption(
        1.3, "nm", "about the grid, cut at two sigmas; with the drift, lanes keep to their 13 nm of pass band"
    ),
    "laser_drift_nm_per_k": Assumption(0.1, "nm/K", "of a distributed-feedback laser that is not cooled"),
    "laser_chirp": Assumption(0.5, "", "of an electro-absorption modulator, in the width of its spectrum"),
    "directly_modulated_launch_db": Assumption(
        1.5, "dB", "more launched than with a modulator that absorbs, by a laser that is modulated itself"
    ),
    "directly_modulated_extinction_db": Assumption(
        4.0, "dB", "a laser must stay above threshold to be fast, so its lowest level stays high"
    ),
    "directly_modulated_chirp": Assumption(
        3.0, "", "of a distributed-feedback laser whose current is modulated, in the width of its spectrum"
    ),
    "mux_loss_db": Assumption(1.0, "dB", "a thin-film multiplexer of four wavelengths; its twin likewise"),
    "mux_bounce_loss_db": Assumption(
        0.1, "dB", "light of each further lane bounces once more off the filters of a multiplexer"
    ),
    "circulator_loss_db": Assumption(0.9, "dB", "one pass of an integrated circulator"),
    "circulator_crosstalk_db": Assumption(
        -50.0, "dB", "from transmitter to receiver of the same module, for bidirectional use"
    ),
    "circulator_return_db": Assumption(-50.0, "dB", "of the port to the fibre, as its lenses are coated"),
    "external_circulator_loss_db": Assumption(
        1.0, "dB", "one pass of a packaged circulator, with fibre at every port"
    ),
    "external_circulator_connector_db": Assumption(
        0.25, "dB", "of the connector between a module and its circulator, one pass"
    ),
    "external_circulator_crosstalk_db": Assumption(
        -45.0, "dB", "of circulators made for amplifiers, before those for bidirectional use ([LF] 3.3.1)"
    ),
    "connector_return_db": Assumption(-52.0, "dB", "angled connectors, all of one end taken together"),
    "dirt_return_db": Assumption(
        -27.0, "dB", "of what dirt takes out of the light: 3 dB of dirt reflect as badly as a port of -30 dB"
    ),
    "fibre_loss_db": Assumption(1.0, "dB", "both ends' fibre and connectors of one strand, without the OCS"),
    "fibre_length_km": Assumption(0.1, "km", "two runs through one hall; its loss is in the fibre's"),
    "fibre_zero_dispersion_nm": Assumption(1312.0, "nm", "the middle of what ITU-T G.652 allows"),
    "fibre_dispersion_slope": Assumption(0.092, "ps/nm²/km", "the most that ITU-T G.652 allows"),
    "receiver_responsivity_a_per_w": Assumption(0.8, "A/W", "a PIN photodiode behind its lens at 1300 nm"),
    "receiver_noise_pa_per_rthz": Assumption(
        40.0,
        "pA/√Hz",
        "amplifier, converter and what equalisation adds: -8.4 dBm at 50 Gb/s PAM4 and 2e-4, without MPI",
    ),
    "receiver_fast_noise_pa_per_rthz": Assumption(
        32.0,
        "pA/√Hz",
        "of a receiver made for 100 Gb/s; calibrated with its laser: such lanes have the margin of others",
    ),
    "receiver_sensitivity_sigma_db": Assumption(
        0.35, "dB", "of lanes about the design, cut at two sigmas: photodiode, its coupling, amplifier"
    ),
    "burst_error_ber": Assumption(
        1.3e-6,
        "",
        "errors left at any power, which no inner code corrects; calibrated: a pod's median "
        "pairing has two orders of margin",
    ),
    "burst_error_sigma_orders": Assumption(0.15, "", "of receivers about the design, cut at two sigmas"),
    "receiver_bandwidth": Assumption(0.7, "", "of the symbol rate"),
    "interference_overlap": Assumption(
        1.0, "", "of interfering light in the signal's polarisation: all of it, for which links are made"
    ),
    "mitigation_depth": Assumption(
        1.0, "", "of the tone of both carriers that the notch removes, once it has found its frequency"
    ),
    "mitigation_least_offset_ghz": Assumption(
        0.4, "GHz", "below it the tone lies among the signal's low frequencies, and no notch can separate it"
    ),
    "inner_decoder_loss_db": Assumption(
        0.35,
        "dB",
        "of Q, in 20 log, of a decoder of 20 ns; calibrated to the gain of 1.6 dB ([LF] Figure 12)",
    ),
    "connector_excess_least_db": Assumption(
        0.5, "dB", "loss of a dirty connector, drawn uniformly: visible, but takes no link down"
    ),
    "link_test_tolerance_db": Assumption(
        0.5, "dB", "combined error of a module's launch and receive readings and of the matrix"
    ),
    "connector_excess_most_db": Assumption(5.0, "dB", "enough to take any link down"),
    "throttled_speed": Assumption(
        0.5, "", "of full speed, of chips that protect themselves from heat: they halve their clock"
    ),
    "fibre_excess_least_db": Assumption(0.5, "dB", "loss of a bend, drawn uniformly like that of dirt"),
    "fibre_excess_most_db": Assumption(5.0, "dB", "the same as dirt"),
    "laser_wear_least_db": Assumption(1.0, "dB", "of launched power: the end of life in a laser's own terms"),
    "laser_wear_most_db": Assumption(6.0, "dB", "enough to take any link down"),
    "laser_wear_hidden_share": Assumption(
        0.5, "", "of a laser's wear-out is hidden by its power control, which raises the bias"
    ),
    "laser_wear_bias": Assumption(
        0.5, "", "of the bias of a new laser: reserve of the power control before the light falls"
    ),
    "laser_droop_db_per_k": Assumption(
        0.05, "dB/K", "an uncooled laser with its modulator, beyond what power control compensates"
    ),
    "receiver_wear_least_db": Assumption(
        1.0, "dB", "more light needed: less is within manufacturing variation"
    ),
    "receiver_wear_most_db": Assumption(6.0, "dB", "enough to take any link down"),
    "circulator_leak_least_db": Assumption(12.0, "dB", "a coating that comes off: -38 dB instead of -50 dB"),
    "circulator_leak_most_db": Assumption(25.0, "dB", "a circulator that no longer works"),
    "heat_least_k": Assumption(10.0, "K", "a fan or heat sink that has come loose: less is weather"),
    "heat_most_k": Assumption(35.0, "K", "where modules switch themselves off"),
    "flap_least_s": Assumption(0.1, "s", "outages of a loose contact, drawn log-uniformly"),
    "flap_most_s": Assumption(30.0, "s", "a few of them last"),
    "flap_interval_h": Assumption(2.0, "h", "mean time between the outages of a flapping link"),
    "calibration_error_least_db": Assumption(1.5, "dB", "beyond the scatter of sound modules"),
    "calibration_error_most_db": Assumption(4.0, "dB", "beyond what CMIS allows (3 dB)"),
    "late_least_min": Assumption(30.0, "min", "a collector that queues: less is a slow poll"),
    "late_most_min": Assumption(720.0, "min", "half a day behind, and unnoticed"),
    "mirror_drift_least_db": Assumption(0.5, "dB", "the same as dirt"),
    "mirror_drift_most_db": Assumption(5.0, "dB", "the same as dirt"),
    "shake_least_db": Assumption(0.3, "dB", "at each port: tenths of a dB show on all circuits at once"),
    "shake_most_db": Assumption(2.0, "dB", "at each port, so twice on a circuit"),
    "link_degraded_ber": Assumption(
        2e-5,
        "",
        "a tenth of what the outer code takes: no pairing of a pod as shipped is there, so it is a fault",
    ),
    "reading_rx_power_sigma_db": Assumption(
        0.5, "dB", "of receive power monitors as calibrated: CMIS allows 3 dB, modules keep to about 1 dB"
    ),
    "reading_tx_power_sigma_db": Assumption(
        0.5, "dB", "of transmit power monitors, as of those of receivers"
    ),
    "reading_temperature_sigma_k": Assumption(
        1.0, "K", "of the thermometers of modules: CMIS allows 3 °C, three times as much"
    ),
    "reading_power_noise_db": Assumption(
        0.05, "dB", "from one reading of optical power to the next: converter and averaging of a monitor"
    ),
    "reading_bias_noise": Assumption(0.002, "", "from one reading of the bias to the next, as a share of it"),
    "reading_temperature_noise_k": Assumption(0.1, "K", "from one reading of the temperature to the next"),
    "reading_supply_noise_v": Assumption(0.002, "V", "ripple of the supply at the moment of the reading"),
    "reading_snr_noise_db": Assumption(
        0.1, "dB", "of an estimate from the histogram at the slicer, over a second"
    ),
    "reading_mpi_noise_db": Assumption(
        0.5, "dB", "of an estimate from how the noise of the levels grows: small beside the other noise"
    ),
    "reading_mpi_floor_db": Assumption(
        -50.0, "dB", "lower values cannot be distinguished from the noise of the levels"
    ),
    "reading_window_s": Assumption(
        1.0, "s", "over which the decoder counts errors for one reading: 1e-6 to a percent, 1e-15 not at all"
    ),
    "cleaning_succeeds": Assumption(
        0.85, "", "of dirty connectors, at the first attempt: burnt-in dirt and scratches stay"
    ),
    "reseating_succeeds": Assumption(0.8, "", "of bent fibres and loose contacts, at the first attempt"),
    "cleaning_hands_on_min": Assumption(
        10.0, "min", "at the end of a cleaning: unplug, inspect, wipe, inspect again, plug in; without travel"
    ),
    "reseating_hands_on_min": Assumption(15.0, "min", "at the end of it: the fibre is laid again as well"),
    "replacing_hands_on_min": Assumption(
        20.0, "min", "at the end of it: the new module starts, and gets its wavelengths and firmware"
    ),
    "laser_ageing": Assumption(
        0.01, "1/year", "median of how much more bias a laser needs: half as much again, its end, in decades"
    ),
    "laser_ageing_sigma": Assumption(
        0.5, "", "of the logarithm, from laser to laser: one in a hundred ages three times as fast"
    ),
    "bias_baseline_days": Assumption(
        90.0, "d", "lag of a laser's baseline behind its ageing: the mean of half a year"
    ),
    "accepted_power_sigma_db": Assumption(
        0.05, "dB", "of the acceptance test that compares a module's monitors with a meter, mean of 4 lanes"
    ),
    "accepted_snr_sigma_db": Assumption(0.1, "dB", "of the SNR that the acceptance test predicts, as above"),
    "accepted_mpi_sigma_db": Assumption(
        0.2, "dB", "of the MPI that reflections as accepted predict: phases of the reflectors average out"
    ),
    "accepted_bias_sigma": Assumption(0.005, "", "of the bias at acceptance, mean of 8 lanes, as a share"),
    "accepted_temperature_sigma_k": Assumption(
        0.5, "K", "of how much warmer than the hall's mean a place is known to be"
    ),
    "laser_bias_ma": Assumption(60.0, "mA", "of a new externally modulated laser that is not cooled"),
    "laser_bias_at_c": Assumption(
        50.0, "°C", "the temperature of the case at which the design's bias counts"
    ),
    "laser_bias_per_k": Assumption(
        0.003, "1/K", "a warmer laser needs more current for the same light, which its power control gives"
    ),
    "laser_bias_sigma": Assumption(0.03, "", "of new lasers about the design, as a share of it"),
    "supply_v": Assumption(3.3, "V", "the supply of a module, as its form factors specify it"),
    "supply_rack_sigma_v": Assumption(0.01, "V", "of the racks' regulators about the design"),
    "supply_module_sigma_v": Assumption(0.005, "V", "of the drop from a rack's regulator to its modules"),
    "hall_temperature_c": Assumption(25.0, "°C", "of the air before the racks, in the mean of a year"),
    "hall_daily_swing_k": Assumption(
        1.5, "K", "of the hall's air, each way: cooling follows the day outside"
    ),
    "hall_weather_sigma_k": Assumption(1.5, "K", "of the hall's air from one day to another"),
    "rack_temperature_sigma_k": Assumption(1.5, "K", "of racks about their hall: some get less air"),
    "module_temperature_sigma_k": Assumption(1.5, "K", "of the places of modules in a rack"),
    "module_idle_rise_k": Assumption(10.0, "K", "of the case over the air, with its lasers on and no data"),
    "module_busy_rise_k": Assumption(
        15.0, "K", "more with a link: signal processing of 400 Gb/s takes some 5 W of the module's 10 W"
    ),
}
"""By name: noun first, unit last; in the order of the models."""


def assumed(name: str) -> float:
    return ASSUMPTIONS[name].value


def by_default(assumptions: Mapping[str, Assumption], name: str) -> float:
    """A dataclass field whose default is the value of an assumption."""
    return field(default=assumptions[name].value)
