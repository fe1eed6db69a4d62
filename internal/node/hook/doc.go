// Package hook tells programs of the host what this node is to each virtual address: programs that are run at each change of state, in the
// way of keepalived's notify scripts, and one that reads lines from a named pipe (FIFO). It can delay nobody: [Hooks.Report] notes a change and
// returns.
//
// What has to be told is made by the ledger, which is pure. A lane runs the programs of one entry, or of one group: those of one state side
// by side, and those of the next state after them. States that come meanwhile are one, the newest.
//
// # Goroutines
//
// One for each lane while it has something to run, one for each program that runs (and those of internal/base/program), and one for the FIFO.
// [Hooks.Close] waits for them, but for those of programs that cannot be killed because they hang in the kernel.
package hook
