package job

import "staunch/clean"

// leftovers tells a sink's task which of the files that it has just listed in its temporary folder may be deleted: the rule of `staunch clean`,
// whatever their age. It reads the logs anew, by readers of its own, since the attempt may have been replaced without knowing.
func (a *attempt) leftovers(root string, listed []string, stopped func() bool) ([]string, error) {
	job := clean.Job{ID: a.spec.ID, Store: a.spec.CheckpointStore, Dir: a.store.Dir(), Stores: a.spec.Stores}
	for _, t := range a.spec.Tables {
		if t.Sink.Root() == root {
			return clean.Leftovers(a.env, job, clean.Table{Name: t.Name, Store: t.Sink.Store(), Root: root}, listed, stopped)
		}
	}
	return nil, nil
}
