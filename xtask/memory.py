#!/usr/bin/env python3
"""The memory of a watch over hours, beside two roles at a steady rate and bursts at full speed, as CSV
and as a picture. It needs root and fio; the device is a loop device in memory.

    python3 xtask/memory.py LBOLT SECONDS OUT.csv      measures
    python3 xtask/memory.py draw OUT.csv OUT.svg       draws
"""
import csv
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

EVERY_S = 20
BURST_EACH_S, BURST_S = 1200, 20
READS_PER_S, WRITES_PER_S = 12500, 7500


def load(program, device, *options):
    words = [program, "--thread", "--name=a", f"--filename={device}", "--bs=4k", "--direct=1"]
    words += ["--ioengine=libaio", "--size=256m", "--time_based", "--output=/dev/null"]
    return subprocess.Popen([*words, *options])


def processes_of(watch):
    """The watch and its parts."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                parent = int(file.read().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
        if watch in (int(name), parent):
            yield name


def kib(process, field):
    try:
        with open(f"/proc/{process}/smaps_rollup") as file:
            return sum(int(line.split()[1]) for line in file if line.startswith(field))
    except OSError:
        return 0


def completed(device):
    with open(f"/sys/class/block/{os.path.basename(device)}/stat") as file:
        words = file.read().split()
    return int(words[0]) + int(words[4])


def measure(lbolt, seconds, out):
    at = tempfile.mkdtemp()
    image = tempfile.NamedTemporaryFile(dir="/dev/shm")
    image.truncate(300 << 20)
    device = subprocess.check_output(["losetup", "-f", "--show", image.name], text=True).strip()
    backup = shutil.copy(shutil.which("fio"), f"{at}/backup")
    steady = ["--iodepth=8", f"--runtime={seconds + 60}"]
    running = [
        load("fio", device, "--rw=randread", f"--rate_iops={READS_PER_S}", *steady),
        load(backup, device, "--rw=randwrite", f"--rate_iops={WRITES_PER_S}", *steady),
    ]
    watch = subprocess.Popen([lbolt, "watch", "-d", device, f"{at}/history"])
    begin, bursts = time.monotonic(), 0
    try:
        with open(out, "w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["s", "pss_kib", "anonymous_kib", "requests", "bursts"])
            while time.monotonic() < begin + seconds and watch.poll() is None:
                passed = time.monotonic() - begin
                if passed > (bursts + 1) * BURST_EACH_S:
                    bursts += 1
                    burst = [f"--runtime={BURST_S}", "--iodepth=16", "--rw=randread"]
                    running.append(load("fio", device, *burst))
                parts = list(processes_of(watch.pid))
                fields = ("Pss:", "Pss_Anon:")
                memory = [sum(kib(part, field) for part in parts) for field in fields]
                rows.writerow([int(passed), *memory, completed(device), bursts])
                file.flush()
                time.sleep(EVERY_S)
    finally:
        watch.send_signal(signal.SIGINT)
        watch.wait()
        for one in running:
            one.kill()
            one.wait()
        subprocess.run(["losetup", "-d", device], check=True)
        shutil.rmtree(at)


WIDTH, HEIGHT, LEFT, TOP, BELOW = 900, 320, 60, 40, 40


def draw(table, out):
    with open(table, newline="") as file:
        rows = [{key: int(value) for key, value in row.items()} for row in csv.DictReader(file)]
    hours = rows[-1]["s"] / 3600
    most = 1 + max(row["pss_kib"] for row in rows) // 10240
    x = lambda s: LEFT + (WIDTH - LEFT - 20) * s / rows[-1]["s"]
    y = lambda mib: HEIGHT - BELOW - (HEIGHT - TOP - BELOW) * mib / (most * 10)
    text = lambda at, words, anchor="start": (
        f'<text x="{at[0]:.0f}" y="{at[1]:.0f}" text-anchor="{anchor}">{words}</text>'
    )
    rate = (rows[-1]["requests"] - rows[0]["requests"]) / rows[-1]["s"]
    title = f"Memory of a watch, MiB: {rate:,.0f} requests/s for {hours:.1f} h, bursts dotted"
    parts = [text((LEFT, 22), title)]
    for tens in range(most + 1):
        parts.append(f'<path d="M{LEFT} {y(tens * 10):.1f}H{WIDTH - 20}" stroke="#ddd"/>')
        parts.append(text((LEFT - 8, y(tens * 10) + 4), tens * 10, "end"))
    for minutes in range(0, rows[-1]["s"] // 60 + 1, 20):
        parts.append(text((x(minutes * 60), HEIGHT - 16), f"{minutes} min", "middle"))
    for before, row in zip(rows, rows[1:]):
        if row["bursts"] > before["bursts"]:
            at = x(row["s"])
            dotted = 'stroke="#888" stroke-dasharray="2 4"'
            parts.append(f'<path d="M{at:.1f} {TOP}V{HEIGHT - BELOW}" {dotted}/>')
    lines = [("pss_kib", "#0b62a4", "PSS"), ("anonymous_kib", "#b3541e", "its own pages")]
    for field, colour, name in filter(lambda line: line[0] in rows[0], lines):
        points = " ".join(f"{x(row['s']):.1f},{y(row[field] / 1024):.1f}" for row in rows)
        line = f'fill="none" stroke="{colour}" stroke-width="1.5"'
        parts.append(f'<polyline points="{points}" {line}/>')
        last = (WIDTH - 24, y(rows[-1][field] / 1024) - 8)
        parts.append(text(last, name, "end").replace("<text", f'<text fill="{colour}"'))
    with open(out, "w") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" ')
        file.write('font-family="sans-serif" font-size="13">')
        file.write(f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>')
        file.write("\n".join(parts) + "</svg>\n")


if sys.argv[1] == "draw":
    draw(*sys.argv[2:])
else:
    measure(sys.argv[1], int(sys.argv[2]), sys.argv[3])
