package keepalived

import (
	"fmt"
)

// groupDraft is a sync group before its members are looked up.
type groupDraft struct {
	SyncGroup
	alert, changes *bool
}

// readGroup reads a vrrp_sync_group. Its members may stand below it.
func (r *reader) readGroup(n statement) {
	if !named(n) {
		return
	}
	g := &groupDraft{SyncGroup: SyncGroup{Block: newBlock(n)}}
	table := map[string]keyword[groupDraft]{
		"group": {block: true, list: true, read: func(g *groupDraft, n statement) {
			if g.Members != nil {
				n.fault(CodeDuplicate, n.At, "a second list of members: keepalived drops it", "write them in one block")
				return
			}
			for _, c := range n.Children {
				if !c.Block {
					g.Members = append(g.Members, c.Words...)
				}
			}
		}},
		"smtp_alert":                 {read: func(g *groupDraft, n statement) { n.optional(&g.alert) }},
		"notify_priority_changes":    {read: func(g *groupDraft, n statement) { n.optional(&g.changes) }},
		"sync_group_tracking_weight": {read: func(g *groupDraft, _ statement) { g.Weights = true }},
		"global_tracking": {read: func(_ *groupDraft, n statement) {
			n.fault(CodeIgnored, n.At, "global_tracking is obsolete, and does nothing", "remove it: put the track_ blocks into the group")
		}},
		"track_bfd": {block: true, note: noteBFD, code: CodeUnsupported},
	}
	trackKeywords(table, r, func(g *groupDraft) *Tracking { return &g.Track })
	notifyKeywords(table, func(g *groupDraft) *Notify { return &g.Notify })
	delete(table, "notify_master_rx_lower_pri")
	delete(table, "notify_deleted")
	readBlock("vrrp_sync_group", table, g, &g.Block, n)
	r.groups = append(r.groups, g)
}

// join gives each instance its group, and drops groups without any.
func (r *reader) join() {
	for _, g := range r.groups {
		members := g.Members[:0:0]
		for _, name := range g.Members {
			d, ok := r.named[name]
			switch {
			case !ok:
				r.fault(codeReference, g.Where("group"), fmt.Sprintf("no vrrp_instance %s for the group %s: keepalived leaves it out", name, g.Name), "correct the name")
			case d.SyncGroup != "":
				r.fault(CodeDuplicate, g.Where("group"), fmt.Sprintf("%s is in the group %s already: keepalived leaves it out here", name, d.SyncGroup), "remove it from one of them")
			default:
				d.SyncGroup = g.Name
				members = append(members, name)
			}
		}
		switch len(members) {
		case 0:
			r.fault(CodeMissing, g.At, fmt.Sprintf("the group %s has no members: keepalived drops it", g.Name), "add a block group with the names of instances")
			continue
		case 1:
			r.fault(CodeMissing, g.At, fmt.Sprintf("the group %s has one member, which is no group", g.Name), "add the other instances, or remove the group")
		}
		g.Members = members
		r.config.Groups = append(r.config.Groups, &g.SyncGroup)
	}
}
