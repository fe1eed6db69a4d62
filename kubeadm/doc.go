// Package kubeadm renders what a person drops on a node before kubeadm init or join: a static pod, cloud-init user data, the
// keepvip part of a Cluster API KubeadmControlPlane, a systemd unit; and a DaemonSet for those who have no kubeadm.
//
// It also says what belongs into files that a person has written: it merges into user data and templates, and holds a kubeadm
// configuration against the virtual addresses. Package yamledit changes these texts.
//
// All of it is pure: plain values in, the same bytes out each time, or an error and nothing. The package knows the paths and
// habits of kubeadm and of the kubelet (from 1.28 on); it does not know keepvip's configuration, which it passes on unread.
//
// The shared key is only ever a file on the node: no renderer takes its contents, except [CloudInit] and [MergeCloudInit], whose purpose is to
// write files.
package kubeadm
