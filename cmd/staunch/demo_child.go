package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kfake"
)

// child is another process of this binary.
type child struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
	log  string
	in   io.Closer // its end tells the broker to end
}

// command prepares a process of this binary. It has a process group of its own, so that Ctrl-C reaches the demo alone, which ends its children
// in order; and it dies with the demo, whatever kills that.
func command(args ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	return cmd, nil
}

// startChild starts a process whose output is appended to a file.
func startChild(log string, args ...string) (*child, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer out.Close() // the child has its own
	cmd, err := command(args...)
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = out, out
	c := &child{cmd: cmd, done: make(chan struct{}), log: log}
	if err := c.start(); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *child) start() error {
	if err := c.cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", strings.Join(c.cmd.Args, " "), err)
	}
	go func() {
		defer close(c.done)
		_ = c.cmd.Wait() // ended has the outcome
	}()
	return nil
}

func (c *child) pid() int { return c.cmd.Process.Pid }

// ended gives the exit code of a process that has ended, -1 if a signal ended it.
func (c *child) ended() (code int, ended bool) {
	select {
	case <-c.done:
		return c.cmd.ProcessState.ExitCode(), true
	default:
		return 0, false
	}
}

// kill is kill -9; it returns when the process is gone.
func (c *child) kill() {
	if c == nil {
		return
	}
	_ = c.cmd.Process.Kill() // it may have ended already
	<-c.done
}

// stop lets a broker end in order, for which its input is closed.
func (c *child) stop() {
	_ = c.in.Close()
	select {
	case <-c.done:
	case <-time.After(3 * time.Second):
		c.kill()
	}
}

// failure is the error of a process that ended when it should not have, with the end of what it wrote.
func (c *child) failure(what string) error {
	b, err := os.ReadFile(c.log)
	if err != nil {
		b = []byte(err.Error())
	}
	lines := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	return fmt.Errorf("%s ended by itself (%s); the end of %s:\n%s", what, c.cmd.ProcessState, c.log, strings.Join(lines[max(0, len(lines)-15):], "\n"))
}

// runChild runs a process to its end and gives what it printed.
func runChild(ctx context.Context, args ...string) (string, error) {
	cmd, err := command(args...)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	c := &child{cmd: cmd, done: make(chan struct{})}
	if err := c.start(); err != nil {
		return "", err
	}
	select {
	case <-ctx.Done():
		c.kill()
		return out.String(), ctx.Err()
	case <-c.done:
	}
	if code, _ := c.ended(); code != exitOK {
		return out.String(), fmt.Errorf("%s", cmd.ProcessState)
	}
	return out.String(), nil
}

// startBroker starts the embedded broker and waits for its address.
func startBroker(ctx context.Context, dir string) (*child, string, error) {
	cmd, err := command("demo-broker", dir)
	if err != nil {
		return nil, "", err
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, "", err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, "", err
	}
	defer r.Close()
	cmd.Stdout = w
	var problem bytes.Buffer
	cmd.Stderr = &problem
	c := &child{cmd: cmd, done: make(chan struct{}), in: in}
	err = c.start()
	w.Close() // the child has its own
	if err != nil {
		return nil, "", err
	}
	unblock := context.AfterFunc(ctx, c.kill)
	defer unblock()
	addr, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		c.kill()
		return nil, "", fmt.Errorf("the embedded broker did not start: %s", strings.TrimSpace(problem.String()))
	}
	return c, strings.TrimSpace(addr), nil
}

// demoBrokerCmd is the embedded broker; the demo starts it.
func demoBrokerCmd() *cobra.Command {
	return &cobra.Command{
		Use:    "demo-broker DIR",
		Short:  "the embedded broker of the demo, with its data in DIR; it ends when its input does",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			signal.Ignore(syscall.SIGINT) // its input says when to end
			cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.DataDir(args[0]), kfake.SeedTopics(demoPartitions, demoTopic))
			if err != nil {
				return &exitError{exitFailed, fmt.Errorf("broker with its data in %s: %w", args[0], err)}
			}
			defer cluster.Close()
			if err := say(os.Stdout, cluster.ListenAddrs()[0]+"\n"); err != nil {
				return err
			}
			_, err = io.Copy(io.Discard, os.Stdin)
			return err
		},
	}
}
