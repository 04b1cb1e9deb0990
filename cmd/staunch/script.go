package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"staunch/all"
	"staunch/changelog"
	"staunch/config"
	"staunch/connector"
	"staunch/fs"
	"staunch/plan"
	"staunch/sql/ast"
	"staunch/sql/parse"
)

// scriptFlags are the flags of every command that takes a statement file.
type scriptFlags struct {
	dynamic   []string
	config    string
	logFormat string
	watch     *fs.Watch
	// base are the stores instead of all.Stores, and plugins changes what the planner is given; nil for nothing.
	base    fs.Resolver
	plugins func(*plan.Registry)
}

// stores are all stores. One that does not answer is said in the log.
func (f *scriptFlags) stores() fs.Resolver {
	if f.watch == nil {
		log, err := f.logger()
		if err != nil { // refused where the command begins
			log = slog.New(slog.DiscardHandler)
		}
		base := f.base
		if base == nil {
			base = all.Stores()
		}
		f.watch = &fs.Watch{Resolver: base, Now: time.Now,
			Away: func(name string, since time.Time, err error) {
				log.Warn("a store does not answer: waiting; nothing is lost, and no attempt of the restart strategy is used up", "store", name,
					"since", since.UTC().Format(time.RFC3339), "error", err)
			},
			Back: func(name string, since time.Time) {
				log.Info("the store answers again", "store", name, "after", time.Since(since).Round(time.Second).String())
			}}
	}
	return f.watch
}

func (f *scriptFlags) add(c *cobra.Command) {
	c.Flags().StringArrayVarP(&f.dynamic, "define", "D", nil, "a setting, key=value; goes before SET and the configuration file")
	c.Flags().StringVar(&f.config, "config", "", "Flink configuration file (config.yaml, or a 1.x flink-conf.yaml)")
	c.Flags().StringVar(&f.logFormat, "log-format", "text", "text or json")
}

// ofFile refuses settings beside a folder: they are those of a statement file, and would have no effect.
func (f *scriptFlags) ofFile(arg string) error {
	if (len(f.dynamic) == 0 && f.config == "") || isScript(arg) {
		return nil
	}
	return &exitError{exitUsage, fmt.Errorf("-D and --config are settings of a statement file (.sql): with %s they have no effect; name the file, or leave them out", arg)}
}

func (f *scriptFlags) logger() (*slog.Logger, error) {
	switch f.logFormat {
	case "text":
		return slog.New(slog.NewTextHandler(os.Stderr, nil)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(os.Stderr, nil)), nil
	}
	return nil, &exitError{exitUsage, fmt.Errorf("--log-format is text or json, not %q", f.logFormat)}
}

// load plans a statement file. Errors in it are rendered with the source line and a caret.
func (f *scriptFlags) load(file string, collect func(changelog.Schema) connector.Sink) (*plan.Script, string, error) {
	src, err := os.ReadFile(file)
	if err != nil {
		return nil, "", &exitError{exitUsage, err}
	}
	abs, err := filepath.Abs(file)
	if err != nil {
		return nil, "", err
	}
	conf := config.NewJob()
	if f.config != "" {
		data, err := os.ReadFile(f.config)
		if err != nil {
			return nil, "", &exitError{exitUsage, err}
		}
		if err := conf.LoadFile(f.config, data); err != nil {
			return nil, "", &exitError{exitUsage, err}
		}
	}
	for _, d := range f.dynamic {
		if err := conf.Dynamic(d); err != nil {
			return nil, "", &exitError{exitUsage, err}
		}
	}
	name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	reg := all.Registry(collect)
	reg.Stores = f.stores()
	reg.System = systemTables(reg.Stores, func(note string) {
		if log, err := f.logger(); err == nil { // else refused where the command begins
			log.Warn(note)
		}
	})
	if f.plugins != nil {
		f.plugins(reg)
	}
	s, err := plan.Plan(string(src), conf, name, time.Now, reg)
	if err != nil {
		return nil, "", &exitError{exitUsage, errors.New(render(err, string(src), file))}
	}
	return s, abs, nil
}

// render shows an error of a statement file with line, column and caret where it has a place.
func render(err error, src, file string) string {
	var many parse.Errors
	var one *parse.Error
	switch {
	case errors.As(err, &many):
		return strings.TrimRight(parse.Render(many, src, file), "\n")
	case errors.As(err, &one):
		return strings.TrimRight(parse.Render(one, src, file), "\n")
	}
	var c *config.Error
	if !errors.As(err, &c) {
		return err.Error()
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var parts []string
		for _, e := range many.Unwrap() {
			parts = append(parts, render(e, src, file))
		}
		return strings.Join(parts, "\n")
	}
	if c.Position.Line == 0 || c.Position.File != "" {
		return err.Error()
	}
	return strings.TrimRight(parse.Render(option(c, src), src, file), "\n")
}

// option makes an error about an option one that shows its place. A line with a secret is not shown.
func option(c *config.Error, src string) error {
	lines := strings.SplitAfter(src, "\n")
	if c.Position.Line > len(lines) || config.IsSecret(lines[c.Position.Line-1]) {
		return c
	}
	text := *c
	text.Position, text.Hint = config.Position{}, ""
	e := &parse.Error{Pos: ast.Pos{Line: c.Position.Line, Col: c.Position.Column}, Msg: text.Error(), Hint: c.Hint}
	for _, l := range lines[:c.Position.Line-1] {
		e.Pos.Offset += len(l)
	}
	line := []rune(lines[c.Position.Line-1])
	col := min(max(c.Position.Column, 1)-1, len(line))
	e.Pos.Offset += len(string(line[:col]))
	e.Stop = e.Pos
	e.Stop.Offset++
	if rest := src[e.Pos.Offset:]; strings.HasPrefix(rest, "'") { // the quoted key
		if i := strings.IndexByte(rest[1:], '\''); i >= 0 {
			e.Stop.Offset += i + 1
		}
	}
	return e
}
