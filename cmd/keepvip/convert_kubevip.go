package main

import (
	"cmp"
	"fmt"
	"net/netip"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"github.com/keepvip/keepvip/internal/base/printable"
	"github.com/keepvip/keepvip/internal/base/regular"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/tools/kubevip"
	"github.com/keepvip/keepvip/kubeadm"
)

const kubeVIPHelp = "Of a kube-vip (a static pod, a DaemonSet, its configuration file, or a template with the file of such a pod) the static pod of keepvip is\n" +
	"printed, and standard error has a line for each setting: carried over, changed, not needed, no counterpart, and why. Refused is what keepvip\n" +
	"cannot do: without an address, for Services alone. Of one that speaks BGP the neighbours are printed there, for BIRD and FRR. --apply-to prints a template with keepvip in kube-vip's place.\n\n"

// stdin is the name of standard input in place of a file's.
const stdin = "-"

// readStdin reads the kube-vip that another program prints.
func readStdin(cmd *cobra.Command) ([]byte, error) {
	text, err := regular.ReadAll(cmd.InOrStdin(), mostInput)
	if err != nil {
		return nil, fmt.Errorf("standard input: %w", err)
	}
	return text, nil
}

// topKey is how an object of Kubernetes and user data begin, and a keepalived.conf does not.
var topKey = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^(apiVersion|kind):|\A(## template: jinja\s*)?#cloud-config\b|\A\s*\{`)
})

// kubeVIPText reads a file if it is one of kube-vip, or YAML by its name or its keys.
func kubeVIPText(name string) ([]byte, bool) {
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
		return nil, false // what is read here cannot be read again
	}
	text, err := regular.Read(name, mostInput)
	return text, err == nil && (kubevip.Is(text) || topKey().Match(text) || slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name)))
}

// kubeVIPForm is what a kube-vip is converted to.
type kubeVIPForm struct{ output, image, applyTo *string }

func bindKubeVIPForm(cmd *cobra.Command) kubeVIPForm {
	return kubeVIPForm{
		output:  cmd.Flags().StringP("output", "o", "pod", "json for one object with the findings; of a kube-vip: pod, daemonset, or config for the configuration file alone"),
		image:   bindImage(cmd),
		applyTo: cmd.Flags().String("apply-to", "", "of a kube-vip: #cloud-config user data, or a file with a KubeadmControlPlane, in which keepvip takes its place"),
	}
}

// run prints what the kube-vip of a file becomes, and on standard error a line for each of its settings.
func (f kubeVIPForm) run(cmd *cobra.Command, name string, text []byte) error {
	var standIn netip.Addr
	if *f.applyTo != "" {
		standIn = netip.MustParseAddr(placeholder)
	}
	r, out, notes, err := f.convert(name, text, standIn)
	if *f.output == string(outputJSON) {
		return printKubeVIP(cmd, name, r, out, err)
	}
	if err != nil {
		return err
	}
	for _, found := range r.Findings {
		if _, err := fmt.Fprintln(cmd.ErrOrStderr(), found.At(name)); err != nil {
			return failed(err)
		}
	}
	if err := printRouters(cmd, r.Routers); err != nil {
		return err
	}
	return printOut(cmd, out, notes, nil)
}

// convert renders what the kube-vip becomes.
func (f kubeVIPForm) convert(name string, text []byte, standIn netip.Addr) (r *kubevip.Result, out []byte, notes []string, err error) {
	if r, err = kubevip.Convert(name, text, standIn); err != nil {
		return nil, nil, nil, err
	}
	cfg, err := f.load(config.Input{Flags: r.Flags(), Elsewhere: true})
	if err != nil {
		return nil, nil, nil, err
	}
	out, notes, err = f.render(name, r, cfg)
	return r, out, notes, err
}

