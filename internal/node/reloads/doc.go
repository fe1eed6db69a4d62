// Package reloads reads a configuration again while a process runs, and remembers which one is in force, and what has become of
// its reloads: for status and metrics.
//
// Goroutines: one for each [Reading], while its sources are read. Nobody waits for one that hangs in the kernel.
package reloads
