// Package bitmap has exact sets of offsets for tables of which nobody kept an account: offsets come in any order, from many files, some of them twice.
//
// A set is a sorted list of chunks of 65,536 offsets each. A chunk is a list of runs as long as these are few, else one bit an offset. So 100 million
// offsets without a gap take some 100 KB, with every second one missing 12.5 MB, and never more than 8 KiB and a header for a chunk.
//
// Invariants
//   - The result depends on what was added, not on its order.
//   - Whatever is added that is there already is found, exactly: it goes into the set `twice`.
//   - Sets do not share memory: what was added to another set may be changed afterwards.
package bitmap
