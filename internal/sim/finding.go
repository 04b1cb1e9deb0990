package sim

import (
	"errors"
	"fmt"
)

// Kind says what the oracle found wrong.
type Kind string

// The kinds of findings. All but the last are seen from outside: in rows, files, logs, reports, or in that nothing goes on.
const (
	Missing     Kind = "missing"      // the job ended and rows are neither visible nor reported lost
	Doubled     Kind = "doubled"      // a row is visible twice
	Strange     Kind = "strange"      // a row is visible that does not belong there
	Torn        Kind = "torn"         // a visible file is not whole
	Vanished    Kind = "vanished"     // a visible file went away
	Uncertified Kind = "uncertified"  // a file became visible that no certificate names
	Forked      Kind = "forked"       // two completed checkpoints of one log promise the same file
	FalseLost   Kind = "false loss"   // a file was called lost, but nobody took it
	FalseDamage Kind = "false damage" // a file or log was called damaged, but nobody damaged it
	WrongReport Kind = "wrong report" // a report is not what the files say
	Early       Kind = "early"        // a partition is declared complete too early
	Undeclared  Kind = "undeclared"   // a partition was never declared complete
	Audited     Kind = "audit"        // the audit has problems
	Accepted    Kind = "accepted"     // a start that must be refused was accepted
	Usurped     Kind = "usurped"      // an attempt was ended in favour of nobody
	Stuck       Kind = "stuck"        // nothing goes on any more
	Engine      Kind = "engine"       // the engine itself reports a fault: no judgement from outside
)

// Finding is what the oracle found wrong.
type Finding struct {
	Kind Kind
	What string
}

// Error gives kind and text.
func (f *Finding) Error() string { return string(f.Kind) + ": " + f.What }

func find(k Kind, format string, args ...any) error {
	return &Finding{k, fmt.Sprintf(format, args...)}
}

// kindOf is the kind of what a run ended with.
func findingOf(err error) Kind {
	var f *Finding
	if errors.As(err, &f) {
		return f.Kind
	}
	return Engine
}
