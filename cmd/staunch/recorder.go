package main

import (
	"log/slog"
	"os"
	"path"
	"strings"

	"staunch/commit"
	"staunch/env"
	"staunch/fs"
	"staunch/plan"
	"staunch/trace"
)

// recorder makes the job's operation trace, which lies beside its checkpoints in dir; nil if none is wanted.
func recorder(j *plan.Job, store fs.FS, dir, host, who string, log *slog.Logger) (*trace.Recorder, error) {
	size, err := j.Conf.TraceSize()
	if err != nil || size == 0 {
		return nil, err
	}
	user, _, _ := strings.Cut(who, "@")
	return trace.New(trace.Options{Env: &env.Real{}, Store: store, Dir: trace.Dir(path.Join(dir, commit.Escape(j.Name))), Job: j.Name, Host: host, User: user,
		PID: os.Getpid(), MaxBytes: size, Log: log}), nil
}
