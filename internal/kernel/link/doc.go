// Package link adds, removes, lists and watches IP addresses on this host's network interfaces. It also finds the routers of a link, and resets
// and counts the TCP connections of an address, and ends those that programs of this host have to others.
//
// A Handle talks to the kernel over rtnetlink. Its snapshot (Links) is what everything else is decided from: Choose and Source are pure
// functions over it, so an interface that was renamed, or deleted and created again, is followed by taking another snapshot. Watch tells
// when one is worth taking.
//
// A virtual address must serve clients and nothing else. It is therefore added without a prefix route, and marked as deprecated, so that
// neither the kernel nor an agent that looks for "the" address of the node picks it as a source; and it carries a tag by which a later run
// finds it again, whatever became of the configuration in between.
//
// Left out on purpose: deciding which node holds an address (package election), announcing it (package arp), silencing it when its
// holder is gone (package fence), and creating links other than that of a virtual MAC (virtualmac.go).
//
// The package keeps no goroutine of its own: each request runs on one that its caller waits for, and Watch blocks its caller. ResetTCP alone leaves one
// to itself where the kernel is slow to ask for forgotten peers: it ends with its system calls.
// A Handle may be used from several goroutines.
package link
