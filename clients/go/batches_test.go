package clients

import (
	"fmt"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

func entries(ids ...string) []types.SendMessageBatchRequestEntry {
	list := []types.SendMessageBatchRequestEntry{}
	for _, id := range ids {
		list = append(list, types.SendMessageBatchRequestEntry{Id: aws.String(id), MessageBody: aws.String("body of " + id)})
	}
	return list
}

func numbered(prefix string, count int) []string {
	var ids []string
	for i := range count {
		ids = append(ids, fmt.Sprintf("%s%d", prefix, i))
	}
	return ids
}

// expectOneFailure checks the identity and the code of the only failed entry.
func expectOneFailure(t *testing.T, failed []types.BatchResultErrorEntry, id, code string) {
	t.Helper()
	equal(t, "failed entries", len(failed), 1)
	equal(t, "failed id", *failed[0].Id, id)
	equal(t, "failed code", *failed[0].Code, code)
	equal(t, "fault of the sender", failed[0].SenderFault, true)
}

func TestOneBadEntryDoesNotStopTheOthers(t *testing.T) {
	url := freshQueue(t)
	batch := entries(numbered("m", 10)...)
	batch[3].MessageAttributes = customTypes()
	batch[6].MessageBody = aws.String("back\bspace")
	answer, err := client.SendMessageBatch(t.Context(), &sqs.SendMessageBatchInput{QueueUrl: url, Entries: batch})
	check(t, err)
	equal(t, "sent", len(answer.Successful), 9)
	expectOneFailure(t, answer.Failed, "m6", "InvalidMessageContents")
	for _, sent := range answer.Successful {
		if *sent.Id == "m3" {
			equal(t, "digest", *sent.MD5OfMessageAttributes, md5OfAttributes(customTypes()))
		} else {
			equal(t, "no digest", sent.MD5OfMessageAttributes == nil, true)
		}
	}

	var bodies, want []string
	for _, message := range receiveAll(t, url, 9) {
		bodies = append(bodies, *message.Body)
	}
	for i, entry := range batch {
		if i != 6 {
			want = append(want, *entry.MessageBody)
		}
	}
	slices.Sort(bodies)
	slices.Sort(want)
	if !slices.Equal(bodies, want) {
		t.Fatalf("got %q, want %q", bodies, want)
	}
}

func TestVisibilityAndDeleteBatchesWithOneGarbageHandleEach(t *testing.T) {
	url := freshQueue(t)
	sent, err := client.SendMessageBatch(t.Context(), &sqs.SendMessageBatchInput{
		QueueUrl: url, Entries: entries(numbered("m", 10)...),
	})
	check(t, err)
	equal(t, "sent", len(sent.Successful), 10)
	equal(t, "none failed", sent.Failed == nil, true)

	change := &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: url}
	remove := &sqs.DeleteMessageBatchInput{QueueUrl: url}
	for i, message := range receiveAll(t, url, 10) {
		handle := message.ReceiptHandle
		if i == 4 {
			handle = aws.String("garbage")
		}
		change.Entries = append(change.Entries, types.ChangeMessageVisibilityBatchRequestEntry{
			Id: aws.String(fmt.Sprintf("c%d", i)), ReceiptHandle: handle, VisibilityTimeout: 600,
		})
		remove.Entries = append(remove.Entries, types.DeleteMessageBatchRequestEntry{
			Id: aws.String(fmt.Sprintf("d%d", i)), ReceiptHandle: handle,
		})
	}

	changed, err := client.ChangeMessageVisibilityBatch(t.Context(), change)
	check(t, err)
	equal(t, "changed", len(changed.Successful), 9)
	expectOneFailure(t, changed.Failed, "c4", "ReceiptHandleIsInvalid")

	removed, err := client.DeleteMessageBatch(t.Context(), remove)
	check(t, err)
	equal(t, "deleted", len(removed.Successful), 9)
	expectOneFailure(t, removed.Failed, "d4", "ReceiptHandleIsInvalid")
	equal(t, "counts", counts(t, url), [3]int{0, 1, 0})
}

func TestTypedBatchErrors(t *testing.T) {
	url := freshQueue(t)
	send := func(ids ...string) error {
		_, err := client.SendMessageBatch(t.Context(), &sqs.SendMessageBatchInput{QueueUrl: url, Entries: entries(ids...)})
		return err
	}
	fails[*types.EmptyBatchRequest](t, send())
	fails[*types.TooManyEntriesInBatchRequest](t, send(numbered("m", 11)...))
	fails[*types.BatchEntryIdsNotDistinct](t, send("a", "b", "a"))
	fails[*types.InvalidBatchEntryId](t, send("no spaces"))
	equal(t, "counts", counts(t, url), [3]int{0, 0, 0})
}
