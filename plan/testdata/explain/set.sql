-- Two INSERTs that share the source; no watermark, no metadata.
CREATE TABLE events (
  user_id BIGINT NOT NULL, action STRING, amount DECIMAL(10,2), qty INT, ts TIMESTAMP(3)
) WITH (
  'connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = '127.0.0.1:19092',
  'properties.group.id' = 'g', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json'
);
CREATE TABLE a (id BIGINT, action STRING, big DECIMAL(12,4)) WITH ('connector' = 'filesystem', 'path' = '/tmp/staunch/a', 'format' = 'json');
CREATE TABLE b (id BIGINT, qty BIGINT) WITH ('connector' = 'blackhole');

EXPLAIN STATEMENT SET BEGIN
INSERT INTO a SELECT user_id, UPPER(action) AS act, amount FROM events WHERE qty > 3 AND action IS NOT NULL;
INSERT INTO b SELECT user_id, qty + 1 FROM events WHERE action LIKE 'b%' OR amount >= 10.5;
END;
