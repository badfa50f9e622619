#!/usr/bin/env python3
"""Rezolus beside a command: rezolus.py CONFIG -- COMMAND...

COMMAND starts when Rezolus answers: its BPF programs are attached by then. Nobody reads Rezolus
while COMMAND runs. At SIGTERM both end, and how many reads Rezolus counted meanwhile is printed.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import tomllib
import urllib.request

PATIENCE_S = 8


def program():
    """The one that is installed, or else that of `make peers`."""
    built = os.environ.get("CARGO_TARGET_DIR") or os.path.join(sys.path[0], "../target")
    found = shutil.which("rezolus") or shutil.which("rezolus", path=f"{built}/peers/bin")
    return found or sys.exit("Rezolus is not installed; `make peers` installs it")


def reads(url):
    """How many reads it has counted, of all devices."""
    with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
        counters = json.load(answer)["counters"]
    is_reads = {"metric": "blockio_operations", "op": "read"}.items()
    return sum(one["value"] for one in counters if is_reads <= one["metadata"].items())


def first_reads(url, rezolus):
    """The same as soon as it answers."""
    begin = time.monotonic()
    while rezolus.poll() is None and time.monotonic() < begin + PATIENCE_S:
        try:
            return reads(url)
        except OSError:
            time.sleep(0.05)
    sys.exit(f"Rezolus does not answer at {url}")


def main(config, command):
    with open(config, "rb") as file:
        url = f"http://{tomllib.load(file)['general']['listen']}/metrics/json"
    # The signal goes to the whole group: Rezolus must outlive it until it is read.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    running = [subprocess.Popen([program(), config], stdout=sys.stderr)]
    try:
        before = first_reads(url, running[0])
        running.append(subprocess.Popen(command))
        signal.sigwait({signal.SIGTERM})
        print("reads", reads(url) - before)
    finally:
        for one in running:
            one.kill()
            one.wait()


main(sys.argv[1], sys.argv[3:])
