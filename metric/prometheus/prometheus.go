package prometheus

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"staunch/config"
	"staunch/fault"
	"staunch/metric"
)

// Server is the endpoint.
type Server struct {
	l    net.Listener
	http http.Server
}

// Start opens the endpoint on the first free port of metrics.reporter.prom.port, or gives nil if the key is not set.
func Start(conf *config.Job, reg *metric.Registry) (*Server, error) {
	ports, err := conf.MetricsPorts()
	if err != nil || len(ports) == 0 {
		return nil, err
	}
	var last error
	for _, r := range ports {
		for p := r.First; p <= r.Last; p++ {
			l, err := net.Listen("tcp", fmt.Sprintf(":%d", p))
			if err != nil {
				last = err
				continue
			}
			return serve(l, reg), nil
		}
	}
	return nil, fault.Userf("metrics.reporter.prom.port: no port of the range is free: %w", last)
}

func serve(l net.Listener, reg *metric.Registry) *Server {
	pr := prometheus.NewRegistry()
	pr.MustRegister(collector{reg})
	s := &Server{l: l}
	mux := http.NewServeMux()
	h := promhttp.HandlerFor(pr, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
	mux.Handle("/metrics", h)
	mux.Handle("/", h) // Flink's reporter answers on every path
	s.http = http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		if err := s.http.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
			return // the listener was closed under us: the process is ending
		}
	}()
	return s
}

// Address is where the endpoint listens.
func (s *Server) Address() string { return "http://" + s.l.Addr().String() + "/metrics" }

// Close ends the endpoint.
func (s *Server) Close() error { return s.http.Close() }

// collector translates at each scrape, so that metrics may come and go.
type collector struct{ reg *metric.Registry }

// Describe implements prometheus.Collector: an unchecked collector describes nothing.
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c collector) Collect(ch chan<- prometheus.Metric) {
	c.reg.Each(func(s metric.Sample) {
		names := make([]string, len(s.Labels))
		values := make([]string, len(s.Labels))
		scope := "flink_jobmanager_job_"
		for i, l := range s.Labels {
			names[i], values[i] = clean(l.Name), l.Value
			switch l.Name {
			case "task":
				scope = "flink_taskmanager_job_task_operator_"
				names[i] = "task_name"
			case "subtask":
				names[i] = "subtask_index"
			}
		}
		kind := prometheus.GaugeValue
		if s.Counter {
			kind = prometheus.CounterValue
		}
		m, err := prometheus.NewConstMetric(prometheus.NewDesc(scope+clean(s.Name), s.Name, names, nil), kind, s.Value, values...)
		if err != nil {
			m = prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(err), err)
		}
		ch <- m
	})
}

// clean replaces what a metric's name may not have, as Flink does.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == ':' {
			return r
		}
		return '_'
	}, s)
}
