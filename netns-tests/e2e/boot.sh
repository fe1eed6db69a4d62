# Boots a machine: run by bash as the first process of new mount, PID, UTS and
# IPC namespaces, in the network namespace of a node. $data holds what survives
# a power-off; $node, $hosts, $config, $bin and $group are given as well.
set -eu
mount --make-rprivate /
mount -t proc proc /proc
hostname "$node"
for dir in etc var/lib var/log; do
	mkdir -p "$data/overlay/$dir" "$data/scratch/$dir"
	mount -t overlay overlay -o "lowerdir=/$dir,upperdir=$data/overlay/$dir,workdir=$data/scratch/$dir" "/$dir"
done
# Real directories: an overlay cannot lie on an overlay, and etcd syncs its files.
for dir in etc/kubernetes var/lib/containerd var/lib/kubelet var/lib/etcd; do
	mkdir -p "$data/disk/$dir" "/$dir"
	mount --bind "$data/disk/$dir" "/$dir"
done
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /etc/kubernetes/manifests
rm -f /etc/resolv.conf
: >/etc/resolv.conf
printf '127.0.0.1 localhost\n%s' "$hosts" >/etc/hosts

containerd --config "$config" >>"$data/containerd.log" 2>&1 &

# What a unit of systemd would do. kubeadm writes both files; without them the
# kubelet could not start.
while :; do
	until [ -s /var/lib/kubelet/config.yaml ] && [ -s /var/lib/kubelet/kubeadm-flags.env ]; do sleep 0.2; done
	KUBELET_KUBEADM_ARGS=
	. /var/lib/kubelet/kubeadm-flags.env
	# shellcheck disable=SC2086
	"$bin/kubelet" --config=/var/lib/kubelet/config.yaml --kubeconfig=/etc/kubernetes/kubelet.conf \
		--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --cgroup-root="$group" \
		$KUBELET_KUBEADM_ARGS >>"$data/kubelet.log" 2>&1 || true
	sleep 0.5
done
