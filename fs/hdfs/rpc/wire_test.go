package rpc

import (
	"bytes"
	"strings"
	"testing"
)

// TestGarbage feeds answers that are none: the client neither panics nor waits for ever.
func TestGarbage(t *testing.T) {
	good := frame([]byte{8, 1, 16, 0}, []byte("x"))
	for cut := range len(good) + 1 {
		for flip := range 4 {
			b := append([]byte(nil), good[:cut]...)
			if flip > 0 && cut > 4 {
				b[4+(cut*flip)%(cut-4)] ^= byte(1 << flip)
			}
			_, _ = readAnswer(bytes.NewReader(b))
			_, _ = parseAnswer(b)
		}
	}
	if _, err := readAnswer(strings.NewReader("HTTP/1.1 400 Bad Request")); err == nil {
		t.Error("taken for an answer")
	}
}
