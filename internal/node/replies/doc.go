// Package replies tells whether what this host says from a virtual address leaves it where what it says from its own address does. A host with two
// interfaces often has a routing rule for each own address, and none for the virtual one.
//
// The kernel is asked for its routes. The package changes none, starts no goroutine, and is safe for concurrent use.
package replies
