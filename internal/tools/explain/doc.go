// Package explain says why a node is, or is not, the holder of a virtual address, as a chain of facts: who holds it, what this node is and what
// makes it that, what is wrong with the others, on the wire and on this host, and whether the next fault takes the address away. It is a pure
// function of a status, so it needs nothing of the daemon beside that, and costs the daemon nothing.
package explain
