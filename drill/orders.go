package drill

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"staunch/connector"
)

// Orders are what a run is to do, for all processes of it.
type Orders struct {
	// Control is a local folder of this run: what its processes tell each other.
	Control string `json:"control"`
	// Guard is the URI of the folder outside of which nothing may be changed.
	Guard  string `json:"guard"`
	Places Places `json:"places"`
	// Strikes come in this order: each after the one before.
	Strikes []Strike `json:"strikes,omitempty"`
	// Record writes down every operation.
	Record bool `json:"record,omitempty"`
	// Job is what a Subject needs to know.
	Job Job `json:"job"`
}

// Strike is one fault at the Nth step of its kind in a life, counted from 1.
type Strike struct {
	Step  Key   `json:"step"`
	Nth   int   `json:"nth"`
	Fault Fault `json:"fault"`
}

// Job is how the user's job is made one that can be drilled.
type Job struct {
	// File is the statement file; Args are flags of the user's that settings come from.
	File   string   `json:"file,omitempty"`
	Define []string `json:"define,omitempty"`
	Config string   `json:"config,omitempty"`
	// Name of the job in the drill.
	Name string `json:"name,omitempty"`
	// Tables gives, for the URI of each of the user's tables, the one that is written instead.
	Tables map[string]string `json:"tables,omitempty"`
	// Sources are the splits to read, by the source table's name; Records are how many offsets that is.
	Sources map[string][]connector.Split `json:"sources,omitempty"`
	Records map[string]int64             `json:"records,omitempty"`
	// Accept are ids of lost files to go on without.
	Accept []string `json:"accept,omitempty"`
}

// The files in Orders.Control.
const (
	ordersFile = "orders.json"
	opsFile    = "operations.jsonl"
	struckFile = "struck.jsonl"
	lateFile   = "late.jsonl"
	endFile    = "end.json"
)

// ReadOrders reads the orders of a run from its control folder.
func ReadOrders(control string) (Orders, error) {
	var o Orders
	b, err := os.ReadFile(filepath.Join(control, ordersFile))
	if err == nil {
		err = json.Unmarshal(b, &o)
	}
	return o, err
}

func (o Orders) write() error {
	if err := os.MkdirAll(o.Control, 0o700); err != nil {
		return err
	}
	b, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(o.Control, ordersFile), b, 0o600)
}

// End says how a process of a job ended.
type End struct {
	// Killed by a strike; Finished: everything is committed. Neither: it failed.
	Killed   bool `json:"-"`
	Finished bool `json:"finished"`
	// Class of the failure (fault.Class) and its text.
	Class string        `json:"class,omitempty"`
	Error string        `json:"error,omitempty"`
	Took  time.Duration `json:"-"`
}

// Tell leaves word of how this process ends.
func (o Orders) Tell(e End) error {
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(o.Control, endFile), b, 0o600)
}

// Told reads what Tell left and removes it; ok is false if the process left none.
func (o Orders) Told() (e End, ok bool) {
	p := filepath.Join(o.Control, endFile)
	b, err := os.ReadFile(p)
	if err != nil || json.Unmarshal(b, &e) != nil {
		return End{}, false
	}
	return e, os.Remove(p) == nil
}
