package clients

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

func TestCreateIsIdempotent(t *testing.T) {
	name := freshName()
	create := func(attributes map[string]string) (*sqs.CreateQueueOutput, error) {
		return client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	}
	seven := map[string]string{"VisibilityTimeout": "7"}
	for _, attributes := range []map[string]string{seven, nil, seven} {
		created, err := create(attributes)
		check(t, err)
		equal(t, "queue URL", *created.QueueUrl, fmt.Sprintf("%s/%s/%s", endpoint, account, name))
	}
	found, err := client.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: &name})
	check(t, err)
	equal(t, "queue URL", *found.QueueUrl, fmt.Sprintf("%s/%s/%s", endpoint, account, name))

	_, err = create(map[string]string{"VisibilityTimeout": "8"})
	equal(t, "error code", fails[*types.QueueNameExists](t, err).ErrorCode(), "QueueAlreadyExists")
}

func TestListByPrefixAndPages(t *testing.T) {
	prefix := freshName()
	var urls []string
	for i := range 5 {
		name := fmt.Sprintf("%s-%d", prefix, i)
		created, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name})
		check(t, err)
		urls = append(urls, *created.QueueUrl)
	}

	all, err := client.ListQueues(t.Context(), &sqs.ListQueuesInput{QueueNamePrefix: &prefix})
	check(t, err)
	if !slices.Equal(all.QueueUrls, urls) || all.NextToken != nil {
		t.Fatalf("got %v and token %v, want %v", all.QueueUrls, all.NextToken, urls)
	}

	pages := sqs.NewListQueuesPaginator(client, &sqs.ListQueuesInput{QueueNamePrefix: &prefix, MaxResults: aws.Int32(2)})
	var sizes []int
	var listed []string
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		check(t, err)
		sizes = append(sizes, len(page.QueueUrls))
		listed = append(listed, page.QueueUrls...)
	}
	if !slices.Equal(sizes, []int{2, 2, 1}) || !slices.Equal(listed, urls) {
		t.Fatalf("got pages of %v with %v", sizes, listed)
	}

	none, err := client.ListQueues(t.Context(), &sqs.ListQueuesInput{QueueNamePrefix: aws.String(prefix + "-none")})
	check(t, err)
	equal(t, "no queues", none.QueueUrls == nil, true)
}

func TestAttributes(t *testing.T) {
	url := freshQueue(t)
	read := func(names ...types.QueueAttributeName) (map[string]string, error) {
		found, err := client.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{
			QueueUrl: url, AttributeNames: names,
		})
		if err != nil {
			return nil, err
		}
		return found.Attributes, nil
	}
	set := func(name, value string) error {
		_, err := client.SetQueueAttributes(t.Context(), &sqs.SetQueueAttributesInput{
			QueueUrl: url, Attributes: map[string]string{name: value},
		})
		return err
	}

	fresh, err := read(types.QueueAttributeNameAll)
	check(t, err)
	created, err := strconv.ParseInt(fresh["CreatedTimestamp"], 10, 64)
	check(t, err)
	equal(t, "created in this minute", time.Since(time.Unix(created, 0)).Abs() < time.Minute, true)
	delete(fresh, "CreatedTimestamp")
	delete(fresh, "LastModifiedTimestamp")
	want := map[string]string{
		"ApproximateNumberOfMessages":           "0",
		"ApproximateNumberOfMessagesDelayed":    "0",
		"ApproximateNumberOfMessagesNotVisible": "0",
		"DelaySeconds":                          "0",
		"MaximumMessageSize":                    "1048576",
		"MessageRetentionPeriod":                "345600",
		"QueueArn":                              "arn:aws:sqs:" + region + ":" + account + ":" + nameOf(url),
		"ReceiveMessageWaitTimeSeconds":         "0",
		"SqsManagedSseEnabled":                  "true",
		"VisibilityTimeout":                     "30",
	}
	if !maps.Equal(fresh, want) {
		t.Fatalf("got %v, want %v", fresh, want)
	}

	check(t, set("DelaySeconds", "3"))
	changed, err := read(types.QueueAttributeNameDelaySeconds)
	check(t, err)
	equal(t, "only the named attribute", len(changed), 1)
	equal(t, "DelaySeconds", changed["DelaySeconds"], "3")

	_, err = read("Foobar")
	fails[*types.InvalidAttributeName](t, err)
	fails[*types.InvalidAttributeName](t, set("Foobar", "1"))
	fails[*types.InvalidAttributeValue](t, set("DelaySeconds", "901"))
}

func TestTags(t *testing.T) {
	created, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{
		QueueName: aws.String(freshName()), Tags: map[string]string{"team": "sea", "empty": ""},
	})
	check(t, err)
	url := created.QueueUrl
	expect := func(want map[string]string) {
		t.Helper()
		found, err := client.ListQueueTags(t.Context(), &sqs.ListQueueTagsInput{QueueUrl: url})
		check(t, err)
		if !maps.Equal(found.Tags, want) {
			t.Fatalf("got %v, want %v", found.Tags, want)
		}
	}
	expect(map[string]string{"team": "sea", "empty": ""})
	_, err = client.TagQueue(t.Context(), &sqs.TagQueueInput{
		QueueUrl: url, Tags: map[string]string{"team": "land", "Team": "größer"},
	})
	check(t, err)
	_, err = client.UntagQueue(t.Context(), &sqs.UntagQueueInput{QueueUrl: url, TagKeys: []string{"empty", "never-there"}})
	check(t, err)
	expect(map[string]string{"team": "land", "Team": "größer"})
	_, err = client.UntagQueue(t.Context(), &sqs.UntagQueueInput{QueueUrl: url, TagKeys: []string{"team", "Team"}})
	check(t, err)
	expect(nil)
}

func TestDeletedAndMissingQueues(t *testing.T) {
	url := freshQueue(t)
	_, err := client.DeleteQueue(t.Context(), &sqs.DeleteQueueInput{QueueUrl: url})
	check(t, err)
	name := nameOf(url)

	calls := map[string]func() error{
		"GetQueueUrl": func() error {
			_, err := client.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: &name})
			return err
		},
		"SendMessage": func() error {
			_, err := client.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: url, MessageBody: aws.String("x")})
			return err
		},
		"ReceiveMessage": func() error {
			_, err := client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: url})
			return err
		},
		"DeleteQueue": func() error {
			_, err := client.DeleteQueue(t.Context(), &sqs.DeleteQueueInput{QueueUrl: url})
			return err
		},
	}
	for action, call := range calls {
		missing := fails[*types.QueueDoesNotExist](t, call())
		equal(t, action+" code", missing.ErrorCode(), "AWS.SimpleQueueService.NonExistentQueue")
		equal(t, action+" text", missing.ErrorMessage(), "The specified queue does not exist.")
	}

	_, err = client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name})
	fails[*types.QueueDeletedRecently](t, err)
}

func nameOf(url *string) string {
	return (*url)[strings.LastIndex(*url, "/")+1:]
}
