package namenode

import (
	"errors"
	"regexp"
	"strings"
	"time"
)

// Event is one line of an audit log.
type Event struct {
	// Time is what the line says, taken for UTC: the zone is not in it. See Clock.
	Time    time.Time
	Allowed bool
	// User is the user without the authentication, IP the client's address.
	User, IP string
	// Cmd is the command, Options what stands in brackets behind it ("options=[OVERWRITE]").
	Cmd, Options string
	Src, Dst     string
	// Caller is the caller context, if the NameNode logs it.
	Caller string
	// Log is the number of the file in the order in which they were given, Line the number in it, from 1.
	Log, Line int
}

// Errors of lines that are no events.
var (
	errOther = errors.New("not an audit line")
	errTime  = errors.New("it has no time that is known, at its beginning or before allowed=")
	errField = errors.New("it lacks a field")
)

// marker is in every audit line, whatever log4j puts before it.
const marker = "allowed="

// fields in the order in which NameNodes write them. Those behind perm are of later versions.
var fields = []string{"allowed", "ugi", "ip", "cmd", "src", "dst", "perm", "proto", "callerContext"}

// parse reads a line. errOther means that it is another logger's.
func parse(line string) (Event, error) {
	at := strings.Index(line, marker)
	if at < 0 || !strings.Contains(line[at:], "cmd=") {
		if strings.Contains(line, "FSNamesystem.audit") {
			return Event{}, errField
		}
		return Event{}, errOther
	}
	var e Event
	var err error
	if e.Time, err = timeOf(line, at); err != nil {
		return e, err
	}
	v := split(unescape(line[at:]))
	for _, need := range []string{"allowed", "ugi", "ip", "cmd", "src"} {
		if _, ok := v[need]; !ok {
			return e, errField
		}
	}
	switch v["allowed"] {
	case "true":
		e.Allowed = true
	case "false":
	default:
		return e, errField
	}
	e.User, _, _ = strings.Cut(v["ugi"], " ")
	// A name may resolve: "host/10.0.0.1".
	if i := strings.LastIndexByte(v["ip"], '/'); i >= 0 {
		e.IP = v["ip"][i+1:]
	} else {
		e.IP = v["ip"]
	}
	e.Cmd, e.Options, _ = strings.Cut(v["cmd"], " (")
	e.Options = strings.TrimSuffix(e.Options, ")")
	e.Src, e.Dst, e.Caller = null(v["src"]), null(v["dst"]), null(v["callerContext"])
	if e.Cmd == "" {
		return e, errField
	}
	return e, nil
}

// dates begin what a log4j layout writes as a time.
var dates = regexp.MustCompile(`\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d`)

// timeOf reads a line's time: at its beginning, or, behind what a collector of logs (syslog) puts there, the last one before the marker.
func timeOf(line string, marker int) (time.Time, error) {
	t, err := parseTime(line)
	if err == nil {
		return t, nil
	}
	if all := dates.FindAllStringIndex(line[:marker], -1); len(all) > 0 {
		return parseTime(line[all[len(all)-1][0]:])
	}
	return t, err
}

// unescape gives the fields their tabs back, which syslog writes as #011.
func unescape(s string) string {
	if strings.Contains(s, "#011ugi=") && !strings.Contains(s, "\t") {
		return strings.ReplaceAll(s, "#011", "\t")
	}
	return s
}

func null(s string) string {
	if s == "null" {
		return ""
	}
	return s
}

// split cuts "key=value" fields apart. They are separated by tabs, which some collectors of logs turn into blanks; a value may hold blanks and '='.
func split(s string) map[string]string {
	sep := "\t"
	if !strings.Contains(s, sep) {
		sep = " "
	}
	out := map[string]string{}
	rest, key := s, ""
	for i := 0; i <= len(fields); i++ {
		next, at := "", -1
		for _, f := range fields[i:] {
			begin := sep + f + "="
			if key == "" && strings.HasPrefix(rest, f+"=") {
				next, at = f, 0
				break
			}
			if p := strings.Index(rest, begin); p >= 0 {
				next, at = f, p
				break
			}
		}
		if next == "" {
			if key != "" {
				out[key] = strings.TrimRight(rest, "\r")
			}
			return out
		}
		if key != "" {
			out[key] = rest[:at]
			at += len(sep)
		}
		rest, key = rest[at+len(next)+1:], next
		for i < len(fields) && fields[i] != next {
			i++
		}
	}
	return out
}

// layouts of log4j's dates: with a zone, ISO8601, the same with a dot or a T.
var layouts = []string{"2006-01-02T15:04:05,000Z0700", "2006-01-02T15:04:05.000Z07:00", "2006-01-02 15:04:05,000", "2006-01-02 15:04:05.000",
	"2006-01-02T15:04:05,000", "2006-01-02T15:04:05.000", "2006-01-02 15:04:05"}

// parseTime reads the time at a line's beginning.
func parseTime(line string) (time.Time, error) {
	line = strings.TrimPrefix(line, "[")
	for _, l := range layouts {
		end := len(l)
		if strings.Contains(l, "Z07") { // a zone is as long as it is
			if end = strings.IndexByte(line, ' '); end < 0 {
				continue
			}
		}
		if len(line) < end {
			continue
		}
		if t, err := time.Parse(l, line[:end]); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, errTime
}

// Changes reports whether the command changes names or contents.
func (e *Event) Changes() bool {
	switch e.Cmd {
	case "create", "append", "rename", "delete", "mkdirs", "truncate", "concat", "createSymlink", "renameSnapshot", "recoverLease", "clearQuota", "deleteSnapshot":
		return true
	}
	return false
}

// Overwrites reports a rename that replaces what stands at its target.
func (e *Event) Overwrites() bool { return strings.Contains(e.Options, "OVERWRITE") }

// Who is "user@ip".
func (e *Event) Who() string { return e.User + "@" + e.IP }
