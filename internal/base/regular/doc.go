// Package regular reads whole files that people name, and waits for none of them: a pipe, a device or a terminal is refused before a byte of it
// is read. A file system that does not answer still holds up its reader.
//
// It has no goroutines.
package regular
