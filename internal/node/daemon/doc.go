// Package daemon is the running keepvip: it makes instances of the configuration, joins them to this host, shares among them what
// a process has once (sockets, fences, the part in a Raft cluster), reloads, and answers on the control socket and the metrics
// listener. The commands that start it or ask it are in cmd/keepvip.
//
// # Goroutines
//
// Daemon.Run starts these, and waits for them before it returns:
//
//   - one for each listener: the control socket, the lock of the network namespace, metrics and probes, balancers that ask for the health;
//   - one that follows the host's links and addresses, one that reloads at each SIGHUP, one that writes
//     keepalived's files at its signals, one for the service manager;
//   - one that listens at follow.listen, if members do, and there those of internal/serve/localproxy;
//   - one for each place whose gateway is the witness of vrrp.detector, which follows that;
//   - one that joins the Raft cluster, if there is one, one that takes part in it, and one by which its
//     members follow raft.peers.
//
// And one for each foreign host that is overheard, 16 at most; it ends by itself after 45 s.
//
// Those of the instances are listed in internal/serve/instance and internal/serve/service/address.
package daemon
