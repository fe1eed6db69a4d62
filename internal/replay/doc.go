// Package replay tells packets that are new from packets that were captured and are sent again. What it is given is
// authenticated: it judges order and time.
//
// [Window] remembers the senders; [Clock] is the time that packets are made and judged by. There is no goroutine.
package replay
