// Package report says how the instances of a node fare in the words of the files that keepalived 2.2.7 writes on a signal: the data file
// (SIGUSR1), the statistics (SIGUSR2) and the JSON dump (SIGRTMIN+2). Exporters and liveness probes read these.
//
// The layout is keepalived's, line by line. What keepvip has no answer for is left out, and so are passwords, which keepalived prints.
// It is pure but for [Write].
package report
