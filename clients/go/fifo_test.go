package clients

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// fifoQueue makes a FIFO queue with more attributes, given as names and values in turn.
func fifoQueue(t *testing.T, more ...string) *string {
	t.Helper()
	attributes := map[string]string{"FifoQueue": "true"}
	for pair := range slices.Chunk(more, 2) {
		attributes[pair[0]] = pair[1]
	}
	created, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{
		QueueName: aws.String(freshName() + ".fifo"), Attributes: attributes,
	})
	check(t, err)
	return created.QueueUrl
}

func sendToGroup(t *testing.T, url *string, body, group, deduplicationID string) *sqs.SendMessageOutput {
	t.Helper()
	sent, err := client.SendMessage(t.Context(), &sqs.SendMessageInput{
		QueueUrl: url, MessageBody: &body, MessageGroupId: &group, MessageDeduplicationId: &deduplicationID,
	})
	check(t, err)
	return sent
}

// receiveBodies asks once for up to ten messages and joins their bodies.
func receiveBodies(t *testing.T, url *string) string {
	t.Helper()
	var bodies []string
	for _, message := range receive(t, sqs.ReceiveMessageInput{QueueUrl: url, MaxNumberOfMessages: 10, WaitTimeSeconds: 5}) {
		bodies = append(bodies, *message.Body)
	}
	return strings.Join(bodies, " ")
}

func remove(t *testing.T, url *string, message types.Message) error {
	t.Helper()
	_, err := client.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: url, ReceiptHandle: message.ReceiptHandle})
	return err
}

func queueArn(t *testing.T, url *string) string {
	t.Helper()
	answer, err := client.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{
		QueueUrl: url, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameQueueArn},
	})
	check(t, err)
	return answer.Attributes["QueueArn"]
}

func TestFifoOrderDeduplicationAndGroupLock(t *testing.T) {
	url := fifoQueue(t)
	var numbers []string
	for _, body := range []string{"a0", "b0", "a1", "a2"} {
		numbers = append(numbers, *sendToGroup(t, url, body, body[:1], body).SequenceNumber)
	}
	equal(t, "rising sequence numbers", slices.IsSorted(numbers), true)
	equal(t, "the duplicate's number", *sendToGroup(t, url, "again", "c", "a1").SequenceNumber, numbers[2])

	first := receiveOne(t, sqs.ReceiveMessageInput{
		QueueUrl: url, MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"},
	})
	equal(t, "first", *first.Body, "a0")
	equal(t, "group", first.Attributes["MessageGroupId"], "a")
	equal(t, "sequence number", first.Attributes["SequenceNumber"], numbers[0])
	equal(t, "while group a is locked", receiveBodies(t, url), "b0")
	equal(t, "counts", counts(t, url), [3]int{2, 2, 0})
	check(t, remove(t, url, first))
	equal(t, "the rest of group a", receiveBodies(t, url), "a1 a2")
}

func TestFifoLateDeleteIsRefused(t *testing.T) {
	url := fifoQueue(t)
	sendToGroup(t, url, "x", "g", "d")
	late := receiveOne(t, sqs.ReceiveMessageInput{QueueUrl: url, VisibilityTimeout: 1})
	again := receiveOne(t, sqs.ReceiveMessageInput{QueueUrl: url, WaitTimeSeconds: 10})
	equal(t, "message", *again.MessageId, *late.MessageId)
	failsWith(t, remove(t, url, late), "InvalidParameterValue")
	check(t, remove(t, url, again))
	equal(t, "counts", counts(t, url), [3]int{0, 0, 0})
}

func TestFifoDeadLetterAndRedrive(t *testing.T) {
	// With a visibility timeout of 0 nothing stays in flight. This SDK does not send a zero with the receive.
	dlq := fifoQueue(t, "VisibilityTimeout", "0")
	policy := fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":1}`, queueArn(t, dlq))
	source := fifoQueue(t, "VisibilityTimeout", "0", "RedrivePolicy", policy)
	sent := sendToGroup(t, source, "dead", "g", "d")
	equal(t, "first receive", receiveBodies(t, source), "dead")
	equal(t, "second receive", len(receive(t, sqs.ReceiveMessageInput{QueueUrl: source})), 0)

	dead := receiveOne(t, sqs.ReceiveMessageInput{
		QueueUrl: dlq, MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"},
	})
	equal(t, "message id", *dead.MessageId, *sent.MessageId)
	equal(t, "source", dead.Attributes["DeadLetterQueueSourceArn"], queueArn(t, source))
	equal(t, "deduplication id", dead.Attributes["MessageDeduplicationId"], *sent.MessageId)

	sourceArn := aws.String(queueArn(t, dlq))
	started, err := client.StartMessageMoveTask(t.Context(), &sqs.StartMessageMoveTaskInput{SourceArn: sourceArn})
	check(t, err)
	equal(t, "task handle given", *started.TaskHandle != "", true)
	equal(t, "home again", receiveBodies(t, source), "dead")
	_, err = client.StartMessageMoveTask(t.Context(), &sqs.StartMessageMoveTaskInput{
		SourceArn: aws.String(*sourceArn + "-missing"),
	})
	fails[*types.ResourceNotFoundException](t, err)
}
