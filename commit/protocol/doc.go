// Package protocol judges one committed file: a pure state machine that is told what the store answered and says what to ask next
// (PROTOCOL.md 5.3).
//
//	make parent -> rename --ok--> renamed
//	                 | anything else
//	                 v
//	           look at source --there, answer was not "target exists"--> wait, make parent, rename again
//	                 | missing, or the answer was "target exists"
//	                 v
//	           look at target --there, right length--> skipped
//	                 | missing with source missing: once more, seconds later; then read the table's log again; then lost
//	                 | other length: read the table's log again; then damage
//
// The right length is that of the file, or of a replacement that a repair in the log names. If the log that is read again holds a repair, the target
// is looked at once more: the log may not have held it before, or its file is on its way.
//
// Never judge by the class of a rename's error: stores answer a missing target folder like a missing source, carry calls out whose answer
// is lost, and answer false after an earlier try succeeded. The source is looked at first: another process renames from source to target, so a
// file that was not at the source is at the target afterwards, and not the other way round.
package protocol
