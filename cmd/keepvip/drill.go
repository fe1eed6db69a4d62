package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/keepvip/keepvip/internal/node/control"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// drillFlags are what the command line of drill says.
type drillFlags struct {
	handover, stop, check bool

	lasts      time.Duration
	noReturn   bool
	watch      time.Duration
	everywhere bool
	port       uint16
	within     time.Duration
}

func newDrill() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "drill [NAME]",
		Args:  arguments("NAME", 0, 1),
		Short: "Fail over on purpose, and measure what clients miss",
		Long: "Makes the holder of the virtual address fail, on the node that holds it, and measures for how long connections to the\n" +
			"address have no answer. Another node takes the address, and gives it back afterwards. It is refused while any other\n" +
			"node is not well. Without NAME it is the only address that there is. It ends by itself, also when this command or the daemon is killed, and leaves nothing behind.\n\n" +
			"A holder reaches the address within itself: measure on a node that is no holder, by --watch, or by --everywhere on all\n" +
			"nodes at the same time. With --stop only such a node can measure.\n\n" +
			"Exit codes: 0 done, and missed for no longer than documented for these settings; 1 longer, all connections refused, or the\n" +
			"drill refused; 3 another node is not well, so that it could not be taken without risk; 4 no node took it, or with\n" +
			"--watch no drill was seen.",
		Example: "  keepvip drill apiserver\n  keepvip drill --stop apiserver\n  keepvip drill --watch 30s --stop apiserver",
	}
	var f drillFlags
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.BoolVar(&f.handover, "handover", false, "pass the address on, as keepvip handover does (the default)")
	fs.BoolVar(&f.stop, "stop", false, "stand still as in a death: the kernel ends the lease, and another node takes over")
	fs.BoolVar(&f.check, "check", false, "take every health check of the holder to be bad")
	cmd.MarkFlagsMutuallyExclusive("handover", "stop", "check")
	fs.DurationVar(&f.lasts, "lasts", 0, "how long the failure lasts at most, up to 30s; without it three leases, and at least 1s with --stop, 5s with --check and 10s with --handover")
	fs.BoolVar(&f.noReturn, "no-return", false, "leave the address where it has gone; refused where this node would take it back by itself (vrrp.preempt)")
	fs.DurationVar(&f.watch, "watch", 0, "fail nothing: measure the drill of another node, which begins within that time, at most 10m; with --stop or --check if that has it")
	fs.BoolVar(&f.everywhere, "everywhere", false, "of a command on all nodes at the same time: the holder drills after 5s, the others measure")
	cmd.MarkFlagsMutuallyExclusive("watch", "everywhere")
	fs.Uint16Var(&f.port, "port", 0, "the TCP port to connect to; without it that of the health check, or 6443")
	fs.DurationVar(&f.within, "within", 0, "how long the address may be missed; without it as documented for these settings")
	socket, output := bindSocket(cmd), bindOutput(cmd)
	cmd.ValidArgsFunction = names(socket, vipNames)
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { // before cobra says the same in words of its own
		return cmp.Or(oneOf(cmd, "handover", "stop", "check"), oneOf(cmd, "watch", "everywhere"))
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := f.valid(cmd.Flags().Changed); err != nil {
			return err
		}
		name, err := onlyName(cmd.Context(), *socket, args)
		if err != nil {
			return err
		}
		doc, err := f.run(cmd.Context(), control.NewClient(*socket), name, cmd.ErrOrStderr())
		if err != nil {
			return moved(err)
		}
		if err := output.print(cmd.OutOrStdout(), kindDrill, doc, doc.text); err != nil {
			return err
		}
		return doc.verdict()
	}
	return cmd
}

// onlyName is the virtual address that is named, or the only one that there is.
func onlyName(ctx context.Context, socket string, args []string) (string, error) {
	if len(args) > 0 {
		return args[0], nil
	}
	_, status, err := askStatus(ctx, socket, nil)
	if err != nil {
		return "", failed(err)
	}
	all := vipNames(status)
	if len(all) != 1 {
		return "", fmt.Errorf("there are %d virtual addresses (%s), want the NAME of one", len(all), strings.Join(all, ", "))
	}
	return all[0], nil
}

// mostWatch bounds how long a drill may be waited for: what a watcher sees, some hundred connections a second, it keeps.
const mostWatch = 10 * time.Minute

// valid is an error for a flag that was given and says nothing. A watch of 0s must not become a drill.
func (f *drillFlags) valid(given func(flag string) bool) error {
	for _, l := range []struct {
		flag     string
		is, most time.Duration
	}{{"lasts", f.lasts, instance.MostDrill}, {"watch", f.watch, mostWatch}, {"within", f.within, time.Hour}} {
		if given(l.flag) && (l.is <= 0 || l.is > l.most) {
			return fmt.Errorf("--%s %s, want more than 0s and at most %s", l.flag, l.is, l.most)
		}
	}
	return nil
}

func (f *drillFlags) kind() instance.DrillKind {
	switch {
	case f.stop:
		return instance.DrillStop
	case f.check:
		return instance.DrillCheck
	}
	return instance.DrillHandover
}

const (
	// headStart is how long those that measure have to begin before the holder does.
	headStart = 5 * time.Second
	// watchTime is for how long they wait for the drill of the holder.
	watchTime = 30 * time.Second
	// usualPort is that of an apiserver.
	usualPort = 6443
)

// run drills, or watches.
func (f *drillFlags) run(ctx context.Context, c *control.Client, name string, warnings io.Writer) (*drillDoc, error) {
	var plan instance.DrillPlan
	if err := c.DrillPlan(ctx, name, &plan); err != nil {
		return nil, err
	}
	port := cmp.Or(f.port, plan.Port, usualPort)
	d := &drillRun{
		drillFlags: f, client: c, warnings: warnings, plan: plan, kind: f.kind(), to: netip.AddrPortFrom(plan.Address, port),
		bound: cmp.Or(f.within, plan.Outages.Of(f.kind())),
	}
	switch {
	case f.watch > 0 && plan.Here:
		return nil, errors.New("this node holds the address: it cannot watch its own drill; drill here, and watch on another node")
	case f.watch > 0:
		return d.watchOther(ctx, f.watch)
	case f.everywhere && !plan.Here:
		return d.watchOther(ctx, headStart+watchTime)
	case f.everywhere:
		if err := sleep(ctx, headStart); err != nil {
			return nil, err
		}
	}
	return d.here(ctx)
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
