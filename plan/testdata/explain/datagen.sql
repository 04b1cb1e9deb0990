-- A source that takes no watermark.
CREATE TABLE gen (id BIGINT, name STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)
WITH ('connector' = 'datagen', 'rows-per-second' = '10');
CREATE TABLE sink_table (id BIGINT, name STRING) WITH ('connector' = 'print');

EXPLAIN INSERT INTO sink_table SELECT id, name FROM gen WHERE id BETWEEN 3 AND 9;
