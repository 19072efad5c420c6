package clients

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

const traceHeader = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"

func text(dataType, value string) types.MessageAttributeValue {
	return types.MessageAttributeValue{DataType: &dataType, StringValue: &value}
}

func blob(dataType string, value ...byte) types.MessageAttributeValue {
	return types.MessageAttributeValue{DataType: &dataType, BinaryValue: value}
}

func customTypes() map[string]types.MessageAttributeValue {
	return map[string]types.MessageAttributeValue{
		"ts": text("Number.java.lang.Long", "1493147359900"),
		"s":  text("String.custom", "größe <&> 漢字 🌊"),
		"b":  blob("Binary.png", 0x00, 0xff, 0x10),
	}
}

func TestSendReceiveDelete(t *testing.T) {
	url := freshQueue(t)
	sent := send(t, url, "hello")
	equal(t, "body digest", *sent.MD5OfMessageBody, "5d41402abc4b2a76b9719d911017c592")
	equal(t, "no attribute digest", sent.MD5OfMessageAttributes == nil, true)
	equal(t, "no sequence number", sent.SequenceNumber == nil, true)

	message := receiveOne(t, sqs.ReceiveMessageInput{
		QueueUrl: url, MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"},
	})
	equal(t, "message id", *message.MessageId, *sent.MessageId)
	equal(t, "body", *message.Body, "hello")
	equal(t, "system attributes", len(message.Attributes), 4)
	equal(t, "receive count", message.Attributes["ApproximateReceiveCount"], "1")
	equal(t, "digits of a time in milliseconds", len(message.Attributes["SentTimestamp"]), 13)

	for range 2 {
		_, err := client.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{
			QueueUrl: url, ReceiptHandle: message.ReceiptHandle,
		})
		check(t, err)
	}
	equal(t, "counts", counts(t, url), [3]int{0, 0, 0})
}

func TestBodyComesBackUnchanged(t *testing.T) {
	for name, body := range map[string]string{
		"unicode":                  "größer, 漢字, עברית, 🌊, e\u0301, \u2028 and \ufffd",
		"line ends":                "cr\rlf\ncrlf\r\nend\r",
		"xml specials":             "\"&quot;&quot;\r<a href='x'>&amp; ]]> <![CDATA[y]]> --></a>",
		"only white space":         " \r\n\t ",
		"edges of the allowed set": "\t \ud7ff\ue000\ufffd\U00010000\U0010ffff",
		"largest":                  strings.Repeat("ä", 512*1024),
	} {
		t.Run(name, func(t *testing.T) {
			url := freshQueue(t)
			sent := send(t, url, body)
			message := receiveOne(t, sqs.ReceiveMessageInput{QueueUrl: url})
			equal(t, "same body", *message.Body == body, true)
			equal(t, "digest at send", *sent.MD5OfMessageBody, md5OfBody(body))
			equal(t, "digest at receive", *message.MD5OfBody, md5OfBody(body))
		})
	}
}

func TestBodyOverTheLimit(t *testing.T) {
	_, err := client.SendMessage(t.Context(), &sqs.SendMessageInput{
		QueueUrl: freshQueue(t), MessageBody: aws.String(strings.Repeat("x", 1048577)),
	})
	failsWith(t, err, "InvalidParameterValue")
}

func TestMessageAttributesWithCustomTypes(t *testing.T) {
	url := freshQueue(t)
	want := customTypes()
	sent, err := client.SendMessage(t.Context(), &sqs.SendMessageInput{
		QueueUrl: url, MessageBody: aws.String("x"), MessageAttributes: want,
	})
	check(t, err)
	equal(t, "digest at send", *sent.MD5OfMessageAttributes, md5OfAttributes(want))

	message := receiveOne(t, sqs.ReceiveMessageInput{
		QueueUrl: url, MessageAttributeNames: []string{"All"}, VisibilityTimeout: 1,
	})
	equal(t, "attributes", len(message.MessageAttributes), len(want))
	for name, value := range want {
		found := message.MessageAttributes[name]
		equal(t, name+" type", *found.DataType, *value.DataType)
		equal(t, name+" text", aws.ToString(found.StringValue), aws.ToString(value.StringValue))
		equal(t, name+" bytes", bytes.Equal(found.BinaryValue, value.BinaryValue), true)
	}
	equal(t, "digest at receive", *message.MD5OfMessageAttributes, *sent.MD5OfMessageAttributes)

	part := receiveOne(t, sqs.ReceiveMessageInput{
		QueueUrl: url, MessageAttributeNames: []string{"t.*", "b", "unknown"}, WaitTimeSeconds: 10,
	})
	delete(want, "s")
	equal(t, "attributes", len(part.MessageAttributes), 2)
	equal(t, "digest of a part", *part.MD5OfMessageAttributes, md5OfAttributes(want))
}

