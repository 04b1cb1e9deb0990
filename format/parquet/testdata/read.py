"""Prints the cells of Parquet files as DuckDB and as pyarrow read them, one row a line, in a form that no reader's taste changes.

read.py duckdb|pyarrow FILE: integers as they are, floats in hexadecimal, decimals as text, bytes and strings in hexadecimal, dates in days,
times in milliseconds, timestamps in microseconds since 1970.
"""
import datetime
import decimal
import sys

EPOCH = datetime.datetime(1970, 1, 1)


def show(v):
    if v is None:
        return "null"
    if isinstance(v, bool):
        return str(v).lower()
    if isinstance(v, float):
        return v.hex()
    if isinstance(v, decimal.Decimal):
        return format(v, "f")
    if isinstance(v, (bytes, bytearray)):
        return "x" + bytes(v).hex()
    if isinstance(v, str):
        return "s" + v.encode("utf-8").hex()
    if isinstance(v, datetime.datetime):
        if v.tzinfo is not None:
            v = v.astimezone(datetime.timezone.utc).replace(tzinfo=None)
        return str((v - EPOCH) // datetime.timedelta(microseconds=1))
    if isinstance(v, datetime.date):
        return str((v - EPOCH.date()).days)
    if isinstance(v, datetime.time):
        return str(((v.hour * 60 + v.minute) * 60 + v.second) * 1000 + v.microsecond // 1000)
    return str(v)


def main():
    reader, path = sys.argv[1], sys.argv[2]
    if reader == "duckdb":
        import duckdb
        con = duckdb.connect()
        con.execute("SET TimeZone='UTC'")
        rel = con.execute("SELECT * FROM read_parquet(?, file_row_number=true) ORDER BY file_row_number", [path])
        rows = [r[:-1] for r in rel.fetchall()]
    else:
        import pyarrow.parquet as pq
        table = pq.read_table(path, coerce_int96_timestamp_unit="us")
        rows = zip(*(c.to_pylist() for c in table.columns))
    out = sys.stdout
    for row in rows:
        out.write("\t".join(show(v) for v in row) + "\n")


main()
