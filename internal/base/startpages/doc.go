// Package startpages gives back the memory that only the start of a process needed.
package startpages
