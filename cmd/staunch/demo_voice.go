package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
)

// voice is how the demo speaks: coloured and with one line that is renewed in a terminal, plain text elsewhere.
type voice struct {
	out      io.Writer
	terminal bool
	n        int  // of the step
	shown    bool // the renewed line is there
}

const (
	styleStep    = "1;36"
	styleCommand = "1"
	styleGood    = "1;32"
	styleBad     = "1;31"
	styleDim     = "2"
)

func newVoice(out *os.File) *voice {
	info, err := out.Stat()
	terminal := err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return &voice{out: out, terminal: terminal}
}

func (v *voice) style(code, text string) string {
	if !v.terminal {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (v *voice) print(text string) {
	v.live("")
	fmt.Fprintln(v.out, text)
}

// step begins a step of the demo.
func (v *voice) step(title, text string) {
	v.n++
	v.print(fmt.Sprintf("\n%s %s", v.style(styleStep, fmt.Sprintf("%d. %s:", v.n, title)), text))
}

func (v *voice) line(format string, args ...any) { v.print("   " + fmt.Sprintf(format, args...)) }

func (v *voice) command(text string) { v.print("   " + v.style(styleCommand, "$ "+text)) }

func (v *voice) good(format string, args ...any) {
	v.print("   " + v.style(styleGood, fmt.Sprintf(format, args...)))
}

func (v *voice) bad(format string, args ...any) {
	v.print("   " + v.style(styleBad, fmt.Sprintf(format, args...)))
}

// code shows the text of a file or of a command.
func (v *voice) code(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		v.print("   " + v.style(styleDim, "| "+line))
	}
}

// live renews the one line, in a terminal; "" takes it away.
func (v *voice) live(text string) {
	if !v.terminal || (text == "" && !v.shown) {
		return
	}
	fmt.Fprint(v.out, "\r\x1b[K"+text)
	v.shown = text != ""
}

// bar shows how much of total is visible and how much is in the topic.
func bar(visible, acked, total int64) string {
	const width = 40
	v, a := int(visible*width/total), int(acked*width/total)
	a = max(a, v)
	return strings.Repeat("#", v) + strings.Repeat("-", a-v) + strings.Repeat(".", max(0, width-a))
}

// shellWord quotes a path as a shell needs it.
func shellWord(s string) string {
	if strings.ContainsFunc(s, func(c rune) bool {
		return !strings.ContainsRune("/._-+,:@%", c) && !unicode.IsLetter(c) && !unicode.IsDigit(c)
	}) {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}
