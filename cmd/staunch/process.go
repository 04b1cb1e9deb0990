package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime/pprof"
	"strings"
)

// processStart identifies a process among those that had its pid: the kernel's start time in ticks, empty if there is none.
func processStart(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	i := bytes.LastIndexByte(b, ')') // the command's name may hold blanks
	if i < 0 {
		return ""
	}
	f := strings.Fields(string(b[i+1:]))
	if len(f) < 20 || f[0] == "Z" {
		return ""
	}
	return f[19]
}

// startProfile begins a CPU profile if a file is named.
func startProfile(file string) (stop func(), err error) {
	if file == "" {
		return func() {}, nil
	}
	f, err := os.Create(file)
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, err
	}
	return func() {
		pprof.StopCPUProfile()
		if err := f.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "staunch: profile:", err)
		}
	}, nil
}
