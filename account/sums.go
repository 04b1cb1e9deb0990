package account

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"iter"

	"github.com/zeebo/xxh3"
)

// Sums are checksums of a file's bytes, in lower-case hexadecimal.
type Sums struct {
	// XXH128 is XXH3 with 128 bits in its canonical form, what `xxh128sum` prints. It finds what happens to a file; somebody who means to can make
	// other bytes with the same one. Empty for files of versions that recorded folders.
	XXH128 string `json:"xxh128,omitempty"`
	// SHA256 is there for tables that want it: nobody can make other bytes with the same one.
	SHA256 string `json:"sha256,omitempty"`
}

// Recorded: there is one at all.
func (s Sums) Recorded() bool { return s.XXH128 != "" || s.SHA256 != "" }

// Contradicts reports which checksum both have and is not the same ("XXH128", "SHA-256"), "" if none.
func (s Sums) Contradicts(o Sums) string {
	switch {
	case s.XXH128 != o.XXH128 && s.XXH128 != "" && o.XXH128 != "":
		return "XXH128"
	case s.SHA256 != o.SHA256 && s.SHA256 != "" && o.SHA256 != "":
		return "SHA-256"
	}
	return ""
}

// Each gives the checksums that are there one by one: keys to find a file by, of which different ones are recorded here and there.
func (s Sums) Each() iter.Seq[Sums] {
	return func(yield func(Sums) bool) {
		if s.XXH128 == "" || yield(Sums{XXH128: s.XXH128}) {
			if s.SHA256 != "" {
				yield(Sums{SHA256: s.SHA256})
			}
		}
	}
}

// Summer computes the Sums of what is written to it.
type Summer struct {
	xxh *xxh3.Hasher
	sha hash.Hash // nil: not wanted
}

// NewSummer makes one; sha says whether that is computed, too, which costs some twenty times as much as XXH128.
func NewSummer(sha bool) *Summer {
	s := &Summer{xxh: xxh3.New()}
	if sha {
		s.sha = sha256.New()
	}
	return s
}

// Write implements io.Writer; it does not fail.
func (s *Summer) Write(p []byte) (int, error) {
	if s.sha != nil {
		s.sha.Write(p)
	}
	return s.xxh.Write(p)
}

// Sums are those of all that was written.
func (s *Summer) Sums() Sums {
	b := s.xxh.Sum128().Bytes()
	out := Sums{XXH128: hex.EncodeToString(b[:])}
	if s.sha != nil {
		out.SHA256 = hex.EncodeToString(s.sha.Sum(nil))
	}
	return out
}

// SumsOf are those of bytes in memory, without SHA-256.
func SumsOf(b []byte) Sums {
	s := NewSummer(false)
	s.Write(b)
	return s.Sums()
}
