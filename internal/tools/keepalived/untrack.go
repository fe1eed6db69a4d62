package keepalived

import (
	"fmt"
	"slices"
)

// untrack takes away what an instance or a group may not track: what has a weight, by an owner (priority 255) or by a member of a group.
func untrack(found *findings, c *Config) {
	groups, owned := map[string]*SyncGroup{}, map[string]bool{}
	for _, g := range c.Groups {
		groups[g.Name] = g
	}
	for _, i := range c.Instances {
		untrackOwn(found, i)
		var why string
		group := groups[i.SyncGroup]
		owned[i.SyncGroup] = owned[i.SyncGroup] || i.Priority == 255
		switch {
		case group != nil && !group.Weights:
			why = "a member of a group"
		case i.Priority == 255:
			why = "an owner (priority 255)"
		default:
			continue
		}
		i.Track.Interfaces = weightless(found, i.Track.Interfaces, i.Name, why, func(Tracked) bool { return group != nil && !group.Weights })
		byDefault := func(t Tracked) bool { return !t.Own && t.Weight == weight{Value: 1} } // only a file has that
		for _, list := range []*[]Tracked{&i.Track.Scripts, &i.Track.Files, &i.Track.Processes} {
			*list = weightless(found, *list, i.Name, why, byDefault)
		}
	}
	for _, g := range c.Groups {
		if !owned[g.Name] {
			continue
		}
		why := "a group with a member of priority 255"
		for _, list := range []*[]Tracked{&g.Track.Interfaces, &g.Track.Scripts, &g.Track.Files, &g.Track.Processes} {
			*list = weightless(found, *list, g.Name, why, func(Tracked) bool { return true })
		}
	}
}

// untrackOwn takes away the interface of the instance itself, which it tracks anyway, and what its group tracks too.
func untrackOwn(found *findings, i *Instance) {
	i.Track.Interfaces = slices.DeleteFunc(i.Track.Interfaces, func(t Tracked) bool {
		own := t.Name == i.Interface
		if own {
			found.fault(CodeDuplicate, t.At, fmt.Sprintf("%s is the interface of %s, which it tracks anyway: keepalived drops the line", t.Name, i.Name), "remove it")
		}
		return own
	})
}

// weightless drops what has a weight, or keeps it as a condition.
func weightless(found *findings, all []Tracked, name, why string, keep func(Tracked) bool) []Tracked {
	out := all[:0:0]
	for _, t := range all {
		switch {
		case t.Weight.Value == 0:
		case keep(t):
			found.fault("weight-dropped", t.At, fmt.Sprintf("%s is %s: keepalived takes weight 0 for %s, so it is in state FAULT while that is down", name, why, t.Name), "write weight 0 where that is meant, or track it in the group")
			t.Weight = weight{Reverse: t.Weight.Reverse}
		default:
			found.fault("weight-dropped", t.At, fmt.Sprintf("%s is %s: keepalived does not track %s with a weight", name, why, t.Name), "write weight 0 where FAULT is meant, or track it in the group")
			continue
		}
		out = append(out, t)
	}
	return out
}
