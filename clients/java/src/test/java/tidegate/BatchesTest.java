package tidegate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import software.amazon.awssdk.services.sqs.model.BatchEntryIdsNotDistinctException;
import software.amazon.awssdk.services.sqs.model.BatchResultErrorEntry;
import software.amazon.awssdk.services.sqs.model.ChangeMessageVisibilityBatchRequestEntry;
import software.amazon.awssdk.services.sqs.model.DeleteMessageBatchRequestEntry;
import software.amazon.awssdk.services.sqs.model.EmptyBatchRequestException;
import software.amazon.awssdk.services.sqs.model.InvalidBatchEntryIdException;
import software.amazon.awssdk.services.sqs.model.Message;
import software.amazon.awssdk.services.sqs.model.SendMessageBatchRequestEntry;
import software.amazon.awssdk.services.sqs.model.SendMessageBatchResponse;
import software.amazon.awssdk.services.sqs.model.TooManyEntriesInBatchRequestException;

class BatchesTest extends Suite {

    private static List<SendMessageBatchRequestEntry> entries(Stream<String> ids) {
        return ids.map(id -> SendMessageBatchRequestEntry.builder().id(id).messageBody("body of " + id).build())
                .toList();
    }

    private static Stream<String> numbered(int count) {
        return IntStream.range(0, count).mapToObj(i -> "m" + i);
    }

    private static void assertOneFailure(List<BatchResultErrorEntry> failed, String id, String code) {
        assertEquals(1, failed.size());
        assertEquals(id, failed.get(0).id());
        assertEquals(code, failed.get(0).code());
        assertTrue(failed.get(0).senderFault());
    }

    @Test
    void oneBadEntryDoesNotStopTheOthers() {
        String url = freshQueue();
        List<SendMessageBatchRequestEntry> batch = new ArrayList<>(entries(numbered(10)));
        batch.set(3, batch.get(3).toBuilder().messageAttributes(MessagesTest.CUSTOM_TYPES).build());
        batch.set(6, batch.get(6).toBuilder().messageBody("back\bspace").build());
        SendMessageBatchResponse answer = sqs.sendMessageBatch(r -> r.queueUrl(url).entries(batch));
        assertEquals(9, answer.successful().size());
        assertOneFailure(answer.failed(), "m6", "InvalidMessageContents");
        for (var sent : answer.successful()) {
            // The SDK has verified the digest itself where there is one.
            assertEquals(sent.id().equals("m3"), sent.md5OfMessageAttributes() != null, sent.id());
        }

        List<String> bodies = new ArrayList<>(receiveAll(url, 9).stream().map(Message::body).toList());
        Collections.sort(bodies);
        assertEquals(
                numbered(10).filter(id -> !id.equals("m6")).map(id -> "body of " + id).toList(), bodies);
    }

    @Test
    void visibilityAndDeleteBatchesWithOneGarbageHandleEach() {
        String url = freshQueue();
        SendMessageBatchResponse sent = sqs.sendMessageBatch(r -> r.queueUrl(url).entries(entries(numbered(10))));
        assertEquals(10, sent.successful().size());
        assertFalse(sent.hasFailed());

        List<String> handles = new ArrayList<>(receiveAll(url, 10).stream().map(Message::receiptHandle).toList());
        handles.set(4, "garbage");
        var changed = sqs.changeMessageVisibilityBatch(r -> r.queueUrl(url).entries(IntStream.range(0, 10)
                .mapToObj(i -> ChangeMessageVisibilityBatchRequestEntry.builder()
                        .id("c" + i).receiptHandle(handles.get(i)).visibilityTimeout(600).build())
                .toList()));
        assertEquals(9, changed.successful().size());
        assertOneFailure(changed.failed(), "c4", "ReceiptHandleIsInvalid");

        var deleted = sqs.deleteMessageBatch(r -> r.queueUrl(url).entries(IntStream.range(0, 10)
                .mapToObj(i -> DeleteMessageBatchRequestEntry.builder()
                        .id("d" + i).receiptHandle(handles.get(i)).build())
                .toList()));
        assertEquals(9, deleted.successful().size());
        assertOneFailure(deleted.failed(), "d4", "ReceiptHandleIsInvalid");
        assertEquals(List.of(0, 1, 0), counts(url));
    }

    @Test
    void typedBatchErrors() {
        String url = freshQueue();
        assertThrows(EmptyBatchRequestException.class, () -> send(url, Stream.of()));
        assertThrows(TooManyEntriesInBatchRequestException.class, () -> send(url, numbered(11)));
        assertThrows(BatchEntryIdsNotDistinctException.class, () -> send(url, Stream.of("a", "b", "a")));
        assertThrows(InvalidBatchEntryIdException.class, () -> send(url, Stream.of("no spaces")));
        assertEquals(List.of(0, 0, 0), counts(url));
    }

    private static void send(String url, Stream<String> ids) {
        sqs.sendMessageBatch(r -> r.queueUrl(url).entries(entries(ids)));
    }
}