// load makes the configuration, with a check that asks at the port of the apiservers where a template says it.
func (f kubeVIPForm) load(in config.Input) (*config.Config, error) {
	cfg, err := config.Load(in)
	if err != nil || *f.applyTo == "" {
		return cfg, err
	}
	into, err := readInput("apply-to", *f.applyTo)
	if err != nil || kubeadm.IsCloudInit(into) {
		return cfg, err
	}
	listen, err := listenOf(*f.applyTo, into)
	if err != nil {
		return nil, err
	}
	return probePort(listen, in, cfg)
}

// listenOf is the port that the apiservers of a template listen on; 0 where a ClusterClass brings keepvip, with its check.
func listenOf(template string, text []byte) (uint16, error) {
	class, err := kubeadm.ReadClass(template, text)
	if err != nil || class.Keepvip > 0 {
		return 0, err
	}
	return kubeadm.TemplateBindPort(template, text)
}

// printRouters prints, beside the findings, what a routing daemon of the node is to be told in place of kube-vip's BGP.
func printRouters(cmd *cobra.Command, r kubevip.Routers) error {
	if r.BIRD == "" {
		return nil
	}
	_, err := fmt.Fprintf(cmd.ErrOrStderr(), "\n# The neighbours are the routing daemon's, of which a node needs one.\n\n# BIRD 2:\n%s\n# FRR, with announce.table 254:\n%s", r.BIRD, r.FRR)
	return failed(err)
}

func (f kubeVIPForm) render(name string, r *kubevip.Result, cfg *config.Config) (out []byte, notes []string, err error) {
	pod, err := podOf(cfg, *f.image)
	if err != nil {
		return nil, nil, err
	}
	switch *f.output {
	case "pod", string(outputJSON):
		out, err = kubeadm.Pod(pod)
	case "daemonset":
		out, err = kubeadm.DaemonSet(pod)
	case "config":
		out, err = r.Config(name)
	default:
		return nil, nil, fmt.Errorf("--output %q, want pod, daemonset, config or json", *f.output)
	}
	if *f.output != "config" {
		notes = imageNotes(*f.image)
	}
	if err != nil || *f.applyTo == "" {
		return out, notes, err
	}
	if *f.output != "pod" {
		return nil, nil, fmt.Errorf("--output %s with --apply-to, want pod", *f.output)
	}
	out, taken, err := f.apply(r, cfg, out)
	return out, append(notes, taken...), err
}

// apply puts the static pod into a file that is there, in place of kube-vip.
func (f kubeVIPForm) apply(r *kubevip.Result, cfg *config.Config, manifest []byte) (out []byte, notes []string, err error) {
	into, err := readInput("apply-to", *f.applyTo)
	if err != nil {
		return nil, nil, err
	}
	files := []kubeadm.File{{Path: kubeadm.ManifestPath, Content: manifest, Mode: 0o600}}
	if r.Path != "" { // next to where the kubelet found kube-vip
		files[0].Path = path.Join(path.Dir(r.Path), path.Base(kubeadm.ManifestPath))
	}
	if r.Variable != "" {
		fillIn(files, r.Variable)
	}
	if kubeadm.IsCloudInit(into) {
		return kubeadm.ReplaceKubeVIP(*f.applyTo, into, files)
	}
	found, err := kubeadm.TemplateEndpoint(*f.applyTo, into)
	if err != nil {
		return nil, nil, err
	}
	listen, err := listenOf(*f.applyTo, into)
	if err != nil {
		return nil, nil, err
	}
	if err := reaches(*f.applyTo, found, listen, cfg); err != nil {
		return nil, nil, err
	}
	addresses := addressesOf(cfg)
	part := kubeadm.ControlPlaneConfig{
		Files:    files,
		Endpoint: kubeadm.Endpoint{Host: cmp.Or(r.Variable, addresses[0].String()), Port: cmp.Or(found.Port, listen, endpointPort(cfg))},
	}
	part.CertSANs = printable.Words(addresses[1:])
	return kubeadm.MergeControlPlane(*f.applyTo, into, part)
}
