package hook

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/config"
)

// told is what a sequence of "entry STATE" makes of the ledger, an event a line as the FIFO has it.
func told(t *testing.T, l *ledger, changes ...string) string {
	t.Helper()
	var out strings.Builder
	for _, c := range changes {
		name, state, ok := strings.Cut(c, " ")
		require.True(t, ok)
		for _, e := range l.change(name, Change{State: config.HookState(state), Priority: 100}) {
			out.WriteString(e.line())
		}
	}
	return strings.TrimSuffix(strings.ReplaceAll(out.String(), "\n", "; "), "; ")
}

func entries(names ...string) []Entry {
	var out []Entry
	for _, n := range names {
		name, group, _ := strings.Cut(n, "@")
		out = append(out, Entry{Name: name, Group: group})
	}
	return out
}

func TestLedgerTellsEachChangeOnce(t *testing.T) {
	tests := []struct {
		name    string
		entries []Entry
		changes []string
		want    string
	}{
		{
			"an entry", entries("a"),
			[]string{"a BACKUP", "a BACKUP", "a MASTER", "a MASTER", "a FAULT", "a STOP"},
			`INSTANCE "a" BACKUP 100; INSTANCE "a" MASTER 100; INSTANCE "a" FAULT 100; INSTANCE "a" STOP 100`,
		},
		{"nobody knows it", entries("a"), []string{"b MASTER"}, ""},
		{"nothing is known yet", entries("a"), []string{"a "}, ""},
		{
			"a name of keepalived",
			[]Entry{{Name: "a", Told: "VI_1", Group: "g", GroupTold: "VG_1"}},
			[]string{"a MASTER"},
			`INSTANCE "VI_1" MASTER 100; GROUP "VG_1" MASTER 0`,
		},
		// What keepalived 2.2.7 writes for the same: a group of two, taken, the link of one down and up, the end.
		{
			"a group", entries("a@g", "b@g"),
			[]string{"a BACKUP", "b BACKUP", "b MASTER", "a MASTER", "b FAULT", "a FAULT", "b BACKUP", "a BACKUP", "a STOP", "b STOP"},
			`INSTANCE "a" BACKUP 100; INSTANCE "b" BACKUP 100; GROUP "g" BACKUP 0; INSTANCE "b" MASTER 100; INSTANCE "a" MASTER 100; GROUP "g" MASTER 0; ` +
				`INSTANCE "b" FAULT 100; GROUP "g" FAULT 0; INSTANCE "a" FAULT 100; INSTANCE "b" BACKUP 100; INSTANCE "a" BACKUP 100; GROUP "g" BACKUP 0; ` +
				`INSTANCE "a" STOP 100; INSTANCE "b" STOP 100; GROUP "g" STOP 0`,
		},
		{
			"two groups", entries("a@g", "b@h"),
			[]string{"a MASTER", "b BACKUP"},
			`INSTANCE "a" MASTER 100; GROUP "g" MASTER 0; INSTANCE "b" BACKUP 100; GROUP "h" BACKUP 0`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLedger()
			l.use(tt.entries, nil)
			assert.Equal(t, tt.want, told(t, l, tt.changes...))
		})
	}
}

func TestLedgerOverAReload(t *testing.T) {
	l := newLedger()
	l.use(entries("stays", "goes@g", "anew", "other@g"), nil)
	told(t, l, "stays MASTER", "goes MASTER", "anew MASTER", "other MASTER")
	l.use(entries("stays", "anew", "other@g"), map[string]config.HookState{"goes": config.HookDeleted, "anew": ""})
	assert.Empty(t, told(t, l, "stays MASTER"), "it is what it was")
	assert.Equal(t, `INSTANCE "goes" DELETED 100`, told(t, l, "goes STOP"), "the group is what it was")
	assert.Empty(t, told(t, l, "anew STOP"), "it begins anew at once")
	assert.Empty(t, told(t, l, "anew MASTER"), "and is what it was")
	assert.Equal(t, `INSTANCE "anew" STOP 100`, told(t, l, "anew STOP"), "later it ends like any other")
	l.use(entries("stays", "anew"), map[string]config.HookState{"other": config.HookDeleted})
	assert.Equal(t, `INSTANCE "other" DELETED 100; GROUP "g" STOP 0`, told(t, l, "other STOP"), "with its last entry the group is gone")
	back := entries("stays", "anew", "other@g")
	back[2].Programs = []Program{{Hook: config.Hook{Command: []string{"/a"}, Type: config.HookInstance}}, {Hook: config.Hook{Command: []string{"/a"}, Type: config.HookGroup}}}
	before := l.entries
	l.use(back, nil)
	assert.Empty(t, l.late(before), "its end was told to others")
	assert.Equal(t, `INSTANCE "other" MASTER 100; GROUP "g" MASTER 0`, told(t, l, "other MASTER"))
	l.use(entries("stays"), nil)
	assert.Empty(t, told(t, l, "goes MASTER"))
	assert.Len(t, l.last, 1)
	assert.Empty(t, l.groups)
}

