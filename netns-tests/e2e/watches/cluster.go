//go:build e2e

package watches

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509/pkix"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
	"github.com/keepvip/keepvip/netns-tests/try"
)

const (
	apiserverPort = 6443
	objectPath    = "/api/v1/namespaces/default/configmaps"
	objectName    = "watched"
	watchPath     = objectPath + "?watch=1&fieldSelector=metadata.name%3D" + objectName

	// auditPolicy has a line for each request when it begins.
	auditPolicy = "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [ResponseStarted, ResponseComplete]\nrules: [{level: Metadata, verbs: [watch], users: [watcher]}, {level: None}]\n"

	kubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: k, cluster: {server: "https://%s", certificate-authority-data: %s}}]
users: [{name: k, user: {client-certificate-data: %s, client-key-data: %s}}]
contexts: [{name: k, context: {cluster: k, user: k}}]
current-context: k
`
)

// spread is keepvip as the manifests run it, with the load spread, beside a real apiserver.
type spread struct{ trial.Keepvip }

func (s spread) Start(n *lab.Node, set trial.Settings) (*lab.Process, error) {
	return s.Run(n, "--interface", n.NICs[0].Name, "--vip", lab.VIP4.String(), "--advertisement-interval", set.Interval.String(),
		"--check", fmt.Sprintf("https://127.0.0.1:%d/readyz", apiserverPort), "--check-ca", n.Path("ca.crt"), "--spread", "direct")
}

// cluster is an etcd on the first node, an apiserver and a keepvip on each, and a client that writes.
type cluster struct {
	*trial.Group
	pki    *pki
	client pair // of a user who may do everything
	tls    *tls.Config
	direct *http.Client // to the first node itself
}

// newCluster returns when all apiservers serve through the address.
func newCluster(host *lab.Host, bin string, flags ...string) (_ *cluster, err error) {
	defer try.Catch(&err)
	g := try.Get(trial.Prepare(host, trial.Config{Product: spread{}, Lab: lab.Config{OffLink: true}}))
	c := &cluster{Group: g}
	if err := c.start(bin, flags); err != nil {
		err = fmt.Errorf("%w\n%s%s", err, c.apiserverLogs(), g.Logs())
		g.Close()
		return nil, err
	}
	return c, nil
}

func (c *cluster) start(bin string, flags []string) (err error) {
	defer try.Catch(&err)
	c.pki = try.Get(newPKI())
	c.client = try.Get(c.pki.sign(pkix.Name{CommonName: "watcher", Organization: []string{"system:masters"}}, nil))
	c.tls = try.Get(c.pki.tls(c.client))
	first := c.Lab.Nodes[0]
	c.direct = c.clientAt(first)
	etcd := fmt.Sprintf("http://%s:2379", first.Address)
	try.Get(first.Start("etcd", filepath.Join(bin, "etcd"), "--data-dir", first.Path("etcd"), "--unsafe-no-fsync",
		"--listen-client-urls", etcd, "--advertise-client-urls", etcd, "--listen-peer-urls", "http://127.0.0.1:2380"))
	for _, n := range c.Lab.Nodes { // one after the other: they share the processors, and what the first writes the others find
		try.Do(c.startAPIServer(n, filepath.Join(bin, "kube-apiserver"), etcd, flags))
	}
	try.Do(c.StartAll())
	try.Get(c.SettleAny())
	return c.allServe()
}

func (c *cluster) startAPIServer(n *lab.Node, program, etcd string, flags []string) (err error) {
	defer try.Catch(&err)
	service := netip.MustParseAddr("10.96.0.1")
	cert := try.Get(c.pki.sign(pkix.Name{CommonName: "kube-apiserver"}, []string{n.Label, "kubernetes"}, n.Address, lab.VIP4, netip.MustParseAddr("127.0.0.1"), service))
	for name, text := range map[string][]byte{
		"ca.crt": c.pki.pem, "apiserver.crt": cert.cert, "apiserver.key": cert.key, "sa.key": c.client.key, "audit.yaml": []byte(auditPolicy),
	} {
		try.Get(n.WriteFile(name, string(text), 0o600))
	}
	try.Get(n.Start("kube-apiserver", append([]string{
		program, "--etcd-servers", etcd, "--secure-port", fmt.Sprint(apiserverPort), "--bind-address", "0.0.0.0",
		"--advertise-address", n.Address.String(), "--service-cluster-ip-range", "10.96.0.0/16", "--authorization-mode", "RBAC",
		"--client-ca-file", n.Path("ca.crt"), "--tls-cert-file", n.Path("apiserver.crt"), "--tls-private-key-file", n.Path("apiserver.key"),
		"--service-account-issuer", "https://kubernetes.default.svc", "--service-account-key-file", n.Path("sa.key"),
		"--service-account-signing-key-file", n.Path("sa.key"), "--disable-admission-plugins", "ServiceAccount",
		"--audit-policy-file", n.Path("audit.yaml"), "--audit-log-path", n.Path("audit.log"), "--audit-log-mode", "blocking",
	}, flags...)...))
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		if _, err = c.Lab.Ask(c.Lab.Client.Namespace, n.Address, "/readyz", 2*time.Second); err == nil {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("e2e: the apiserver on %s is not ready: %w", n.Label, err)
		}
	}
}

// allServe waits until new connections to the address come to each apiserver.
func (c *cluster) allServe() error {
	seen := map[int]bool{}
	for end := time.Now().Add(time.Minute); len(seen) < len(c.Lab.Nodes); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("e2e: of the apiservers only %v serve through the address", seen)
		}
		if node, err := c.Lab.Ask(c.Lab.Client.Namespace, lab.VIP4, "/readyz", 2*time.Second); err == nil {
			seen[node] = true
		}
	}
	return nil
}

// clientAt is a client of the apiserver on one node, by the node's own address.
func (c *cluster) clientAt(n *lab.Node) *http.Client {
	return &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		TLSClientConfig: c.tls, ForceAttemptHTTP2: true,
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			return c.Lab.Client.Dial(netip.AddrPortFrom(n.Address, apiserverPort), 2*time.Second)
		},
	}}
}

// write sets the number that watches tell of.
func (c *cluster) write(n int) (err error) {
	defer try.Catch(&err)
	const object = `{"metadata":{"name":"` + objectName + `"},"data":{"n":"%d"}}`
	method, path, kind := http.MethodPatch, objectPath+"/"+objectName, "application/merge-patch+json"
	if n == 0 {
		method, path, kind = http.MethodPost, objectPath, "application/json"
	}
	request := try.Get(http.NewRequest(method, "https://"+netip.AddrPortFrom(c.Lab.Nodes[0].Address, apiserverPort).String()+path, strings.NewReader(fmt.Sprintf(object, n))))
	request.Header.Set("Content-Type", kind)
	answer := try.Get(c.direct.Do(request))
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode >= 300 {
		err = fmt.Errorf("e2e: %s %s: %s: %s", method, path, answer.Status, text)
	}
	return err
}

// kubeconfig writes one that names the address, and returns its path.
func (c *cluster) kubeconfig() (string, error) {
	text := func(b []byte) string { return base64.StdEncoding.EncodeToString(b) }
	path := filepath.Join(c.Lab.Dir, "kubeconfig")
	return path, os.WriteFile(path, fmt.Appendf(nil, kubeconfig, netip.AddrPortFrom(lab.VIP4, apiserverPort), text(c.pki.pem), text(c.client.cert), text(c.client.key)), 0o600)
}

// verb runs a command of keepvip on a node.
func (c *cluster) verb(n *lab.Node, args ...string) error {
	p, code, err := trial.Keepvip{}.Command(n, append(args, "--socket", trial.Socket(n))...)
	if err == nil && code != 0 {
		err = fmt.Errorf("e2e: keepvip %v on %s: exit status %d: %s", args, n.Label, code, p.Log())
	}
	return err
}

// auditLines are the lines of all audit logs.
func (c *cluster) auditLines() (lines [][]byte, err error) {
	defer try.Catch(&err)
	for _, n := range c.Lab.Nodes {
		lines = append(lines, bytes.Split(bytes.TrimSpace(try.Get(os.ReadFile(n.Path("audit.log")))), []byte("\n"))...)
	}
	return lines, nil
}

// apiserverLogs are the ends of the logs of etcd and the apiservers.
func (c *cluster) apiserverLogs() string {
	var b strings.Builder
	for _, n := range c.Lab.Nodes {
		logs, _ := filepath.Glob(n.Path("*.stderr"))
		for _, log := range logs {
			text, _ := os.ReadFile(log)
			fmt.Fprintf(&b, "--- %s of %s\n%s\n", filepath.Base(log), n.Label, text[max(0, len(text)-3000):])
		}
	}
	return b.String()
}
