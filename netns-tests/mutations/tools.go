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
	}
}
