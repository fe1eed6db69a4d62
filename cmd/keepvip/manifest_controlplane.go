package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/keepvip/keepvip/internal/base/printable"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/kubeadm"
)

// placeholder stands for a variable of clusterctl while the configuration is checked. It is for documentation (RFC 5737), so that
// it can be nobody's address.
const placeholder = "192.0.2.254"

func newManifestControlPlane() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "kubeadmcontrolplane",
		Short: "Print keepvip's part of a Cluster API KubeadmControlPlane, or merge it into a template",
		Long: "Prints the files, preKubeadmCommands and controlPlaneEndpoint of a Cluster API KubeadmControlPlane. With --template they go into\n" +
			"the KubeadmControlPlane in that file, the files and commands of kube-vip go, and all else stays as it is. Without --vip the\n" +
			"address is the template's controlPlaneEndpoint, which may be a variable such as ${CONTROL_PLANE_ENDPOINT_IP}. Where a patch of the\n" +
			"ClusterClass in it brings keepvip, what is kube-vip's goes and nothing is added.",
		Example: "  keepvip manifest kubeadmcontrolplane --template cluster-template.yaml > with-keepvip.yaml\n" +
			"  keepvip manifest kubeadmcontrolplane --template cluster.yaml \\\n" +
			"      --key-file /etc/keepvip/key --key-secret my-cluster-keepvip > new.yaml",
		Args: noArguments,
	}
	form := bindNodeForm(cmd)
	template := cmd.Flags().String("template", "", "a file with the objects of a cluster, to merge into")
	name := cmd.Flags().String("object-name", "", "the name of the KubeadmControlPlane, without --template")
	secret := cmd.Flags().String("key-secret", "", "NAME or NAME/KEY of the Secret that has the key, in the namespace of the KubeadmControlPlane; KEY is \"key\" unless given")
	flags := bindManifest(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if flags.kubeadm != "" || flags.print {
			return errors.New("--kubeadm-config and --print-kubeadm: Cluster API writes that file, want neither here")
		}
		var text []byte
		if *template != "" {
			var err error
			if text, err = readInput("template", *template); err != nil {
				return err
			}
		}
		class, err := kubeadm.ReadClass(*template, text)
		if err != nil {
			return err
		}
		found, err := kubeadm.TemplateEndpoint(*template, text)
		if err != nil {
			return err
		}
		variable, err := addressFrom(flags.configFlags, *template, found, class)
		if err != nil {
			return err
		}
		if text != nil {
			if flags.listen, err = listenOf(*template, text); err != nil {
				return err
			}
		}
		return flags.run(cmd, func(cfg *config.Config) ([]byte, []string, error) {
			if err := reaches(*template, found, flags.listen, cfg); err != nil {
				return nil, nil, err
			}
			part, err := controlPlaneOf(cfg, form, *secret, cmp.Or(flags.listen, endpointPort(cfg)))
			if err != nil {
				return nil, nil, err
			}
			part.Name = cmp.Or(*name, "CLUSTER-control-plane")
			part.Endpoint.Port = cmp.Or(found.Port, part.Endpoint.Port)
			if variable != "" {
				part.Endpoint.Host = variable
				fillIn(part.Files, variable)
			}
			if text == nil {
				out, err := kubeadm.ControlPlane(part)
				return out, form.notes(cfg), err
			}
			out, notes, err := kubeadm.MergeControlPlane(*template, text, part)
			return out, append(form.notes(cfg), notes...), err
		})
	}
	return cmd
}

// addressFrom takes the virtual address from a template where nothing else names one, and returns the variable if it is one.
func addressFrom(f *configFlags, template string, found kubeadm.Endpoint, class kubeadm.Class) (variable string, err error) {
	switch {
	case namesAddress(f.input()):
		return "", nil
	case class.Keepvip > 0: // its patch has the address
		return "", f.setFlag("vip", placeholder)
	case template == "" || found.Host == "":
		return "", nil
	}
	given := found.Host
	if strings.Contains(given, "${") {
		variable, given = given, placeholder
	} else if a, err := netip.ParseAddr(given); err != nil {
		return "", fmt.Errorf("%s: controlPlaneEndpoint %s is a name, want --vip with the address that it resolves to", template, given)
	} else if standsForAnother(a) {
		return "", fmt.Errorf("%s: controlPlaneEndpoint %s stands for an address that is filled in later, want --vip with it, or a variable such as ${CONTROL_PLANE_ENDPOINT_IP} there", template, given)
	}
	return variable, f.setFlag("vip", given)
}

// standsForAnother tells an address that no node can have: the unspecified one, and those of documentation (RFC 5737, RFC 3849).
func standsForAnother(a netip.Addr) bool {
	for _, p := range []string{"192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32"} {
		if netip.MustParsePrefix(p).Contains(a) {
			return true
		}
	}
	return a.IsUnspecified() || a.IsLoopback()
}

// fillIn puts a variable of clusterctl where its placeholder is.
func fillIn(files []kubeadm.File, variable string) {
	for i := range files {
		files[i].Content = bytes.ReplaceAll(files[i].Content, []byte(placeholder), []byte(variable))
	}
}

// reaches refuses the endpoint of a template at whose port no apiserver is reached, and checks that ask at another port than theirs.
func reaches(template string, found kubeadm.Endpoint, listen uint16, cfg *config.Config) error {
	if err := asksAt(listen, cfg); err != nil {
		return err
	}
	if listen == 0 || found.Port == 0 || found.Port == listen || cfg.VIPs[0].External() || slices.Contains(apiserverPorts(cfg, listen), found.Port) {
		return nil
	}
	return fmt.Errorf("%s: controlPlaneEndpoint %s, want port %d, on which the apiservers listen (localAPIEndpoint.bindPort): keepvip translates ports only where it spreads the load (spread.ports)",
		template, found, listen)
}

// controlPlaneOf is everything but the name and what a template says. The apiservers listen on port.
func controlPlaneOf(cfg *config.Config, form nodeForm, secret string, port uint16) (kubeadm.ControlPlaneConfig, error) {
	files, commands, err := form.files(cfg)
	if err != nil {
		return kubeadm.ControlPlaneConfig{}, err
	}
	part := kubeadm.ControlPlaneConfig{Files: files, Commands: commands}
	addresses := addressesOf(cfg)
	part.Endpoint = kubeadm.Endpoint{Host: addresses[0].String(), Port: port}
	part.Spread = len(apiserverPorts(cfg, part.Endpoint.Port)) > 0
	part.CertSANs = printable.Words(addresses[1:])
	switch further := func(f string) bool { return f != cfg.Key.File }; {
	case slices.ContainsFunc(secretFiles(cfg), further):
		return part, fmt.Errorf("%s: more than the key, want key.file alone: only one Secret can be given", strings.Join(secretFiles(cfg), ", "))
	case cfg.Key.File == "" && secret != "":
		return part, errors.New("--key-secret without key.file, want --key-file with the key's path on the nodes, too")
	case cfg.Key.File != "" && secret == "":
		return part, fmt.Errorf("key.file %s without --key-secret, want the Secret that has the key", cfg.Key.File)
	case secret != "":
		name, key, both := strings.Cut(secret, "/")
		if !both {
			key = "key"
		}
		part.Secrets = []kubeadm.Secret{{Path: cfg.Key.File, Name: name, Key: key}}
	}
	return part, nil
}