func TestRecordedAttributeDigest(t *testing.T) {
	attributes := map[string]types.MessageAttributeValue{
		"blob":  blob("Binary", 1, 2, 3),
		"color": text("String", "blue"),
		"count": text("Number", "3"),
	}
	sent, err := client.SendMessage(t.Context(), &sqs.SendMessageInput{
		QueueUrl: freshQueue(t), MessageBody: aws.String("x"), MessageAttributes: attributes,
	})
	check(t, err)
	equal(t, "digest", *sent.MD5OfMessageAttributes, "d838729972a4b70e2d2acd9d59ac847c")
	equal(t, "digest", md5OfAttributes(attributes), "d838729972a4b70e2d2acd9d59ac847c")
}

func TestTraceHeader(t *testing.T) {
	url := freshQueue(t)
	sent, err := client.SendMessage(t.Context(), &sqs.SendMessageInput{
		QueueUrl:    url,
		MessageBody: aws.String("x"),
		MessageSystemAttributes: map[string]types.MessageSystemAttributeValue{
			"AWSTraceHeader": {DataType: aws.String("String"), StringValue: aws.String(traceHeader)},
		},
	})
	check(t, err)
	equal(t, "digest", *sent.MD5OfMessageSystemAttributes, "5ae4d5d7636402d80f4eb6d213245a88")
	message := receiveOne(t, sqs.ReceiveMessageInput{
		QueueUrl:                    url,
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{"AWSTraceHeader"},
	})
	equal(t, "system attributes", len(message.Attributes), 1)
	equal(t, "trace header", message.Attributes["AWSTraceHeader"], traceHeader)
}

func TestLongPollIsWokenBySend(t *testing.T) {
	url := freshQueue(t)
	started := time.Now()
	answer := make(chan []types.Message, 1)
	go func() {
		received, err := client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: url, WaitTimeSeconds: 20})
		if err != nil {
			t.Error(err)
			close(answer)
			return
		}
		answer <- received.Messages
	}()
	time.Sleep(time.Second)
	send(t, url, "wake")
	messages := <-answer
	equal(t, "messages received", len(messages), 1)
	equal(t, "body", *messages[0].Body, "wake")
	equal(t, "well before the wait ended", time.Since(started) < 15*time.Second, true)
}

func TestVisibility(t *testing.T) {
	url := freshQueue(t)
	send(t, url, "x")
	change := func(handle *string, seconds int32) error {
		_, err := client.ChangeMessageVisibility(t.Context(), &sqs.ChangeMessageVisibilityInput{
			QueueUrl: url, ReceiptHandle: handle, VisibilityTimeout: seconds,
		})
		return err
	}

	first := receiveOne(t, sqs.ReceiveMessageInput{QueueUrl: url})
	equal(t, "hidden", len(receive(t, sqs.ReceiveMessageInput{QueueUrl: url})), 0)
	equal(t, "counts", counts(t, url), [3]int{0, 1, 0})

	check(t, change(first.ReceiptHandle, 0))
	second := receiveOne(t, sqs.ReceiveMessageInput{
		QueueUrl: url, VisibilityTimeout: 2, MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"},
	})
	equal(t, "message id", *second.MessageId, *first.MessageId)
	equal(t, "receive count", second.Attributes["ApproximateReceiveCount"], "2")

	check(t, change(second.ReceiptHandle, 60))
	equal(t, "still hidden", len(receive(t, sqs.ReceiveMessageInput{QueueUrl: url, WaitTimeSeconds: 3})), 0)
	_, err := client.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{
		QueueUrl: url, ReceiptHandle: second.ReceiptHandle,
	})
	check(t, err)
	failsWith(t, change(second.ReceiptHandle, 1), "InvalidParameterValue")
	fails[*types.ReceiptHandleIsInvalid](t, change(aws.String("garbage"), 1))
}

func TestDelayAndPurge(t *testing.T) {
	url := freshQueue(t)
	later := func(seconds int32) {
		_, err := client.SendMessage(t.Context(), &sqs.SendMessageInput{
			QueueUrl: url, MessageBody: aws.String("later"), DelaySeconds: seconds,
		})
		check(t, err)
	}
	later(1)
	equal(t, "counts", counts(t, url), [3]int{0, 0, 1})
	receiveOne(t, sqs.ReceiveMessageInput{QueueUrl: url, WaitTimeSeconds: 10})
	later(600)
	send(t, url, "now")
	equal(t, "counts", counts(t, url), [3]int{1, 1, 1})

	_, err := client.PurgeQueue(t.Context(), &sqs.PurgeQueueInput{QueueUrl: url})
	check(t, err)
	equal(t, "counts", counts(t, url), [3]int{0, 0, 0})
	_, err = client.PurgeQueue(t.Context(), &sqs.PurgeQueueInput{QueueUrl: url})
	fails[*types.PurgeQueueInProgress](t, err)
}

func TestTypedErrors(t *testing.T) {
	url := freshQueue(t)
	_, err := client.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: url, ReceiptHandle: aws.String("garbage")})
	fails[*types.ReceiptHandleIsInvalid](t, err)
	_, err = client.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: url, MessageBody: aws.String("back\bspace")})
	fails[*types.InvalidMessageContents](t, err)
	_, err = client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: url, MaxNumberOfMessages: 11})
	failsWith(t, err, "InvalidParameterValue")
}
