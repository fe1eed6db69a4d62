package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/node/control"
	"github.com/keepvip/keepvip/internal/node/daemon"
)

// runningTime bounds how long a command waits for a running keepvip that it has not been told of.
const runningTime = time.Second

// named reports whether the command line or the environment names a configuration. The socket alone is none.
func (f *configFlags) named() bool {
	if f.file != "" || f.conf.path != "" {
		return true
	}
	variables := []string{config.EnvFile, config.EnvInline, config.EnvConf}
	given := f.flags.Given()
	for o := range f.flags.All() {
		if o.Key == "socket" {
			continue
		}
		if len(given[o.Flag]) > 0 {
			return true
		}
		variables = append(variables, o.Env())
	}
	return slices.ContainsFunc(variables, func(name string) bool { return os.Getenv(name) != "" })
}

// loadOrAsk reads the configuration from its sources. Where none is named it is that of the keepvip that runs here, which standard error says.
func (f *configFlags) loadOrAsk(cmd *cobra.Command) (*config.Config, error) {
	cfg, err := f.load()
	if err == nil || f.named() {
		return cfg, err
	}
	socket := socketOf(cmd)
	in, ok := runningInput(cmd.Context(), socket)
	if !ok {
		return nil, noneRuns(err, socket)
	}
	if cfg, err = config.Load(in); err != nil {
		return nil, fmt.Errorf("the configuration of the keepvip at %s: %w", socket, err)
	}
	if _, err := fmt.Fprintf(cmd.ErrOrStderr(), "note: the configuration is that of the keepvip at %s\n", socket); err != nil {
		return nil, failed(err)
	}
	return cfg, nil
}

// noneRuns adds to the error of a configuration that is not there that none runs here either.
func noneRuns(err error, socket string) error {
	return fmt.Errorf("%w; and no keepvip at %s tells its own", err, socket)
}

// runningInput is what makes the configuration of a running keepvip again; ok is false where none answers, or where it does not say.
func runningInput(ctx context.Context, socket string) (in config.Input, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, runningTime)
	defer cancel()
	var doc daemon.RunningConfig
	if err := control.NewClient(socket).Config(ctx, &doc); err != nil || doc.File == "" && len(doc.Args) == 0 {
		return in, false
	}
	in.Flags = map[string][]string{"socket": {socket}}
	for _, arg := range doc.Args {
		if name, value, cut := strings.Cut(strings.TrimPrefix(arg, "--"), "="); cut && name != "socket" {
			in.Flags[name] = append(in.Flags[name], value)
		}
	}
	if doc.File != "" {
		in.Env = []string{config.EnvInline + "=" + doc.File}
	}
	return in, true
}
