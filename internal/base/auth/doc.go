// Package auth signs packets with a shared secret, and believes those that are genuine and new. Where a packet bears its key's
// id, its sequence and its code is the matter of its protocol.
//
// A [Keyring] has the keys of one protocol; [window] tells packets that are new from packets that were captured and are sent
// again; [Clock] is the time that packets are made and judged by. There is no goroutine.
package auth
