package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"staunch/account"
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
	out := &firm{out: os.Stdout} // of help and version
	root.SetOut(out)
	err := root.Execute()
	if err == nil {
		err = out.failed()
	}
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
	root.PersistentPreRunE = refuse
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &exitError{exitUsage, flagError(err)} })
	root.CompletionOptions.DisableDefaultCmd = true
	return root
}

// refuse refuses a command line before the command begins.
func refuse(c *cobra.Command, args []string) error {
	if err := refuseEmpty(c, args); err != nil {
		return err
	}
	if f := c.Flags().Lookup("log-format"); f != nil { // also where nothing is logged
		if _, err := (&scriptFlags{logFormat: f.Value.String()}).logger(); err != nil {
			return err
		}
	}
	return nil
}

// flagError says what an option takes, where its value is none.
func flagError(err error) error {
	var v *pflag.InvalidValueError
	if !errors.As(err, &v) {
		return err
	}
	takes := map[string]string{"int": "a whole number", "int64": "a whole number", "float64": "a number", "duration": "a time such as 90s, 5m or 2h", "bool": "true or false"}
	what := takes[v.GetFlag().Value.Type()]
	if what == "" {
		return err
	}
	return fmt.Errorf("--%s takes %s, not %q", v.GetFlag().Name, what, v.GetValue())
}

// isScript reports whether an argument is a statement file, by its name.
func isScript(arg string) bool { return strings.HasSuffix(strings.ToLower(arg), ".sql") }

// refuseEmpty refuses what was given without a value, mostly by a shell's variable that is not set: taken as left out it would ask for something else.
// There is no option for which nothing is a value.
func refuseEmpty(c *cobra.Command, args []string) error {
	var empty []string
	c.Flags().Visit(func(f *pflag.Flag) {
		list := []string{f.Value.String()}
		if v, ok := f.Value.(pflag.SliceValue); ok {
			list = v.GetSlice()
		}
		if len(list) == 0 || slices.ContainsFunc(list, func(s string) bool { return strings.TrimSpace(s) == "" }) {
			empty = append(empty, "--"+f.Name)
		}
	})
	if len(empty) > 0 {
		return &exitError{exitUsage, fmt.Errorf("%s is empty: give it a value, or leave the option out", strings.Join(empty, ", "))}
	}
	for i, a := range args {
		if strings.TrimSpace(a) == "" {
			return &exitError{exitUsage, fmt.Errorf("argument %d is empty: %s", i+1, c.UseLine())}
		}
	}
	return nil
}

// report prints an error and gives the exit code.
func report(err error) int {
	if err == nil {
		return exitOK
	}
	var x *exitError
	if errors.As(err, &x) {
		if x.err != nil {
			complain(x.err)
		}
		return x.code
	}
	complain(err)
	if fault.ClassOf(err) == fault.User || isUsage(err) {
		return exitUsage
	}
	return exitFailed
}

// complain prints an error. Its lines are its own; names in it may hold anything.
func complain(err error) {
	fmt.Fprintln(os.Stderr, "staunch: "+account.PrintableBut(err.Error(), "\n\t"))
}

// isUsage recognises cobra's own errors, which have no type.
func isUsage(err error) bool {
	return fault.ClassOf(err) == fault.Bug && errors.Unwrap(err) == nil
}
