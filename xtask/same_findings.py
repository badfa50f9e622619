#!/usr/bin/env python3
"""Holds the findings of two builds of lbolt against each other: a change of the house may change names, no number.

    python3 xtask/same_findings.py OLD_LBOLT NEW_LBOLT [FOLDER_OF_TRACES…]

Both run the same commands: every imported fixture (and trace of the folders) through import, response and
simulate, the papers' tables, modelled machines, and records that the old build kept, as the new one reads
them. Findings must be equal in subject, quantity, unit, value, interval, count, method and verdict. What
was renamed since stands in RENAMED; what else may differ, with its cause, in EXPECTED. Exit code 1 where
anything else differs. Measurements of this machine are not compared: two builds never measure the same.
"""
import collections, json, os, re, subprocess, sys, tempfile

FIXTURES = "crates/formats/tests/import/fixtures"
MODEL = "generic-7200rpm"
KEPT_TRACES = ("msr.csv", "blkparse.txt")
# What `method` said, of an interval before the column `interval` did, and in other words.
METHODS = [
    (
        re.compile(r"; (?:the interval spans|over) (\d+) draws(?: of the model's uncertain numbers)?"),
        r"; over \1 samples of parameters",
    ),
    (re.compile(r"\bsoak loops\b"), "idle-priority loops"),
    (re.compile(r"^answers by their response"), "completions by their response"),
    (re.compile(r"^rows that were answered"), "rows that were completed"),
    (re.compile(r"where these are not told"), "where these are not known"),
    (re.compile(r"without anything beside them"), "with nothing else running"),
    (re.compile(r"of passes beside which"), "of passes during which"),
]
# In other forms before and after: only whether there is a doubt is compared.
FORMS = ("subject", "quantity", "doubts", "reason", "interval", "remarks")
# A word of the old build's, and the new one's: keys of subjects, values of them, quantities.
RENAMED = {
    "cpu_bill_percent": "cpu_total_percent",
    "cpu_bill_operation_ns": "cpu_total_operation_ns",
    "operation_cpu_own_ns": "operation_cpu_thread_ns",
    "operation_cpu_soak_ns": "operation_cpu_idle_load_ns",
    "bill_difference_ratio": "cpu_total_difference_ratio",
    "bill_soak_ratio": "cpu_total_idle_load_ratio",
    "bill_trace_ratio": "cpu_total_trace_ratio",
    "operation_beside_ratio": "operation_other_requests_ratio",
    "kernel_answered_count": "kernel_completed_count",
    "answered_count": "completed_count",
    "asked_count": "requested_count",
    "asked_bytes": "requested_bytes",
    "asked_per_s": "requested_per_s",
    # Accounts of CPU time.
    "own": "thread",
    "soak": "idle-load",
}
# A quantity's ending, how far its value may be off relatively, and why.
EXPECTED = [("mean_ns", 1e-13, "a sum beyond 2^53 is exact since it is kept as an integer")]


def renamed(word):
    return RENAMED.get(word, word)


def run(binary, arguments, directory):
    done = subprocess.run([binary, *arguments], capture_output=True, text=True, cwd=directory)
    return done.returncode, done.stdout, done.stderr


def findings(text):
    """By subject and quantity: what is compared. None where the command printed no JSON."""
    try:
        printed = json.loads(text)
    except ValueError:
        return None
    listed = printed["comparisons"] if "comparisons" in printed else printed["findings"]
    found = collections.defaultdict(list)
    for finding in listed:
        subject = finding["subject"]
        subject = json.loads(subject) if isinstance(subject, str) else subject
        key = tuple(sorted((renamed(k), renamed("none" if v is None else str(v))) for k, v in subject.items()))
        kept = {name: value for name, value in finding.items() if name not in FORMS}
        for before, after in METHODS:
            kept["method"] = before.sub(after, kept["method"])
        # Why there is none was part of the method; it is a doubt now, whose values are its numbers.
        reason = re.match(r"none: .", kept["method"])
        kept["method"] = "none" if reason else kept["method"]
        kept["is doubted"] = bool(reason or finding.get("doubts") or finding.get("reason"))
        found[key, renamed(finding["quantity"])].append(kept)
    return found


def is_expected(quantity, old, new):
    """Equal but for values that a change of EXPECTED moves by no more than it says."""
    for ending, most, _ in EXPECTED:
        moved = [name for name in old if old[name] != new[name]]
        if quantity.endswith(ending) and all(
            name in ("value", "low", "high") and abs(old[name] - new[name]) <= most * abs(old[name])
            for name in moved
        ):
            return True
    return False


