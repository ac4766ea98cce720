package topn

import (
	"drey/native/op"
	"drey/rowstate"
)

// LimitIndex gives the index of large groups a budget of its own, so that it runs out of memory when nothing else does.
func LimitIndex(o op.Operator, budget *rowstate.Budget) {
	s := o.(*Operator).strategy.(*retract)
	s.peers.Close()
	s.peers = rowstate.NewRowIndex(budget, purposePeers, func(r rowstate.Ref) []byte { return s.o.held.row(element(r)) })
}
