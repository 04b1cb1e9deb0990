-- A column list, a static partition, casts that INSERT makes, columns without a value.
CREATE TABLE numbers (i INT, f DOUBLE, s STRING, flag BOOLEAN) WITH ('connector' = 'datagen', 'number-of-rows' = '10');
CREATE TABLE wide (a BIGINT, b DECIMAL(10,2), c VARCHAR(10), d DOUBLE, p STRING) PARTITIONED BY (p)
WITH ('connector' = 'filesystem', 'path' = '/tmp/staunch/wide', 'format' = 'json');

EXPLAIN INSERT INTO wide PARTITION (p = 'x') (c, a)
SELECT CAST(i AS STRING), CASE WHEN flag THEN i ELSE -1 END FROM numbers WHERE flag;
