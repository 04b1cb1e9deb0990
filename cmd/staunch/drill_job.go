package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"staunch/all"
	"staunch/drill"
	"staunch/env"
	"staunch/fault"
	"staunch/job"
	"staunch/metric"
	"staunch/plan"
)

// drilled is a job of this program as a drill's subject: each life is a process of its own.
type drilled struct{}

// Live implements drill.Subject.
func (drilled) Live(ctx context.Context, o drill.Orders, life int) (drill.End, error) {
	c, err := startChild(drill.LogFile(o), "drill-job", o.Control, strconv.Itoa(life))
	if err != nil {
		return drill.End{}, err
	}
	select {
	case <-ctx.Done():
		c.kill()
		return drill.End{}, ctx.Err()
	case <-c.done:
	}
	if e, ok := o.Told(); ok {
		return e, nil
	}
	if st, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && st.Signaled() && st.Signal() == syscall.SIGKILL {
		return drill.End{Killed: true}, nil
	}
	return drill.End{Class: fault.Bug.String(), Error: c.failure("the job").Error()}, nil
}

// drillJobCmd is one life of a job in a drill; the drill starts it.
func drillJobCmd() *cobra.Command {
	return &cobra.Command{
		Use:    "drill-job CONTROL LIFE",
		Short:  "one process of a job that is being drilled",
		Hidden: true,
		Args:   cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			return drillProcess(args[0], args[1], nil)
		},
	}
}

// drillProcess is one process of a run: the given life. change is as in drillLife.
func drillProcess(control, life string, change func(*job.Spec)) error {
	o, err := drill.ReadOrders(control)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(life)
	if err != nil {
		return err
	}
	w, err := drill.Open(o, n, all.Stores(), func() {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	})
	if err != nil {
		return err
	}
	err = drillLife(o, w, change)
	end := drill.End{Finished: err == nil}
	if err != nil {
		end.Class, end.Error = fault.ClassOf(err).String(), err.Error()
	}
	return errors.Join(o.Tell(end), w.Close(), err)
}

// drillSettings replace the user's in a drill: checkpoints as fast as they come, restarts at once, and nothing that belongs to the real job.
func drillSettings(o drill.Orders) []string {
	return append(o.Job.Define, "pipeline.name="+o.Job.Name, "execution.checkpointing.dir="+o.Places.Checkpoints, "execution.checkpointing.interval=20 ms",
		"execution.checkpointing.min-pause=0 ms", "restart-strategy.type=fixed-delay", "restart-strategy.fixed-delay.attempts=1000", "restart-strategy.fixed-delay.delay=20 ms")
}

// drillLife runs the jobs of the file to their end. change may change them; tests do.
func drillLife(o drill.Orders, w *drill.World, change func(*job.Spec)) error {
	f := &runFlags{}
	f.logFormat, f.config, f.dynamic, f.base = "text", o.Job.Config, drillSettings(o), w
	f.accept = o.Job.Accept
	f.plugins = func(r *plan.Registry) { r.Connectors = drill.Adapt(r.Connectors, o.Job) }
	script, abs, err := f.load(o.Job.File, newCollector(io.Discard).sink)
	if err != nil {
		return err
	}
	log, err := f.logger()
	if err != nil {
		return err
	}
	var jobs []*job.Job
	reg := metric.NewRegistry()
	for _, j := range script.Jobs() {
		if j.Select {
			continue
		}
		spec, err := f.spec(j, abs, log)
		if err != nil {
			return err
		}
		spec.FromSavepoint, spec.Fresh, spec.FromTable = "", false, false // what the user's settings order for the real job
		if change != nil {
			change(&spec)
		}
		jobs = append(jobs, job.New(&env.Real{}, spec, log, reg.Group("job_name", j.Name)))
	}
	errs := make([]error, len(jobs))
	var wg sync.WaitGroup
	for i, j := range jobs {
		wg.Go(func() {
			out, err := j.Run()
			if err == nil && out != job.Finished && out != job.AlreadyFinished {
				err = fmt.Errorf("the job ended before its input did (outcome %d)", out)
			}
			if errs[i] = err; err != nil {
				log.Error("job failed", "class", fault.ClassOf(err).String(), slog.Any("error", err))
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
