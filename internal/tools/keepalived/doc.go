// Package keepalived reads a keepalived.conf as keepalived 2.2.7 (Debian 12) would carry it out: a typed model of the VRRP side with
// keepalived's defaults and arithmetic, and every place where the file does something else than its text says.
//
// [Read] takes three steps: package syntax makes a tree of blocks of the text; [Model] gives each keyword that it knows to a function of its
// block's table (keywords_*.go), in the order of the file, because keepalived's order counts too: a script has to stand before the
// instance that tracks it, and the first address decides the family; then finish.go fills in what was left out, from global_defs or
// keepalived's own defaults, and applies the rules between keywords.
//
// What keepalived does not carry out as written is a [Finding], with file, line and remedy. Of severity [Fault] are those for which
// `keepalived -t` refuses the file, or which lose a part of it; package lint adds the traps. Keywords that keepvip has nothing for (LVS,
// VMAC, SNMP) are findings of severity [Note], and their blocks are not looked into. The values of the model that a fault touches are
// those that keepalived goes on with: its daemon, where its test does something else, as with numbers that are none. With a finding that is
// Taken that is certain; with another fault a reader of the model had better stop.
//
// Left out: what needs the host. Whether an interface, a script or a user exists here is not asked; no file is read but the configuration.
// The package is pure and starts no goroutine.
package keepalived
