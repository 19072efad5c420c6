package tidegate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import software.amazon.awssdk.core.SdkBytes;
import software.amazon.awssdk.services.sqs.model.InvalidMessageContentsException;
import software.amazon.awssdk.services.sqs.model.Message;
import software.amazon.awssdk.services.sqs.model.MessageAttributeValue;
import software.amazon.awssdk.services.sqs.model.MessageSystemAttributeName;
import software.amazon.awssdk.services.sqs.model.MessageSystemAttributeNameForSends;
import software.amazon.awssdk.services.sqs.model.MessageSystemAttributeValue;
import software.amazon.awssdk.services.sqs.model.PurgeQueueInProgressException;
import software.amazon.awssdk.services.sqs.model.ReceiptHandleIsInvalidException;
import software.amazon.awssdk.services.sqs.model.SendMessageResponse;
import software.amazon.awssdk.services.sqs.model.SqsException;

/** This SDK verifies the digests of bodies, attributes and system attributes and throws when one is wrong. */
class MessagesTest extends Suite {

    private static final String TRACE =
            "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1";

    static final Map<String, MessageAttributeValue> CUSTOM_TYPES = Map.of(
            "ts", text("Number.java.lang.Long", "1493147359900"),
            "s", text("String.custom", "größe <&> 漢字 🌊"),
            "b", blob("Binary.png", 0x00, 0xff, 0x10));

    static MessageAttributeValue text(String dataType, String value) {
        return MessageAttributeValue.builder().dataType(dataType).stringValue(value).build();
    }

    static MessageAttributeValue blob(String dataType, int... values) {
        byte[] bytes = new byte[values.length];
        for (int i = 0; i < values.length; i++) {
            bytes[i] = (byte) values[i];
        }
        return MessageAttributeValue.builder()
                .dataType(dataType)
                .binaryValue(SdkBytes.fromByteArray(bytes))
                .build();
    }

