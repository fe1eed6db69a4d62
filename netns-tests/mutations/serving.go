package mutations

// serving are defects of what a node does for an entry.
func serving() []Mutation {
	return []Mutation{
		{
			Name: "no announcement after a takeover", File: "internal/serve/service/address/transition.go", Test: "TestActiveBindsThenAnnouncesBeforeAnythingElse",
			Old: `	s.announcer.restart()
	s.renewal =`, New: `	s.renewal =`,
		},
		{
			Name: "no reset of connections that come until the address is shut", File: "internal/serve/service/address/telling.go", Test: "TestReleaseResetsAgainWhatCameInDuringTheReset",
			Old: `if in.isDone() {
				more`, New: `if !in.isDone() {
				more`,
		},
		{
			Name: "the address goes before the connections are reset", File: "internal/serve/service/address/addresses.go", Test: "TestReleaseWaitsForResetsWhileTheNodeIsSilent",
			Old: `	t := a.reset(a.cfg.hosts(), in)
	await(t.over, patience)`, New: `	err := a.gone()
	t := a.reset(a.cfg.hosts(), in)
	await(t.over, patience)
	if err != nil {
		return err
	}`,
		},
		{
			Name: "the holder sends packets to a member that lacks it", File: "internal/serve/service/spread/kernel.go", Test: "TestServiceHolderSendsNothingToAMemberThatLacksIt",
			Old: `return t.rows[m].lacksHolder`, New: `return false`,
		},
		{
			Name: "a holder of which nothing was heard counts as known", File: "internal/serve/service/spread/roster.go", Test: "TestServiceSaysWhetherItLacksTheHolder",
			Old: `(known == nil || !known.heard)`, New: `known == nil`,
		},
		{
			Name: "bound without a guard", File: "internal/serve/service/address/addresses.go", Test: "TestTakeoverBindsUnderAGuard",
			Old: `	a.guard()
	if err := a.lapsed()`, New: `	if err := a.lapsed()`,
		},
		{
			Name: "bound after the lease is over", File: "internal/serve/service/address/addresses.go", Test: "TestAddressIsNotBoundAfterItsLease",
			Old: `if end := a.elector.LeaseEnd(); !end.IsZero() && !time.Now().Before(end) {`, New: `if end := a.elector.LeaseEnd(); end.IsZero() && !time.Now().Before(end) {`,
		},
		{
			Name: "a holder whose link is back announces before it has listened", File: "internal/serve/service/address/transition.go", Test: "TestHolderWhoseLinkIsBackInTimeListensBeforeItAnnounces",
			Old: `		s.announcer.listenFirst()
`, New: ``,
		},
		{
			Name: "a hold is not kept", File: "internal/serve/instance/hold.go", Test: "TestHoldKeepsTheNodeOutUntilResume",
			Old: `	return keep()
`, New: `	_ = keep
	return nil
`,
		},
		{
			Name: "a start does not look for a hold", File: "internal/serve/instance/hold.go", Test: "TestHoldOfAnEarlierRunLasts",
			Old: `if h, held := a.store.Held(name); held {`, New: `if h, held := a.store.Held(name); held && h.Reason == "nobody" {`,
		},
		{
			Name: "an announcement names the interface's MAC, and not the virtual one", File: "internal/serve/service/address/announce.go",
			Test: "TestAddressesAreOnTheLinkOfTheirVirtualMAC",
			Old:  `a.host.Announce(a.place.Holds(), a.bindable())`, New: `a.host.Announce(a.place, a.bindable())`,
		},
		{
			Name: "a release is left out while the kernel does not answer", File: "internal/serve/service/address/jobs.go",
			Test: "TestJobsThatAreAskedForOnceWait",
			Old:  `j.repeated && len(q.list) >= maxJobs`, New: `len(q.list) >= maxJobs`,
		},
		{
			Name: "a handover that is given up leaves discovery shut", File: "internal/serve/service/address/pass.go",
			Test: "TestPassThatIsGivenUpLeavesDiscoveryOpen",
			Old: `	err := w.reopen(fence)
	w.note(err)
	return err
`, New: `	return p.err
`,
		},
		{
			Name: "a holder that does not answer is named once", File: "internal/serve/service/address/answering.go",
			Test: "TestHolderIsBlamedOnlyWhereItHasAnsweredBefore",
			Old:  `(d.told != who || d.toldTimes != times)`, New: `(d.told != who || times < 0)`,
		},
		{
			Name: "a clock that is set back puts off the renewal of a guard", File: "internal/serve/service/address/standby.go",
			Test: "TestGuardOfABackupIsDueByTheClockThatNobodySets",
			Old:  `due.Add(-time.Duration(due.UnixNano() % int64(standbyMeet)))`, New: `due.Truncate(standbyMeet)`,
		},
		{
			Name: "who did not answer a node that was cut off is dead", File: "internal/serve/service/spread/member.go",
			Test: "TestServiceThatWasCutOffAsksAgainWhoIsDead",
			Old: `	if m.doubted {
`, New: `	if m.doubted && !m.heard {
`,
		},
		{
			Name: "a route that was refused is not tried again", File: "internal/serve/service/route/look.go", Test: "TestRouteThatIsRefusedIsPutLater",
			Old: `s.wanted && !now.Before(s.again)`, New: `s.wanted && s.again.IsZero()`,
		},
		{
			Name: "routes.json may name the routes of the kernel", File: "internal/serve/service/route/tables.go", Test: "TestTablesOfAFileThatCannotBeRead",
			Old: `t.Protocol < 5 ||`, New: `t.Protocol < 0 ||`,
		},
	}
}
