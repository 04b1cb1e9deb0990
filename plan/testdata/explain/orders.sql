-- As examples/orders.sql.
SET 'execution.checkpointing.interval' = '5s';
SET 'parallelism.default' = '2';

CREATE TABLE events (
  user_id BIGINT, item_id BIGINT, category_id INT, action STRING, amount DECIMAL(10,2),
  ts TIMESTAMP(3), device STRING, url STRING, seq BIGINT,
  part INT METADATA FROM 'partition' VIRTUAL,
  off BIGINT METADATA FROM 'offset' VIRTUAL,
  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND
) WITH (
  'connector' = 'kafka',
  'topic' = 'events',
  'properties.bootstrap.servers' = '127.0.0.1:19092',
  'properties.group.id' = 'orders',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

CREATE TABLE lake (
  user_id BIGINT, item_id BIGINT, action STRING, amount DECIMAL(10,2), ts TIMESTAMP(3),
  part INT, off BIGINT, dt STRING, `hour` STRING
) PARTITIONED BY (dt, `hour`) WITH (
  'connector' = 'filesystem',
  'path' = '/tmp/staunch/lake',
  'format' = 'parquet',
  'parquet.utc-timezone' = 'true',
  'parquet.write.int64.timestamp' = 'true',
  -- an hour gets its _SUCCESS file when the watermark has passed its end
  'sink.partition-commit.trigger' = 'partition-time',
  'sink.partition-commit.delay' = '1 h',
  'sink.partition-commit.policy.kind' = 'success-file',
  'partition.time-extractor.timestamp-pattern' = '$dt $hour:00:00'
);

EXPLAIN INSERT INTO lake
SELECT user_id, item_id, action, amount, ts, part, off,
       DATE_FORMAT(ts, 'yyyy-MM-dd'), DATE_FORMAT(ts, 'HH')
FROM events
WHERE action <> 'heartbeat';
