// Package e2e runs keepvip where it is meant to run: a real kubelet runs the
// generated static pod from an imported image beside the control plane that a
// real kubeadm makes, on three machines.
//
// A machine is a node of the lab, with its own mounts, processes and host name,
// containerd and kubelet. Killing its init is a power-off. All machines are on
// one kernel and one disk, and share its processors: figures are upper bounds.
//
// The tests have the build tag e2e and are run by `make e2e-kubeadm`. They share
// one cluster, which the first of them makes; each leaves it as it was.
//
// What is left out: a CNI plugin, and with it the addons and nodes that are
// Ready; other init systems than the shell script in boot.sh.
//
// # Goroutines
//
// One waits for each machine's init; it ends with the machine.
package e2e
