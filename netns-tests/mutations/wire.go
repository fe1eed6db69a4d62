package mutations

// wire are defects of what nodes say: VRRP, ARP and neighbour discovery, the members' messages.
func wire() []Mutation {
	return []Mutation{
		{
			Name: "Skew_Time with the wrong sign", File: "vrrp/parameters.go", Test: "TestMachineRFC9568",
			Old: `time.Duration(256-int(p.priority)) / 256`, New: `time.Duration(int(p.priority)) / 256`,
		},
		{
			Name: "priority 0 believed from anybody", File: "vrrp/backup.go", Test: "TestMachineBackupReceivesPriorityZero",
			Old: `if source != b.followed {`, New: `if !source.IsValid() {`,
		},
		{
			Name: "a Backup that stood still has no second chance", File: "vrrp/backup.go", Test: "TestMachineBackupFrozen",
			Old: `m.backup.interval && !m.backup.late {`, New: `m.backup.interval && m.backup.late {`,
		},
		{
			Name: "priority 0 before the addresses are off", File: "vrrp/machine.go", Test: "TestMachineShutdownReason",
			Old: "	m.change(now, Initialize, reason)\n	if wasActive {\n		m.send(priorityGiveUp)\n	}\n",
			New: "	if wasActive {\n		m.send(priorityGiveUp)\n	}\n	m.change(now, Initialize, reason)\n",
		},
		{
			Name: "of equals the lower address wins", File: "vrrp/active.go", Test: "TestMachineAddressesCompareUnsigned",
			Old: `r.Source.Compare(p.cfg.Source) > 0:`, New: `r.Source.Compare(p.cfg.Source) < 0:`,
		},
		{
			Name: "an Active that stood still goes on", File: "vrrp/machine.go", Test: "TestMachineActiveFrozen",
			Old: `if m.state == Active && m.active.frozen(now, &m.parameters) {`, New: `if m.state == Backup && m.active.frozen(now, &m.parameters) {`,
		},
		{
			Name: "each advertisement is taken for one of TTL 255", File: "vrrp/receive.go", Test: "TestPacketThatARouterHasPassedOnIsNotDelivered",
			Old: ` int(b[8]),`, New: ` 255,`,
		},
		{
			Name: "unicast: minTTL is not the peers' own", File: "members/hub.go", Test: "TestHubNamesWhomTheConfigurationKeepsOut",
			Old: `leastTTL: cmp.Or(int(minTTL), envelope.HopLimit)`, New: `leastTTL: cmp.Or(0, 1)`,
		},
		{
			Name: "each address of a host is a witness", File: "members/witness.go", Test: "TestHearingTakesOneHostForOneWitness",
			Old: `return known && o.mac == mac`, New: `return !known && o.mac == mac`,
		},
		{
			Name: "a HELLO is read without a look at the length of its rank", File: "members/fields.go", Test: "TestParseRefuses",
			Old: `if len(b) < rankLen || vrrp.State(b[0]) > vrrp.Active {`, New: `if vrrp.State(b[0]) > vrrp.Active {`,
		},
		{
			Name: "a repeated message counts", File: "internal/base/auth/window.go", Test: "TestWindow",
			Old: `case p.Sequence <= r.last.Sequence:`, New: `case p.Sequence < 1:`,
		},
		{
			Name: "the code is compared as far as it goes, also where it is empty", File: "internal/base/auth/keyring.go", Test: "TestKeyringGenuine",
			Old: `case !hmac.Equal(keys[i].Sum(parts...)[:len(code)], code):`, New: `case len(code) == 0:`,
		},
		{
			Name: "members are never forgotten", File: "members/table.go", Test: "TestMachineTakesAnOldHelloForWhatItIs",
			Old: `return m.Heard.Add(m.Peer.Lifetime) }`, New: `return m.Heard.Add(24 * time.Hour) }`,
		},
		{
			Name: "a node that stood still calls a split what members said meanwhile", File: "members/machine.go", Test: "TestMachineFindsNoSplitInWordsFromBefore",
			Old: "	m.known.claimants.began = later(m.known.claimants.began, m.known.table.standstill.noticed)\n", New: "",
		},
		{
			Name: "a GRANT is repeated without end", File: "members/grantor.go", Test: "TestMachineRepeatsALostGrantWithinTheLease",
			Old: `a.session == p.session && now.Sub(p.at) < within {`, New: `a.session == p.session {`,
		},
		{
			Name: "a fit holder is asked for half a second only", File: "members/requester.go", Test: "TestMachineRequesterAsksAFitHolderForLongerThanAnUnfitOne",
			Old: `t.outranking.IsZero() || now.Sub(t.begun) >= patience {`, New: `now.Sub(t.begun) < patience {`,
		},
		{
			Name: "the second chance of a connection is not its former member", File: "members/slots/slots.go", Test: "TestMakeMemberInTheMidstKeepsConnections",
			Old: `for _, m := range former {`, New: `for _, m := range former[:0] {`,
		},
		{
			Name: "a neighbour advertisement without Override", File: "arp/frame.go", Test: "TestAnnouncementBytes",
			Old: `Override:      true,`, New: `Override:      false,`,
		},
		{
			Name: "the burst of announcements ends after the first", File: "arp/schedule.go", Test: "TestScheduleBurstThenRefresh",
			Old: `	if s.sent < len(s.burst) {
		if at :=`, New: `	if s.sent < 1 {
		if at :=`,
		},
		{
			Name: "the socket filter drops advertisements without addresses", File: "vrrp/filter.go", Test: "TestFilterIPv4",
			Old: `	p.loadPayload(3)
`, New: `	p.loadPayload(3)
	p.orDrop(bpf.JumpGreaterThan, 0)
`,
		},
		{
			Name: "a new priority makes an unfit Active fit", File: "vrrp/reconfigure.go", Test: "TestMachineReconfigure",
			Old: `if m.priority == old.Priority {`, New: `if m.cfg.Priority != old.Priority {`,
		},
		{
			Name: "one sequence for all Virtual Routers of a host", File: "vrrp/auth.go", Test: "TestVerifierKeepsSendersApart",
			Old: `sender{src, b[1]}, b[end:]`, New: `sender{src, 0}, b[end:]`,
		},
		{
			Name: "an announcement counts as an answer", File: "arp/ears.go", Test: "TestEarsTakeAnAnswerAloneForOne",
			Old: `ok && c.Answer && !at.Before(asked)`, New: `ok && !at.Before(asked)`,
		},
		{
			Name: "a holder is dead by what one member finds", File: "members/pulse/look.go", Test: "TestOneWayCutsMoveNothingWhileAnotherHearsTheHolder",
			Old: `case p.followed && all:`, New: `case p.followed && (all || len(others) > 0):`,
		},
	}
}
