package convert

import (
	"errors"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/keepalived"
	"github.com/keepvip/keepvip/internal/keepalived/syntax"
)

// valid says whether package config takes the text. What it does not take is a finding at the line that it comes from.
func (c *converter) valid(entries int, doc *syntax.Document) bool {
	if entries == 0 {
		at := syntax.Origin{Line: 1}
		if len(doc.Sources) > 0 {
			at.File = doc.Sources[0]
		}
		c.say(keepalived.Fault, keepalived.CodeMissing, at, "no vrrp_instance that can be carried over", "keepvip has nothing to do without one")
		return false
	}
	_, err := config.Load(config.Input{Env: []string{config.EnvInline + "=" + string(c.out.text())}, Elsewhere: true})
	for _, p := range problems(err) {
		c.say(keepalived.Fault, CodeInvalid, c.out.origin(p.Origin.Line), "keepvip does not take "+p.Key+": "+p.Text, "")
	}
	if err != nil && len(problems(err)) == 0 {
		c.say(keepalived.Fault, CodeInvalid, c.out.origin(0), err.Error(), "")
	}
	return err == nil
}

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
