package hook

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// told is what a sequence of "entry STATE" makes of the ledger, an event a line as the FIFO has it.
func told(t *testing.T, l *ledger, changes ...string) string {
	t.Helper()
	var out strings.Builder
	for _, c := range changes {
		name, state, ok := strings.Cut(c, " ")
		require.True(t, ok)
		for _, e := range l.change(name, Change{State: State(state), Priority: 100}) {
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
	l.use(entries("stays", "anew", "other@g"), map[string]State{"goes": Deleted, "anew": ""})
	assert.Empty(t, told(t, l, "stays MASTER"), "it is what it was")
	assert.Equal(t, `INSTANCE "goes" DELETED 100`, told(t, l, "goes STOP"), "the group is what it was")
	assert.Empty(t, told(t, l, "anew STOP"), "it begins anew at once")
	assert.Empty(t, told(t, l, "anew MASTER"), "and is what it was")
	assert.Equal(t, `INSTANCE "anew" STOP 100`, told(t, l, "anew STOP"), "later it ends like any other")
	l.use(entries("stays", "anew"), map[string]State{"other": Deleted})
	assert.Equal(t, `INSTANCE "other" DELETED 100; GROUP "g" STOP 0`, told(t, l, "other STOP"), "with its last entry the group is gone")
	back := entries("stays", "anew", "other@g")
	back[2].Programs = []Program{{Command: []string{"/a"}, Type: Instance}, {Command: []string{"/a"}, Type: Group}}
	before := l.entries
	l.use(back, nil)
	assert.Empty(t, l.late(before), "its end was told to others")
	assert.Equal(t, `INSTANCE "other" MASTER 100; GROUP "g" MASTER 0`, told(t, l, "other MASTER"))
	l.use(entries("stays"), nil)
	assert.Empty(t, told(t, l, "goes MASTER"))
	assert.Len(t, l.last, 1)
	assert.Empty(t, l.groups)
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
			{Command: []string{"/any"}, Type: Instance},
			{Command: []string{"/master"}, Type: Instance, States: []State{Master}},
			{Command: []string{"/down"}, Type: Instance, States: []State{Fault, Stop}},
			{Command: []string{"/group"}, Type: Group},
		}},
		{Name: "b", Group: "g", Programs: []Program{{Command: []string{"/group-b"}, Type: Group, States: []State{Master}}}},
		{Name: "c", Programs: []Program{{Command: []string{"/c"}, Type: Instance}}},
	}, nil)
	wanted := func(kind Type, state State) []string {
		return names(l.programs(event{Change: Change{State: state}, kind: kind, entry: "a", group: "g"}))
	}
	assert.Equal(t, []string{"/any", "/master"}, wanted(Instance, Master))
	assert.Equal(t, []string{"/any"}, wanted(Instance, Backup))
	assert.Equal(t, []string{"/any", "/down"}, wanted(Instance, Stop))
	assert.Equal(t, []string{"/group", "/group-b"}, wanted(Group, Master))
	assert.Equal(t, []string{"/group"}, wanted(Group, Fault))
}

// A program that a reload adds is told what it has missed, and nobody else is told anything.
func TestLedgerTellsLateComers(t *testing.T) {
	with := func(programs ...string) []Entry {
		a, b := Entry{Name: "a", Group: "g"}, Entry{Name: "b", Group: "g"}
		for _, p := range programs {
			kind, command, _ := strings.Cut(p, " ")
			a.Programs = append(a.Programs, Program{Command: []string{command}, Type: Type(kind)})
			if kind == "GROUP" {
				b.Programs = append(b.Programs, Program{Command: []string{command + "-b"}, Type: Group})
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
		Change: Change{State: Master, Priority: 98, Reason: `the Active is "silent"`, Holder: netip.MustParseAddr("10.77.0.11"), Since: at},
		kind:   Instance, told: "VI_1", entry: "apiserver", group: "edge", old: Backup,
	}
	assert.Equal(t, `{"apiVersion":"keepvip/v1","kind":"StateChange","type":"INSTANCE","name":"VI_1","vip":"apiserver","group":"edge","state":"MASTER",`+
		`"oldState":"BACKUP","priority":98,"reason":"the Active is \"silent\"","holder":"10.77.0.11","since":"2026-11-23T01:02:03Z"}`+"\n", string(e.document()))
	assert.Equal(t, `{"apiVersion":"keepvip/v1","kind":"StateChange","type":"INSTANCE","name":"a","vip":"a","state":"STOP","priority":0,"reason":""}`+"\n",
		string(event{Change: Change{State: Stop}, kind: Instance, told: "a", entry: "a"}.document()))
	e.Reason = strings.Repeat("\x01", 1<<20)
	assert.Less(t, len(e.document()), 4096, "it fits into a pipe that nobody reads")
}

func TestLaneTheNewestWins(t *testing.T) {
	of := func(s State, programs ...string) job {
		j := job{event: event{Change: Change{State: s}}}
		for _, p := range programs {
			j.programs = append(j.programs, Program{Command: []string{p}})
		}
		return j
	}
	var l lane
	put := func(j job) string { b, s := l.put(j); return fmt.Sprint(b, s) }
	assert.Equal(t, "false false", put(of(Backup)), "nothing to run")
	assert.Equal(t, "true false", put(of(Backup, "/a")))
	assert.Equal(t, "false false", put(of(Master, "/a")))
	assert.Equal(t, "false true", put(of(Backup, "/a")), "of what waits only the newest is run")
	assert.Equal(t, "false true", put(of(Master, "/a", "/m")))
	assert.False(t, l.join(of(Master, "/late")))
	next, more := l.done()
	assert.Equal(t, []any{true, Master, []string{"/a", "/m", "/late"}}, []any{more, next.State, names(next.programs)})
	assert.Equal(t, "false false", put(of(Backup, "/a")))
	assert.Equal(t, "false true", put(of(Fault)), "the state that nothing is run for is newer, too")
	_, more = l.done()
	assert.False(t, more)
	assert.True(t, l.join(of(Fault, "/late")))
}
