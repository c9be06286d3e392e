"""A box of the lab that looks like one whose GPU shares its memory: 121.7 GiB, an engine that takes its share, others.

/proc/meminfo is a file that a program in the box writes many times a second: what is left beside the others, the engine
(its whole share, from the moment its process is there) and a hog, whose real memory counts `SCALE` times. So the hog is
a real process that takes little of this machine. The driver's binding is a stand-in: totals it refuses to tell, as
GB10's does, and of processes what they hold.
"""

from __future__ import annotations

from tests.lab.box import Box
from tests.lab.waiting import wait_for

TOTAL, OTHERS, SCALE = 121.7, 22.0, 100
# Takes 8 MiB each twentieth of a second, up to a cap: the machine that the boxes are on must live.
HOG = """import sys, time
kept = []
for _ in range(int(sys.argv[1])):
    kept.append(bytearray(b"x" * (8 << 20)))
    time.sleep(0.05)
time.sleep(1000)
"""
MEMORY = """import json, os, subprocess, sys, time
unit, share, total, others, scale = sys.argv[1], *map(float, sys.argv[2:])
meminfo = os.open("/srv/meminfo", os.O_RDWR | os.O_CREAT)
least, pids, asked, told = total, {}, 0.0, None
while True:
    now = time.monotonic()
    if now - asked > 0.3:
        asked = now
        shown = subprocess.run(["systemctl", "show", "-p", "Id,MainPID", unit, "hog.service"], capture_output=True)
        rows = [dict(line.split("=") for line in block.split()) for block in shown.stdout.decode().split("\\n\\n")]
        pids = {row["Id"]: row["MainPID"] for row in rows if row.get("MainPID", "0") != "0"}
    taken = total * share if os.path.exists("/proc/" + pids.get(unit, "-")) else 0.0
    try:
        hog = int(open("/proc/" + pids.get("hog.service", "-") + "/statm").read().split()[1]) * 4096 / 2**30 * scale
    except OSError:
        hog = 0.0
    left = total - others - taken - hog
    least = min(least, left)
    text = "MemTotal: %12d kB\\nMemAvailable: %12d kB\\n" % (total * 2**20, max(0.0, left) * 2**20)
    os.pwrite(meminfo, text.encode(), 0)
    cards = {pids[unit]: int(taken * 2**30)} if taken else {}
    if cards != told:
        told = cards
        open("/srv/nvml.new", "w").write(json.dumps(cards))
        os.rename("/srv/nvml.new", "/srv/nvml.json")
    open("/srv/least", "w").write("%.2f" % least)
    time.sleep(0.02)
"""
BINDING = '''"""Stands in for the driver of a GPU that shares the box's memory."""
import json
from types import SimpleNamespace
class NVMLError(Exception): pass
def nvmlInit(): pass
def nvmlDeviceGetCount(): return 1
def nvmlDeviceGetHandleByIndex(index): return index
def nvmlDeviceGetMemoryInfo(card): raise NVMLError("Not Supported")
def nvmlDeviceGetComputeRunningProcesses(card):
    held = json.load(open("/srv/nvml.json"))
    return [SimpleNamespace(pid=int(pid), usedGpuMemory=size) for pid, size in held.items()]
'''


def make(box: Box, unit: str, share: float) -> None:
    """Make a box look so, with an engine that takes `share` when it runs, and let its guard see it."""
    box.put("/srv/memory.py", MEMORY)
    box.put("/srv/hog.py", HOG)
    (place,) = box.run(["sh", "-c", "echo /opt/floor/current/lib/python3*/site-packages"]).stdout.split()
    box.put(f"{place}/pynvml.py", BINDING)
    words = [unit, str(share), str(TOTAL), str(OTHERS), str(SCALE)]
    box.run(["systemd-run", "--unit=memory", "/usr/bin/python3", "/srv/memory.py", *words])
    wait_for("the file is there", lambda: box.run(["test", "-s", "/srv/nvml.json"], check=False).returncode == 0, 20)
    box.run(["mount", "--bind", "/srv/meminfo", "/proc/meminfo"])
    box.run(["systemctl", "restart", "floor-guard.service"])


def hog(box: Box, gib: float) -> None:
    """Start a process that takes so much of what the box shows, 15.6 GiB a second."""
    steps = str(round(gib * 1024 / SCALE / 8))
    box.run(["systemd-run", "--unit=hog", "--property=OOMScoreAdjust=1000", "/usr/bin/python3", "/srv/hog.py", steps])


def least(box: Box) -> float:
    """The least that was ever left, in GiB."""
    return float(box.read("/srv/least"))
