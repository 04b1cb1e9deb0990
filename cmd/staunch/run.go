package main

import (
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"staunch/account"
	cp "staunch/checkpoint/protocol"
	"staunch/config"
	"staunch/connector"
	"staunch/env"
	"staunch/fault"
	"staunch/fs"
	"staunch/fs/mem"
	"staunch/job"
	jobp "staunch/job/protocol"
	"staunch/metric"
	"staunch/metric/prometheus"
	"staunch/plan"
)

type runFlags struct {
	scriptFlags
	takeOver bool
	accept   []string
	cpu      string
	back     backFlags
}

func runCmd() *cobra.Command {
	f := &runFlags{}
	c := &cobra.Command{
		Use:   "run FILE.sql",
		Short: "run the jobs of a statement file; run again, it goes on from the newest checkpoint",
		Args:  cobra.ExactArgs(1),
		RunE:  func(_ *cobra.Command, args []string) error { return f.run(args[0]) },
	}
	f.add(c)
	c.Flags().BoolVar(&f.takeOver, "take-over", false, "fence another process that runs the job, or another log that claimed the table")
	c.Flags().StringArrayVar(&f.accept, "accept-lost", nil, "go on without the lost files of this id (the error that stopped the job names it)")
	f.back.add(c)
	c.Flags().StringVar(&f.cpu, "cpu-profile", "", "write a CPU profile to this file")
	return c
}

func (f *runFlags) run(file string) error {
	if err := f.back.check(); err != nil {
		return err
	}
	log, err := f.logger()
	if err != nil {
		return err
	}
	sig := make(chan os.Signal, 2)
	signal.Notify(sig, syscall.SIGTERM, syscall.SIGINT) // from here on a signal asks for a clean stop, also one that comes before there is a job
	stop, err := startProfile(f.cpu)
	if err != nil {
		return err
	}
	defer stop()
	out := newCollector(os.Stdout)
	script, abs, err := f.load(file, out.sink)
	if err != nil {
		return err
	}
	for _, w := range script.Warnings {
		log.Warn(w)
	}
	reg := metric.NewRegistry()
	if srv, err := prometheus.Start(script.Config, reg); err != nil {
		return err
	} else if srv != nil {
		log.Info("metrics", "endpoint", srv.Address())
		defer srv.Close()
	}
	for _, i := range script.Items {
		if i.Job == nil {
			if err := say(os.Stdout, i.Text); err != nil {
				return err
			}
		}
	}
	jobs := script.Jobs()
	if len(jobs) == 0 {
		return nil
	}
	if err := f.back.several(len(jobs)); err != nil {
		return err
	}
	e := &env.Real{}
	var running []*job.Job
	for _, j := range jobs {
		spec, err := f.spec(j, abs, log)
		if err != nil {
			return err
		}
		spec.MemoryBudget /= int64(len(jobs)) // it is the process's
		running = append(running, job.New(e, spec, log, reg.Group("job_name", j.Name)))
	}
	return supervise(running, jobs, sig, log)
}

