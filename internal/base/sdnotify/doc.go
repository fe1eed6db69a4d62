// Package sdnotify tells a service manager that the process runs, lives and stops, as sd_notify(3) has it: datagrams of
// NAME=value lines to the unix socket that $NOTIFY_SOCKET names.
//
// Of that protocol it speaks READY, STOPPING, STATUS and WATCHDOG. Left out are sockets of the family AF_VSOCK, which only
// the manager inside a virtual machine has, and the passing of descriptors.
//
// # Goroutines
//
// None of its own: Run is the caller's.
package sdnotify
