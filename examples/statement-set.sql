-- Two tables from one read of a topic: purchases as Parquet by day, and a feed of clicks as JSON. Both sinks belong to one job and
-- one checkpoint. The read is bounded: the job ends where the topic ended when it was started.

SET 'execution.checkpointing.interval' = '5s';
SET 'parallelism.default' = '2';

CREATE TABLE events (
  user_id BIGINT, item_id BIGINT, action STRING, amount DECIMAL(10,2), ts TIMESTAMP(3), device STRING, url STRING,
  part INT METADATA FROM 'partition' VIRTUAL,
  off BIGINT METADATA FROM 'offset' VIRTUAL,
  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND
) WITH (
  'connector' = 'kafka',
  'topic' = 'events',
  'properties.bootstrap.servers' = '127.0.0.1:19092',
  'properties.group.id' = 'statement-set',
  'scan.startup.mode' = 'earliest-offset',
  'scan.bounded.mode' = 'latest-offset',
  'format' = 'json'
);

CREATE TABLE purchases (
  user_id BIGINT, item_id BIGINT, amount DECIMAL(10,2), tier STRING, ts TIMESTAMP(3), part INT, off BIGINT, dt STRING
) PARTITIONED BY (dt) WITH (
  'connector' = 'filesystem',
  'path' = '/tmp/staunch/purchases',
  'format' = 'parquet',
  'parquet.utc-timezone' = 'true',
  'parquet.write.int64.timestamp' = 'true'
);

CREATE TABLE clicks (
  user_id BIGINT, device STRING, url STRING, ts TIMESTAMP(3), part INT, off BIGINT
) WITH (
  'connector' = 'filesystem',
  'path' = '/tmp/staunch/clicks',
  'format' = 'json'
);

EXECUTE STATEMENT SET
BEGIN
  INSERT INTO purchases
  SELECT user_id, item_id, amount, CASE WHEN amount >= 1000 THEN 'large' WHEN amount >= 100 THEN 'medium' ELSE 'small' END,
         ts, part, off, DATE_FORMAT(ts, 'yyyy-MM-dd')
  FROM events WHERE action IN ('buy', 'refund');

  INSERT INTO clicks
  SELECT user_id, UPPER(device), url, ts, part, off
  FROM events WHERE action = 'click';
END;
