#!/usr/bin/env python3
"""writers.py DIR: the same 20,000 positions (part 0..3, off 0..4999), written by pyarrow and DuckDB in every shape that they know, a folder each."""
import os, sys
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

N, DIR = 20_000, sys.argv[1]
PART, OFF = pa.array([i % 4 for i in range(N)]), pa.array([i // 4 for i in range(N)])


def folder(name):
    d = os.path.join(DIR, name)
    os.makedirs(d)
    return d


def arrow(name, part=pa.int32(), off=pa.int64(), **how):
    rows = pa.table({"x": pa.array([i / 8 for i in range(N)]), "part": PART.cast(part), "off": OFF.cast(off)})
    pq.write_table(rows, folder("arrow-" + name) + "/f", **how)


def duck(name, select="i % 4 AS part, i // 4 AS off", file="f", **how):
    options = ", ".join(f"{k} {v}" for k, v in how.items())
    duckdb.sql(f"COPY (SELECT {select} FROM range({N}) t(i)) TO '{folder(name)}/{file}' ({options})")


for c in ["none", "snappy", "gzip", "zstd", "lz4", "brotli"]:
    arrow(c, compression=c)
for v in ["1.0", "2.4", "2.6"]:
    for pages in ["1.0", "2.0"]:
        arrow(f"version-{v}-pages-{pages}", version=v, data_page_version=pages)
for e in ["DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT", "PLAIN"]:
    arrow(e, use_dictionary=False, column_encoding={"part": e, "off": e})
for e in ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY", "PLAIN"]:
    arrow("text-" + e, pa.string(), pa.string(), use_dictionary=False, column_encoding={"part": e, "off": e, "x": "PLAIN"})
for p, o in [(pa.int8(), pa.int32()), (pa.uint8(), pa.uint32()), (pa.uint16(), pa.uint64()), (pa.string(), pa.large_string())]:
    arrow(f"types-{p}-{o}", p, o)
arrow("page-checksums", write_page_checksum=True)
arrow("page-index", write_page_index=True)
arrow("small-pages", data_page_size=100, row_group_size=999)
arrow("no-statistics", write_statistics=False)
for c in ["snappy", "zstd", "gzip", "uncompressed", "lz4_raw", "brotli"]:
    duck("duckdb-" + c, format="parquet", compression=f"'{c}'")
duck("duckdb-pages-2", format="parquet", parquet_version="v2")
duck("duckdb-folders", file="o", format="parquet", partition_by="(part)")
text = "'é\"x,' || chr(10) AS s, i % 4 AS part, i // 4 AS off"
duck("json", text, "f.json", format="json")
duck("json-gzip", text, "f.json.gz", format="json", compression="gzip")
duck("csv", text, "f.csv", format="csv", header="true")
duck("csv-gzip", text, "f.csv.gz", format="csv", header="true", compression="gzip")
duck("nested", "{'part': i % 4, 'off': i // 4} AS m", format="parquet")
