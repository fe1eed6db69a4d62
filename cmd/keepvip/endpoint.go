package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/keepvip/keepvip/internal/config"
)

func newEndpoint() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "endpoint [NAME]",
		Short: "Print where clients have to connect",
		Long: "Prints as host:port where clients of the virtual address NAME connect, or of the only one: in mode internal the first address, in mode external the\n" +
			"external address. The configuration says so (flags, environment, --config). Without one, and with --running, the keepvip at --socket says so: after a change of the\n" +
			"mode to internal that is the external address until a node holds the virtual one.\n\n" +
			"Exit codes: 0 printed; 1 there is no such NAME, no port is known, or no keepvip answers; 2 the command line or the configuration is wrong, or\n" +
			"there are several virtual addresses and no NAME is given.",
		Example: "  keepvip endpoint --config /etc/keepvip/keepvip.yaml\n" +
			"  curl -k https://$(keepvip endpoint)/readyz",
		Args: arguments("NAME", 0, 1),
	}
	running := cmd.Flags().Bool("running", false, "ask the keepvip at --socket, and not the configuration")
	output := bindOutput(cmd)
	flags := bindConfig(cmd)
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		path := socketOf(cmd)
		return names(&path, vipNames)(cmd, args, begun)
	}
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		find := endpointsOf
		switch {
		case *running:
			find = runningEndpoints
		case !flags.named():
			find = someEndpoints
		}
		all, err := find(cmd, flags)
		if err != nil {
			return err
		}
		if len(names) > 0 {
			if all, err = endpointNamed(all, names[0]); err != nil {
				return failed(err)
			}
		}
		doc := endpointsDoc{all}
		if *output == outputJSON {
			return output.print(cmd.OutOrStdout(), kindEndpoints, doc, nil)
		}
		text, err := doc.text()
		if err != nil {
			return err
		}
		return output.print(cmd.OutOrStdout(), kindEndpoints, doc, func() string { return text })
	}
	return cmd
}

// endpointsDoc is what `keepvip endpoint -o json` prints.
type endpointsDoc struct {
	VIPs []endpointDoc `json:"vips"`
}

type endpointDoc struct {
	Name     string      `json:"name"`
	Mode     config.Mode `json:"mode"`
	Endpoint string      `json:"endpoint,omitempty"` // host:port, an IPv6 address in brackets; absent where no port is known
}

func endpointsOf(_ *cobra.Command, flags *configFlags) ([]endpointDoc, error) {
	cfg, err := flags.load()
	if err != nil {
		return nil, err
	}
	out := []endpointDoc{}
	for _, v := range cfg.VIPs {
		e := endpointDoc{v.Name, config.ModeInternal, v.HostPort()}
		if v.External() {
			e.Mode = config.ModeExternal
		}
		out = append(out, e)
	}
	return out, nil
}

func runningEndpoints(cmd *cobra.Command, _ *configFlags) ([]endpointDoc, error) {
	if other := besides(cmd, "running", "socket", "output"); other != "" {
		return nil, fmt.Errorf("--running and --%s are given, want one of the two: the running keepvip has its own configuration", other)
	}
	_, status, err := askStatus(cmd.Context(), socketOf(cmd), nil)
	if err != nil {
		return nil, failed(err)
	}
	out := []endpointDoc{}
	for _, v := range status.VIPs {
		out = append(out, endpointDoc{v.Name, v.Mode, v.Endpoint})
	}
	return out, nil
}

// someEndpoints are those of the keepvip that runs here, as no configuration is named.
func someEndpoints(cmd *cobra.Command, flags *configFlags) ([]endpointDoc, error) {
	all, err := runningEndpoints(cmd, flags)
	if err == nil {
		return all, nil
	}
	if all, err = endpointsOf(cmd, flags); err != nil {
		return nil, noneRuns(err, socketOf(cmd))
	}
	return all, nil
}

func endpointNamed(all []endpointDoc, name string) ([]endpointDoc, error) {
	i := slices.IndexFunc(all, func(e endpointDoc) bool { return e.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("no virtual address is named %q, there are: %s", name, strings.Join(endpointNames(all), ", "))
	}
	return all[i : i+1], nil
}

func endpointNames(all []endpointDoc) []string {
	var out []string
	for _, e := range all {
		out = append(out, e.Name)
	}
	return out
}

// text is one endpoint alone.
func (d endpointsDoc) text() (string, error) {
	switch {
	case len(d.VIPs) == 0:
		return "", failed(errors.New("there is no virtual address"))
	case len(d.VIPs) > 1:
		return "", fmt.Errorf("there are several virtual addresses (%s), want the NAME of one", strings.Join(endpointNames(d.VIPs), ", "))
	case d.VIPs[0].Endpoint == "":
		return "", failed(fmt.Errorf("%s: no check names the port where clients connect; want the port in spread.ports or, with mode %s, in externalAddress", d.VIPs[0].Name, config.ModeExternal))
	}
	return d.VIPs[0].Endpoint + "\n", nil
}
