// Package program runs a program of the host for a health check or a hook: by its absolute path and without a shell, as a user that is
// named, from a small environment, in a process group of its own that is killed when the program has ended or its time is over, and with
// bounded output. A program that ends by itself leaves nothing behind but what it has put into a session of its own. One that is killed leaves nothing
// that descends from it.
//
// # Goroutines
//
// Run starts three, and waits for them: one whose thread is thrown away with what it has given up, one that waits for the program, one that
// reads what it prints. A program that hangs in the kernel, where it cannot be killed, keeps Run waiting.
package program
