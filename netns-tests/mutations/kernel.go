package mutations

// kernel are defects of what the kernel is asked for.
func kernel() []Mutation {
	return []Mutation{
		{
			Name: "the guard ends before the address", File: "internal/kernel/fence/links.go", Package: "./internal/kernel/fence", Test: "Test",
			Old: `return max(valid, lease) + max(guardBeyond, valid/3+guardBeyond/2)`, New: `return max(valid, lease)`,
		},
		{
			Name: "an advertisement with priority 0 renews the lease", File: "internal/kernel/fence/rules.go", Package: "./internal/kernel/fence", Test: "Test",
			Old: `		advertPriority.is(expr.CmpOpNeq, 0),
`, New: ``,
		},
		{
			Name: "cleanup leaves the fence", File: "internal/kernel/fence/cleanup.go", Package: "./internal/kernel/fence", Test: "Test", Netns: true,
			Old: `return ok && !used(index)`, New: `return ok && used(index)`,
		},
		{
			Name: "an IPv4 address is bound as /24", File: "internal/node/daemon/bound.go", Package: "./internal/node/daemon", Test: "Test",
			Old: `netip.PrefixFrom(p.Addr(), 32)`, New: `netip.PrefixFrom(p.Addr(), 24)`,
		},
		{
			Name: "conntrack is not told of connections that a member has reset", File: "internal/kernel/spreadtables/ended.go", Package: "./internal/kernel/spreadtables", Test: "Test", Netns: true,
			Old: `if applied == nil || !applied.Masquerade || len(members) == 0 {`, New: `if applied == nil || applied.Masquerade || len(members) == 0 {`,
		},
	}
}
