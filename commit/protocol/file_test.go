package protocol

import (
	"slices"
	"strings"
	"testing"
)

var askNames = []string{"parent", "rename", "source", "target", "log", "wait", "RENAMED", "SKIPPED", "LOST", "DAMAGED", "FAILS"}

// answers of a store, by ask: "ok", "exists", "missing", "refused", "none" (no answer), "other", "long" (there, of another length).
func parse(s string) (Answer, bool) {
	switch s {
	case "ok":
		return OK, true
	case "exists":
		return Exists, false
	case "missing":
		return Missing, false
	case "refused":
		return Refused, false
	case "none":
		return Unavailable, false
	case "long":
		return OK, false
	}
	return Other, false
}

// play answers the asks in order; waits are answered with ok by themselves, readings of the log too unless the answer is "repair": a repair stands
// there. It returns the asks, waits left out.
func play(v Variant, answers ...string) string {
	m := New(v)
	var asked []string
	ask := m.Start()
	for range 200 {
		if ask != Wait {
			asked = append(asked, askNames[ask])
		}
		switch {
		case ask >= IsRenamed:
			return strings.Join(asked, " ")
		case ask == ReadLog && len(answers) > 0 && answers[0] == "repair":
			ask, answers = m.Next(Exists, false), answers[1:]
		case ask == Wait || ask == ReadLog:
			ask = m.Next(OK, false)
		default:
			a := "ok"
			if ask != MakeParent {
				if len(answers) == 0 {
					return strings.Join(asked, " ") + " ..."
				}
				a, answers = answers[0], answers[1:]
			}
			ans, same := parse(a)
			ask = m.Next(ans, same)
		}
	}
	return strings.Join(asked, " ") + " forever"
}

// TestVerdicts has a line for each way in which a store can answer (PROTOCOL.md 5.3).
func TestVerdicts(t *testing.T) {
	for _, c := range []struct{ answers, want string }{
		{"ok ok", "parent rename target RENAMED"},
		{"missing missing ok", "parent rename source target SKIPPED"},
		{"refused missing ok", "parent rename source target SKIPPED"}, // done by an earlier try, answered false
		{"none missing ok", "parent rename source target SKIPPED"},    // done, the answer was lost
		{"other missing ok", "parent rename source target SKIPPED"},   // never judged by the class of the error
		{"exists ok ok", "parent rename source target SKIPPED"},       // both there: the source goes by the delete rule
		{"exists missing ok", "parent rename source target SKIPPED"},  // moved
		{"exists ok missing ok ok", "parent rename source target parent rename target RENAMED"},
		{"missing ok ok ok", "parent rename source parent rename target RENAMED"}, // the target's folder was missing
		{"refused ok ok ok", "parent rename source parent rename target RENAMED"},
		{"none ok ok ok", "parent rename source parent rename target RENAMED"},
		{"none none ok ok ok", "parent rename source source parent rename target RENAMED"}, // an outage is waited for
		{"missing missing missing missing missing missing missing", "parent rename source target source target source target log LOST"},
		{"missing missing missing missing missing missing ok", "parent rename source target source target source target SKIPPED"}, // seen late, twice
		{"missing missing missing missing ok", "parent rename source target source target SKIPPED"},                               // another process was in the middle
		{"missing missing missing ok ok ok", "parent rename source target source parent rename target RENAMED"},
		{"ok missing", "parent rename target RENAMED"},  // the look lags
		{"ok long", "parent rename target log DAMAGED"}, // it was not the file
		{"ok other none ok", "parent rename target target target RENAMED"},
		{"missing missing long", "parent rename source target log DAMAGED"},
		{"exists ok long", "parent rename source target log DAMAGED"},
		{"exists ok long repair ok", "parent rename source target log target SKIPPED"}, // its replacement, which is another file
		{"exists ok long repair long", "parent rename source target log target DAMAGED"},
		{"missing missing missing missing missing missing missing repair missing", "parent rename source target source target source target log target LOST"}, // not there yet
		{"missing missing missing missing missing missing missing repair none other ok", "parent rename source target source target source target log target target target SKIPPED"},
		{"missing missing long repair missing missing missing ok", "parent rename source target log target parent rename source target SKIPPED"}, // it has gone meanwhile
		{"missing missing none none ok", "parent rename source target target target SKIPPED"},
	} {
		if got := play(Variant{}, strings.Fields(c.answers)...); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.answers, got, c.want)
		}
	}
}

// TestPatience: a store that refuses for no visible reason is an error in the end; one that does not answer is waited for without end.
func TestPatience(t *testing.T) {
	var refused, none []string
	for range 40 {
		refused = append(refused, "refused", "ok")
		none = append(none, "none", "ok")
	}
	if got := play(Variant{}, refused...); !strings.HasSuffix(got, "FAILS") {
		t.Error("refused for ever:", got)
	}
	// Before it is one, the target is looked at: both places may hold the file, which no restart would change.
	for answer, want := range map[string]string{"ok": "target SKIPPED", "long": "target log DAMAGED", "missing": "target FAILS"} {
		for _, rename := range []string{"refused", "other"} {
			var answers []string
			for range Refusals + 1 {
				answers = append(answers, rename, "ok")
			}
			got := play(Variant{}, append(answers, answer)...)
			if !strings.HasSuffix(got, "rename source "+want) || strings.Count(got, "rename") != Refusals+1 {
				t.Errorf("%s for ever, then the target %s: %s", rename, answer, got)
			}
		}
	}
	if got := play(Variant{}, append(none, "ok", "ok")...); !strings.HasSuffix(got, "RENAMED") {
		t.Error("outage:", got)
	}
	if got := play(Variant{}, append(slices.Concat(refused[:2*Refusals], none), "ok", "ok")...); !strings.HasSuffix(got, "RENAMED") {
		t.Error("outage behind all refusals but the last:", got)
	}
}

// TestVariantsDiffer: the known-bad variants answer otherwise in the case that they are about.
func TestVariantsDiffer(t *testing.T) {
	gone := strings.Fields("missing missing missing missing missing")
	if got := play(Variant{MissingIsDone: true}, gone...); got != "parent rename source target SKIPPED" {
		t.Error(got)
	}
	if got := play(Variant{TargetFirst: true}, "none", "missing", "missing"); got != "parent rename target source LOST" {
		t.Error(got)
	}
}
