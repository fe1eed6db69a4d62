package main

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/election/raft"
	"github.com/keepvip/keepvip/internal/base/state"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/fence"
	"github.com/keepvip/keepvip/internal/kernel/hostroute"
	"github.com/keepvip/keepvip/internal/kernel/intercept"
	"github.com/keepvip/keepvip/internal/kernel/link"
	"github.com/keepvip/keepvip/internal/kernel/spreadtables"
	"github.com/keepvip/keepvip/internal/node/singleton"
	"github.com/keepvip/keepvip/internal/serve/service/route"
)

func newCleanup() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cleanup",
		Short: "Remove from this host whatever a keepvip that is gone has left",
		Long: "Removes every address, interface, nftables table and route that a keepvip has left on this host, and the files that it had not finished\n" +
			"in its state directory, and prints each. Holds, the history and what Raft has stored stay.\n" +
			"It refuses while a keepvip is running here.",
		Args: noArguments,
	}
	socket, stateDir, output := bindSocket(cmd), bindStateDir(cmd), bindOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if c, err := net.DialTimeout("unix", *socket, time.Second); err == nil {
			_ = c.Close()
			return failed(fmt.Errorf("a keepvip is running here (it serves %s): stop it first, it removes its addresses itself", *socket))
		}
		lock, err := singleton.Take("") // whatever its socket; and none starts meanwhile
		if err != nil {
			return failed(fmt.Errorf("%w; when it stops it removes its addresses itself", err))
		}
		defer lock.Close()
		links, err := link.Open(slog.New(slog.DiscardHandler))
		if err != nil {
			return failed(err)
		}
		defer links.Close()
		doc, err := cleanup(links, *stateDir)
		return cmp.Or(output.print(cmd.OutOrStdout(), kindCleanup, doc, doc.text), failed(err))
	}
	return cmd
}

// cleanupDoc is what cleanup has removed, also where something is left that it could not.
type cleanupDoc struct {
	Addresses []removedAddress `json:"addresses"` // never null
	Links     []string         `json:"links"`     // interfaces of virtual MACs; never null
	Tables    []string         `json:"tables"`    // of nftables; never null
	Routes    []netip.Addr     `json:"routes"`    // to these addresses; never null
	Files     []string         `json:"files"`     // paths; never null
}

type removedAddress struct {
	Address   netip.Prefix `json:"address"`
	Interface string       `json:"interface"`
}

func cleanup(links *link.Handle, stateDir string) (cleanupDoc, error) {
	doc := cleanupDoc{Addresses: []removedAddress{}, Links: []string{}, Tables: []string{}, Routes: []netip.Addr{}, Files: []string{}}
	all, err := links.Links()
	if err != nil {
		return doc, err
	}
	var errs []error
	for _, l := range all {
		for _, a := range l.Addresses {
			if !a.Ours {
				continue
			}
			if err := links.Remove(l.Index, a.Prefix); err != nil {
				errs = append(errs, err)
				continue
			}
			doc.Addresses = append(doc.Addresses, removedAddress{a.Prefix, l.Name})
		}
	}
	for _, l := range slices.Clone(all) {
		if !l.OursVirtual() {
			continue
		}
		gone, err := links.DeleteVirtual(l, all)
		errs = append(errs, err)
		if gone { // the last one on an interface gives that its arp_announce back
			doc.Links = append(doc.Links, l.Name)
			all = slices.DeleteFunc(all, func(o link.Link) bool { return o.Index == l.Index })
		}
	}
	for _, clean := range []func() ([]string, error){
		fence.Cleanup, func() ([]string, error) { return spreadtables.Cleanup() }, func() ([]string, error) { return intercept.Cleanup() },
	} {
		tables, err := clean()
		doc.Tables, errs = append(doc.Tables, tables...), append(errs, err)
	}
	routes, err := cleanupRoutes(stateDir)
	doc.Routes, errs = append(doc.Routes, routes...), append(errs, err)
	for _, clean := range []func(string) ([]string, error){state.Cleanup, raft.Cleanup} {
		files, err := clean(stateDir)
		doc.Files, errs = append(doc.Files, files...), append(errs, err)
	}
	return doc, errors.Join(errs...)
}

// tablesOf are the tables that routes may have been left in, also with an error: those that are remembered, and keepvip's protocol in the main one.
func tablesOf(stateDir string) ([]hostroute.Table, error) {
	tables, err := route.Tables(stateDir)
	if main := (hostroute.Table{Number: unix.RT_TABLE_MAIN, Protocol: config.DefaultProtocol}); !slices.Contains(tables, main) {
		tables = append(tables, main)
	}
	return tables, err
}

// cleanupRoutes takes away the routes by the loopback device that a keepvip has left.
func cleanupRoutes(stateDir string) (gone []netip.Addr, err error) {
	r, err := hostroute.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	tables, err := tablesOf(stateDir)
	for _, t := range tables {
		of, failure := r.Cleanup(t)
		gone, err = append(gone, of...), errors.Join(err, failure)
	}
	return gone, err
}

// text has a line for each; nothing, where nothing was left.
func (d cleanupDoc) text() string {
	var b strings.Builder
	for _, a := range d.Addresses {
		fmt.Fprintf(&b, "removed %s from %s\n", a.Address, a.Interface)
	}
	for _, name := range d.Links {
		fmt.Fprintf(&b, "removed the interface %s\n", name)
	}
	for _, name := range d.Tables {
		fmt.Fprintf(&b, "removed the nftables table %s\n", name)
	}
	for _, a := range d.Routes {
		fmt.Fprintf(&b, "removed the route to %s\n", a)
	}
	for _, path := range d.Files {
		fmt.Fprintf(&b, "removed %s\n", path)
	}
	return b.String()
}
