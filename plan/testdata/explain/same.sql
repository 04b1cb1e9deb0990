-- Every column as it is, also with a NOT NULL column.
CREATE TABLE events (
  id BIGINT, name STRING
) WITH (
  'connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = '127.0.0.1:19092',
  'properties.group.id' = 'g', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json'
);
CREATE TABLE copy_of (id BIGINT NOT NULL, name STRING) WITH ('connector' = 'print');
CREATE TABLE renamed (k BIGINT, v STRING) WITH ('connector' = 'print');

EXPLAIN INSERT INTO copy_of SELECT * FROM events;
EXPLAIN INSERT INTO renamed SELECT * FROM events;
EXPLAIN INSERT INTO renamed SELECT id, name FROM events WHERE id IS NOT NULL;
EXPLAIN INSERT INTO renamed SELECT id * 2 AS k, name AS v FROM events;
