package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"staunch/fault"
)

// version is set by the build.
var version = "dev"

// The exit codes.
const (
	exitOK          = 0
	exitFailed      = 1 // the job failed, or the audit found something
	exitUsage       = 2 // command line, configuration or SQL is wrong
	exitInterrupted = 3 // a clean stop by signal
)

// exitError carries an exit code; its text was printed already if err is nil.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func main() {
	root := rootCmd()
	err := root.Execute()
	os.Exit(report(err))
}

func rootCmd() *cobra.Command {
	root := &cobra.Command{
		Use:   "staunch",
		Short: "Streaming data integration that neither loses nor repeats a record, and proves it",
		Long: "staunch runs Flink SQL ingestion jobs (Kafka to partitioned files) exactly once on one machine.\n" +
			"The same .sql file runs on a real Apache Flink cluster.",
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(runCmd(), checkCmd(), explainCmd(), auditCmd(), amendCmd(), cleanCmd(), traceCmd(), demoCmd(), demoBrokerCmd(), drillCmd(), drillJobCmd())
	root.CompletionOptions.DisableDefaultCmd = true
	return root
}

// report prints an error and gives the exit code.
func report(err error) int {
	if err == nil {
		return exitOK
	}
	var x *exitError
	if errors.As(err, &x) {
		if x.err != nil {
			fmt.Fprintln(os.Stderr, "staunch: "+x.err.Error())
		}
		return x.code
	}
	fmt.Fprintln(os.Stderr, "staunch: "+err.Error())
	if fault.ClassOf(err) == fault.User || isUsage(err) {
		return exitUsage
	}
	return exitFailed
}

// isUsage recognises cobra's own errors, which have no type.
func isUsage(err error) bool {
	return fault.ClassOf(err) == fault.Bug && errors.Unwrap(err) == nil
}
