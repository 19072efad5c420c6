// Package clients runs the Go SDK against the real server.
package clients

import (
	"bufio"
	"crypto/md5"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
)

const (
	region = "us-east-1"
	// A 12-digit access key is the account.
	account = "123456789012"

	startTimeout = 30 * time.Second
)

var (
	endpoint string
	client   *sqs.Client

	endpointLine = regexp.MustCompile(`endpoint\s+(http://\S+)`)
)

func TestMain(m *testing.M) {
	stop, err := startServer()
	if err != nil {
		fmt.Fprintln(os.Stderr, "the server did not start:", err)
		os.Exit(1)
	}
	client = sqs.New(sqs.Options{
		BaseEndpoint: &endpoint,
		Region:       region,
		Credentials:  credentials.NewStaticCredentialsProvider(account, "secret", ""),
		// A retry would hide a server fault.
		RetryMaxAttempts: 1,
	})
	code := m.Run()
	if err := stop(); err != nil {
		fmt.Fprintln(os.Stderr, "the server did not stop cleanly:", err)
		code = 1
	}
	os.Exit(code)
}

// startServer sets endpoint to a server of its own, or to the one that TIDEGATE_ENDPOINT names.
func startServer() (stop func() error, err error) {
	if running := os.Getenv("TIDEGATE_ENDPOINT"); running != "" {
		endpoint = strings.TrimSuffix(running, "/")
		return func() error { return nil }, nil
	}
	binary := os.Getenv("TIDEGATE_BIN")
	if binary == "" {
		binary = filepath.Join("..", "..", "target", "release", "tidegate")
	}
	dataDir, err := os.MkdirTemp("", "tidegate-suite-")
	if err != nil {
		return nil, err
	}
	server := exec.Command(binary, "serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--data-dir", dataDir)
	server.Stderr = os.Stderr
	// The server takes settings from TIDEGATE_* variables and refuses those it does not know.
	server.Env = slices.DeleteFunc(os.Environ(), func(entry string) bool { return strings.HasPrefix(entry, "TIDEGATE_") })
	stdout, err := server.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := server.Start(); err != nil {
		return nil, err
	}
	found := make(chan string, 1)
	go func() {
		defer close(found)
		// Reads to the end, so that a full pipe never blocks the server.
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			if match := endpointLine.FindStringSubmatch(lines.Text()); match != nil {
				select {
				case found <- strings.TrimSuffix(match[1], "/"):
				default:
				}
			}
		}
	}()
	stop = func() error {
		defer os.RemoveAll(dataDir)
		if err := server.Process.Signal(syscall.SIGTERM); err != nil {
			return err
		}
		// Wait reports every exit code but 0 as an error.
		return server.Wait()
	}
	select {
	case endpoint = <-found:
	case <-time.After(startTimeout):
	}
	if endpoint == "" {
		err = errors.New("it announced no endpoint")
	}
	if err == nil {
		err = waitUntilHealthy()
	}
	if err != nil {
		server.Process.Kill()
		server.Wait()
		os.RemoveAll(dataDir)
		return nil, err
	}
	return stop, nil
}

func waitUntilHealthy() error {
	for deadline := time.Now().Add(startTimeout); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		answer, err := http.Get(endpoint + "/health")
		if err != nil {
			continue
		}
		answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			return nil
		}
	}
	return errors.New(endpoint + "/health did not answer 200")
}

// freshName is a queue name that no other test, and no earlier run against the same server, has used.
func freshName() string {
	random := make([]byte, 6)
	rand.Read(random)
	return "go-" + hex.EncodeToString(random)
}

func freshQueue(t *testing.T) *string {
	t.Helper()
	created, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String(freshName())})
	check(t, err)
	return created.QueueUrl
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

// fails checks that err is the SDK's typed error E.
func fails[E error](t *testing.T, err error) E {
	t.Helper()
	var typed E
	if !errors.As(err, &typed) {
		t.Fatalf("got %v, want a %T", err, typed)
	}
	return typed
}

// failsWith checks the error code where the service model has no type for it.
func failsWith(t *testing.T, err error, code string) {
	t.Helper()
	equal(t, "error code", fails[smithy.APIError](t, err).ErrorCode(), code)
}

func send(t *testing.T, url *string, body string) *sqs.SendMessageOutput {
	t.Helper()
	sent, err := client.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: url, MessageBody: &body})
	check(t, err)
	return sent
}

// receive asks once and may wait; the answer may be empty.
func receive(t *testing.T, input sqs.ReceiveMessageInput) []types.Message {
	t.Helper()
	received, err := client.ReceiveMessage(t.Context(), &input)
	check(t, err)
	return received.Messages
}

// receiveOne waits for the message, so that a slow machine is no failure.
func receiveOne(t *testing.T, input sqs.ReceiveMessageInput) types.Message {
	t.Helper()
	if input.WaitTimeSeconds == 0 {
		input.WaitTimeSeconds = 5
	}
	messages := receive(t, input)
	equal(t, "messages received", len(messages), 1)
	return messages[0]
}

func receiveAll(t *testing.T, url *string, count int) []types.Message {
	t.Helper()
	var messages []types.Message
	for len(messages) < count {
		batch := receive(t, sqs.ReceiveMessageInput{QueueUrl: url, MaxNumberOfMessages: 10, WaitTimeSeconds: 5})
		if len(batch) == 0 {
			t.Fatalf("%d of %d messages received", len(messages), count)
		}
		messages = append(messages, batch...)
	}
	equal(t, "messages received", len(messages), count)
	return messages
}

// counts are the visible, in-flight and delayed messages.
func counts(t *testing.T, url *string) [3]int {
	t.Helper()
	names := [3]types.QueueAttributeName{
		types.QueueAttributeNameApproximateNumberOfMessages,
		types.QueueAttributeNameApproximateNumberOfMessagesNotVisible,
		types.QueueAttributeNameApproximateNumberOfMessagesDelayed,
	}
	answer, err := client.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{
		QueueUrl: url, AttributeNames: names[:],
	})
	check(t, err)
	var found [3]int
	for i, name := range names {
		found[i], err = strconv.Atoi(answer.Attributes[string(name)])
		check(t, err)
	}
	return found
}

// md5OfAttributes computes the attribute digest, which this SDK does not verify itself.
func md5OfAttributes(attributes map[string]types.MessageAttributeValue) string {
	names := make([]string, 0, len(attributes))
	for name := range attributes {
		names = append(names, name)
	}
	sort.Strings(names)
	digest := md5.New()
	field := func(data []byte) {
		binary.Write(digest, binary.BigEndian, uint32(len(data)))
		digest.Write(data)
	}
	for _, name := range names {
		value := attributes[name]
		field([]byte(name))
		field([]byte(*value.DataType))
		if strings.HasPrefix(*value.DataType, "Binary") {
			digest.Write([]byte{2})
			field(value.BinaryValue)
		} else {
			digest.Write([]byte{1})
			field([]byte(*value.StringValue))
		}
	}
	return hex.EncodeToString(digest.Sum(nil))
}

func md5OfBody(body string) string {
	digest := md5.Sum([]byte(body))
	return hex.EncodeToString(digest[:])
}
