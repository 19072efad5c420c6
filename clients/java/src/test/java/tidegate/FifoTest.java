package tidegate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import software.amazon.awssdk.services.sqs.model.Message;
import software.amazon.awssdk.services.sqs.model.MessageSystemAttributeName;
import software.amazon.awssdk.services.sqs.model.QueueAttributeName;
import software.amazon.awssdk.services.sqs.model.ReceiveMessageRequest;
import software.amazon.awssdk.services.sqs.model.SendMessageBatchRequestEntry;
import software.amazon.awssdk.services.sqs.model.SendMessageResponse;
import software.amazon.awssdk.services.sqs.model.SqsException;

class FifoTest extends Suite {

    private static SendMessageResponse send(String url, String body, String group) {
        return send(url, body, group, body);
    }

    /** One receive of up to ten messages; waits only for the first. */
    private static List<Message> receive(String url, Consumer<ReceiveMessageRequest.Builder> options) {
        return sqs.receiveMessage(r -> {
            r.queueUrl(url)
                    .maxNumberOfMessages(10)
                    .waitTimeSeconds(5)
                    .messageSystemAttributeNames(MessageSystemAttributeName.ALL);
            options.accept(r);
        }).messages();
    }

    private static List<String> bodies(List<Message> messages) {
        return messages.stream().map(Message::body).toList();
    }

    private static void delete(String url, Message message) {
        sqs.deleteMessage(r -> r.queueUrl(url).receiptHandle(message.receiptHandle()));
    }

    private static void assertRefused(String code, String reason, SqsException error) {
        assertCode(code, error);
        assertEquals(400, error.statusCode());
        assertTrue(error.awsErrorDetails().errorMessage().endsWith(reason), error.getMessage());
    }

    @Test
    void orderWithinGroupAndGroupLock() {
        String url = fifoQueue();
        List<BigInteger> numbers = new ArrayList<>();
        for (String body : List.of("a0", "b0", "a1", "a2")) {
            numbers.add(new BigInteger(send(url, body, body.substring(0, 1)).sequenceNumber()));
        }
        assertEquals(numbers.stream().sorted().distinct().toList(), numbers);

        Message first = receive(url, r -> r.maxNumberOfMessages(1)).get(0);
        assertEquals("a0", first.body());
        Map<MessageSystemAttributeName, String> attributes = first.attributes();
        assertEquals("a", attributes.get(MessageSystemAttributeName.MESSAGE_GROUP_ID));
        assertEquals("a0", attributes.get(MessageSystemAttributeName.MESSAGE_DEDUPLICATION_ID));
        assertEquals(numbers.get(0).toString(),
                new BigInteger(attributes.get(MessageSystemAttributeName.SEQUENCE_NUMBER)).toString());

        assertEquals(List.of("b0"), bodies(receive(url, r -> {})), "group a is locked");
        assertEquals(List.of(2, 2, 0), counts(url));
        delete(url, first);
        assertEquals(List.of("a1", "a2"), bodies(receive(url, r -> {})));
    }

    @Test
    void explicitDeduplication() {
        String url = fifoQueue();
        SendMessageResponse first = send(url, "one", "g", "same");
        SendMessageResponse second = send(url, "other body", "h", "same");
        assertEquals(first.messageId(), second.messageId());
        assertEquals(first.sequenceNumber(), second.sequenceNumber());
        List<Message> messages = receive(url, r -> {});
        assertEquals(List.of("one"), bodies(messages));
        delete(url, messages.get(0));
        send(url, "after the delete", "g", "same");
        assertEquals(List.of(), receive(url, r -> r.waitTimeSeconds(1)));
    }

    @Test
    void contentBasedDeduplication() {
        String url = fifoQueue(Map.of(QueueAttributeName.CONTENT_BASED_DEDUPLICATION, "true"));
        for (String body : List.of("one", "two", "two", "three")) {
            send(url, body, "g", null);
        }
        List<Message> messages = receive(url, r -> {});
        assertEquals(List.of("one", "two", "three"), bodies(messages));
        assertEquals(
                "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed",
                messages.get(0).attributes().get(MessageSystemAttributeName.MESSAGE_DEDUPLICATION_ID));
    }

    @Test
    void deduplicationWithinGroup() {
        String url = fifoQueue(Map.of(
                QueueAttributeName.DEDUPLICATION_SCOPE, "messageGroup",
                QueueAttributeName.FIFO_THROUGHPUT_LIMIT, "perMessageGroupId"));
        send(url, "one", "a", "same");
        send(url, "again", "a", "same");
        send(url, "two", "b", "same");
        assertEquals(List.of("one", "two"), bodies(receive(url, r -> {})));
    }

    @Test
    void batchAnswersWithSequenceNumbers() {
        String url = fifoQueue();
        var entries = IntStream.range(0, 10)
                .mapToObj(i -> SendMessageBatchRequestEntry.builder()
                        .id("e" + i)
                        .messageBody("m" + i)
                        .messageGroupId("g")
                        // The eighth is a duplicate of the seventh.
                        .messageDeduplicationId("d" + (i == 7 ? 6 : i))
                        .build())
                .toList();
        var sent = sqs.sendMessageBatch(r -> r.queueUrl(url).entries(entries));
        assertFalse(sent.hasFailed());
        Map<String, BigInteger> numbers = new HashMap<>();
        sent.successful().forEach(entry -> numbers.put(entry.id(), new BigInteger(entry.sequenceNumber())));
        assertEquals(numbers.get("e6"), numbers.get("e7"));
        assertTrue(numbers.get("e5").compareTo(numbers.get("e6")) < 0);
        assertTrue(numbers.get("e6").compareTo(numbers.get("e8")) < 0);
        assertEquals(
                List.of("m0", "m1", "m2", "m3", "m4", "m5", "m6", "m8", "m9"), bodies(receive(url, r -> {})));
    }

    @Test
    void lateDeleteIsRefused() {
        String url = fifoQueue();
        send(url, "x", "g");
        Message late = receiveOne(url, r -> r.visibilityTimeout(1));
        Message again = receiveOne(url, r -> r.waitTimeSeconds(10));
        assertEquals(late.messageId(), again.messageId());
        assertRefused("InvalidParameterValue", "Reason: The receipt handle has expired.",
                assertThrows(SqsException.class, () -> delete(url, late)));
        delete(url, again);
        assertEquals(List.of(0, 0, 0), counts(url));
    }

    @Test
    void attemptIdRepeatsReceive() {
        String url = fifoQueue();
        send(url, "x", "g");
        Consumer<ReceiveMessageRequest.Builder> attempt = r -> r.receiveRequestAttemptId("attempt-1");
        Message first = receive(url, attempt).get(0);
        Message again = receive(url, attempt).get(0);
        assertEquals(first.receiptHandle(), again.receiptHandle());
        assertEquals("1", again.attributes().get(MessageSystemAttributeName.APPROXIMATE_RECEIVE_COUNT));
        delete(url, again);
        assertRefused("InvalidParameterValue", "is not valid anymore since the receive call is not retryable.",
                assertThrows(SqsException.class, () -> receive(url, attempt)));
    }

    @Test
    void whatFifoSendNeeds() {
        String url = fifoQueue();
        assertRefused("MissingParameter", "The request must contain the parameter MessageGroupId.",
                assertThrows(SqsException.class, () -> send(url, "x", null, "d")));
        assertRefused("InvalidParameterValue",
                "The queue should either have ContentBasedDeduplication enabled"
                        + " or MessageDeduplicationId provided explicitly",
                assertThrows(SqsException.class, () -> send(url, "x", "g", null)));
    }
}
