// Package envelope is the form that all messages of members have in common: what members say to each other, and what they and followers do.
// docs/protocol.md describes it byte by byte.
//
// A message is, in network byte order:
//
//	magic (4)   version (1)  type (1)   length of the fields (2)
//	session (8)
//	sequence (8)
//	fields: type (1)  length (1)  value, each
//	and with a key: key id (4)  authentication code (32)
//
// Left out: what the fields mean, what a code covers beside the message, and which sequence is new. These are the packages' that have the messages.
// The package starts no goroutine.
package envelope
