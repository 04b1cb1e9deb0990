package observe

import (
	"testing"
	"time"

	"staunch/account"
	"staunch/changelog"
	"staunch/connector"
	"staunch/dataflow"
	"staunch/env"
	"staunch/forecast"
)

// transactions are topics of which all is written in transactions.
type transactions struct{ line }

func (*transactions) Read(connector.Context, []connector.Part) (connector.SurveyReader, error) {
	return ended{}, nil
}

// ended is a reader that is at its end.
type ended struct{ connector.Reader }

func (ended) Poll(*changelog.Batch) (connector.Status, error) { return connector.Ended, nil }

func (ended) Splits() []connector.Split { return nil }

func (ended) Snapshot() ([]connector.Split, []account.Range, error) { return nil, nil, nil }

func (ended) Seen() connector.Seen { return connector.Seen{Transactional: true} }

func (ended) Close() error { return nil }

// TestTransactionalTopic: of a table of several topics, the one that was read in a transaction is said to be so, and not one whose name begins its.
func TestTransactionalTopic(t *testing.T) {
	r := &run{l: &Looker{Env: &env.Real{}}, src: &dataflow.Source{}, survey: &transactions{}, splits: []connector.SplitSurvey{{ID: "a-0", Topic: "a"}, {ID: "a-b-0", Topic: "a-b"}},
		out: &forecast.Source{Topics: []forecast.Topic{{Name: "a"}, {Name: "a-b"}}}, clock: &clock{}, deadline: time.Now().Add(time.Hour)}
	if err := r.task(&task{}, []connector.Part{{Split: 1, To: 1}}, noon, 1); err != nil {
		t.Fatal(err)
	}
	if topics := r.out.Topics; topics[0].Transactional || !topics[1].Transactional {
		t.Errorf("%+v", topics)
	}
}
