package connector

// Windowed is a Source of which a part can be read for a trial that changes nothing outside of this program.
type Windowed interface {
	// Window says where s begins and ends as it was discovered: From <= o < To; To is negative without an end.
	Window(s Split) (from, to int64, err error)
	// Narrow gives s so that reading it begins at from and ends before to. The source's options must say that it is bounded.
	Narrow(s Split, from, to int64) (Split, error)
}

// Watched is a Source of which an onlooker can tell whether it stays as it is.
type Watched interface {
	// Stand asks, reading only, where what is read stands. It may block as long as the source's options say.
	Stand(ctx Context) (Stand, error)
}

// Stand is what an onlooker sees of a source.
type Stand struct {
	// Ends are the offsets behind the last record, by split.
	Ends map[string]int64
	// Group is the consumer group that the table names, "" for none; Committed are its offsets by split.
	Group     string
	Committed map[string]int64
}
