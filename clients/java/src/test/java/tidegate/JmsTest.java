package tidegate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.amazon.sqs.javamessaging.ProviderConfiguration;
import com.amazon.sqs.javamessaging.SQSConnectionFactory;
import com.amazon.sqs.javamessaging.SQSSession;
import jakarta.jms.Connection;
import jakarta.jms.JMSException;
import jakarta.jms.MessageConsumer;
import jakarta.jms.MessageProducer;
import jakarta.jms.Session;
import jakarta.jms.TextMessage;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import software.amazon.awssdk.core.SdkRequest;
import software.amazon.awssdk.core.interceptor.Context;
import software.amazon.awssdk.core.interceptor.ExecutionAttributes;
import software.amazon.awssdk.core.interceptor.ExecutionInterceptor;
import software.amazon.awssdk.http.ExecutableHttpRequest;
import software.amazon.awssdk.http.HttpExecuteRequest;
import software.amazon.awssdk.http.HttpExecuteResponse;
import software.amazon.awssdk.http.SdkHttpClient;
import software.amazon.awssdk.http.apache5.Apache5HttpClient;
import software.amazon.awssdk.services.sqs.SqsClient;
import software.amazon.awssdk.services.sqs.model.ReceiveMessageRequest;

/** The JMS library of AWS on FIFO queues: it prefetches, and sends an attempt id with every receive. */
class JmsTest extends Suite {

    private static final int WAIT_MS = 10_000;
    /** Long enough for a message to arrive that should not. */
    private static final int NOTHING_MS = 1_000;

    private final List<String> attemptIds = new CopyOnWriteArrayList<>();
    private final AtomicInteger answersToLose = new AtomicInteger();
    private SqsClient client;
    private Connection connection;

    @BeforeEach
    void connect() throws JMSException {
        client = toServer(SqsClient.builder())
                .httpClient(new LossyHttpClient())
                // With the retries of the SDK, as the library is used.
                .overrideConfiguration(c -> c.addExecutionInterceptor(new Receives()))
                .build();
        var configuration = new ProviderConfiguration().withNumberOfMessagesToPrefetch(10);
        connection = new SQSConnectionFactory(configuration, client).createConnection();
        connection.start();
    }

    @AfterEach
    void disconnect() throws JMSException {
        connection.close();
        client.close();
    }

    /** Notes the attempt id of every receive; "null" where there is none. */
    private final class Receives implements ExecutionInterceptor {
        @Override
        public SdkRequest modifyRequest(Context.ModifyRequest context, ExecutionAttributes attributes) {
            if (context.request() instanceof ReceiveMessageRequest receive) {
                attemptIds.add(String.valueOf(receive.receiveRequestAttemptId()));
                // A session that is closed waits for its long poll, which takes 20 s unless told otherwise.
                return receive.toBuilder().waitTimeSeconds(1).build();
            }
            return context.request();
        }
    }

    /** Throws away as many answers with messages as {@code answersToLose} says, after the server has sent them. */
    private final class LossyHttpClient implements SdkHttpClient {
        private final SdkHttpClient inner = Apache5HttpClient.create();

        @Override
        public ExecutableHttpRequest prepareRequest(HttpExecuteRequest request) {
            ExecutableHttpRequest call = inner.prepareRequest(request);
            boolean receives = request.httpRequest()
                    .firstMatchingHeader("X-Amz-Target")
                    .filter(target -> target.endsWith(".ReceiveMessage"))
                    .isPresent();
            return new ExecutableHttpRequest() {
                @Override
                public HttpExecuteResponse call() throws IOException {
                    HttpExecuteResponse answer = call.call();
                    long length = answer.httpResponse()
                            .firstMatchingHeader("Content-Length")
                            .map(Long::parseLong)
                            .orElse(0L);
                    // An empty receive is "{}".
                    if (receives && length > 2 && answersToLose.getAndUpdate(n -> Math.max(0, n - 1)) > 0) {
                        answer.responseBody().ifPresent(body -> body.abort());
                        throw new IOException("the answer is lost");
                    }
                    return answer;
                }

                @Override
                public void abort() {
                    call.abort();
                }
            };
        }

        @Override
        public void close() {
            inner.close();
        }
    }

    private void sendGroups(String url, int perGroup, String... groups) throws JMSException {
        Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        MessageProducer producer = session.createProducer(session.createQueue(nameOf(url)));
        for (int i = 0; i < perGroup; i++) {
            for (String group : groups) {
                TextMessage message = session.createTextMessage(group + i);
                message.setStringProperty("JMSXGroupID", group);
                message.setStringProperty("JMS_SQS_DeduplicationId", group + i);
                producer.send(message);
                assertEquals(20, message.getStringProperty("JMS_SQS_SequenceNumber").length());
            }
        }
        session.close();
    }

