// Package roundrobin says whose turn it is: which server gets the next connection, by weighted round-robin, and which part of a list is said in a
// round.
//
// It is pure. There are no goroutines.
package roundrobin

// Order is one round of servers with these weights, by their indexes. Each is in it in proportion to its weight, and as evenly in between as that
// allows; one of the weight 0 is not. The round is as short as the weights allow. Hosts should begin at different places of it: else those that
// make one connection only would all make it to the first server.
func Order(weights []uint8) []int {
	total, divisor := 0, 0
	for _, w := range weights {
		total, divisor = total+int(w), gcd(divisor, int(w))
	}
	if total == 0 {
		return nil
	}
	out := make([]int, total/divisor)
	current := make([]int, len(weights))
	for i := range out {
		next := 0
		for j, w := range weights {
			if current[j] += int(w); current[j] > current[next] {
				next = j
			}
		}
		current[next] -= total
		out[i] = next
	}
	return out
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
