package tidegate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.fail;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.awscore.client.builder.AwsClientBuilder;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.retries.DefaultRetryStrategy;
import software.amazon.awssdk.services.sqs.SqsClient;
import software.amazon.awssdk.services.sqs.model.CreateQueueRequest;
import software.amazon.awssdk.services.sqs.model.ListMessageMoveTasksResultEntry;
import software.amazon.awssdk.services.sqs.model.Message;
import software.amazon.awssdk.services.sqs.model.QueueAttributeName;
import software.amazon.awssdk.services.sqs.model.ReceiveMessageRequest;
import software.amazon.awssdk.services.sqs.model.SendMessageResponse;
import software.amazon.awssdk.services.sqs.model.SqsException;

/** What the test classes share: one server for each of them, one client and small helpers. */
abstract class Suite {

    static final String REGION = "us-east-1";
    /** A 12-digit access key is the account. */
    static final String ACCOUNT = "123456789012";

    static Server server;
    static SqsClient sqs;

    @BeforeAll
    static void startServer() throws Exception {
        server = Server.start();
        sqs = toServer(SqsClient.builder())
                // A retry would hide a server fault.
                .overrideConfiguration(c -> c.retryStrategy(DefaultRetryStrategy.doNotRetry()))
                .build();
    }

    /** Points a client of any kind at the server of this test class. */
    static <B extends AwsClientBuilder<B, ?>> B toServer(B builder) {
        return builder.endpointOverride(server.endpoint)
                .region(Region.of(REGION))
                .credentialsProvider(
                        StaticCredentialsProvider.create(AwsBasicCredentials.create(ACCOUNT, "secret")));
    }

    @AfterAll
    static void stopServer() throws Exception {
        sqs.close();
        server.close();
    }

    /** A queue name that no other test, and no earlier run against the same server, has used. */
    static String freshName() {
        return "java-" + UUID.randomUUID().toString().substring(0, 13);
    }

    static String freshQueue() {
        return create(r -> {});
    }

    static String create(Consumer<CreateQueueRequest.Builder> options) {
        return sqs.createQueue(r -> {
            r.queueName(freshName());
            options.accept(r);
        }).queueUrl();
    }

    /** A FIFO queue with more attributes. */
    static String fifoQueue(Map<QueueAttributeName, String> more) {
        Map<QueueAttributeName, String> attributes = new HashMap<>(more);
        attributes.put(QueueAttributeName.FIFO_QUEUE, "true");
        return create(r -> r.queueName(freshName() + ".fifo").attributes(attributes));
    }

    static String fifoQueue() {
        return fifoQueue(Map.of());
    }

    static SendMessageResponse send(String url, String body, String group, String deduplicationId) {
        return sqs.sendMessage(r -> r.queueUrl(url)
                .messageBody(body)
                .messageGroupId(group)
                .messageDeduplicationId(deduplicationId));
    }

    static String arnOf(String url) {
        return sqs.getQueueAttributes(r -> r.queueUrl(url).attributeNames(QueueAttributeName.QUEUE_ARN))
                .attributes()
                .get(QueueAttributeName.QUEUE_ARN);
    }

    static String redrivePolicy(String dlq, int maxReceiveCount) {
        return "{\"deadLetterTargetArn\":\"%s\",\"maxReceiveCount\":%d}".formatted(arnOf(dlq), maxReceiveCount);
    }

    static String nameOf(String url) {
        return url.substring(url.lastIndexOf('/') + 1);
    }

    /** One message, waiting for it so that a slow machine is no failure. */
    static Message receiveOne(String url, Consumer<ReceiveMessageRequest.Builder> options) {
        List<Message> messages = sqs.receiveMessage(r -> {
            r.queueUrl(url).waitTimeSeconds(5);
            options.accept(r);
        }).messages();
        assertEquals(1, messages.size());
        return messages.get(0);
    }

    static Message receiveOne(String url) {
        return receiveOne(url, r -> {});
    }

    static List<Message> receiveAll(String url, int count) {
        List<Message> messages = new ArrayList<>();
        while (messages.size() < count) {
            List<Message> batch = sqs.receiveMessage(
                            r -> r.queueUrl(url).maxNumberOfMessages(10).waitTimeSeconds(5))
                    .messages();
            assertFalse(batch.isEmpty(), messages.size() + " of " + count + " messages received");
            messages.addAll(batch);
        }
        assertEquals(count, messages.size());
        return messages;
    }

    /** The visible, in-flight and delayed messages. */
    static List<Integer> counts(String url) {
        List<QueueAttributeName> names = List.of(
                QueueAttributeName.APPROXIMATE_NUMBER_OF_MESSAGES,
                QueueAttributeName.APPROXIMATE_NUMBER_OF_MESSAGES_NOT_VISIBLE,
                QueueAttributeName.APPROXIMATE_NUMBER_OF_MESSAGES_DELAYED);
        var found = sqs.getQueueAttributes(r -> r.queueUrl(url).attributeNames(names)).attributes();
        return names.stream().map(name -> Integer.valueOf(found.get(name))).toList();
    }

    /** The newest move task of the queue, once it has this status. */
    static ListMessageMoveTasksResultEntry taskWhen(String sourceArn, String status) throws InterruptedException {
        for (int i = 0; i < 200; i++) {
            var newest = sqs.listMessageMoveTasks(r -> r.sourceArn(sourceArn)).results().get(0);
            if (newest.status().equals(status)) {
                return newest;
            }
            Thread.sleep(100);
        }
        return fail("the task did not become " + status);
    }

    static void assertCode(String code, SqsException error) {
        assertEquals(code, error.awsErrorDetails().errorCode());
    }

    static String md5(String text) throws Exception {
        byte[] digest = MessageDigest.getInstance("MD5").digest(text.getBytes(StandardCharsets.UTF_8));
        return HexFormat.of().formatHex(digest);
    }
}
