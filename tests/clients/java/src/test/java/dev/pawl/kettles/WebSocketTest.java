package dev.pawl.kettles;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.api.model.NamespaceBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.http.WebSocket;
import io.fabric8.kubernetes.client.http.WebSocketHandshakeException;
import java.net.URI;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** What is on the wire of a watch over a websocket. */
class WebSocketTest {
  private static final String NAMESPACE = "sockets";
  private static final String MAPS = "/api/v1/namespaces/" + NAMESPACE + "/configmaps?watch=true&labelSelector=socket=";
  /** One value in each message, and nothing after it. */
  private static final ObjectMapper EVENT = new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);
  private static KubernetesClient client;

  @BeforeAll
  static void connect() {
    client = new KubernetesClientBuilder().build();
    client.resource(new NamespaceBuilder().withNewMetadata().withName(NAMESPACE).endMetadata().build()).create();
  }

  @AfterAll
  static void leave() {
    client.namespaces().withName(NAMESPACE).delete();
    client.close();
  }

  /** What came through a socket, and how it was closed. */
  private static final class Received implements WebSocket.Listener {
    final List<JsonNode> events = new CopyOnWriteArrayList<>();
    final CompletableFuture<Integer> closed = new CompletableFuture<>();

    @Override
    public void onMessage(WebSocket socket, String text) {
      try {
        events.add(EVENT.readTree(text));
        socket.request();
      } catch (Exception fault) {
        closed.completeExceptionally(fault);
      }
    }

    @Override
    public void onMessage(WebSocket socket, ByteBuffer bytes) {
      closed.completeExceptionally(new AssertionError("JSON in a binary message"));
    }

    @Override
    public void onClose(WebSocket socket, int code, String reason) {
      socket.sendClose(code, reason);
      closed.complete(code);
    }

    @Override
    public void onError(WebSocket socket, Throwable fault) {
      closed.completeExceptionally(fault);
    }

    List<String> said() {
      return events.stream().map(event -> event.at("/type").asText() + " " + event.at("/object/metadata/name").asText()).toList();
    }
  }

  private static WebSocket.Builder to(String path) {
    return client.getHttpClient().newWebSocketBuilder().uri(URI.create(client.getMasterUrl().toString()).resolve(path));
  }

  private static void create(String name, String label) {
    client.resource(new ConfigMapBuilder().withNewMetadata().withName(name).withNamespace(NAMESPACE)
        .addToLabels("socket", label).endMetadata().build()).create();
  }

  private static WebSocket open(WebSocket.Builder builder, Received received) throws Exception {
    return builder.buildAsync(received).get(20, TimeUnit.SECONDS);
  }

  private static int refused(WebSocket.Builder builder) {
    var fault = assertThrows(ExecutionException.class, () -> open(builder, new Received()));
    return assertInstanceOf(WebSocketHandshakeException.class, fault.getCause()).getResponse().code();
  }

  @Test
  void eachMessageIsOneEventUntilTheTimeIsUp() throws Exception {
    create("one", "timed");
    create("two", "timed");
    var received = new Received();
    open(to(MAPS + "timed&timeoutSeconds=3"), received);
    create("three", "timed");
    assertEquals(1000, received.closed.get(20, TimeUnit.SECONDS));
    assertEquals(List.of("ADDED one", "ADDED two", "ADDED three"), received.said());
  }

  @Test
  void whatTheClientSendsIsIgnored() throws Exception {
    var received = new Received();
    var socket = open(to(MAPS + "talkative"), received);
    assertTrue(socket.send(ByteBuffer.wrap("{\"kind\":\"Nonsense\"}".getBytes())));
    create("heard", "talkative");
    await().atMost(Duration.ofSeconds(15)).until(() -> received.said().equals(List.of("ADDED heard")));
    assertTrue(socket.sendClose(1000, null));
    assertEquals(1000, received.closed.get(20, TimeUnit.SECONDS));
  }

  @Test
  void bookmarksSayWhereTheBeginningEnds() throws Exception {
    create("first", "listed");
    var received = new Received();
    var all = MAPS + "listed&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan";
    var socket = open(to(all), received);
    await().atMost(Duration.ofSeconds(15)).until(() -> received.events.size() >= 2);
    assertEquals(List.of("ADDED first", "BOOKMARK "), received.said().subList(0, 2));
    assertEquals("true", received.events.get(1).at("/object/metadata/annotations/k8s.io~1initial-events-end").asText());
    socket.sendClose(1000, null);
  }

  @Test
  void aRefusalComesBeforeTheSocket() {
    assertEquals(404, refused(to("/api/v1/namespaces/" + NAMESPACE + "/nothings?watch=true")));
    assertEquals(403, refused(to(MAPS + "x").header("Impersonate-User", "nobody")));
    assertEquals(422, refused(to(MAPS + "x&sendInitialEvents=true")));
    assertEquals(400, refused(to(MAPS + "x&fieldSelector=spec.nothing%3Dx")));
  }
}
