// Package history keeps the last transitions of every virtual address, and the faults that were no transition, over a restart and a reboot: in memory, and in one bounded file in the
// state directory.
//
// Whoever adds a transition waits for no disk. The file is read leniently: each line has a checksum, and what is torn or damaged is left
// out, so a kill at any moment costs at most the transition that was being written. A disk that is full, or cannot be written, costs the file
// and nothing else: the transitions stay in memory, and are on the disk as soon as it takes them again.
//
// Left out: what a transition is, and why it came about, which is the instance's.
//
// # Goroutines
//
// One writes the file, from [Log.Open] until [Log.Close], which waits for it, but for one that hangs in the kernel.
package history
