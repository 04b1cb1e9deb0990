package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	// demoMarker is the file by which the demo knows a folder as its own.
	demoMarker     = ".staunch-demo"
	demoMarkerText = "This folder was made by `staunch demo`, which may empty it.\n"
)

// demoNames are what the demo makes in its folder, and all that it removes.
var demoNames = []string{"broker", "checkpoints", "lake", "orders.sql", "job.log"}

// folder makes the demo's folder, or empties that of an earlier demo; any other is refused. While unlock was not called, a second demo in the
// same folder is refused.
func (d *demo) folder() (unlock func(), err error) {
	list, err := os.ReadDir(d.dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		if err := os.MkdirAll(d.dir, 0o755); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	case len(list) > 0:
		text, err := os.ReadFile(d.path(demoMarker))
		if err != nil || string(text) != demoMarkerText {
			return nil, fmt.Errorf("%s is there and was not made by a demo (it has no %s): it is left alone. Name another folder with --dir, or remove it yourself",
				d.dir, demoMarker)
		}
	}
	lock, err := os.OpenFile(d.path(demoMarker), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := d.claim(lock); err != nil {
		lock.Close()
		return nil, err
	}
	return func() { lock.Close() }, nil
}

// claim takes the lock, then writes the marker and removes what an earlier demo left.
func (d *demo) claim(lock *os.File) error {
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return fmt.Errorf("another demo is running in %s (%w): wait for its end, or name another folder with --dir", d.dir, err)
	}
	if err := lock.Truncate(0); err != nil {
		return err
	}
	if _, err := lock.WriteAt([]byte(demoMarkerText), 0); err != nil {
		return err
	}
	for _, n := range demoNames {
		if err := os.RemoveAll(d.path(n)); err != nil {
			return err
		}
	}
	return nil
}

// writeSQL writes the job's file.
func (d *demo) writeSQL() (string, error) {
	abs, err := filepath.Abs(d.dir)
	if err != nil {
		return "", err
	}
	abs = strings.ReplaceAll(abs, "'", "''")
	sql := fmt.Sprintf(demoSQL, abs, demoTopic, d.boot, abs)
	return strings.TrimSpace(sql), os.WriteFile(d.path("orders.sql"), []byte(sql), 0o644)
}

const demoSQL = `SET 'execution.checkpointing.interval' = '1s';
SET 'execution.checkpointing.dir' = 'file://%s/checkpoints';
SET 'parallelism.default' = '2';

CREATE TABLE events (
  user_id BIGINT, item_id BIGINT, category_id INT, action STRING, amount DECIMAL(10,2),
  ts TIMESTAMP(3), device STRING, url STRING, seq BIGINT,
  part INT METADATA FROM 'partition' VIRTUAL,
  off BIGINT METADATA FROM 'offset' VIRTUAL,
  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND
) WITH (
  'connector' = 'kafka',
  'topic' = '%s',
  'properties.bootstrap.servers' = '%s',
  'properties.group.id' = 'orders',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

CREATE TABLE lake (
  user_id BIGINT, item_id BIGINT, action STRING, amount DECIMAL(10,2), ts TIMESTAMP(3),
  part INT, off BIGINT, dt STRING, ` + "`hour`" + ` STRING
) PARTITIONED BY (dt, ` + "`hour`" + `) WITH (
  'connector' = 'filesystem',
  'path' = '%s/lake',
  'format' = 'parquet',
  'parquet.utc-timezone' = 'true',
  'parquet.write.int64.timestamp' = 'true',
  'sink.partition-commit.trigger' = 'partition-time',
  'sink.partition-commit.delay' = '1 h',
  'sink.partition-commit.policy.kind' = 'success-file',
  'partition.time-extractor.timestamp-pattern' = '$dt $hour:00:00'
);

INSERT INTO lake
SELECT user_id, item_id, action, amount, ts, part, off,
       DATE_FORMAT(ts, 'yyyy-MM-dd'), DATE_FORMAT(ts, 'HH')
FROM events WHERE action <> 'heartbeat';
`
