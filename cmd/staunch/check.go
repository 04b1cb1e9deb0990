package main

import "github.com/spf13/cobra"

func checkCmd() *cobra.Command { return &cobra.Command{Use: "check FILE.sql"} }
func demoCmd() *cobra.Command  { return &cobra.Command{Use: "demo"} }
