// Package code names, for good, what keepvip tells an operator: why an address has moved, what keeps a node from holding it, what is wrong on
// the wire, on the host, in Raft or in the cluster's files. A [Code] is the same in the status, the log, the history, explanations, findings
// and alerts. What it means is written once, in docs/troubleshooting.md, which is part of the program and is read when somebody asks.
//
// Codes are stable. One that is not used any more keeps its entry there, so that its number is never given to something else.
package code