    @Test
    void sendReceiveDelete() {
        String url = freshQueue();
        SendMessageResponse sent = sqs.sendMessage(r -> r.queueUrl(url).messageBody("hello"));
        assertEquals("5d41402abc4b2a76b9719d911017c592", sent.md5OfMessageBody());
        assertNull(sent.md5OfMessageAttributes());
        assertNull(sent.sequenceNumber());

        Message message = receiveOne(url, r -> r.messageSystemAttributeNames(MessageSystemAttributeName.ALL));
        assertEquals(sent.messageId(), message.messageId());
        assertEquals("hello", message.body());
        assertFalse(message.hasMessageAttributes());
        assertEquals(4, message.attributes().size());
        assertEquals("1", message.attributes().get(MessageSystemAttributeName.APPROXIMATE_RECEIVE_COUNT));
        long sentAt = Long.parseLong(message.attributes().get(MessageSystemAttributeName.SENT_TIMESTAMP));
        assertTrue(Duration.between(Instant.ofEpochMilli(sentAt), Instant.now()).abs().toSeconds() < 60);

        for (int i = 0; i < 2; i++) {
            sqs.deleteMessage(r -> r.queueUrl(url).receiptHandle(message.receiptHandle()));
        }
        assertEquals(List.of(0, 0, 0), counts(url));
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "größer, 漢字, עברית, 🌊, e\u0301, \u2028 and \ufffd",
        "cr\rlf\ncrlf\r\nend\r",
        "\"&quot;&quot;\r<a href='x'>&amp; ]]> <![CDATA[y]]> --></a>",
        " \r\n\t ",
        "\t \ud7ff\ue000\ufffd\ud800\udc00\udbff\udfff",
    })
    void bodyComesBackUnchanged(String body) throws Exception {
        String url = freshQueue();
        SendMessageResponse sent = sqs.sendMessage(r -> r.queueUrl(url).messageBody(body));
        Message message = receiveOne(url);
        assertEquals(body, message.body());
        assertEquals(md5(body), message.md5OfBody());
        assertEquals(md5(body), sent.md5OfMessageBody());
    }

    @Test
    void largestBody() {
        String url = freshQueue();
        String body = "ä".repeat(512 * 1024);
        sqs.sendMessage(r -> r.queueUrl(url).messageBody(body));
        assertTrue(receiveOne(url).body().equals(body));
        assertCode("InvalidParameterValue", assertThrows(
                SqsException.class, () -> sqs.sendMessage(r -> r.queueUrl(url).messageBody(body + "x"))));
    }

    @Test
    void messageAttributesWithCustomTypes() {
        String url = freshQueue();
        SendMessageResponse sent =
                sqs.sendMessage(r -> r.queueUrl(url).messageBody("x").messageAttributes(CUSTOM_TYPES));
        Message message = receiveOne(url, r -> r.messageAttributeNames("All").visibilityTimeout(0));
        assertEquals(CUSTOM_TYPES, message.messageAttributes());
        assertEquals(sent.md5OfMessageAttributes(), message.md5OfMessageAttributes());

        Message part = receiveOne(url, r -> r.messageAttributeNames("t.*", "b", "unknown").visibilityTimeout(0));
        assertEquals(
                Map.of("ts", CUSTOM_TYPES.get("ts"), "b", CUSTOM_TYPES.get("b")), part.messageAttributes());

        Message none = receiveOne(url);
        assertFalse(none.hasMessageAttributes());
        assertNull(none.md5OfMessageAttributes());
    }

    @Test
    void recordedAttributeDigest() {
        String url = freshQueue();
        SendMessageResponse sent = sqs.sendMessage(r -> r.queueUrl(url)
                .messageBody("x")
                .messageAttributes(Map.of(
                        "blob", blob("Binary", 1, 2, 3),
                        "color", text("String", "blue"),
                        "count", text("Number", "3"))));
        assertEquals("d838729972a4b70e2d2acd9d59ac847c", sent.md5OfMessageAttributes());
    }

    @Test
    void traceHeader() {
        String url = freshQueue();
        SendMessageResponse sent = sqs.sendMessage(r -> r.queueUrl(url)
                .messageBody("x")
                .messageAttributes(CUSTOM_TYPES)
                .messageSystemAttributes(Map.of(
                        MessageSystemAttributeNameForSends.AWS_TRACE_HEADER,
                        MessageSystemAttributeValue.builder().dataType("String").stringValue(TRACE).build())));
        assertEquals("5ae4d5d7636402d80f4eb6d213245a88", sent.md5OfMessageSystemAttributes());
        Message message =
                receiveOne(url, r -> r.messageSystemAttributeNames(MessageSystemAttributeName.AWS_TRACE_HEADER));
        assertEquals(Map.of(MessageSystemAttributeName.AWS_TRACE_HEADER, TRACE), message.attributes());
    }

    @Test
    void longPollIsWokenBySend() throws Exception {
        String url = freshQueue();
        Instant started = Instant.now();
        var poll = CompletableFuture.supplyAsync(
                () -> sqs.receiveMessage(r -> r.queueUrl(url).waitTimeSeconds(20)).messages());
        Thread.sleep(1000);
        sqs.sendMessage(r -> r.queueUrl(url).messageBody("wake"));
        List<String> bodies = poll.get(30, TimeUnit.SECONDS).stream().map(Message::body).toList();
        assertEquals(List.of("wake"), bodies);
        assertTrue(Duration.between(started, Instant.now()).toSeconds() < 15);
    }

    @Test
    void visibility() {
        String url = freshQueue();
        sqs.sendMessage(r -> r.queueUrl(url).messageBody("x"));
        Message first = receiveOne(url);
        assertFalse(sqs.receiveMessage(r -> r.queueUrl(url)).hasMessages());
        assertEquals(List.of(0, 1, 0), counts(url));

        changeVisibility(url, first.receiptHandle(), 0);
        Message second = receiveOne(url, r -> r.visibilityTimeout(2)
                .messageSystemAttributeNames(MessageSystemAttributeName.APPROXIMATE_RECEIVE_COUNT));
        assertEquals(first.messageId(), second.messageId());
        assertEquals(Map.of(MessageSystemAttributeName.APPROXIMATE_RECEIVE_COUNT, "2"), second.attributes());

        String handle = second.receiptHandle();
        changeVisibility(url, handle, 60);
        assertFalse(sqs.receiveMessage(r -> r.queueUrl(url).waitTimeSeconds(3)).hasMessages());
        sqs.deleteMessage(r -> r.queueUrl(url).receiptHandle(handle));
        assertCode("InvalidParameterValue", assertThrows(
                SqsException.class, () -> changeVisibility(url, handle, 1)));
        assertThrows(ReceiptHandleIsInvalidException.class, () -> changeVisibility(url, "garbage", 1));
    }

    private static void changeVisibility(String url, String handle, int seconds) {
        sqs.changeMessageVisibility(r -> r.queueUrl(url).receiptHandle(handle).visibilityTimeout(seconds));
    }

    @Test
    void delayAndPurge() {
        String url = freshQueue();
        sqs.sendMessage(r -> r.queueUrl(url).messageBody("later").delaySeconds(1));
        assertEquals(List.of(0, 0, 1), counts(url));
        assertEquals("later", receiveOne(url, r -> r.waitTimeSeconds(10)).body());
        sqs.sendMessage(r -> r.queueUrl(url).messageBody("much later").delaySeconds(600));
        sqs.sendMessage(r -> r.queueUrl(url).messageBody("now"));
        assertEquals(List.of(1, 1, 1), counts(url));

        sqs.purgeQueue(r -> r.queueUrl(url));
        assertEquals(List.of(0, 0, 0), counts(url));
        PurgeQueueInProgressException error =
                assertThrows(PurgeQueueInProgressException.class, () -> sqs.purgeQueue(r -> r.queueUrl(url)));
        assertEquals(403, error.statusCode());
    }

    @Test
    void typedErrors() {
        String url = freshQueue();
        ReceiptHandleIsInvalidException error = assertThrows(
                ReceiptHandleIsInvalidException.class,
                () -> sqs.deleteMessage(r -> r.queueUrl(url).receiptHandle("garbage")));
        assertEquals(404, error.statusCode());
        assertThrows(
                InvalidMessageContentsException.class,
                () -> sqs.sendMessage(r -> r.queueUrl(url).messageBody("back\bspace")));
        assertCode("InvalidParameterValue", assertThrows(
                SqsException.class, () -> sqs.receiveMessage(r -> r.queueUrl(url).maxNumberOfMessages(11))));
    }
}
