package hook

import (
	"maps"
	"reflect"
	"slices"

	"github.com/keepvip/keepvip/internal/config"
)

// ledger knows what was told of each entry and of each group, and makes of a change what is to be told now. It is pure.
type ledger struct {
	entries map[string]Entry
	last    map[string]event            // newest of each entry
	groups  map[string]event            // and of each group, by its name
	leaving map[string]config.HookState // of entries that a reload ends: what their end is called; "" for nothing
}

func newLedger() *ledger {
	return &ledger{entries: map[string]Entry{}, last: map[string]event{}, groups: map[string]event{}, leaving: map[string]config.HookState{}}
}

// use takes a configuration over. leaving are the entries that end with it, those that begin anew among them: what their
// end is called, "" for nothing. What it returns is to be told now: an entry that has stopped, as one that is external has,
// reports no second end.
func (l *ledger) use(entries []Entry, leaving map[string]config.HookState) (now []job) {
	next, groups := map[string]Entry{}, map[string]bool{}
	for name := range leaving {
		if e, ok := l.entries[name]; ok {
			next[name], groups[e.Group] = e, true
		}
	}
	for _, e := range entries {
		e.Programs = slices.Clone(e.Programs)
		for i := range e.Programs {
			e.Programs[i].entry = e.Name
		}
		next[e.Name], groups[e.Group] = e, true
	}
	l.entries, l.leaving = next, maps.Clone(leaving)
	// What has ended and is there again begins anew.
	maps.DeleteFunc(l.last, func(name string, e event) bool { _, ok := next[name]; return !ok || e.State == config.HookDeleted })
	for _, name := range slices.Sorted(maps.Keys(leaving)) {
		if was := l.last[name]; was.State == config.HookStop {
			was.Reason = removed
			for _, e := range l.change(name, was.Change) {
				now = append(now, job{e, l.programs(e)})
			}
		}
	}
	maps.DeleteFunc(l.groups, func(name string, e event) bool {
		return !groups[name] || e.State == config.HookStop && l.groupState(name, "") != config.HookStop
	})
	return now
}

// removed is the reason of an end that comes with the configuration.
const removed = "removed from the configuration"

// change notes what an entry has come to, and returns what is to be told: nothing, the entry's event, or that and its group's.
func (l *ledger) change(name string, c Change) []event {
	entry, ok := l.entries[name]
	if !ok {
		return nil
	}
	if called, ends := l.leaving[name]; ends && c.State == config.HookStop {
		delete(l.leaving, name)
		if c.State = called; called == "" {
			return nil
		}
	}
	before := l.last[name]
	if before.State == c.State || c.State == "" || before.State == config.HookDeleted {
		return nil
	}
	e := event{Change: c, kind: config.HookInstance, told: entry.told(), entry: name, group: entry.Group, old: before.State}
	l.last[name] = e
	if entry.Group == "" {
		return []event{e}
	}
	return append([]event{e}, l.groupOf(e)...)
}

// groupOf is the event of a group after that of one of its entries, if there is one.
func (l *ledger) groupOf(e event) []event {
	before := l.groups[e.group]
	state := l.groupState(e.group, before.State)
	if state == before.State {
		return nil
	}
	g := e
	g.kind, g.State, g.old, g.told, g.Priority = config.HookGroup, state, before.State, l.groupTold(e.group), 0
	l.groups[e.group] = g
	return []event{g}
}

// groupTold is what programs know a group by: the same for all of its entries that say it.
func (l *ledger) groupTold(group string) string {
	for _, name := range slices.Sorted(maps.Keys(l.entries)) {
		if e := l.entries[name]; e.Group == group && e.GroupTold != "" {
			return e.GroupTold
		}
	}
	return group
}

// groupState is FAULT while an entry is, else what all of them are, else what it was: they are on their way. A group whose last entry was
// deleted has stopped: keepalived has no DELETED for a group.
func (l *ledger) groupState(group string, was config.HookState) config.HookState {
	var all []config.HookState
	for name, e := range l.entries {
		if s := l.last[name].State; e.Group == group && s != config.HookDeleted {
			all = append(all, s)
		}
	}
	switch {
	case slices.Contains(all, config.HookFault):
		return config.HookFault
	case len(all) == 0:
		return config.HookStop
	case slices.ContainsFunc(all, func(s config.HookState) bool { return s != all[0] }) || all[0] == "":
		return was
	}
	return all[0]
}

// programs are those of the configuration that want an event.
func (l *ledger) programs(e event) (out []Program) {
	add := func(of Entry) {
		for _, p := range of.Programs {
			if p.wants(e) {
				out = append(out, p)
			}
		}
	}
	if e.kind == config.HookInstance {
		add(l.entries[e.entry])
		return out
	}
	for _, name := range slices.Sorted(maps.Keys(l.entries)) {
		if of := l.entries[name]; of.Group == e.group {
			add(of)
		}
	}
	return out
}

// late is what programs that were not there before have missed: what was told of their entries and groups last.
func (l *ledger) late(before map[string]Entry) []job {
	var out []job
	groups := map[string]int{} // to their places in out
	for _, name := range slices.Sorted(maps.Keys(l.entries)) {
		entry := l.entries[name]
		if own := (job{l.last[name], fresh(entry, before[name], l.last[name])}); len(own.programs) > 0 {
			out = append(out, own)
		}
		all := job{l.groups[entry.Group], fresh(entry, before[name], l.groups[entry.Group])}
		at, known := groups[entry.Group]
		switch {
		case len(all.programs) == 0:
		case known:
			out[at].programs = append(out[at].programs, all.programs...)
		default:
			groups[entry.Group] = len(out)
			out = append(out, all)
		}
	}
	return out
}

// fresh are the programs of an entry that want an event, and that it did not have before.
func fresh(entry, before Entry, e event) []Program {
	if e.State == "" {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(entry.Programs), func(p Program) bool {
		return !p.wants(e) || slices.ContainsFunc(before.Programs, func(old Program) bool { return reflect.DeepEqual(p, old) })
	})
}