// An entry that is external has stopped, and reports no second end: what a reload makes of it is not to wait for one.
func TestLedgerOverTheReloadOfAnEntryThatHasStopped(t *testing.T) {
	now := func(jobs []job) string {
		var out []string
		for _, j := range jobs {
			out = append(out, fmt.Sprint(strings.TrimSpace(j.line()), " ", names(j.programs)))
		}
		return strings.Join(out, "; ")
	}
	all := entries("a@g", "b")
	for i := range all {
		all[i].Programs = []Program{{Hook: config.Hook{Command: []string{"/" + all[i].Name}, Type: config.HookInstance}}}
	}
	l := newLedger()
	l.use(all, nil)
	told(t, l, "a STOP", "b MASTER")
	assert.Empty(t, now(l.use(all, map[string]config.HookState{"a": ""})), "it is internal from now on")
	assert.Equal(t, `INSTANCE "a" BACKUP 100; GROUP "g" BACKUP 0`, told(t, l, "a BACKUP"))
	assert.Equal(t, `INSTANCE "a" STOP 100; GROUP "g" STOP 0`, told(t, l, "a STOP"), "the end of the process is told")

	assert.Empty(t, now(l.use(all, map[string]config.HookState{"a": ""})))
	gone := map[string]config.HookState{"a": config.HookDeleted, "b": config.HookDeleted}
	assert.Equal(t, `INSTANCE "a" DELETED 100 [/a]`, now(l.use(nil, gone)), "the group has stopped before")
	assert.Equal(t, removed, l.last["a"].Reason)
	assert.Empty(t, told(t, l, "a STOP"), "its end comes after that, if it has begun anew and has said nothing yet")
	assert.Equal(t, `INSTANCE "b" DELETED 100`, told(t, l, "b STOP"))
	l.use(all, nil)
	assert.Equal(t, `INSTANCE "a" STOP 100; GROUP "g" STOP 0`, told(t, l, "a STOP"), "it is there again, and external")
}

func names(programs []Program) (out []string) {
	for _, p := range programs {
		out = append(out, p.Command[0])
	}
	return out
}

func TestLedgerFindsThePrograms(t *testing.T) {
	l := newLedger()
	l.use([]Entry{
		{Name: "a", Group: "g", Programs: []Program{
			{Hook: config.Hook{Command: []string{"/any"}, Type: config.HookInstance}},
			{Hook: config.Hook{Command: []string{"/master"}, Type: config.HookInstance, States: []config.HookState{config.HookMaster}}},
			{Hook: config.Hook{Command: []string{"/down"}, Type: config.HookInstance, States: []config.HookState{config.HookFault, config.HookStop}}},
			{Hook: config.Hook{Command: []string{"/group"}, Type: config.HookGroup}},
		}},
		{Name: "b", Group: "g", Programs: []Program{{Hook: config.Hook{Command: []string{"/group-b"}, Type: config.HookGroup, States: []config.HookState{config.HookMaster}}}}},
		{Name: "c", Programs: []Program{{Hook: config.Hook{Command: []string{"/c"}, Type: config.HookInstance}}}},
	}, nil)
	wanted := func(kind config.HookType, state config.HookState) []string {
		return names(l.programs(event{Change: Change{State: state}, kind: kind, entry: "a", group: "g"}))
	}
	assert.Equal(t, []string{"/any", "/master"}, wanted(config.HookInstance, config.HookMaster))
	assert.Equal(t, []string{"/any"}, wanted(config.HookInstance, config.HookBackup))
	assert.Equal(t, []string{"/any", "/down"}, wanted(config.HookInstance, config.HookStop))
	assert.Equal(t, []string{"/group", "/group-b"}, wanted(config.HookGroup, config.HookMaster))
	assert.Equal(t, []string{"/group"}, wanted(config.HookGroup, config.HookFault))
}

