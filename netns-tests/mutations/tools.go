package mutations

// tools are defects of commands and of what they print.
func tools() []Mutation {
	return []Mutation{
		{
			Name: "a manifest without NET_RAW", File: "kubeadm/pod.go", Test: "TestPodIsConfined",
			Old: `add := []string{"NET_ADMIN", "NET_RAW"}`, New: `add := []string{"NET_ADMIN"}`,
		},
		{
			Name: "convert loses excluded addresses", File: "internal/tools/keepalived/convert/addresses.go", Test: "TestConvertGolden",
			Old: `	for _, a := range i.Excluded {
		add(a, true)
	}
`, New: ``,
		},
		{
			Name: "keepalived's fall is ignored", File: "internal/tools/keepalived/script.go", Test: "TestScriptReadsAsKeepalivedDoes",
			Old: `s.Fall = readResults(n) }},`, New: `s.Fall = max(1, min(1, readResults(n))) }},`,
		},
		{
			Name: "the unit is said to see what is below /run/user", File: "kubeadm/systemd_paths.go", Test: "TestUnitHides",
			Old: `isIn(p, "/home", "/root", "/run/user")`, New: `isIn(p, "/home", "/root")`,
		},
		{
			Name: "doctor misses messages of members with port 0", File: "internal/tools/doctor/judge_peers.go",
			Test: "TestJudgeMissesNoMessagesOfMembersThatAreOff",
			Old:  `case p.HeardMembers, f.MembersOff:`, New: `case p.HeardMembers:`,
		},
	}
}
