// Package code names, for good, what keepvip tells an operator: why an address has moved, what keeps a node from holding it, what is wrong on
// the wire, on the host, in Raft or in the cluster's files. A [Code] is the same in the status, the log, the history, explanations, findings
// and alerts, and docs/troubleshooting.md has an index of all of them. Nothing is built before somebody asks: a daemon pays for constants alone.
//
// Codes are stable. One that is not used any more keeps its entry, so that its number is never given to something else. There is one file for
// each range.
package code
