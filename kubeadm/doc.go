// Package kubeadm renders what a person drops on a node before kubeadm init or join: a static pod, cloud-init user data, the
// keepvip part of a Cluster API KubeadmControlPlane, a systemd unit.
//
// All of it is pure: plain values in, the same bytes out each time, or an error and nothing. The package knows the paths and
// habits of kubeadm and of the kubelet (from 1.28 on); it does not know keepvip's configuration, which it passes on unread.
//
// The shared key is only ever a file on the node: no renderer takes its contents, except [CloudInit], whose purpose is to
// write files.
package kubeadm
