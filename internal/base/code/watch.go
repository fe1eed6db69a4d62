package code

import (
	"fmt"
	"time"
)

// Codes of what only whoever watches all nodes sees, or what lasts: the alerts name them.
const (
	CheckFlaps Code = "KV240"

	CertificateExpires Code = "KV241"
	CertificateExpired Code = "KV242"

	ClusterNetwork Code = "KV243"

	VirtualMACInterface Code = "KV244"

	NoHolder      Code = "KV330"
	NobodyElse    Code = "KV331"
	AddressFlaps  Code = "KV332"
	NodeUnseen    Code = "KV333"
	OtherConfig   Code = "KV334"
	ReloadRefused Code = "KV420"
)

// expiresSoon is how long before its end a certificate is worth a word: kubeadm's last a year, and nothing renews them but an upgrade, or a
// person.
const expiresSoon = 14 * 24 * time.Hour

// Expiry is the code of a certificate that is valid for so long from now on, and says when it expires; "" for one that
// is valid for more than 14 days.
func Expiry(certificate string, ends time.Time, left time.Duration) (c Code, says string) {
	day := ends.UTC().Format(time.DateOnly)
	switch {
	case left <= 0:
		return CertificateExpired, fmt.Sprintf("%s has expired on %s", certificate, day)
	case left <= expiresSoon:
		return CertificateExpires, fmt.Sprintf("%s expires on %s, in %d days", certificate, day, int(left.Hours()/24))
	}
	return "", ""
}

func holdWatched() []Entry {
	return []Entry{
		{
			CheckFlaps, "check-flaps", "A health check goes from good to bad and back, so it takes longer each time until it counts as healthy.",
			"Look at the reasons of the check in the status and in the log of that node.",
			"Repair the service, or give the check a longer timeout if the service is only slow.",
		},
		{
			CertificateExpires, "certificate-expires", "A certificate of this node expires within 14 days. From then on it is refused: clients refuse the service that shows it, or a service refuses the client.",
			"Look at `kubeadm certs check-expiration`, on each control-plane node.",
			"Renew it: `kubeadm certs renew all`, and restart apiserver, controller-manager, scheduler and etcd. k3s and RKE2 renew theirs when they are started again.",
		},
		{
			CertificateExpired, "certificate-expired", "A certificate of this node has expired: clients that verify it refuse the service that shows it, or a service refuses the client.",
			"Look at `kubeadm certs check-expiration`, and at the clock of this node.",
			"Renew it: `kubeadm certs renew all`, and restart apiserver, controller-manager, scheduler and etcd. k3s and RKE2 renew theirs when they are started again.",
		},
		{
			ClusterNetwork, "cluster-network", "The virtual address is in a network of containers: of pods, of services or of docker. A pod or service can get the address as well, and this host does not send to the other nodes what is for that network.",
			"Look at `ip address` for docker0, cni0, flannel, cilium and their like, and at `serviceSubnet` and `podSubnet` of kubeadm's configuration.",
			"Choose an address of the nodes' own subnet.",
		},
		{
			VirtualMACInterface, "virtual-mac-interface", "The interface for the virtual MAC could not be made on this node, so the node is out of the election.",
			"Look at `ip -d link` on this node: for an interface of that name that keepvip has not made, and for the kind of the interface below it.",
			"Delete what another program has left under that name, give `vrrp.virtualMAC` another name, or load the kernel module macvlan.",
		},
	}
}

func wireWatched() []Entry {
	return []Entry{
		{
			NoHolder, "no-holder", "No node holds the address, as far as all nodes say.",
			"Look at the status on each node: it says what keeps the node from holding the address.",
			"Follow the remedy of the code that each node shows. A single node that holds the address is enough.",
		},
		{
			NobodyElse, "nobody-else", "No other node could take the address: the next fault takes it away.",
			"Look at the members in the status: who is silent, held, drained or unhealthy.",
			"Bring another node back, resume it, or repair what its check tells.",
		},
		{
			AddressFlaps, "address-flaps", "The address moves again and again.",
			"Look at the reasons in keepvip_transitions_total and in the log of the nodes.",
			"Follow the remedy of the reason that comes most often.",
		},
		{
			NodeUnseen, "node-unseen", "The monitoring does not reach keepvip on a node, so nothing is known of that node.",
			"Look at whether the node and its keepvip run, and at metrics.address, certificate and token.",
			"Bring the node back, or let the monitoring reach its port.",
		},
		{
			OtherConfig, "other-configuration", "Two nodes of a cluster have different configurations in force.",
			"Look at the hash of keepvip_config_info on each node, and compare `keepvip config show` there.",
			"Give all nodes the same file and reload. Where nodes need files of their own, leave the alert out.",
		},
	}
}

func hostWatched() []Entry {
	return []Entry{{
		ReloadRefused, "reload-refused", "The last reload was refused: the former configuration goes on, and the file says something else.",
		"Look at the configuration in the status of this node: it has the reasons, with file and line.",
		"Repair the file and reload again.",
	}}
}
