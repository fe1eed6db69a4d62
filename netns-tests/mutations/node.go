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
		{
			Name: "an IPv6 address is there once for each prefix length", File: "internal/node/daemon/seen.go",
			Test: "TestWhatIsBoundIsNotedAsTheKernelHasIt",
			Old: `	if p.Addr().Is6() {
		return netip.PrefixFrom(p.Addr(), p.Addr().BitLen())
	}
	return p`, New: `	return p`,
		},
		{
			Name: "a running member of Raft loses its certificates by a reload", File: "internal/node/daemon/keys.go",
			Test: "TestReloadLeavesTheCertificatesOfARunningMember",
			Old:  `return secrets{keys: s.keys, stays: true}, nil`, New: `return secrets{keys: s.keys}, err`,
		},
		{
			Name: "a reload waits for the change of members before", File: "internal/node/daemon/raftnode.go", Test: "TestListIsFollowedBesideWhoReloads",
			Old: `	select {
	case <-r.lists: // nobody has begun to follow it
	default:
	}
`, New: ``,
		},
		{
			Name: "a listener that has ended is not opened again", File: "internal/node/door/door.go", Test: "TestDoorOpensAgainWhatHasEndedByItself",
			Old: `	at := d.is
	d.close()
	d.fail(at, *why)`, New: `	d.fail(d.is, *why)`,
		},
		{
			Name: "a listener ends by one error of accept", File: "internal/node/control/places.go", Test: "TestListenerAnswersAfterItCouldNotAccept",
			Old: `failures == mostFailures {`, New: `failures > 0 {`,
		},
		{
			Name: "an entry that had stopped reports no end", File: "internal/node/hook/ledger.go", Test: "TestLedgerOverTheReloadOfAnEntryThatHasStopped",
			Old: `was.State == config.HookStop {`, New: `was.State == config.HookDeleted {`,
		},
		{
			Name: "the history is written into a file that was replaced", File: "internal/node/history/file.go",
			Test: "TestLogDoesNotTakeOverAFileThatWasReplacedWhileItWasOpened", Netns: true,
			Old: `err = d.inPlace(f)`, New: `_ = d.inPlace(f)`,
		},
	}
}
