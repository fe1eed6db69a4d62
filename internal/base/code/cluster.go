package code

// KV6xx: the files of the cluster and of kubeadm.
const (
	CertificateWithoutAddress   Code = "KV601"
	EndpointDiffers             Code = "KV602"
	CheckOnAddress              Code = "KV603"
	ControlPlaneEndpointDiffers Code = "KV604"
	IPVSStrictARP               Code = "KV605"
	ExternalUnanswered          Code = "KV606"
	ExternalStillHeld           Code = "KV607"
)

func cluster() []Entry {
	return []Entry{
		{
			CertificateWithoutAddress, "certificate-without-address", "The certificate of the apiserver does not name the address: clients that go there refuse it.",
			"Look at `openssl x509 -noout -ext subjectAltName -in /etc/kubernetes/pki/apiserver.crt`.",
			"Add the address to `apiServer.certSANs` of a file. Move apiserver.crt and apiserver.key away, which kubeadm would keep, and run `kubeadm init phase certs apiserver --config FILE`.",
		},
		{
			EndpointDiffers, "endpoint-differs", "The cluster's own kubeconfig sends clients elsewhere than to the address.",
			"Look at `server:` in /etc/kubernetes/admin.conf.",
			"Set `controlPlaneEndpoint` of the cluster to the address, and the kubeconfig files with it.",
		},
		{
			CheckOnAddress, "check-on-address", "A health check asks the virtual address: it follows the holder's health, and not this node's.",
			"Look at `check.url`.",
			"Check the service on 127.0.0.1 or on the node's own address.",
		},
		{
			ControlPlaneEndpointDiffers, "control-plane-endpoint-differs", "The configuration of kubeadm names another endpoint than the address, or none.",
			"Look at `controlPlaneEndpoint` in the file.",
			"Set it to the address, with the apiserver's port, before `kubeadm init`.",
		},
		{
			IPVSStrictARP, "ipvs-strict-arp", "A kube-proxy in mode ipvs makes every node answer for the addresses of services.",
			"Look at `ip address show dev kube-ipvs0`, and `arp_ignore` and `arp_announce` of `all`.",
			"Set `ipvs.strictARP: true` in kube-proxy's configuration, and keep the address out of services.",
		},
		{
			ExternalUnanswered, "external-unanswered", "The mode is external, and nobody answers where clients are sent: the name has no address, or nothing takes connections there.",
			"Look at `keepvip endpoint`, at the name server, and at the balancer and what it says of the nodes.",
			"Repair the balancer or `externalAddress`, or set `mode: internal` to have the nodes serve the address.",
		},
		{
			ExternalStillHeld, "external-still-held", "The mode is external, and a host still answers for the address that the nodes would hold.",
			"Look at `keepvip status` on the other nodes, and at the host with the MAC address that answers.",
			"Set the same mode on all nodes. `keepvip cleanup` removes what a keepvip has left that does not run any more.",
		},
	}
}
