// Package state keeps what operators want of this node over a restart: one small file in the state directory.
//
// A node that cannot read the file does not know whether it may hold an address, so [Open] fails then; a file that is not
// there says that nothing is wanted. A change is on the disk before its method returns.
//
// [Load] and [Replace] are for other small files of the state directory, too. A file NAME that is being written is called .NAME.new, with something
// arbitrary behind it; [Cleanup] finds what a kill has left of such files, whichever room has made them.
//
// Left out: what an operator's choice means for the election, which is the instance's.
//
// There are no goroutines.
package state
