// Package prometheus shows the metrics of a process in Prometheus' text form, under the names of Flink's Prometheus reporter.
package prometheus
