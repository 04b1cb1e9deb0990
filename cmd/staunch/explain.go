package main

import (
	"os"

	"github.com/spf13/cobra"

	"staunch/plan"
)

func explainCmd() *cobra.Command {
	f := &scriptFlags{}
	c := &cobra.Command{
		Use:   "explain FILE.sql",
		Short: "print the plans of a statement file, as Flink's EXPLAIN lays them out; nothing is started",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			s, _, err := f.load(args[0], newCollector(nil).sink)
			if err != nil {
				return err
			}
			return say(os.Stdout, plan.Explain(s))
		},
	}
	f.add(c)
	return c
}
