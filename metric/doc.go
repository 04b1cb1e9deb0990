// Package metric has counters and gauges under Flink's names, and nothing of how they are shown.
package metric
