// Times franz-go's balancers: SECONDS ASSIGNOR FILE. Built inside its module, because the sticky balancer is internal.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kgo/internal/sticky"
	"github.com/twmb/franz-go/pkg/kmsg"
)

type group struct {
	Topics map[string]struct{ Partitions int32 }
	Members []struct {
		ID         string
		Topics     []string
		Owned      [][2]any
		Generation *int32
	}
}

func main() {
	seconds, err := strconv.ParseFloat(os.Args[1], 64)
	check(err)
	text, err := os.ReadFile(os.Args[3])
	check(err)
	var read group
	check(json.Unmarshal(text, &read))
	counts := map[string]int32{}
	for topic, info := range read.Topics {
		counts[topic] = info.Partitions
	}
	prepare := func() func() { return classic(os.Args[2], read, counts) }
	if os.Args[2] == "sticky" {
		prepare = func() func() { return stickily(read, counts) }
	}
	measure(prepare, seconds)
	times := measure(prepare, seconds)
	sort.Float64s(times)
	fmt.Printf("{\"median_ms\": %f, \"runs\": %d}\n", times[len(times)/2], len(times))
}

func stickily(read group, counts map[string]int32) func() {
	var members []sticky.GroupMember
	for _, m := range read.Members {
		member := sticky.GroupMember{ID: m.ID, Topics: m.Topics, Cooperative: true}
		if m.Generation != nil {
			member.Generation = *m.Generation
		}
		var last *kmsg.ConsumerMemberMetadataOwnedPartition
		for _, pair := range m.Owned {
			topic := pair[0].(string)
			if last == nil || last.Topic != topic {
				member.Owned = append(member.Owned, kmsg.ConsumerMemberMetadataOwnedPartition{Topic: topic})
				last = &member.Owned[len(member.Owned)-1]
			}
			last.Partitions = append(last.Partitions, int32(pair[1].(float64)))
		}
		members = append(members, member)
	}
	return func() { sticky.Balance(members, counts) }
}

func classic(name string, read group, counts map[string]int32) func() {
	var members []kmsg.JoinGroupResponseMember
	for _, m := range read.Members {
		metadata := kmsg.NewConsumerMemberMetadata()
		metadata.Version = 3
		metadata.Topics = m.Topics
		member := kmsg.NewJoinGroupResponseMember()
		member.MemberID, member.ProtocolMetadata = m.ID, metadata.AppendTo(nil)
		members = append(members, member)
	}
	balancer := kgo.RangeBalancer()
	if name == "roundrobin" {
		balancer = kgo.RoundRobinBalancer()
	}
	decoded, _, err := balancer.MemberBalancer(members)
	check(err)
	return func() {
		plan, err := decoded.(kgo.GroupMemberBalancerOrError).BalanceOrError(counts)
		check(err)
		plan.(*kgo.BalancePlan).AsMemberIDMap()
	}
}

// Milliseconds of each run: at least three runs, fewer if these take more than 8 s.
func measure(prepare func() func(), seconds float64) []float64 {
	var times []float64
	spent := 0.0
	for spent < 8 && len(times) < 5000 && (len(times) < 3 || spent < seconds) {
		run := prepare()
		start := time.Now()
		run()
		took := time.Since(start).Seconds()
		times = append(times, took*1e3)
		spent += took
	}
	return times
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
