package tidegate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import software.amazon.awssdk.services.sqs.model.Message;
import software.amazon.awssdk.services.sqs.model.MessageSystemAttributeName;
import software.amazon.awssdk.services.sqs.model.QueueAttributeName;
import software.amazon.awssdk.services.sqs.model.ResourceNotFoundException;
import software.amazon.awssdk.services.sqs.model.SendMessageBatchRequestEntry;
import software.amazon.awssdk.services.sqs.model.SqsException;

class DeadLettersTest extends Suite {

    /** A queue that gives its messages up after one delivery. */
    private static String sourceOf(String dlq) {
        return create(r -> r.attributes(Map.of(QueueAttributeName.REDRIVE_POLICY, redrivePolicy(dlq, 1))));
    }

    /** Makes every message of {@code source} a dead letter: one receive more than the policy allows. */
    private static void exhaust(String source, String dlq, int count) {
        for (int i = 0; i < 2; i++) {
            sqs.receiveMessage(r -> r.queueUrl(source).maxNumberOfMessages(10).visibilityTimeout(0));
        }
        assertEquals(List.of(0, 0, 0), counts(source));
        assertEquals(List.of(count, 0, 0), counts(dlq));
    }

    @Test
    void deadLetterNamesItsSourceAndRedriveTakesItHome() throws Exception {
        String dlq = freshQueue();
        String source = sourceOf(dlq);
        var sent = sqs.sendMessage(
                r -> r.queueUrl(source).messageBody("dead").messageAttributes(MessagesTest.CUSTOM_TYPES));
        exhaust(source, dlq, 1);
        Message dead = receiveOne(dlq, r -> r.visibilityTimeout(0)
                .messageAttributeNames("All")
                .messageSystemAttributeNames(MessageSystemAttributeName.ALL));
        assertEquals(sent.messageId(), dead.messageId());
        assertEquals(MessagesTest.CUSTOM_TYPES, dead.messageAttributes());
        assertEquals(
                arnOf(source), dead.attributes().get(MessageSystemAttributeName.DEAD_LETTER_QUEUE_SOURCE_ARN));
        assertEquals("2", dead.attributes().get(MessageSystemAttributeName.APPROXIMATE_RECEIVE_COUNT));
        assertEquals(List.of(source), sqs.listDeadLetterSourceQueues(r -> r.queueUrl(dlq)).queueUrls());

        sqs.startMessageMoveTask(r -> r.sourceArn(arnOf(dlq)));
        Message home = receiveOne(source, r -> r.waitTimeSeconds(20)
                .messageSystemAttributeNames(MessageSystemAttributeName.APPROXIMATE_RECEIVE_COUNT));
        assertEquals("dead", home.body());
        assertEquals(Map.of(MessageSystemAttributeName.APPROXIMATE_RECEIVE_COUNT, "1"), home.attributes());
        var task = taskWhen(arnOf(dlq), "COMPLETED");
        assertEquals(1, task.approximateNumberOfMessagesMoved());
        assertNull(task.taskHandle());
        assertNull(task.destinationArn());
        Instant started = Instant.ofEpochMilli(task.startedTimestamp());
        assertTrue(Duration.between(started, Instant.now()).abs().toMinutes() < 10, "in milliseconds");
    }

    @Test
    void cancelledRedriveLeavesTheRestInPlace() throws Exception {
        String dlq = freshQueue();
        String source = sourceOf(dlq);
        String destination = freshQueue();
        sqs.sendMessageBatch(r -> r.queueUrl(source).entries(IntStream.range(0, 6)
                .mapToObj(i -> SendMessageBatchRequestEntry.builder().id("m" + i).messageBody("m" + i).build())
                .toList()));
        exhaust(source, dlq, 6);

        String handle = startSlowly(dlq, destination);
        assertCode("InvalidParameterValue", assertThrows(
                SqsException.class, () -> startSlowly(dlq, destination)));
        var running = taskWhen(arnOf(dlq), "RUNNING");
        assertEquals(handle, running.taskHandle());
        assertEquals(arnOf(destination), running.destinationArn());

        receiveOne(destination, r -> r.waitTimeSeconds(20));
        sqs.cancelMessageMoveTask(r -> r.taskHandle(handle));
        int moved = taskWhen(arnOf(dlq), "CANCELLED").approximateNumberOfMessagesMoved().intValue();
        assertTrue(moved >= 1 && moved < 6, moved + " moved");
        assertEquals(List.of(6 - moved, 0, 0), counts(dlq));
        assertThrows(
                ResourceNotFoundException.class, () -> sqs.cancelMessageMoveTask(r -> r.taskHandle(handle)));
    }

    /** Starts a task that moves one message a second. */
    private static String startSlowly(String dlq, String destination) {
        return sqs.startMessageMoveTask(r -> r.sourceArn(arnOf(dlq))
                        .destinationArn(arnOf(destination))
                        .maxNumberOfMessagesPerSecond(1))
                .taskHandle();
    }

    @Test
    void typedMoveTaskErrors() {
        String arn = arnOf(freshQueue());
        SqsException error =
                assertThrows(SqsException.class, () -> sqs.startMessageMoveTask(r -> r.sourceArn(arn)));
        assertCode("InvalidParameterValue", error);
        assertEquals(
                "Source queue must be configured as a Dead Letter Queue.", error.awsErrorDetails().errorMessage());
        ResourceNotFoundException missing = assertThrows(
                ResourceNotFoundException.class, () -> sqs.startMessageMoveTask(r -> r.sourceArn(arn + "-missing")));
        assertEquals(404, missing.statusCode());
    }

    @Test
    void fifoDeadLetterKeepsItsGroupAndGetsNewPlace() {
        String dlq = fifoQueue();
        String source = fifoQueue(Map.of(QueueAttributeName.REDRIVE_POLICY, redrivePolicy(dlq, 1)));
        var sent = send(source, "dead", "g", "d");
        exhaust(source, dlq, 1);
        Message dead = receiveOne(dlq, r -> r.messageSystemAttributeNames(MessageSystemAttributeName.ALL));
        assertEquals(sent.messageId(), dead.messageId());
        Map<MessageSystemAttributeName, String> attributes = dead.attributes();
        assertEquals("g", attributes.get(MessageSystemAttributeName.MESSAGE_GROUP_ID));
        assertEquals(sent.messageId(), attributes.get(MessageSystemAttributeName.MESSAGE_DEDUPLICATION_ID));
        assertEquals(
                arnOf(source), attributes.get(MessageSystemAttributeName.DEAD_LETTER_QUEUE_SOURCE_ARN));
        assertNotEquals(sent.sequenceNumber(), attributes.get(MessageSystemAttributeName.SEQUENCE_NUMBER));
    }
}
