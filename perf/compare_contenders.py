# SPDX-License-Identifier: Apache-2.0
"""Who takes part in perf/compare: ringcomm's programs, MPI programs under each MPI library, and the machine's limits."""

import dataclasses
import pathlib


@dataclasses.dataclass(frozen=True)
class Contender:
    name: str
    program: str
    arguments: tuple = ()
    launcher: tuple = ()
    environment: dict = dataclasses.field(default_factory=dict)
    is_extra: bool = False  # left out by --quick: another of the same kind takes part

    def command(self, folder):
        return [*self.launcher, str(pathlib.Path(folder) / self.program), *self.arguments]

    def text(self, folder):
        return " ".join([f"{key}={value}" for key, value in self.environment.items()] + self.command(folder))


OPEN_MPI = ("mpirun", "--oversubscribe", "--bind-to", "none")
UCX_SHM = {"UCX_TLS": "self,posix,cma"}  # shared memory, and copies by process_vm_readv
UCX_TCP = {"UCX_TLS": "self,tcp", "UCX_NET_DEVICES": "lo"}
# name: (prefix of its programs, launcher before -n, environment); Open MPI takes UCX without a Mellanox device only so.
LIBRARIES = {
    "Open MPI vader": ("mpi", (*OPEN_MPI, "--mca", "pml", "ob1", "--mca", "btl", "self,vader"), {}),
    "Open MPI UCX": ("mpi", (*OPEN_MPI, "--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any", "--mca", "pml_ucx_devices", "any",
                             "-x", "UCX_TLS"), UCX_SHM),
    "MPICH": ("mpich", ("mpiexec.mpich", "-launcher", "fork"), UCX_SHM),
    "Open MPI tcp": ("mpi", (*OPEN_MPI, "--mca", "pml", "ob1", "--mca", "btl", "self,tcp", "--mca", "btl_tcp_if_include", "lo"), {}),
}
SHARED_MEMORY = ("Open MPI vader", "Open MPI UCX", "MPICH")
RING = {"MPI_Sendrecv": "ring_sendrecv", "MPI persistent": "ring_persistent"}
SOFTMAX = {"3 x MPI_Allreduce": "softmax_three", "MPI_Op": "softmax_user_op", "MPI_Allgather + merge": "softmax_gather"}


def mpi(form, program, ranks, arguments=(), libraries=SHARED_MEMORY, quick_libraries=1):
    """One contender for each MPI library; --quick keeps the first `quick_libraries`."""
    found = []
    for index, library in enumerate(libraries):
        prefix, launcher, environment = LIBRARIES[library]
        found.append(Contender(f"{library}, {form}", f"{prefix}-{program}", tuple(arguments), (*launcher, "-n", str(ranks)), environment,
                               is_extra=index >= quick_libraries))
    return found


def ours(name, operation, *arguments, ranks=2, transport="shm", environment=None):
    return Contender(f"ringcomm, {name}", "ringcomm-perf",
                     (operation, "--procs", str(ranks), "--serve", "--transport", transport, *arguments), (), environment or {})


def limit(kind, threads, **more):
    return Contender(f"{kind} x {threads}", "ringcomm-host-limits", (kind, str(threads)), **more)


def raw_ucx(way, environment):
    return Contender(f"raw UCX, {way}", "ringcomm-raw-ucx", environment=environment)


def names(contenders, ending=""):
    return [one.name for one in contenders if one.name.endswith(ending)]


def side(contenders, field="us"):
    """What a goal compares: [(contender, field)]."""
    return tuple((one if isinstance(one, str) else one.name, field) for one in contenders)
