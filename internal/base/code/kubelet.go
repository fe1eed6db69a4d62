package code

// Codes of the kubelet beside a virtual address, and of files of this node.
const (
	KubeletAddress     Code = "KV253"
	KubeletCertificate Code = "KV254"
)

func holdKubelet() []Entry {
	return []Entry{
		{
			KubeletAddress, "kubelet-address", "The kubelet finds the address of its node by itself, and may find the virtual one, or one of the other family. The node then has another address as soon as the virtual one moves.",
			"Look at `kubectl get nodes -o wide`, at the kubelet's flags in /var/lib/kubelet/kubeadm-flags.env, at what the node's name resolves to, and at `hostname -I`.",
			"Give the kubelet `--node-ip` with the node's own address: `nodeRegistration.kubeletExtraArgs` of kubeadm, or KUBELET_EXTRA_ARGS in /etc/default/kubelet.",
		},
		{
			KubeletCertificate, "kubelet-certificate-without-address", "The kubelet's serving certificate does not name the node's own address: clients that verify it, as metrics-server, are refused at the kubelet's port.",
			"Look at `openssl s_client -connect NODE:10250 </dev/null | openssl x509 -noout -ext subjectAltName`.",
			"Set `serverTLSBootstrap: true` in the kubelet's configuration, and approve its request (`kubectl certificate approve`). Give it `--node-ip` first.",
		},
	}
}