// A program that a reload adds is told what it has missed, and nobody else is told anything.
func TestLedgerTellsLateComers(t *testing.T) {
	with := func(programs ...string) []Entry {
		a, b := Entry{Name: "a", Group: "g"}, Entry{Name: "b", Group: "g"}
		for _, p := range programs {
			kind, command, _ := strings.Cut(p, " ")
			a.Programs = append(a.Programs, Program{Hook: config.Hook{Command: []string{command}, Type: config.HookType(kind)}})
			if kind == "GROUP" {
				b.Programs = append(b.Programs, Program{Hook: config.Hook{Command: []string{command + "-b"}, Type: config.HookGroup}})
			}
		}
		return []Entry{a, b}
	}
	late := func(l *ledger, next []Entry) []string {
		before := l.entries
		l.use(next, nil)
		var out []string
		for _, j := range l.late(before) {
			out = append(out, fmt.Sprint(strings.TrimSpace(j.line()), " ", names(j.programs)))
		}
		return out
	}
	l := newLedger()
	assert.Empty(t, late(l, with("INSTANCE /old")), "nothing is known yet")
	told(t, l, "a MASTER", "b MASTER")
	assert.Empty(t, late(l, with("INSTANCE /old")))
	assert.Equal(t, []string{`INSTANCE "a" MASTER 100 [/new]`, `GROUP "g" MASTER 0 [/all /all-b]`}, late(l, with("INSTANCE /old", "INSTANCE /new", "GROUP /all")))
}

func TestDocument(t *testing.T) {
	at := time.Date(2026, 11, 23, 1, 2, 3, 0, time.UTC)
	e := event{
		Change: Change{State: config.HookMaster, Priority: 98, Reason: `the Active is "silent"`, Holder: netip.MustParseAddr("10.77.0.11"), Since: at},
		kind:   config.HookInstance, told: "VI_1", entry: "apiserver", group: "edge", old: config.HookBackup,
	}
	assert.Equal(t, `{"apiVersion":"keepvip/v1","kind":"StateChange","type":"INSTANCE","name":"VI_1","vip":"apiserver","group":"edge","state":"MASTER",`+
		`"oldState":"BACKUP","priority":98,"reason":"the Active is \"silent\"","holder":"10.77.0.11","since":"2026-11-23T01:02:03Z"}`+"\n", string(e.document()))
	assert.Equal(t, `{"apiVersion":"keepvip/v1","kind":"StateChange","type":"INSTANCE","name":"a","vip":"a","state":"STOP","priority":0,"reason":""}`+"\n",
		string(event{Change: Change{State: config.HookStop}, kind: config.HookInstance, told: "a", entry: "a"}.document()))
	e.Reason = strings.Repeat("\x01", 1<<20)
	assert.Less(t, len(e.document()), 4096, "it fits into a pipe that nobody reads")
}

func TestLaneTheNewestWins(t *testing.T) {
	of := func(s config.HookState, programs ...string) job {
		j := job{event: event{Change: Change{State: s}}}
		for _, p := range programs {
			j.programs = append(j.programs, Program{Hook: config.Hook{Command: []string{p}}})
		}
		return j
	}
	var l lane
	put := func(j job) string { b, s := l.put(j); return fmt.Sprint(b, s) }
	assert.Equal(t, "false false", put(of(config.HookBackup)), "nothing to run")
	assert.Equal(t, "true false", put(of(config.HookBackup, "/a")))
	assert.Equal(t, "false false", put(of(config.HookMaster, "/a")))
	assert.Equal(t, "false true", put(of(config.HookBackup, "/a")), "of what waits only the newest is run")
	assert.Equal(t, "false true", put(of(config.HookMaster, "/a", "/m")))
	assert.False(t, l.join(of(config.HookMaster, "/late")))
	next, more := l.done()
	assert.Equal(t, []any{true, config.HookMaster, []string{"/a", "/m", "/late"}}, []any{more, next.State, names(next.programs)})
	assert.Equal(t, "false false", put(of(config.HookBackup, "/a")))
	assert.Equal(t, "false true", put(of(config.HookFault)), "the state that nothing is run for is newer, too")
	_, more = l.done()
	assert.False(t, more)
	assert.True(t, l.join(of(config.HookFault, "/late")))
}
