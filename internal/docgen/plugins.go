package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"staunch/all"
	"staunch/config"
)

// connectors is the page of the connectors' WITH options.
func connectors() string {
	var b strings.Builder
	b.WriteString(head + `# Connectors

What a table is, by its option ` + "`connector`" + `. Options have Flink's names, and its defaults unless they say otherwise. In names, ` + "`*`" + ` stands for any text and ` + "`#`" + ` for
a column. The format's options come to them, with the format's name and a dot before each: [formats](formats.md).
`)
	for _, c := range all.Connectors {
		var can []string
		if c.Source != nil {
			can = append(can, "read")
		}
		if c.Sink != nil {
			can = append(can, "written")
		}
		fmt.Fprintf(&b, "\n## %s\n\nSuch a table can be %s.\n", c.Name, strings.Join(can, " and "))
		if len(c.Metadata) > 0 {
			b.WriteString("\n| metadata | type |\n|---|---|\n")
			for _, k := range slices.Sorted(maps.Keys(c.Metadata)) {
				fmt.Fprintf(&b, "| `%s` | %s |\n", k, c.Metadata[k])
			}
		}
		options(&b, c.Options, "")
		if len(c.Own) > 0 {
			b.WriteString("\nOptions of Staunch's own, which Flink's WITH clause would refuse, written `SET 'staunch.table.<table>.<option>' = '...'`:\n")
			options(&b, c.Own, "")
		}
	}
	return b.String()
}

// formats is the page of the formats' options.
func formats() string {
	var b strings.Builder
	b.WriteString(head + `# Formats

How the bytes of a table's records or files are made, by its option ` + "`format`" + `.
`)
	for _, f := range all.Formats {
		var can []string
		if f.Decoder != nil {
			can = append(can, "records are read")
		}
		if f.FileWriter != nil {
			can = append(can, "files are written (`."+f.Extension+"`)")
		}
		fmt.Fprintf(&b, "\n## %s\n\nIn this format %s.\n", f.Name, strings.Join(can, " and "))
		options(&b, f.Options, f.Name+".")
	}
	return b.String()
}

// options writes the tables of options: with effect, without, refused.
func options(b *strings.Builder, list []config.Option, prefix string) {
	var with, idle, refused []string
	for _, o := range list {
		name := "`" + prefix + o.Key + "`"
		switch {
		case o.Refused != "":
			refused = append(refused, fmt.Sprintf("| %s | %s |", name, o.Refused))
		case o.Ignored != "":
			idle = append(idle, fmt.Sprintf("| %s | %s |", name, o.Ignored))
		default:
			kind := o.Type.String()
			if o.Type == config.TypeEnum {
				kind = strings.Join(o.Enum, ", ")
			}
			value := orNone(o.Default)
			if o.Required {
				value = "required"
			}
			text := o.Doc
			if len(o.Aliases) > 0 {
				text += " Older: `" + strings.Join(o.Aliases, "`, `") + "`."
			}
			with = append(with, fmt.Sprintf("| %s | %s | %s | %s |", name, kind, value, text))
		}
	}
	table := func(title, columns string, rows []string) {
		if len(rows) > 0 {
			fmt.Fprintf(b, "\n%s%s\n%s\n", title, columns, strings.Join(rows, "\n"))
		}
	}
	table("", "| option | type | default | meaning |\n|---|---|---|---|", with)
	table("Accepted without effect, with a warning:\n\n", "| option | why |\n|---|---|", idle)
	table("Refused unless they have their default value:\n\n", "| option | what to do |\n|---|---|", refused)
}
