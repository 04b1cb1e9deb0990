package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestPagesAreCurrent(t *testing.T) {
	for _, p := range pages() {
		got, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", p.name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != p.text {
			t.Errorf("docs/reference/%s is not what the code says: run `make docs` and commit it", p.name)
		}
	}
}
