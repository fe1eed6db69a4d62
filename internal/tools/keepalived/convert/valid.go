package convert

import (
	"errors"
	"strings"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/tools/keepalived"
	"github.com/keepvip/keepvip/internal/tools/keepalived/syntax"
)

// valid says whether package config takes the configuration. What it does not take is a finding at the line that it comes from.
func (c *converter) valid(entries int, doc *syntax.Document) bool {
	if entries == 0 {
		at := syntax.Origin{Line: 1}
		if len(doc.Sources) > 0 {
			at.File = doc.Sources[0]
		}
		c.say(keepalived.Fault, keepalived.CodeMissing, at, "no vrrp_instance that can be carried over", "keepvip has nothing to do without one")
		return false
	}
	for _, at := range c.out.garbled {
		c.say(keepalived.Fault, codeInvalid, at, "bytes that are no text: keepvip takes UTF-8 alone", remedyInvalid)
	}
	_, err := config.Load(config.Input{Conf: "keepalived.conf", Elsewhere: true, Convert: func(string) (config.Converted, error) {
		return config.Converted{Draft: &c.out.draft, Text: c.out.text()}, nil
	}})
	for _, p := range problems(err) {
		element, _, _ := strings.Cut(p.Text, " ")
		c.say(keepalived.Fault, codeInvalid, c.out.element(syntax.Origin{File: p.Origin.Name, Line: p.Origin.Line}, element), "keepvip does not take "+p.Key+": "+p.Text, remedyInvalid)
	}
	if err != nil && len(problems(err)) == 0 {
		c.say(keepalived.Fault, codeInvalid, syntax.Origin{}, err.Error(), remedyInvalid)
	}
	return err == nil && len(c.out.garbled) == 0
}

// remedyInvalid is for what keepalived takes.
const remedyInvalid = "correct it, on all nodes where it has to be the same, or take it out of this file"

// problems takes a joined error apart.
func problems(err error) []*config.Problem {
	var out []*config.Problem
	var one *config.Problem
	var joined interface{ Unwrap() []error }
	switch {
	case err == nil:
	case errors.As(err, &joined):
		for _, e := range joined.Unwrap() {
			out = append(out, problems(e)...)
		}
	case errors.As(err, &one):
		out = append(out, one)
	}
	return out
}
