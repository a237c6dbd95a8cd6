"""Run times of jobs, their overheads, and their owners' estimates.

A run time is that of an undisturbed job, from the start of its slice to its end, including start-up and
checkpoint writes. Log-normal laws are assumptions: the papers give no run times.
"""

import math

from schemas.config.workload import WorkloadConfig
from schemas.limits import DURATION_US_MAX
from schemas.messages.jobs import JobTerms
from shared.basics.keyed_random import draw_lognormal, draw_normal, draw_uniform
from shared.basics.units import US_PER_S, to_whole_us

WORK_LEAST_US = 60 * US_PER_S
"""Minimum work of a job; start-up alone is not a run."""


def run_mean_h(config: WorkloadConfig, cubes: int) -> float:
    """Mean run time in hours of jobs with this number of cubes."""
    return config.duration_mean_h * math.pow(cubes, config.duration_growth)


def draw_run_us(seed: int, entity: str, number: int, mean_us: float, sigma: float) -> int:
    """Run time of one job in microseconds, at most a century."""
    drawn_us = draw_lognormal(seed, entity, "run time", number, mean_us, sigma)
    return min(to_whole_us(drawn_us, 1), DURATION_US_MAX)


def draw_terms(seed: int, entity: str, number: int, config: WorkloadConfig, work_us: int) -> JobTerms:
    """A job with this amount of work, with drawn costs of starts and checkpoints."""

    def draw_us(purpose: str, mean_s: int, least_us: int) -> int:
        mean_us = float(mean_s * US_PER_S)
        drawn_us = to_whole_us(
            draw_lognormal(seed, entity, purpose, number, mean_us, config.overhead_sigma), 1
        )
        return min(max(drawn_us, least_us), DURATION_US_MAX)

    return JobTerms(
        work_us=work_us,
        checkpoint_every_us=draw_us("checkpoint", config.checkpoint_every_s, US_PER_S),
        write_us=draw_us("write", config.checkpoint_write_s, 0),
        startup_us=draw_us("start-up", config.startup_s, 0),
        replicates=draw_uniform(seed, entity, "replicates", number) < config.replicates_share,
    )


def draw_terms_for(seed: int, entity: str, number: int, config: WorkloadConfig, run_us: int) -> JobTerms:
    """A job with this run time, to within one write: its work is the rest after start-up and writes."""
    terms = draw_terms(seed, entity, number, config, 1)
    every_us, write_us = terms.checkpoint_every_us, terms.write_us
    whole, rest_us = divmod(run_us - terms.startup_us, every_us + write_us)
    work_us = whole * every_us + max(0, rest_us - write_us)
    return terms.model_copy(update={"work_us": max(work_us, min(run_us, WORK_LEAST_US))})


def undisturbed_us(job: JobTerms) -> int:
    """Undisturbed run time of a job: start-up, work, and a write after every interval of work."""
    writes = -(-job.work_us // job.checkpoint_every_us)
    return job.startup_us + job.work_us + writes * job.write_us


def draw_estimate_us(seed: int, entity: str, number: int, run_us: int, config: WorkloadConfig) -> int:
    """The owner's estimate of one job's run time in microseconds.

    That estimates are inaccurate is known (Lee et al., JSSPP 2004; Tsafrir et al., JSSPP 2005). The
    log-normal factor, and that many estimates are too short, are our assumptions.
    """
    log_error = config.estimate_sigma * draw_normal(seed, entity, "estimate", number)
    factor = config.estimate_median * math.exp(log_error)
    return min(to_whole_us(run_us * factor, 1), DURATION_US_MAX)
