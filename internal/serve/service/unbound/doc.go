// Package unbound serves an entry of which keepvip binds nothing: hooks, or a reader of the FIFO, move what there is to move, such as an address
// that a cloud routes to one of its machines. The election goes on as for any other entry, and the role that it comes to is all that is kept.
package unbound
