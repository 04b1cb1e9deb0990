package main

import "github.com/spf13/cobra"

func demoCmd() *cobra.Command { return &cobra.Command{Use: "demo"} }
