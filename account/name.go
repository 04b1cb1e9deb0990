package account

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// The suffixes of names in a table's temporary folder.
const (
	// PendingSuffix ends pending files, so that no reader of *.<ext> takes one.
	PendingSuffix = ".pending"
	// repairPrefix begins the names of staged replacements of lost files.
	repairPrefix = "repair-"
	// ProbeSuffix ends the files by which a store is tried.
	ProbeSuffix = ".probe"
)

// FileName is what the name of a data file says: part-<job8>-<subtask>-<checkpoint>-<epoch>-<seq>-<rand>.<ext> (PROTOCOL.md 3).
type FileName struct {
	// Job8 is the short form of the job's id, see Job8.
	Job8       string
	Subtask    int
	Checkpoint CheckpointID
	Epoch      Epoch
	// Seq numbers the files of one writer; Rand are 96 random bits in hexadecimal, which make the name unique.
	Seq  int
	Rand string
	// Ext is the format's extension, without dot.
	Ext string
}

// randDigits is the length of FileName.Rand.
const randDigits = 24

// Job8 is the short form of a job's id in file names: the first 8 hexadecimal digits of its SHA-256.
func Job8(job string) string {
	sum := sha256.Sum256([]byte(job))
	return hex.EncodeToString(sum[:4])
}

// String is the name of the visible file; the pending one has PendingSuffix behind it.
func (n FileName) String() string {
	return fmt.Sprintf("part-%s-%d-%d-%d-%d-%s.%s", n.Job8, n.Subtask, n.Checkpoint, n.Epoch, n.Seq, n.Rand, n.Ext)
}

// ParseFileName reads a name that String wrote. Every other name, however near, is none: ok is false.
func ParseFileName(name string) (n FileName, ok bool) {
	stem, ext, found := strings.Cut(name, ".")
	f := strings.Split(stem, "-")
	if !found || len(f) != 7 || f[0] != "part" || len(f[1]) != 8 || len(f[6]) != randDigits {
		return FileName{}, false
	}
	var v [4]int64
	for i, digits := range f[2:6] {
		var err error
		if v[i], err = strconv.ParseInt(digits, 10, 64); err != nil {
			return FileName{}, false
		}
	}
	n = FileName{Job8: f[1], Subtask: int(v[0]), Checkpoint: CheckpointID(v[1]), Epoch: Epoch(v[2]), Seq: int(v[3]), Rand: f[6], Ext: ext}
	if n.String() != name || !isHex(n.Job8) || !isHex(n.Rand) || v[0] < 0 || v[1] < 0 || v[2] < 0 || v[3] < 0 {
		return FileName{}, false
	}
	return n, true
}

// ProbeName is the name of a file by which an attempt tries a store; rand are 24 hexadecimal digits.
func ProbeName(job8 string, epoch Epoch, rand string) string {
	return fmt.Sprintf("probe-%s-%d-%s%s", job8, epoch, rand, ProbeSuffix)
}

// ParseProbeName reads a name that ProbeName wrote.
func ParseProbeName(name string) (job8 string, epoch Epoch, ok bool) {
	f := strings.Split(strings.TrimSuffix(name, ProbeSuffix), "-")
	if len(f) != 4 || len(f[1]) != 8 || len(f[3]) != randDigits || !isHex(f[1]) || !isHex(f[3]) {
		return "", 0, false
	}
	n, err := strconv.ParseInt(f[2], 10, 64)
	if err != nil || n < 0 || ProbeName(f[1], Epoch(n), f[3]) != name {
		return "", 0, false
	}
	return f[1], Epoch(n), true
}

// RepairName is the name of a staged replacement of a lost file of a checkpoint, directly in the table's temporary folder: no attempt has such
// names, and no reader of *.<ext> takes one. rand are 24 hexadecimal digits.
func RepairName(job8 string, id CheckpointID, rand, ext string) string {
	return fmt.Sprintf("%s%s-%d-%s.%s%s", repairPrefix, job8, id, rand, ext, PendingSuffix)
}

// ParseRepairName reads a name that RepairName wrote.
func ParseRepairName(name string) (job8 string, id CheckpointID, ok bool) {
	stem, ext, found := strings.Cut(strings.TrimSuffix(name, PendingSuffix), ".")
	f := strings.Split(strings.TrimPrefix(stem, repairPrefix), "-")
	if !found || len(f) != 3 || len(f[0]) != 8 || len(f[2]) != randDigits || !isHex(f[0]) || !isHex(f[2]) {
		return "", 0, false
	}
	n, err := strconv.ParseInt(f[1], 10, 64)
	if err != nil || n < 0 || RepairName(f[0], CheckpointID(n), f[2], ext) != name {
		return "", 0, false
	}
	return f[0], CheckpointID(n), true
}

// isHex reports whether s is lower-case hexadecimal digits.
func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }
