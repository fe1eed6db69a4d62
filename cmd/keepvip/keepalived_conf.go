package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/tools/keepalived"
	"github.com/keepvip/keepvip/internal/tools/keepalived/convert"
	"github.com/keepvip/keepvip/internal/tools/keepalived/syntax"
	"github.com/keepvip/keepvip/kubeadm"
)

// keepalivedConf is a keepalived.conf in place of a file of keepvip.
type keepalivedConf struct {
	path    string
	id      string // for lines with @id; "": keepalived's default
	all     bool   // an included file that is missing is an error
	options convert.Options
}

// read makes a configuration of the file, the one that `keepvip convert` prints. The error has one line for each finding of severity error.
func (k *keepalivedConf) read(path string) (config.Converted, error) {
	doc, err := syntax.Read(path, cmp.Or(k.id, hostID()), syntax.Disk{})
	if err != nil {
		return config.Converted{}, unreadable(path, err, aKeepalivedConf)
	}
	r := convert.Convert(doc, onThisHost(k.options))
	missing := func(f keepalived.Finding) bool { return k.all && f.Code == syntax.CodeInclude }
	if r.Draft == nil || slices.ContainsFunc(r.Findings, missing) {
		return config.Converted{}, faults(path, r.Findings, missing)
	}
	out := config.Converted{Draft: r.Draft, Text: r.Text, Secrets: r.Secrets}
	for _, f := range r.Findings {
		if f.Severity == keepalived.Warning {
			out.Warnings = append(out.Warnings, findingLine(f))
		}
	}
	return out, nil
}

// onThisHost is o with what keepalived asks of the host: where programs are, and whether there is a user for scripts.
func onThisHost(o convert.Options) convert.Options {
	o.Find, o.ReadSecret = findProgram, config.ReadSecret
	o.Host = convert.Host{HasUser: config.UserExists, Unsafe: config.SafeForRoot, Absent: config.Absent, HasDirectory: hasDirectory}
	o.Root = o.Root || o.InMemory
	if !o.InMemory { // keepvip manifest systemd makes a unit that sees it, and what runs already knows
		o.Hidden = func(path string) bool { return (kubeadm.UnitConfig{}).Hides(path) != "" }
	}
	if script := "keepalived_script"; o.Default == "" && config.UserExists(script) {
		o.Default = script
	}
	return o
}

func hasDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// mostFaults bounds what the start, a reload and the status say about a file that is no keepalived.conf at all.
const mostFaults = 20

// faults are the first of those that are errors, each with its place.
func faults(path string, all []keepalived.Finding, besides func(keepalived.Finding) bool) error {
	var errs []error
	left := 0
	for _, f := range all {
		switch {
		case f.Severity != keepalived.Fault && !besides(f):
		case len(errs) < mostFaults:
			errs = append(errs, errors.New(findingLine(f)))
		default:
			left++
		}
	}
	if left > 0 {
		errs = append(errs, fmt.Errorf("%s: and %d errors more: `keepvip lint %s` has all of them", path, left, path))
	}
	return errors.Join(errs...)
}
