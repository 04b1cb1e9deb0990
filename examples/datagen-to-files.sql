-- Generated rows to JSON files, exactly once. Needs no server. The sequence ends, and with it the job: run it again, and it says so.
-- Kill it meanwhile (kill -9) and run it again: ids go on where they have to.

SET 'execution.checkpointing.interval' = '1s';
SET 'parallelism.default' = '2';

CREATE TABLE readings (
  id BIGINT,
  sensor INT,
  temperature DOUBLE
) WITH (
  'connector' = 'datagen',
  'rows-per-second' = '10000',
  'fields.id.kind' = 'sequence',
  'fields.id.start' = '1',
  'fields.id.end' = '100000',
  'fields.sensor.min' = '1',
  'fields.sensor.max' = '8',
  'fields.temperature.min' = '-20',
  'fields.temperature.max' = '40'
);

CREATE TABLE files (
  id BIGINT,
  temperature DECIMAL(5,2),
  frost BOOLEAN,
  sensor INT
) PARTITIONED BY (sensor) WITH (
  'connector' = 'filesystem',
  'path' = '/tmp/staunch/readings',
  'format' = 'json'
);

INSERT INTO files
SELECT id, CAST(temperature AS DECIMAL(5,2)), temperature < 0, sensor
FROM readings;
