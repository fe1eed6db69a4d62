// Package lint names the traps of a keepalived.conf: what keepalived carries out as written, and what is seldom wanted.
//
// [Lint] adds its findings to those of package keepalived. Each trap is one function of the table, and sees the model and nothing else: no
// host, so that a file can be looked at anywhere. What only the host knows (is the script there, is there such a user) is not asked.
// The package is pure.
package lint
