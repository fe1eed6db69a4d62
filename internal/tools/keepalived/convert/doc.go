// Package convert makes a configuration of keepvip of a keepalived.conf.
//
// [Convert] takes the tree that package syntax reads and writes what keepalived 2.2.7 would carry out, by the typed model of package
// keepalived, in keepvip's words. Behind each line it says which line of which file that comes from, or that it is keepalived's default.
// Defaults of keepvip are left out where keepalived does the same.
//
// Nothing is dropped silently. A keyword is carried over, or there is a [keepalived.Finding] at its line. Of severity
// [keepalived.Fault] is what would change who holds an address, which addresses exist, or where packets go: then there is no text, unless
// [Options.Partial] asks for what is left. [keepalived.Warning] is what keepvip does in another way, [keepalived.Note] what it needs no
// setting for. What is finally written is read again by package config, so a text that is returned is one that keepvip accepts.
//
// The package is pure: it reads no file, asks nothing of the host, and starts no goroutine. Passwords are never written: the text names the
// file that an operator has to make, or, with [Options.InMemory], what is handed over beside it.
package convert
