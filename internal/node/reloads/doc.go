// Package reloads remembers which configuration a process runs with, and what has become of its reloads: for status and metrics.
package reloads
