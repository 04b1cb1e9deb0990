package main

import "github.com/spf13/cobra"

func auditCmd() *cobra.Command { return &cobra.Command{Use: "audit"} }
