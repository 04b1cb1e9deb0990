package main

import (
	"log/slog"
	"path"
	"strings"

	"staunch/commit"
	"staunch/env"
	"staunch/job"
	"staunch/plan"
	"staunch/trace"
)

// recorder makes the job's operation trace, which lies beside its checkpoints; nil if none is wanted.
func recorder(j *plan.Job, spec *job.Spec, who string, log *slog.Logger) (*trace.Recorder, error) {
	size, err := j.Conf.TraceSize()
	if err != nil || size == 0 {
		return nil, err
	}
	user, _, _ := strings.Cut(who, "@")
	return trace.New(trace.Options{Env: &env.Real{}, Store: spec.CheckpointStore, Dir: trace.Dir(path.Join(spec.CheckpointDir, commit.Escape(spec.ID))),
		Job: spec.ID, Host: spec.Process.Host, User: user, PID: spec.Process.PID, MaxBytes: size, Log: log}), nil
}
