"""Being here puts this folder on the import path, so that tests can import `oracles` and `problems`."""

import gc
import os
import signal

import pytest
from hypothesis import settings

# A machine under load must not fail a property for its time.
settings.register_profile("nearer", deadline=None)
settings.load_profile("nearer")

# A shell that starts the tests in the background has ctrl-C ignored, by them and by all processes that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Clusters stand for minutes and are mostly idle: without a profiler and with a slower clock they take a quarter of the
# time that they would take from the tests beside them. Workers of this machine start with their libraries loaded.
for name, value in {
    "WORKER__PROFILE__ENABLED": "False",
    "ADMIN__TICK__INTERVAL": "500ms",
    "WORKER__MULTIPROCESSING_METHOD": "forkserver",
}.items():
    os.environ.setdefault(f"DASK_DISTRIBUTED__{name}", value)


# Long files come first: at the end one process would be left with them. The first of each row mostly waits, for
# browsers, servers and clusters, so that one of them at a time leaves both cores to the others.
LONG = (
    "test_dask_fit.py", "test_contract.py", "test_misreadings.py", "test_checkpoint.py",
    "test_collect_browser.py", "test_table1.py", "test_custom_loss.py", "test_bootstrap.py", "test_cli_interrupt.py",
    "test_collect_background.py", "test_golden.py", "test_dask_objective.py", "test_benchmarks.py", "test_cache.py",
    "test_report_browser.py", "test_fuzz.py", "test_processes.py", "test_agreement.py", "test_doubts.py",
    "test_collect_server.py", "test_plot_map.py", "test_learning.py", "test_reproduce.py",
    "test_io_hostile.py", "test_cli_fit.py", "test_estimator.py",
    "test_dask_connect.py", "test_sklearn_checks.py", "test_cli_maps.py", "test_comparisons.py",
    "test_collect_postgres.py", "test_docs.py", "test_kernels.py", "test_dimension.py", "test_dask_data.py",
    "test_report_browser_look.py", "test_io_refusals.py", "test_convex.py", "test_layers.py", "test_svrg.py",
    "test_collect_commands.py", "test_io_write.py", "test_faults.py", "test_docstrings.py",
)  # fmt: skip


def pytest_collection_modifyitems(items):
    place = {name: number for number, name in enumerate(LONG)}
    items.sort(key=lambda item: place.get(item.path.name, len(LONG)))


# What is imported stays: looking through it for garbage again and again takes a twentieth of the time.
gc.disable()


def pytest_collection_finish():
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="module")
def client_here():
    """A client of two workers in this process: for what is said and computed, not for how workers fare."""
    distributed = pytest.importorskip("distributed")
    options = {"processes": False, "protocol": "tcp", "host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, memory_limit="2GiB", **options) as cluster,
        distributed.Client(cluster, set_as_default=False) as connected,
    ):
        yield connected