    private MessageConsumer consumer(Session session, String url) throws JMSException {
        return session.createConsumer(session.createQueue(nameOf(url)));
    }

    private static TextMessage receive(MessageConsumer consumer) throws JMSException {
        TextMessage message = (TextMessage) consumer.receive(WAIT_MS);
        assertNotNull(message, "a message arrives");
        return message;
    }

    private static List<String> receiveBodies(MessageConsumer consumer, int count) throws JMSException {
        List<String> bodies = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            bodies.add(receive(consumer).getText());
        }
        return bodies;
    }

    private void assertEveryReceiveHadItsOwnAttemptId() {
        assertTrue(!attemptIds.isEmpty() && !attemptIds.contains("null"), attemptIds::toString);
        assertEquals(attemptIds.stream().distinct().count(), attemptIds.size());
    }

    @Test
    void groupsArriveInOrder() throws Exception {
        String url = fifoQueue();
        sendGroups(url, 12, "a", "b", "c");
        Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        MessageConsumer consumer = consumer(session, url);
        List<String> seen = new ArrayList<>();
        for (int i = 0; i < 36; i++) {
            TextMessage message = receive(consumer);
            assertEquals(message.getText().substring(0, 1), message.getStringProperty("JMSXGroupID"));
            assertEquals(message.getText(), message.getStringProperty("JMS_SQS_DeduplicationId"));
            assertEquals(1, message.getIntProperty("JMSXDeliveryCount"));
            seen.add(message.getText());
        }
        for (String group : List.of("a", "b", "c")) {
            List<String> own = seen.stream().filter(body -> body.startsWith(group)).toList();
            assertEquals(IntStream.range(0, 12).mapToObj(i -> group + i).toList(), own);
        }
        session.close();
        assertEquals(List.of(0, 0, 0), counts(url));
        assertEveryReceiveHadItsOwnAttemptId();
    }

    @Test
    void lostAnswerIsRepeatedByTheSameAttempt() throws Exception {
        String url = fifoQueue();
        sendGroups(url, 3, "a");
        answersToLose.set(2);
        Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        MessageConsumer consumer = consumer(session, url);
        // Far sooner than the visibility timeout of 30 s would bring them back, and as the first delivery.
        TextMessage first = receive(consumer);
        assertEquals("a0", first.getText());
        assertEquals(1, first.getIntProperty("JMSXDeliveryCount"));
        assertEquals(List.of("a1", "a2"), receiveBodies(consumer, 2));
        assertEquals(0, answersToLose.get());
        session.close();
        assertEquals(List.of(0, 0, 0), counts(url));
    }

    @Test
    void clientAcknowledgeCoversWhatCameBefore() throws Exception {
        String url = fifoQueue();
        sendGroups(url, 4, "a");
        Session session = connection.createSession(false, Session.CLIENT_ACKNOWLEDGE);
        MessageConsumer consumer = consumer(session, url);
        assertEquals("a0", receive(consumer).getText());
        TextMessage second = receive(consumer);
        assertEquals("a2", receive(consumer).getText());
        second.acknowledge();
        // What was received and not acknowledged comes again, and in its place.
        session.recover();
        TextMessage again = receive(consumer);
        while (again.getText().equals("a3")) {
            again = receive(consumer);
        }
        assertEquals("a2", again.getText());
        assertEquals(2, again.getIntProperty("JMSXDeliveryCount"));
        again.acknowledge();
        session.close();
    }

    @Test
    void unorderedAcknowledgeIsForOneMessage() throws Exception {
        String url = fifoQueue();
        sendGroups(url, 2, "a");
        Session session = connection.createSession(false, SQSSession.UNORDERED_ACKNOWLEDGE);
        MessageConsumer consumer = consumer(session, url);
        TextMessage first = receive(consumer);
        TextMessage second = receive(consumer);
        assertEquals(List.of("a0", "a1"), List.of(first.getText(), second.getText()));
        second.acknowledge();
        assertEquals(List.of(0, 1, 0), counts(url));
        first.acknowledge();
        assertEquals(List.of(0, 0, 0), counts(url));
        assertNull(consumer.receive(NOTHING_MS));
        session.close();
    }

    @Test
    void closedSessionGivesItsMessagesBackInOrder() throws Exception {
        String url = fifoQueue();
        sendGroups(url, 4, "a", "b");
        Session first = connection.createSession(false, Session.CLIENT_ACKNOWLEDGE);
        assertEquals("a0", receive(consumer(first, url)).getText());
        first.close();

        Session second = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        List<String> seen = receiveBodies(consumer(second, url), 8);
        for (String group : List.of("a", "b")) {
            List<String> own = seen.stream().filter(body -> body.startsWith(group)).toList();
            assertEquals(List.of(group + 0, group + 1, group + 2, group + 3), own);
        }
        second.close();
        assertEquals(List.of(0, 0, 0), counts(url));
    }
}
