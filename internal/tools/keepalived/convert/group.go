package convert

import (
	"fmt"
	"slices"

	"github.com/keepvip/keepvip/internal/tools/keepalived"
)

// group is the sync group of an instance, if keepvip can keep its members together.
func (c *converter) group(i *keepalived.Instance) *keepalived.SyncGroup {
	g := c.groups[i.SyncGroup]
	if g == nil || len(g.Members) < 2 || !c.together(g) {
		return nil
	}
	if c.slugs[g.Name] == "" {
		taken := map[string]bool{}
		for _, s := range c.slugs {
			taken[s] = true
		}
		c.slugs[g.Name] = unique(slug(g.Name), taken)
		c.changed(g.At, fmt.Sprintf("the sync group %s becomes group: %s: if one of its entries cannot be held on a node, or is unhealthy there, none is held there", g.Name, c.slugs[g.Name]),
			"move all of a group's nodes to keepvip soon: keepalived decides for the group in its own way")
	}
	return g
}

// together says whether the members would be on the same node.
func (c *converter) together(g *keepalived.SyncGroup) bool {
	members := slices.DeleteFunc(slices.Clone(c.cfg.Instances), func(i *keepalived.Instance) bool { return i.SyncGroup != g.Name })
	first := members[0]
	for _, i := range members {
		if i.Priority != first.Priority || i.Preempt != first.Preempt {
			c.refuse(g.At, fmt.Sprintf("the members %s and %s of the group %s have another priority, or nopreempt: keepvip's groups want the same of all", first.Name, i.Name, g.Name), "give them the same on this node, in keepalived first")
			return false
		}
		if g.Weights && weighted(i.Track) {
			c.refuse(g.Where("sync_group_tracking_weight"), fmt.Sprintf("%s tracks something with a weight of its own: keepvip's groups have the priority of the worst member", i.Name), "track it in the group")
			return false
		}
	}
	return true
}

func weighted(t keepalived.Tracking) bool {
	return slices.ContainsFunc(slices.Concat(t.Interfaces, t.Scripts, t.Files, t.Processes), func(t keepalived.Tracked) bool { return t.Weight.Value != 0 })
}
