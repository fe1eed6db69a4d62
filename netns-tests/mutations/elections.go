package mutations

// elections are defects of who may serve.
func elections() []Mutation {
	return []Mutation{
		{
			Name: "the lease is a tick too long", File: "election/virtualrouter/lease.go", Test: "TestLeaseIsOverBeforeAnotherRouterMayBegin",
			Old: `return time.Duration(n)*cfg.Interval - jiffy`, New: `return time.Duration(n)*cfg.Interval + jiffy`,
		},
		{
			Name: "a REQUEST without a fresh probe", File: "election/virtualrouter/probes.go", Test: "TestHandoverProbesFirst",
			Old: `if fn != nil {`, New: `if false {`,
		},
		{
			Name: "the lease goes on after the Active has yielded", File: "election/virtualrouter/machine_router.go", Test: "TestVRRPLeaseEndsWithTheTerm",
			Old: `		m.leaseEnd = time.Time{}
		m.agenda.act(endLease{})
`, New: ``,
		},
		{
			Name: "a member that left its group takes the others along", File: "election/virtualrouter/group.go", Test: "TestInstanceThatIsTakenOutOfAGroupTakesNobodyWithIt",
			Old: `to != election.Active && s.group.members[s.name] == s {`, New: `to != election.Active {`,
		},
		{
			Name: "Raft: the lease is as long as the heartbeat timeout", File: "election/raft/lease.go", Test: "TestLeaseEndsBeforeTheVoteLock",
			Old: `return heartbeat - heartbeat/10 - jiffy }`, New: `return heartbeat }`,
		},
		{
			Name: "Raft: half of the voters are a majority", File: "election/raft/lease.go", Test: "TestAcksQuorum",
			Old: `need := len(voters)/2 + 1`, New: `need := (len(voters) + 1) / 2`,
		},
		{
			Name: "Raft: no vote lock", File: "election/raft/votelock.go", Test: "TestVoteLockAllows",
			Old: `return !now.Before(p.until) || candidate == p.leader || p.freed(term, candidate)`, New: `return true`,
		},
		{
			Name: "Raft: a restart forgets its vote lock", File: "election/raft/votelock.go", Test: "TestVoteLockAllows",
			Old: `p.until = now.Add(max(hold, p.hold))`, New: `p.until = now`,
		},
		{
			Name: "Raft: an election that comes to nothing keeps another from being elected", File: "election/raft/transport.go",
			Test: "TestTransportOfTwoThatStandTheOneWithTheNewerLogGoesOn",
			Old:  `t.rival.recent(own.term, own.at, t.heartbeat) && t.rival.before(own)`, New: `t.rival.recent(own.term, own.at, t.heartbeat) && t.rival.id < own.id`,
		},
		{
			Name: "Raft: a store that has begun says the newest list", File: "election/raft/gossip.go",
			Test: "TestNodeBegunWithAnotherListKeepsTheOthersFromFounding",
			Old:  `begun := g.store.begunWith(); begun != ""`, New: `begun := g.store.begunWith(); begun == "none"`,
		},
		{
			Name: "Raft: a cluster begins with the list of the start", File: "election/raft/bootstrap.go", Test: "TestNodesBeginByTheNewestList",
			Old: `firstMembers(b.list())`, New: `firstMembers(b.cfg.Peers)`,
		},
		{
			Name: "Raft: a node that has just begun says the newest list", File: "election/raft/bootstrap.go", Test: "TestNodeBeginsWithOneList",
			Old: `	st.rewritten()
`, New: ``,
		},
		{
			Name: "Raft: a recovery beside a majority that has no leader", File: "election/raft/recover.go",
			Test: "TestNodeDoesNotRecoverBesideAMajorityThatNeedsIt",
			Old:  `!begun && live > voters/2:`, New: `!begun && live > voters:`,
		},
		{
			Name: "Raft: a term counts as kept that the disk did not take", File: "election/raft/waitingstore.go", Test: "TestNodeWaitsForAFullDisk",
			Old: `	if err := w.insist(write); !errors.Is(err, errOver) {
		return err
	}
	return nil`, New: `	_ = w.unlessOver(write)
	return nil`,
		},
		{
			Name: "Raft: a leader without other voters does not look after its lease", File: "election/raft/lease.go",
			Test: "TestLeaderWithoutOtherVotersTellsOfItsLease",
			Old:  `!end.IsZero() && l.cluster.alone()`, New: `end.IsZero() && l.cluster.alone()`,
		},
		{
			Name: "Raft: the leader lets in beside an operator who removes", File: "election/raft/membership.go", Test: "TestMembershipChangesUnderOneLock",
			Old: `	return func() (bool, error) {
		m.inviting.Lock()
		defer m.inviting.Unlock()
`, New: `	return func() (bool, error) {
`,
		},
		{
			Name: "Raft: a removal may leave half of the voters", File: "election/raft/membership.go", Test: "TestRemovalThatWouldLeaveHalfIsRefused",
			Old: `(left == 0 || live <= left/2)`, New: `(left == 0 || live < left/2)`,
		},
		{
			Name: "Raft: a store that cannot be read has begun nothing", File: "election/raft/store.go",
			Test: "TestStoreThatCannotBeReadKeepsOthersFromFounding",
			Old:  `return "unreadable" // nobody has that list`, New: `return ""`,
		},
		{
			Name: "a handover with port 0 does not lower the priority", File: "election/virtualrouter/handover.go",
			Test: "TestHandoverWithoutMembersIsAPriorityOfOne",
			Old:  `m.agenda.first(m.fitness.fit, m.x.tell, func() {`, New: `m.agenda.first(m.x.tell, func() {`,
		},
		{
			Name: "a member that answers do not reach blames the holder", File: "election/virtualrouter/answers.go",
			Test: "TestHolderStaysWhereNoHostAnswersTheNodeThatBlamesIt",
			Old: `	if b.vouched {
		return b.holder
	}
	return netip.Addr{}`, New: `	return b.holder`,
		},
	}
}
