"""The one place where the services of a superpod meet."""

from services.cubes.service import SERVICE as CUBES
from services.failures.service import SERVICE as FAILURES
from services.ocs.service import SERVICE as OCS
from services.repairs.service import SERVICE as REPAIRS
from services.scheduler.service import SERVICE as SCHEDULER
from services.transceivers.service import SERVICE as TRANSCEIVERS
from services.workload.service import SERVICE as WORKLOAD
from shared.engine.service import AnyService

SUPERPOD: tuple[AnyService, ...] = (CUBES, FAILURES, OCS, REPAIRS, SCHEDULER, TRANSCEIVERS, WORKLOAD)
"""Every service of one superpod, in name order: the order in which they read a message."""
