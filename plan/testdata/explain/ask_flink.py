#!/usr/bin/env python3
"""Asks Flink for the plans of the files in this folder: x.sql -> x.flink.

    test/peer/with_peers.sh flink -- python3 plan/testdata/explain/ask_flink.py

No Kafka is needed: nothing is run. Only the Python standard library is used.
"""
import glob, os, re, sys, time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../../test/peer"))
import run_sql


def statements(text):
    """The statements of a file; a statement set is one."""
    out, current, within = [], "", False
    for line in re.sub(r"(?m)^--.*\n", "", text).split("\n"):
        line = re.sub(r"\s+--.*", "", line)
        current += line + "\n"
        within = (within or "STATEMENT SET BEGIN" in line) and line.strip() != "END;"
        if line.rstrip().endswith(";") and not within:
            out.append(current.strip())
            current = ""
    return out


def main():
    while True:
        try:
            run_sql.Gateway().close()
            break
        except OSError:
            time.sleep(1)
    for name in sorted(glob.glob(HERE + "/*.sql")):
        with open(name) as f:
            gateway, plans = run_sql.Gateway(), []
            for s in statements(f.read()):
                rows = gateway.execute(s)
                if s.startswith("EXPLAIN"):
                    plans.append(rows[0][0].rstrip("\n"))
            gateway.close()
        with open(name[:-4] + ".flink", "w") as f:
            f.write("\n\n".join(plans) + "\n")


if __name__ == "__main__":
    main()