// spec puts a planned job and its configuration together.
func (f *runFlags) spec(j *plan.Job, file string, log *slog.Logger) (job.Spec, error) {
	ck, err := j.Conf.Checkpointing()
	if err != nil {
		return job.Spec{}, err
	}
	if !ck.IntervalSet {
		log.Info("no checkpoint interval is set: output becomes visible every "+ck.Interval.String(), "key", "execution.checkpointing.interval")
	}
	dir := ck.Dir
	if dir == "" {
		if dir, err = config.DefaultStateDir(os.Getenv); err != nil {
			return job.Spec{}, err
		}
	}
	store, path, err := f.stores().Resolve(dir)
	if err != nil {
		return job.Spec{}, err
	}
	if j.Select { // nothing of a query is kept: its log is in memory
		store, path = mem.New().Client("select"), "/select"
	}
	if !j.Select {
		log.Info("checkpoints", "job", j.Name, "dir", fs.URI(store, filepath.Join(path, j.Name)), "interval", ck.Interval)
	}
	rs, err := j.Conf.Restart()
	if err != nil {
		return job.Spec{}, err
	}
	memory, err := j.Conf.Memory()
	if err != nil {
		return job.Spec{}, err
	}
	who, host := operator()
	spec := job.Spec{
		ID: j.Name, File: file, SQL: j.SQL, Plan: j.Hash, Graph: j.Graph, Tables: map[string]job.Table{}, Sources: j.Sources, Sinks: j.Targets,
		AccountsClose: j.Replayable, Stores: f.stores(), CheckpointStore: store, CheckpointDir: path, Retain: ck.Retained,
		Checkpoints:  cp.Options{Interval: ck.Interval, Timeout: ck.Timeout, MinPause: ck.MinPause, Tolerable: ck.TolerableFailures},
		Restart:      strategy(rs),
		MemoryBudget: writersMemory(memory),
		Process:      job.Process{Host: host, PID: os.Getpid(), Start: processStart(os.Getpid()), Alive: alive(host)},
		TakeOver:     f.takeOver, Accept: f.accept, AcceptWho: who, Version: version,
	}
	if spec.Guard.Interval, spec.Guard.Alarm, err = j.Conf.LossWindow(); err != nil {
		return job.Spec{}, err
	}
	if !j.Select {
		f.back.order(&spec, ck.From)
		if spec.Trace, err = recorder(j, store, path, host, who, log); err != nil {
			return job.Spec{}, err
		}
	}
	for _, s := range j.Sinks {
		if ft, ok := s.Sink.(connector.FileTable); ok {
			if _, have := spec.Tables[s.Key]; !have {
				spec.Tables[s.Key] = job.Table{Name: s.Table.Name, Sink: ft}
			}
		}
	}
	return spec, nil
}

func strategy(r config.Restart) jobp.Strategy {
	switch r.Strategy {
	case config.RestartNone:
		return jobp.None{}
	case config.RestartFixed:
		return &jobp.FixedDelay{Attempts: r.FixedAttempts, Delay: r.FixedDelay}
	}
	return &jobp.ExponentialDelay{Initial: r.InitialBackoff, Max: r.MaxBackoff, Multiplier: r.Multiplier, ResetThreshold: r.ResetThreshold,
		Jitter: r.Jitter, Attempts: r.MaxAttempts}
}

// alive tells whether the process that a log names surely lives: on this host, with that pid and start time, and not this one.
func alive(host string) func(account.Begin) bool {
	return func(b account.Begin) bool {
		return b.Host == host && b.PID != os.Getpid() && b.Start != "" && processStart(b.PID) == b.Start
	}
}

// supervise runs the jobs until all have ended. The first SIGTERM or SIGINT asks for a last checkpoint, the second ends the process at once;
// nothing is lost either way.
func supervise(jobs []*job.Job, plans []*plan.Job, sig <-chan os.Signal, log *slog.Logger) error {
	var stopped atomic.Bool
	go func() {
		<-sig
		stopped.Store(true)
		log.Info("stopping: a last checkpoint is to be taken and committed; a second signal ends at once")
		for _, j := range jobs {
			j.Stop()
		}
		for first := time.Now(); time.Since(first) < time.Second; { // some tools send the signal twice
			<-sig
		}
		log.Warn("ended at once: no last checkpoint was waited for; nothing is lost, run it again to go on")
		os.Exit(exitInterrupted)
	}()
	live := startLive(jobs, os.Stderr)
	errs := make([]error, len(jobs))
	var wg sync.WaitGroup
	for i, j := range jobs {
		wg.Go(func() {
			out, err := j.Run()
			errs[i] = err
			if err != nil {
				why := slog.Attr{} // the end of the program prints it, which may be long after if other jobs run on
				if len(jobs) > 1 {
					why = slog.Any("error", err)
				}
				log.Error("job failed", "job", plans[i].Name, "class", fault.ClassOf(err).String(), why)
				return
			}
			s := j.Status()
			switch out {
			case job.AlreadyFinished:
				log.Info("this bounded job has finished before: nothing to do", "job", plans[i].Name)
			case job.Finished:
				log.Info("finished", "job", plans[i].Name, "checkpoint", s.LastCheckpoint, "records", s.Records, "files", s.FilesVisible)
			case job.Stopped:
				log.Info("stopped; run it again to go on", "job", plans[i].Name, "checkpoint", s.LastCheckpoint)
			}
		})
	}
	wg.Wait()
	live()
	if err := errors.Join(errs...); err != nil {
		return &exitError{exitFailed, err}
	}
	if stopped.Load() {
		return &exitError{exitInterrupted, nil}
	}
	return nil
}