def differences(old, new):
    for key in sorted(old.keys() | new.keys()):
        if old.get(key) == new.get(key):
            continue
        pairs = list(zip(old.get(key, []), new.get(key, [])))
        is_whole = len(old.get(key, [])) == len(new.get(key, []))
        if is_whole and all(a == b or is_expected(key[1], a, b) for a, b in pairs):
            yield "expected", key, pairs
        else:
            yield "DIFFERS", key, (old.get(key), new.get(key))


def traces(folders):
    for folder in folders:
        for name in sorted(os.listdir(folder)):
            path = os.path.abspath(os.path.join(folder, name))
            files = [path] if os.path.isfile(path) else sorted(os.path.join(path, f) for f in os.listdir(path))
            yield name, files


def commands(folders, kept):
    """A name, and the arguments."""
    json_ = ["--format", "json"]
    for paper, more in (("1980", []), ("1983", ["--seeds", "2"]), ("1986", ["--seeds", "2"])):
        yield f"papers {paper}", ["papers", paper, *more, *json_]
    for machine in ("vax780-sc780-eagle", "vax750-uda50-ra81"):
        yield f"throughput {machine}", ["throughput", f"model:{machine}", *json_, "--output", "{out}"]
    yield "overhead", ["overhead", "model:cray1-ctss-dd19", *json_, "--output", "{out}"]
    for name, files in traces([FIXTURES, *folders]):
        yield f"import {name}", ["import", *files, *json_, "--output", "{out}"]
        yield f"response {name}", ["response", *files, *json_]
        simulate = ["simulate", *files, "--model", MODEL, "--draws", "1", *json_, "--output", "{out}"]
        yield f"simulate {name}", simulate
    for name, directory in kept.items():
        if name in KEPT_TRACES:
            yield f"response of the kept {name}", ["response", directory, *json_]
    for experiment in ("throughput", "overhead", "model"):
        runs = [d for name, d in kept.items() if name.startswith(experiment)]
        across = [word for what in ("machine", "plan") for word in ("--across", what)]
        yield f"compare kept {experiment}", ["compare", *runs, *json_, *across]


def records(old, directory):
    """Runs that the old build keeps, which the new one must read."""
    kept = {}
    making = {name: ["import", os.path.abspath(f"{FIXTURES}/{name}")] for name in KEPT_TRACES}
    for machine in ("vax780-sc780-eagle", "vax780-uda50-ra81"):
        making[f"model {machine}"] = ["throughput", f"model:{machine}"]
    for number in "12":
        quick = [directory, "--size", "4m", "--runs", "4"]
        making[f"throughput {number}"] = ["throughput", *quick, "--rw", "rewrite", "--bs", "64k"]
        making[f"overhead {number}"] = ["overhead", *quick, "--ioengine", "psync", "--runtime", "50ms"]
    for name, arguments in making.items():
        kept[name] = os.path.join(directory, f"kept-{name}")
        code, _, error = run(old, [*arguments, "--output", kept[name]], directory)
        if code:
            sys.exit(f"the old build keeps no {name}: {error[-500:]}")
    return kept


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    old, new = (os.path.abspath(binary) for binary in sys.argv[1:3])
    total, bad = collections.Counter(), 0
    with tempfile.TemporaryDirectory() as directory:
        for name, arguments in commands(sys.argv[3:], records(old, directory)):
            told = []
            for side, binary in (("old", old), ("new", new)):
                out = os.path.join(directory, f"{side}-{total['commands']}")
                told.append(run(binary, [a.replace("{out}", out) for a in arguments], directory))
            total["commands"] += 1
            (code, text, error), (code_new, text_new, error_new) = told
            a, b = findings(text), findings(text_new)
            if code != code_new or (a is None) != (b is None):
                bad += 1
                print(f"DIFFERS {name}: exit {code} and {code_new}\n  {error[-300:]}\n  {error_new[-300:]}")
                continue
            if a is None:
                total["refused by both"] += 1
                print(f"refused by both: {name}: {error.strip()[:120]}")
                continue
            total["findings"] += sum(map(len, a.values()))
            for kind, key, what in differences(a, b):
                total[kind] += 1
                if kind == "DIFFERS":
                    bad += 1
                    print(f"DIFFERS {name}: {key}\n  old {what[0]}\n  new {what[1]}")
    print(", ".join(f"{count} {what}" for what, count in total.items()))
    for ending, most, why in EXPECTED:
        print(f"expected: …{ending} within {most:g}: {why}")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
