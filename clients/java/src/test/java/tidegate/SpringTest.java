package tidegate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.awspring.cloud.sqs.annotation.SqsListener;
import io.awspring.cloud.sqs.config.SqsBootstrapConfiguration;
import io.awspring.cloud.sqs.config.SqsMessageListenerContainerFactory;
import io.awspring.cloud.sqs.listener.acknowledgement.AcknowledgementResultCallback;
import io.awspring.cloud.sqs.listener.errorhandler.ImmediateRetryAsyncErrorHandler;
import io.awspring.cloud.sqs.operations.SqsTemplate;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.core.env.MapPropertySource;
import org.springframework.messaging.Message;
import org.springframework.messaging.handler.annotation.Header;
import software.amazon.awssdk.services.sqs.SqsAsyncClient;
import software.amazon.awssdk.services.sqs.model.QueueAttributeName;

/** Spring Cloud AWS: a listener on a FIFO queue, whose poison message goes to the dead-letter queue and back. */
class SpringTest extends Suite {

    private static final String POISON = "b1";
    private static final int MAX_RECEIVE_COUNT = 2;

    @Configuration
    @Import(SqsBootstrapConfiguration.class)
    static class Application {

        @Bean
        SqsAsyncClient sqsAsyncClient() {
            return toServer(SqsAsyncClient.builder()).build();
        }

        @Bean
        SqsTemplate sqsTemplate(SqsAsyncClient client) {
            return SqsTemplate.newTemplate(client);
        }

        @Bean
        SqsMessageListenerContainerFactory<Object> defaultSqsListenerContainerFactory(
                SqsAsyncClient client, Orders orders) {
            return SqsMessageListenerContainerFactory.builder()
                    .sqsAsyncClient(client)
                    .configure(o -> o.messageVisibility(Duration.ofSeconds(3)).pollTimeout(Duration.ofSeconds(1)))
                    .errorHandler(new ImmediateRetryAsyncErrorHandler<>())
                    .acknowledgementResultCallback(orders)
                    .build();
        }

        @Bean
        Orders orders() {
            return new Orders();
        }
    }

    /** Handles the messages, and keeps what it was given. */
    static class Orders implements AcknowledgementResultCallback<Object> {

        final Map<String, List<String>> handled = new ConcurrentHashMap<>();
        final List<String> poisonAttempts = new CopyOnWriteArrayList<>();
        final List<Throwable> failedAcknowledgements = new CopyOnWriteArrayList<>();
        /** The first messages of the three groups meet here: groups run side by side. */
        private final CyclicBarrier groupsRunning = new CyclicBarrier(3);
        volatile boolean poisonIsFatal = true;

        @SqsListener("${orders.queue}")
        void handle(
                String body,
                @Header("Sqs_Msa_MessageGroupId") String group,
                @Header("Sqs_Msa_ApproximateReceiveCount") String receiveCount)
                throws Exception {
            if (body.endsWith("0")) {
                groupsRunning.await(20, TimeUnit.SECONDS);
            }
            if (body.equals(POISON) && poisonIsFatal) {
                poisonAttempts.add(receiveCount);
                throw new IllegalArgumentException("cannot be handled");
            }
            handled.computeIfAbsent(group, g -> new CopyOnWriteArrayList<>()).add(body);
        }

        @Override
        public void onFailure(Collection<Message<Object>> messages, Throwable error) {
            failedAcknowledgements.add(error);
        }

        int count() {
            return handled.values().stream().mapToInt(List::size).sum();
        }
    }

    private static void await(String what, BooleanSupplier done) throws InterruptedException {
        for (int i = 0; i < 300 && !done.getAsBoolean(); i++) {
            Thread.sleep(100);
        }
        assertTrue(done.getAsBoolean(), what);
    }

    @Test
    void poisonMessageGoesToDeadLetterQueueAndHomeAgain() throws Exception {
        String dlq = fifoQueue();
        String source = fifoQueue(
                Map.of(QueueAttributeName.REDRIVE_POLICY, redrivePolicy(dlq, MAX_RECEIVE_COUNT)));
        List<String> groups = List.of("a", "b", "c");
        try (var context = new AnnotationConfigApplicationContext()) {
            context.getEnvironment()
                    .getPropertySources()
                    .addFirst(new MapPropertySource("test", Map.of("orders.queue", nameOf(source))));
            // The messages are there before the listener starts, so that its first poll gets all the groups.
            for (int i = 0; i < 3; i++) {
                for (String group : groups) {
                    send(source, group + i, group, group + i);
                }
            }
            context.register(Application.class);
            context.refresh();
            Orders orders = context.getBean(Orders.class);

            await("all but the poison message are handled", () -> orders.count() == 8);
            await("the poison message is a dead letter", () -> counts(dlq).equals(List.of(1, 0, 0)));
            assertEquals(List.of("1", "2"), orders.poisonAttempts);
            assertEquals(
                    Map.of("a", List.of("a0", "a1", "a2"), "b", List.of("b0", "b2"), "c", List.of("c0", "c1", "c2")),
                    orders.handled);

            orders.poisonIsFatal = false;
            sqs.startMessageMoveTask(r -> r.sourceArn(arnOf(dlq)));
            await("the poison message is handled", () -> orders.count() == 9);
            assertEquals(List.of("b0", "b2", "b1"), orders.handled.get("b"));

            context.getBean(SqsTemplate.class).send(to -> to.queue(nameOf(source))
                    .payload("b3")
                    .messageGroupId("b")
                    .messageDeduplicationId("b3"));
            await("the group goes on", () -> orders.count() == 10);
            await("everything is acknowledged", () -> counts(source).equals(List.of(0, 0, 0)));
            assertEquals(List.of(), new ArrayList<>(orders.failedAcknowledgements));
        }
        assertEquals(List.of(0, 0, 0), counts(dlq));
    }
}
