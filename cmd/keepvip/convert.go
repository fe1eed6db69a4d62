package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/keepvip/keepvip/internal/tools/keepalived/convert"
)

func newConvert() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "convert FILE|-",
		Short: "Print what a keepalived.conf, or a kube-vip manifest, comes to with keepvip",
		Long: "Reads a keepalived.conf, with what it includes, as keepalived 2.2.7 does, and prints what it does as a configuration of keepvip. Behind\n" +
			"each line is the line that it comes from. Nothing is run and nothing is changed.\n\n" +
			"Standard error has a line for what is not carried over, or works in another way: file, line, severity, code, reason, what to do. An error is\n" +
			"what would change who holds an address, which addresses there are or where packets go: then nothing is printed, unless --partial is given.\n" +
			"Passwords are not printed: a line names the file that they have to be written to.\n\n" +
			kubeVIPHelp +
			"With - a kube-vip is read from standard input, such as what a Helm chart prints. A keepalived.conf needs its file, for what it includes.\n\n" +
			"With -o json one object has the text, as result, and the findings, also those of a file that is refused.\n\n" +
			"Exit codes: 0 printed, 2 refused, or the file cannot be read.",
		Example: "  keepvip convert /etc/keepalived/keepalived.conf > /etc/keepvip/keepvip.yaml\n" +
			"  keepvip convert /etc/kubernetes/manifests/kube-vip.yaml > keepvip.yaml\n" +
			"  keepvip convert cluster-template.yaml --apply-to cluster-template.yaml > with-keepvip.yaml\n" +
			"  helm template kube-vip CHART -f values.yaml | keepvip convert - > keepvip.yaml",
		Args: arguments("FILE", 1, 1),
	}
	var o convert.Options
	cmd.Flags().BoolVar(&o.Partial, "partial", false, "print what can be carried over, although something that matters cannot")
	cmd.Flags().BoolVar(&o.Strict, "strict", false, "refuse what keepalived -t complains of, although keepalived runs it by other values")
	cmd.Flags().StringVar(&o.User, "check-user", convert.DefaultUser, "whom scripts run as that keepalived runs as root: a name, an id, or ids of user and group")
	cmd.Flags().StringVar(&o.Secrets, "secrets", convert.DefaultSecrets, "the directory of the files that passwords are to be written to")
	cmd.Flags().StringVar(&o.VirtualServers, "virtual-servers", "", "what becomes of virtual_server for TCP at an address that an instance has: spread makes spread.backends of it; without it a line says what is left out")
	id := cmd.Flags().StringP("config-id", "i", "", "what lines with @id are for; without it the first part of this host's name, as in keepalived")
	form := bindKubeVIPForm(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		text, ok := kubeVIPText(args[0])
		if args[0] == stdin {
			var err error
			if text, err = readStdin(cmd); err != nil {
				return err
			}
			args[0], ok = "standard input", true
		}
		if ok {
			if err := notFor(cmd, "a kube-vip", "partial", "strict", "check-user", "secrets", "config-id", "virtual-servers"); err != nil {
				return err
			}
			return form.run(cmd, args[0], text)
		}
		asObject, other := *form.output == string(outputJSON), []string{"image", "apply-to"}
		if !asObject {
			other = append(other, "output")
		}
		if err := notFor(cmd, "a keepalived.conf", other...); err != nil {
			return err
		}
		if !filepath.IsAbs(o.Secrets) {
			return fmt.Errorf("--secrets %q, want an absolute path such as %s", o.Secrets, convert.DefaultSecrets)
		}
		if o.VirtualServers != "" && o.VirtualServers != convert.VirtualServersSpread {
			return fmt.Errorf("--virtual-servers %q, want %s, or the option left out", o.VirtualServers, convert.VirtualServersSpread)
		}
		return convertKeepalived(cmd, args[0], *id, o, asObject)
	}
	return cmd
}

// notFor refuses flags that mean nothing for what a file is.
func notFor(cmd *cobra.Command, what string, flags ...string) error {
	for _, f := range flags {
		if cmd.Flags().Changed(f) {
			return fmt.Errorf("--%s is given, but the file is %s, want it left out", f, what)
		}
	}
	return nil
}
