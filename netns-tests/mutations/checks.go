package mutations

// checks are defects of health checks.
func checks() []Mutation {
	return []Mutation{
		{
			Name: "rise is ignored", File: "internal/check/health/gate.go", Test: "TestGateStep",
			Old: `		_, rise := g.Falls()
		return Healthy, rise`, New: `		return Healthy, 1`,
		},
		{
			Name: "fall off by one", File: "internal/check/health/gate.go", Test: "TestGateStep",
			Old: `	return Unhealthy, g.fall
}`, New: `	return Unhealthy, g.fall + 1
}`,
		},
		{
			Name: "damping also where nobody else is good", File: "internal/check/health/gate.go", Test: "TestGateIsNotDampedWhileNobodyElseIsGood",
			Old: `case r.Outcome == Pass && g.alone && g.falls > 0:`, New: `case r.Outcome == Pass && g.alone && g.falls < 0:`,
		},
	}
}
