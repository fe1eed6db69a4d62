package mutations

// kernel are defects of what the kernel is asked for.
func kernel() []Mutation {
	return []Mutation{
		{
			Name: "the guard ends before the address", File: "internal/kernel/fence/links.go", Test: "TestGuardOutlastsTheAddress",
			Old: `return max(valid, lease) + max(guardBeyond, valid/3+guardBeyond/2)`, New: `return max(valid, lease)`,
		},
		{
			Name: "an advertisement with priority 0 renews the lease", File: "internal/kernel/fence/rules.go", Test: "TestFenceRenewalMatchesOneAdvertiser",
			Old: `		advertPriority.is(expr.CmpOpNeq, 0),
`, New: ``,
		},
		{
			Name: "cleanup leaves the fence", File: "internal/kernel/fence/cleanup.go", Test: "TestCleanupLeavesOthersAlone", Netns: true,
			Old: `return ok && !used(index)`, New: `return ok && used(index)`,
		},
		{
			Name: "an IPv4 address is bound as /24", File: "internal/node/daemon/bound.go", Test: "TestAddressesOfIPv4AreBoundAlone",
			Old: `netip.PrefixFrom(p.Addr(), 32)`, New: `netip.PrefixFrom(p.Addr(), 24)`,
		},
		{
			Name: "a packet of a connection that is not known here is given to nobody", File: "internal/kernel/spreadtables/chance.go",
			Test: "TestSecondChanceKeepsAConnection", Netns: true,
			Old: `and(f.slot(f.packet, r.size(), c.Seed), goOn(mapSeconds)), goTo("first"))`, New: `and(accept()))`,
		},
		{
			Name: "conntrack is not told of connections that a member has reset", File: "internal/kernel/spreadtables/ended.go", Test: "TestMasqueradedPortIsTranslatedAnewAfterAReset", Netns: true,
			Old: `if applied == nil || !applied.masquerade || len(members) == 0 {`, New: `if applied == nil || applied.masquerade || len(members) == 0 {`,
		},
		{
			Name: "the interface of a virtual MAC stays up on a Backup", File: "internal/node/daemon/bearer.go", Test: "TestBearerIsUpWithAnAddressAlone", Netns: true,
			Old: `b.links.SetUp(index, false)`, New: `b.links.SetUp(index, true)`,
		},
		{
			Name: "an interface that keepvip has not made is taken for that of a virtual MAC", File: "internal/kernel/link/virtualmac.go",
			Test: "TestVirtualMACsInterfaceOfAnotherIsRefused", Netns: true,
			Old: `return l.Kind == macvlan && strings.HasPrefix(l.Alias, virtualAlias)`, New: `return l.Kind == macvlan`,
		},
		{
			Name: "arp_announce stays changed after the last virtual MAC", File: "internal/kernel/link/virtualmac.go",
			Test: "TestVirtualMACsInterfaceIsMadeDownAndDeletedWithoutATrace", Netns: true,
			Old: `if others || err != nil || before == 2 {`, New: `if others || err != nil || before != 2 {`,
		},
		{
			Name: "an interface with an address is one that was half made", File: "internal/kernel/link/virtualmac.go",
			Test: "TestInterfaceThatSomebodyUsesIsNotHalfMade",
			Old:  `!l.set && len(l.Addresses) == 0`, New: `!l.set`,
		},
		{
			Name: "the interface of a virtual MAC stays where arp_announce is refused", File: "internal/kernel/link/virtualmac.go",
			Test: "TestVirtualMACsInterfaceGoesThoughARPAnnounceIsRefused", Netns: true,
			Old: `	if stays := h.kernel.deleteLink`, New: `	if err != nil {
		return false, err
	}
	if stays := h.kernel.deleteLink`,
		},
		{
			Name: "a renewal does not look at the tables", File: "internal/kernel/nfttables/keeper.go",
			Test: "TestRenewalMendsWhatTheWatchHasToldTooEarly", Netns: true,
			Old: `	mended, err := k.mend()
	k.mended = k.mended || mended
	return err`, New: `	return nil`,
		},
	}
}
