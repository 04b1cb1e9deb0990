-- Computed columns, a watermark on one of them, metadata of another type, an alias of the table.
CREATE TABLE events (
  id BIGINT,
  name STRING,
  millis BIGINT,
  arrived TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL,
  off INT METADATA FROM 'offset' VIRTUAL,
  ts AS TO_TIMESTAMP_LTZ(millis, 3),
  twice AS id * 2,
  WATERMARK FOR ts AS ts - INTERVAL '1' MINUTE
) WITH (
  'connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = '127.0.0.1:19092',
  'properties.group.id' = 'g', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json'
);
CREATE TABLE out_table (id BIGINT, name STRING, day_of STRING, off INT, arrived TIMESTAMP_LTZ(3), twice BIGINT) PARTITIONED BY (day_of)
WITH ('connector' = 'filesystem', 'path' = '/tmp/staunch/out', 'format' = 'parquet');

EXPLAIN INSERT INTO out_table
SELECT e.id, TRIM(e.name), DATE_FORMAT(ts, 'yyyy-MM-dd'), off, arrived, twice
FROM events AS e
WHERE CHAR_LENGTH(e.name) > 2 AND NOT (e.id = 7) AND e.off >= 10;
