package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/keepvip/keepvip/internal/agent"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/control"
)

// reloaded says what a reload did.
type reloaded struct {
	Added     []string `json:"added"`
	Removed   []string `json:"removed"`
	Changed   []string `json:"changed"`   // in place
	Recreated []string `json:"recreated"` // with a new election
	Live      []string `json:"live"`      // keys of the process that it has taken over
	Restart   []string `json:"restart"`   // keys that only a new process takes over
}

// reload reads the configuration again. It is all or nothing: with an error nothing has changed.
func (d *daemon) reload() (any, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	next, err := d.flags.load()
	if err != nil {
		return nil, err
	}
	changes := config.Diff(d.cfg, next)
	next = config.Running(d.cfg, next)
	d.build.crowd, d.build.many, d.build.heartbeat = len(virtualAddresses(next)), len(next.VIPs), next.Raft.HeartbeatTimeout
	delta, done, err := d.delta(changes)
	if err != nil {
		return nil, err
	}
	if err := d.host.fits(next); err != nil {
		return nil, err
	}
	// Last of what can fail. The files may have new contents under their old names.
	if err := d.auth.set(next.Key); err != nil {
		return nil, err
	}
	if err := d.build.rafts.set(next); err != nil {
		return nil, err
	}
	limitProcessors(next)
	d.host.setVirtual(virtualAddresses(next))
	d.build.groups.set(next.VIPs)
	d.agent.Apply(delta)
	d.build.rafts.closeIdle()
	d.cfg = next
	d.log.Info("configuration reloaded", "added", done.Added, "removed", done.Removed,
		"changed", done.Changed, "recreated", done.Recreated, "live", done.Live, "restart", done.Restart)
	if len(done.Restart) > 0 {
		d.log.Warn("new values wait for a restart", "keys", done.Restart)
	}
	return done, nil
}

// delta turns what differs into what the agent has to do.
func (d *daemon) delta(c config.Changes) (agent.Delta, reloaded, error) {
	done := reloaded{
		Added: []string{}, Removed: []string{}, Changed: []string{}, Recreated: []string{},
		Live: append([]string{}, c.Live...), Restart: append([]string{}, c.Restart...),
	}
	var add, adjust []config.VIP
	for _, v := range c.Removed {
		done.Removed = append(done.Removed, v.Name)
	}
	for _, v := range c.Added {
		add = append(add, v)
		done.Added = append(done.Added, v.Name)
	}
	for _, v := range c.Changed {
		if v.Recreate {
			add = append(add, v.New)
			done.Recreated = append(done.Recreated, v.New.Name)
		} else {
			adjust = append(adjust, v.New)
			done.Changed = append(done.Changed, v.New.Name)
		}
	}
	var delta agent.Delta
	var err error
	delta.Remove = slices.Concat(done.Removed, done.Recreated)
	if delta.Add, err = d.instances(add); err != nil {
		return agent.Delta{}, reloaded{}, err
	}
	delta.Adjust, err = d.instances(adjust)
	return delta, done, err
}

func newReload() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "reload",
		Short: "Make the running keepvip read its configuration again",
		Long: "Makes the running keepvip read its configuration again, as SIGHUP does, and prints what changed.\n" +
			"A configuration with an error changes nothing.",
		Args: noArguments,
	}
	socket := bindSocket(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var done reloaded
		if err := control.NewClient(*socket).Reload(cmd.Context(), &done); err != nil {
			return failed(err)
		}
		return failed(done.print(cmd.OutOrStdout()))
	}
	return cmd
}

func (r reloaded) print(w io.Writer) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the summary: %w", err)
	}
	_, err = fmt.Fprintln(w, string(b))
	return err
}
