package kubevip

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/keepvip/keepvip/kubeadm"
)

// option is one option of keepvip with the place that it comes from.
type option struct {
	Flag   string   // without dashes
	Values []string // one, but for a list
	Line   int
	From   string // the setting, as written
}

// Result is what a kube-vip becomes.
type Result struct {
	Options  []option  // in the order of keepvip's reference
	Findings []Finding // in the order of the file
	Variable string    // what the placeholder stands for; "": the address is given
	Path     string    // of a template's file that the kube-vip is in; "": it is in none
	Routers  Routers   // what a routing daemon is to be told; empty where kube-vip speaks no BGP
}

// Flags are the options as a command line would give them.
func (r *Result) Flags() map[string][]string {
	out := map[string][]string{}
	for _, o := range r.Options {
		out[o.Flag] = o.Values
	}
	return out
}

// Convert reads a text, called name in errors, and says what keepvip is to be told. It refuses, with one line for each reason, what keepvip
// cannot do in place of kube-vip: without an address, without ARP, for Services alone, and where a value that counts is not in the text. The
// error is a [Refused].
// The placeholder stands for an address that is a variable of clusterctl, as ${CONTROL_PLANE_ENDPOINT_IP}. The zero value: such a one is refused.
// The options are not validated: package config does that.
func Convert(name string, text []byte, placeholder netip.Addr) (*Result, error) {
	src, err := read(name, text)
	if err != nil {
		return nil, err
	}
	c := conversion{outcome: outcome{name: name}, source: src, placeholder: placeholder, told: map[int]bool{}}
	c.refuseSwitches()
	c.mode()
	c.addresses()
	c.link()
	c.announcements()
	c.port()
	c.metrics()
	c.others()
	if len(c.refused) > 0 {
		if _, err := kubeadm.ReadClass(name, text); err != nil && c.ofClass {
			return nil, refusedBy(err)
		}
		return nil, c.err()
	}
	c.findings = append(c.findings, src.around...)
	slices.SortStableFunc(c.findings, func(a, b Finding) int { return cmp.Compare(a.Line, b.Line) })
	r := &Result{Options: c.options, Findings: c.findings, Variable: c.variable, Path: src.path}
	r.Routers = src.settings.routers(r.Flags()["vip"])
	return r, nil
}

// conversion is one in progress.
type conversion struct {
	source
	outcome
	options []option
	told    map[int]bool // by the index of the setting: there is a finding
	first   netip.Addr   // the first address

	placeholder netip.Addr
	variable    string // what it stands for
	ofClass     bool   // the address is a variable of a ClusterClass, or of a chart
}

// outcome is what there is to say of a file.
type outcome struct {
	name     string
	findings []Finding
	refused  Refused
}

func (o *outcome) refuse(line int, format string, args ...any) {
	o.refused = append(o.refused, reason{o.name, line, fmt.Sprintf(format, args...)})
}

// err is the refusals in the order of the file.
func (o *outcome) err() error {
	slices.SortStableFunc(o.refused, func(a, b reason) int { return cmp.Compare(a.Line, b.Line) })
	return o.refused
}

// value is a setting in force that keepvip has to know. One that is not in the file is refused.
func (c *conversion) value(env string) (setting, bool) {
	s, ok := c.settings.get(env)
	if ok && s.hidden != "" {
		c.refuse(s.line, "%s: the value is not in this file, want it as a value", s.what())
		return s, false
	}
	return s, ok
}

// tell makes the finding of a setting.
func (c *conversion) tell(s setting, v fate, format string, args ...any) {
	c.told[slices.Index(c.settings, s)] = true
	c.findings = append(c.findings, Finding{Line: s.line, Fate: v, What: s.what(), Why: fmt.Sprintf(format, args...)})
}

func (c *conversion) option(flag string, from setting, values ...string) {
	c.options = append(c.options, option{Flag: flag, Values: values, Line: from.line, From: from.name})
}

// refuseSwitches refuses what is neither true nor false: kube-vip does not start with it.
func (c *conversion) refuseSwitches() {
	for _, s := range c.settings {
		if s.row == nil || !s.row.isSwitch || !s.given() {
			continue
		}
		if s.hidden != "" {
			if s.row.why == "" {
				c.refuse(s.line, "%s: the value is not in this file, want it as a value", s.what())
			}
			continue
		}
		if _, err := strconv.ParseBool(s.value); err != nil {
			c.refuse(s.line, "%s: want true or false; kube-vip does not start with it", s.what())
		}
	}
}

// others tells of every setting that nothing was said of yet.
func (c *conversion) others() {
	for i, s := range c.settings {
		if c.told[i] {
			continue
		}
		switch {
		case s.row == nil:
			c.tell(s, Lost, "kube-vip is not known to read it")
		case c.settings.overridden(s):
			c.tell(s, Unneeded, "it is set again, and the other value counts")
		case !s.given():
			c.tell(s, Unneeded, "it is empty, and so not set")
		case s.row.isSwitch && s.hidden == "" && !c.settings.on(s.row.env):
			c.tell(s, Unneeded, "it is off")
		case s.row.needs != "" && !c.settings.on(s.row.needs):
			c.tell(s, Unneeded, "it has no effect without %s", s.row.needs)
		case s.row.why != "":
			c.tell(s, s.row.fate, "%s", s.row.why)
		}
	}
}

// list is a value of several.
func list(s string) (out []string) {
	for v := range strings.SplitSeq(s, ",") {
		out = append(out, strings.TrimSpace(v))
	}
	return out
}
