-- Queries at the top.
CREATE TABLE events (
  id BIGINT, name STRING, amount DOUBLE, part INT METADATA FROM 'partition' VIRTUAL, ts TIMESTAMP(3), WATERMARK FOR ts AS ts
) WITH (
  'connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = '127.0.0.1:19092',
  'properties.group.id' = 'g', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json'
);
EXPLAIN SELECT * FROM events;
EXPLAIN SELECT id, id + 1, name AS n FROM events WHERE name IN ('a', 'b', 'c') AND amount <> 1.5;
EXPLAIN SELECT id FROM events WHERE part = 1;
EXPLAIN SELECT part FROM events;
EXPLAIN SELECT id FROM events WHERE name <> 'x' AND name <> 'y';
EXPLAIN SELECT CAST(id AS INT), COALESCE(name, 'none') FROM events WHERE id > 3 AND id <= 10;
EXPLAIN SELECT IF(amount > 1, 'a', 'bb') FROM events WHERE name = 'abc' AND amount = 2;
EXPLAIN CHANGELOG_MODE SELECT id FROM events;
EXPLAIN SELECT id FROM events WHERE ts > TIMESTAMP '2024-01-01 00:00:00' AND part IS NOT NULL;
EXPLAIN SELECT id FROM events WHERE amount > 1 AND id > 2 AND name NOT LIKE '%x';
EXPLAIN SELECT id FROM events WHERE id = 1 OR id = 2;
EXPLAIN SELECT id FROM events WHERE name NOT IN ('a', 'b');
EXPLAIN SELECT id FROM events WHERE amount IS NULL OR NOT (id > 5);
EXPLAIN SELECT CAST(ts AS STRING), EXTRACT(DAY FROM ts), ts + INTERVAL '1' DAY, FLOOR(ts TO HOUR), SUBSTRING(name FROM 2 FOR 3) FROM events;
