// Package lifeline tells a member that the process of another one has ended, in the moment in which it ends.
//
// Each member connects to each other one by TCP, and says next to nothing there. When its process ends, however it ends, its kernel closes that
// connection, the line. A packet that closes a line bears a mark, by which the fence of the dying node takes the lease away in the packet's own way
// out. So whoever hears of the end finds the addresses silent, unless the packet is not the kernel's of that node: the election asks before it acts.
//
// A line has two ends. The one that dials has the mark, and its end tells of its process. The end of the other one tells nothing: it is only that a
// line is broken, of which the living end makes its next advertisement sooner. An orderly end takes the mark off, says good-bye, and closes.
//
// [Lines] are the lines of one place: an interface and an own address. greeting.go is what both ends say first, lines.go who is known,
// dial.go and accept.go are the two ends, socket.go is what the kernel is told.
//
// # Goroutines
//
//   - Lines: one that accepts, one for each line at either end, and one for each member that is dialled. They run from Open to Close, which waits for them.
package lifeline
