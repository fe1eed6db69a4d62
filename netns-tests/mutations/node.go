package mutations

// node are defects of the running process.
func node() []Mutation {
	return []Mutation{
		{
			Name: "a listener has no bound", File: "internal/base/places/keeper.go", Test: "TestKeeperTakesFromWhoHasTheMost",
			Old: `if k.taken >= k.most {`, New: `if k.taken < 0 {`,
		},
		{
			Name: "the history counts as written before it is", File: "internal/node/history/log.go", Test: "TestLogOfADiskThatIsFullGoesOnInMemory",
			Old: `	if written {
		l.written = last
	}`, New: `	if l.written = last; !written {
		due = time.Time{}
	}`,
		},
		{
			Name: "a hook that waits is never replaced by the newest", File: "internal/node/hook/lane.go", Test: "TestLaneTheNewestWins",
			Old: `	l.next = &j
	return false, skipped`, New: `	if l.next == nil {
		l.next = &j
	}
	return false, skipped`,
		},
		{
			Name: "a follower sends connections to a member that is not fit", File: "internal/node/follower/choose.go", Test: "TestFollowerSendsConnectionsToFitMembers", Old: `case s.On(p.Protocol.Number(), p.Port) != slots.Fit:`, New: `case s.On(p.Protocol.Number(), p.Port) == slots.Dead:`,
		},
		{
			Name: "the file is worth more than flags", File: "internal/config/load.go", Test: "TestLoadPrecedence",
			Old: `range append(doc.settings, overrides...) {`, New: `range append(overrides, doc.settings...) {`,
		},
		{
			Name: "anybody may change something", File: "internal/node/control/verbs.go", Test: "TestVerbsAreForRoot",
			Old: `if !fromRoot(r) {`, New: `if r == nil {`,
		},
		{
			Name: "hooks of two states run at the same time", File: "internal/node/hook/lane.go", Test: "TestHookStatesDoNotOvertakeEachOther",
			Old: `	if !l.busy {`, New: `	if l.next == nil {`,
		},
		{
			Name: "a program that is killed leaves what is in another session", File: "internal/base/program/tree.go", Test: "TestKilledProgramLeavesNothingThatDescendsFromIt",
			Old: `		children[p.parent] = append(children[p.parent], p)
`, New: ``,
		},
		{
			Name: "a reload begins the new before the old has ended", File: "internal/serve/instance/set.go", Test: "TestReloadBeginsTheNewAfterTheOldHasEnded",
			Old: `			r.cancel(d.why(r.name))
			<-r.stopped`, New: `			r.cancel(d.why(r.name))`,
		},
	}
}
