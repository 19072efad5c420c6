package tidegate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import software.amazon.awssdk.services.sqs.model.InvalidAttributeNameException;
import software.amazon.awssdk.services.sqs.model.InvalidAttributeValueException;
import software.amazon.awssdk.services.sqs.model.ListQueuesResponse;
import software.amazon.awssdk.services.sqs.model.QueueAttributeName;
import software.amazon.awssdk.services.sqs.model.QueueDeletedRecentlyException;
import software.amazon.awssdk.services.sqs.model.QueueDoesNotExistException;
import software.amazon.awssdk.services.sqs.model.QueueNameExistsException;

class QueuesTest extends Suite {

    @Test
    void createIsIdempotent() {
        String name = freshName();
        Map<QueueAttributeName, String> seven = Map.of(QueueAttributeName.VISIBILITY_TIMEOUT, "7");
        String url = create(r -> r.queueName(name).attributes(seven));
        assertEquals(server.endpoint + "/" + ACCOUNT + "/" + name, url);
        assertEquals(url, create(r -> r.queueName(name)));
        assertEquals(url, create(r -> r.queueName(name).attributes(seven)));
        assertEquals(url, sqs.getQueueUrl(r -> r.queueName(name)).queueUrl());

        Map<QueueAttributeName, String> eight = Map.of(QueueAttributeName.VISIBILITY_TIMEOUT, "8");
        assertCode("QueueAlreadyExists", assertThrows(
                QueueNameExistsException.class, () -> create(r -> r.queueName(name).attributes(eight))));
    }

    @Test
    void listByPrefixAndPages() {
        String prefix = freshName();
        List<String> urls = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            String name = prefix + "-" + i;
            urls.add(create(r -> r.queueName(name)));
        }
        ListQueuesResponse all = sqs.listQueues(r -> r.queueNamePrefix(prefix));
        assertEquals(urls, all.queueUrls());
        assertNull(all.nextToken());

        List<List<String>> pages = sqs.listQueuesPaginator(r -> r.queueNamePrefix(prefix).maxResults(2)).stream()
                .map(ListQueuesResponse::queueUrls)
                .toList();
        assertEquals(List.of(urls.subList(0, 2), urls.subList(2, 4), urls.subList(4, 5)), pages);

        assertFalse(sqs.listQueues(r -> r.queueNamePrefix(prefix + "-none")).hasQueueUrls());
    }

    @Test
    void attributes() {
        String url = freshQueue();
        Map<String, String> fresh = new HashMap<>(sqs.getQueueAttributes(
                        r -> r.queueUrl(url).attributeNames(QueueAttributeName.ALL))
                .attributesAsStrings());
        long created = Long.parseLong(fresh.remove("CreatedTimestamp"));
        assertTrue(Math.abs(created - Instant.now().getEpochSecond()) < 60, "in seconds");
        assertTrue(Long.parseLong(fresh.remove("LastModifiedTimestamp")) >= created);
        assertEquals(
                Map.of(
                        "ApproximateNumberOfMessages", "0",
                        "ApproximateNumberOfMessagesDelayed", "0",
                        "ApproximateNumberOfMessagesNotVisible", "0",
                        "DelaySeconds", "0",
                        "MaximumMessageSize", "1048576",
                        "MessageRetentionPeriod", "345600",
                        "QueueArn", "arn:aws:sqs:" + REGION + ":" + ACCOUNT + ":" + nameOf(url),
                        "ReceiveMessageWaitTimeSeconds", "0",
                        "SqsManagedSseEnabled", "true",
                        "VisibilityTimeout", "30"),
                fresh);

        sqs.setQueueAttributes(r -> r.queueUrl(url).attributes(Map.of(QueueAttributeName.DELAY_SECONDS, "3")));
        assertEquals(
                Map.of(QueueAttributeName.DELAY_SECONDS, "3"),
                sqs.getQueueAttributes(r -> r.queueUrl(url).attributeNames(QueueAttributeName.DELAY_SECONDS))
                        .attributes());

        assertThrows(InvalidAttributeNameException.class, () -> sqs.getQueueAttributes(
                r -> r.queueUrl(url).attributeNamesWithStrings("Foobar")));
        assertThrows(InvalidAttributeNameException.class, () -> sqs.setQueueAttributes(
                r -> r.queueUrl(url).attributesWithStrings(Map.of("Foobar", "1"))));
        assertThrows(InvalidAttributeValueException.class, () -> sqs.setQueueAttributes(
                r -> r.queueUrl(url).attributes(Map.of(QueueAttributeName.DELAY_SECONDS, "901"))));
    }

    @Test
    void tags() {
        String url = create(r -> r.tags(Map.of("team", "sea", "empty", "")));
        assertEquals(Map.of("team", "sea", "empty", ""), tagsOf(url));
        sqs.tagQueue(r -> r.queueUrl(url).tags(Map.of("team", "land", "Team", "größer")));
        sqs.untagQueue(r -> r.queueUrl(url).tagKeys("empty", "never-there"));
        assertEquals(Map.of("team", "land", "Team", "größer"), tagsOf(url));
        sqs.untagQueue(r -> r.queueUrl(url).tagKeys("team", "Team"));
        assertFalse(sqs.listQueueTags(r -> r.queueUrl(url)).hasTags());
    }

    private static Map<String, String> tagsOf(String url) {
        return sqs.listQueueTags(r -> r.queueUrl(url)).tags();
    }

    @Test
    void deletedAndMissingQueues() {
        String url = freshQueue();
        sqs.deleteQueue(r -> r.queueUrl(url));
        List<Executable> calls = List.of(
                () -> sqs.getQueueUrl(r -> r.queueName(nameOf(url))),
                () -> sqs.sendMessage(r -> r.queueUrl(url).messageBody("x")),
                () -> sqs.receiveMessage(r -> r.queueUrl(url)),
                () -> sqs.purgeQueue(r -> r.queueUrl(url)),
                () -> sqs.deleteQueue(r -> r.queueUrl(url)));
        for (Executable call : calls) {
            QueueDoesNotExistException error = assertThrows(QueueDoesNotExistException.class, call);
            assertCode("AWS.SimpleQueueService.NonExistentQueue", error);
            assertEquals("The specified queue does not exist.", error.awsErrorDetails().errorMessage());
            assertEquals(400, error.statusCode());
        }
        assertThrows(QueueDeletedRecentlyException.class, () -> create(r -> r.queueName(nameOf(url))));
    }
}
