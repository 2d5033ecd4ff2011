"""Recorded results, one of each kind, for the gallery and the snapshots in the tests."""

from __future__ import annotations

from nacre.result import (
    Cancelled,
    Captured,
    Exited,
    Killed,
    Lost,
    NotStarted,
    Outcome,
    OverLimit,
    Process,
    Refused,
    Result,
    Running,
    Signalled,
    Spill,
    TaskRef,
    TimedOut,
)
from nacre.tasks.store.task import Task
from nacre.verdict import ApprovalInput, ApprovalRequest, Decision, Finding, Verdict

HOME = "/home/ada/shop"


def _result(
    command: str,
    outcome: Outcome,
    out: str = "",
    err: str = "",
    *,
    took: float,
    warned: str = "",
    dropped: int = 0,
    notes: tuple[str, ...] = (),
    task: TaskRef | None = None,
    spill: Spill | None = None,
) -> Result:
    """Build a result. `warned` is what stderr printed before stdout; `err`, after it."""
    return Result(
        command=command,
        cwd=HOME,
        outcome=outcome,
        out=_part(out, dropped),
        err=_part(warned + err),
        both=_part(warned + out + err, dropped),
        duration=took,
        pid=4711,
        notes=notes,
        task=task,
        spill=spill,
    )


def _part(text: str, dropped: int = 0) -> Captured:
    data = text.encode()
    if not dropped:
        return Captured(head=data, total_bytes=len(data))
    middle = data.index(b"\n", len(data) // 2) + 1
    return Captured(head=data[:middle], tail=data[middle:], total_bytes=len(data) + dropped, dropped_bytes=dropped)


BUILD = _result(
    f"cd {HOME} && npm run build",
    Exited(0),
    """\
> shop@1.0.0 build
> tsc && vite build

vite v5.4.2 building for production...
✓ 1284 modules transformed.
dist/index.html                  0.46 kB
dist/assets/index-BfW2c9x1.css  14.21 kB
dist/assets/index-D3qT8mPk.js  182.90 kB
✓ built in 3.81s
""",
    took=4.213,
)
TESTS = _result(
    "pytest -q",
    Exited(1),
    """\
F...................                                     [100%]
=========================== FAILURES ===========================
_____________________ test_total_with_tax ______________________

    def test_total_with_tax() -> None:
>       assert total([10, 5], tax=0.19) == 17.85
E       assert 17.849999999999998 == 17.85
E        +  where 17.849999999999998 = total([10, 5], tax=0.19)

tests/test_total.py:12: AssertionError
=================== short test summary info ====================
FAILED tests/test_total.py::test_total_with_tax - assert 17.8...
1 failed, 19 passed in 0.31s
""",
    warned="warning: `tests/data` is not writable, no cache is kept\n",
    took=0.624,
)
TRACEBACK = _result(
    "python manage.py migrate orders",
    Exited(1),
    "Applying orders.0007_totals...\n",
    """\
Traceback (most recent call last):
  File "/home/ada/shop/manage.py", line 22, in <module>
    main()
  File "/home/ada/shop/orders/totals.py", line 48, in recount
    rate = RATES[order.country]
           ~~~~~^^^^^^^^^^^^^^^
KeyError: 'XK'
""",
    took=1.31,
)
TRACEBACK_MERGED = _result(
    "python manage.py migrate orders 2>&1",
    Exited(1),
    (TRACEBACK.both.head).decode(),
    took=1.31,
)
JSON = _result(
    "curl -s localhost:8000/api/orders/17 | jq .",
    Exited(0),
    """\
{
  "id": 17,
  "customer": "Ada Lovelace",
  "paid": true,
  "discount": null,
  "items": [
    {"sku": "TEA-01", "count": 2, "price": 4.5},
    {"sku": "CUP-07", "count": 1, "price": 12.0}
  ]
}
""",
    took=0.088,
)
DIFF = _result(
    "git --no-pager diff",
    Exited(0),
    """\
diff --git a/orders/totals.py b/orders/totals.py
index 3f9c2a1..8d41b07 100644
--- a/orders/totals.py
+++ b/orders/totals.py
@@ -45,5 +45,5 @@ def recount(order: Order) -> Decimal:
     net = sum(each.price * each.count for each in order)
-    rate = RATES[order.country]
+    rate = RATES.get(order.country, STANDARD)
     return round(net * (1 + rate), 2)
""",
    took=0.021,
)
LOG = _result(
    "tail -6 var/app.log",
    Exited(0),
    """\
2026-03-01 10:00:00,104 INFO  worker started pid=812
2026-03-01 10:00:01,377 DEBUG queue=orders depth=3
2026-03-01 10:00:04,002 WARNING retrying payment order=17
2026-03-01 10:00:09,518 ERROR payment failed: card declined
2026-03-01 10:00:09,519 INFO  order=17 parked
2026-03-01 10:00:10,000 INFO  queue=orders depth=2
""",
    took=0.006,
)
XML = _result(
    "cat pom.xml",
    Exited(0),
    """\
<?xml version="1.0" encoding="UTF-8"?>
<project>
  <!-- the shop -->
  <artifactId>shop</artifactId>
  <dependency scope="test">
    <groupId>org.junit</groupId>
  </dependency>
</project>
""",
    took=0.004,
)
YAML = _result(
    "cat compose.yaml",
    Exited(0),
    """\
services:
  web:
    image: "shop:1.0"
    ports:
      - 8000
    restart: true   # always
  db:
    image: "postgres:16"
volumes:
  data:
""",
    took=0.004,
)
TRUNCATED = _result(
    "cat var/large-file.log",
    Exited(0),
    "".join(f"[2026-01-15 10:{n // 60:02}:{n % 60:02}] Request {n:,} completed\n" for n in range(640)),
    dropped=1_045_678,
    took=0.112,
    spill=Spill("/tmp/nacre-0/bash-3f9c2a17.log", 1_070_488, True),
)
TASK = TaskRef("bash-3f9c2a17", 4711, 4711, "/home/ada/.local/state/nacre/tasks/bash-3f9c2a17/output.log")
BACKGROUND = _result("npm test", Running("bash-3f9c2a17"), task=TASK, took=0.0)
PROMOTED = _result(
    "make -j8 all",
    Running("bash-3f9c2a17", promoted=True),
    "cc -c src/order.c\ncc -c src/total.c\n",
    took=20.0,
    task=TASK,
    notes=("Not done after 20 s: it goes on as bash-3f9c2a17.",),
)
INSTALL = _result(
    "npm install",
    Exited(0),
    "added 1 package in 1s\nadded 50 packages in 5s\nadded 200 packages in 15s\nadded 523 packages in 32s\n",
    took=32.4,
)
BLOCKED = _result(
    "sudo bash -c 'rm -rf /'",
    Refused(
        "rm-root-or-home",
        "`rm -rf /` would delete the whole file system",
        "name the one directory that has to go, as in `rm -rf ./build`",
    ),
    took=0.0,
)
BLOCKED_LONG = _result(
    f"cd {HOME} && git fetch --all --prune --tags && git rebase --autostash origin/main "
    "&& git push --force origin HEAD:refs/heads/main --follow-tags",
    Refused(
        "git-push-force",
        "`git push --force origin HEAD:refs/heads/main --follow-tags` overwrites the remote branch: commits that "
        "others pushed there would be lost",
        "`git push --force-with-lease`, which stops if the remote has moved",
    ),
    took=0.0,
)
TIMED_OUT = _result(
    "npx create-shop",
    TimedOut(30.0),
    "Need to install the following packages:\n  create-shop@2.1.0\nOk to proceed? (y)",
    took=30.02,
    notes=("No output for 28 s and nothing was computing; it may have been waiting for input.",),
)
KILLED = _result(
    "python -m http.server 8000", Killed("nacre kill"), "Serving HTTP on 0.0.0.0 port 8000 ...\n", took=754.0
)
LOST = _result("make world", Lost("its keeper was killed"), "building stage 1\n", took=12.0)
OVER = _result("python train.py", OverLimit("memory", 2 * 2**30, 2.04 * 2**30), "epoch 1\n", took=41.7)
CRASHED = _result("./parse corpus.bin", Signalled(11), err="Segmentation fault\n", took=0.31)
CANCELLED = _result("make -j8 all", Cancelled(), "cc -c src/order.c\n", took=3.2)
NOT_STARTED = _result(
    "npm test",
    NotStarted(
        "Argument list too long", "The environment or the command is too large for this system; pass less in `env`."
    ),
    took=0.0,
)
BLOCKED_SCRIPT = _result(
    """\
cat > tidy.sh <<'EOF'
cd "$HOME"
rm -rf ~
EOF
bash tidy.sh""",
    Refused(
        "rm-root-or-home",
        "`rm -rf /home/ada` would delete the home directory",
        "name the one directory that has to go, as in `rm -rf ./build`",
    ),
    took=0.0,
)
ASKED = Verdict(
    Decision.ASK,
    (
        Finding(
            "git-reset-hard",
            Decision.ASK,
            14,
            29,
            "git reset --hard",
            "throws away every change that is not committed",
            "`git stash`, which keeps them",
            ("bash",),
        ),
    ),
    approval_request=ApprovalRequest(
        'npm run build\nbash -c "$TIDY"' + " " * 60 + "&& npm publish",
        HOME,
        (ApprovalInput("$TIDY", "git reset --hard; rm -rf dist", True),),
    ),
)
HOSTILE = _result(
    "echo hi" + " " * 400 + "; rm -rf src \u202e#gnp.sutats",
    Exited(0),
    "hi\n\x1b]52;c;aGk=\x07\x1b[2J\x1b]0;owned\x07access\u200b granted: \u202etxt.exe\n",
    took=0.01,
)
SCRIPT = _result(
    """\
set -e
mkdir -p build
cat > build/config.py <<'EOF'
DEBUG = True
HOST = 'localhost'
EOF
cd build
cmake -G Ninja -DCMAKE_BUILD_TYPE=Release ..
ninja
rm -rf ../dist
ninja install
""",
    Exited(0),
    "-- Configuring done\n[100%] Built target shop\n",
    took=8.8,
)
NOTHING = _result("true", Exited(0), took=0.003)


def _task(id: str, outcome: Outcome, command: str, duration: float, bytes: int, **more: object) -> Task:
    fields: dict[str, object] = {"state": "running" if isinstance(outcome, Running) else "ended", "cwd": HOME, **more}
    return Task(
        id=id,
        directory=f"/state/{id}",
        outcome=outcome,
        command=command,
        duration=duration,
        bytes=bytes,
        **fields,  # type: ignore[arg-type]
    )


TASKS = [
    _task("bash-3f9c2a17", Running("bash-3f9c2a17"), "npm test -- --watch", 754.0, 18_204, pid=4711, idle=3.1),
    _task("bash-81d0c6e2", Running("bash-81d0c6e2"), "python -m http.server 8000", 61.2, 1_310, pid=4802, idle=40.0),
    _task("bash-0b7e55a9", Exited(0), f"cd {HOME} && make -j8 all", 187.4, 2_411_092),
    _task("bash-9c41ff20", Exited(2), "pytest -q tests/slow", 33.9, 9_120, description="Run the slow tests"),
    _task("bash-d2a8b3c4", Killed("nacre kill"), "tail -f var/app.log", 3720.0, 77_120),
    _task("bash-5e6f7a8b", Lost("its keeper was killed"), "make world", 12.0, 120, state="lost"),
    _task("bash-1a2b3c4d", TimedOut(60), "sleep 600; \x1b[2J \u202e", 60.0, 0, running=(Process(99, 99, "sleep 600"),)),
]
