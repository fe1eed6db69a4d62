// Package nfttables finds the nftables tables of this program by their names, those of earlier runs, too, and deletes them. What is in them is
// the matter of those who make them.
//
// There is no goroutine and no state; each call has a netlink socket of its own, in the network namespace of its thread.
package nfttables
