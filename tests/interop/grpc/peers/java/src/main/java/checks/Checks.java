package checks;

import com.google.protobuf.StringValue;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.BlockingClientCall;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** The fourteen checks of checks.ts. */
final class Checks {
  private static final int AHEAD = 1_000;
  private final int port;
  private final Caller caller;
  private final Map<String, Check> all = new LinkedHashMap<>();

  /** A check. */
  interface Check {
    void run() throws Exception;
  }

  Checks(int port) {
    this.port = port;
    caller = new Caller(port);
    all.put("unary", this::unary);
    all.put("3,000 calls by 100 callers", () -> atOnce(100, this::thirty));
    all.put("error", this::error);
    all.put("20,000 values down", () -> checkValues(caller.down("20000 10"), 0, 20_000, 10));
    all.put("20,000 values up", this::up);
    all.put("ping-pong", this::pingPong);
    all.put("300 KB both ways", this::bothLarge);
    all.put("20 MB", () -> echoes("x".repeat(20_000_000)));
    all.put(
        "40 x 300 KB at once",
        () -> atOnce(40, at -> echoes(Integer.toString(at % 10).repeat(300_000))));
    all.put("deadline, both ends", this::deadline);
    all.put("cancel", this::cancel);
    all.put("cancel of a stream", this::cancelStream);
    all.put("slow reader", this::slowReader);
    all.put("200 connections", this::connections);
  }

  void print() throws Exception {
    ExecutorService one = Executors.newCachedThreadPool();
    for (Map.Entry<String, Check> check : all.entrySet()) {
      Callable<Void> call =
          () -> {
            check.getValue().run();
            return null;
          };
      String error = "";
      try {
        one.submit(call).get(60, TimeUnit.SECONDS);
      } catch (Exception failure) {
        Throwable cause = failure.getCause() == null ? failure : failure.getCause();
        String text = cause.toString().replace("\\", " ").replace("\"", "'").replaceAll("\\s+", " ");
        error = ",\"error\":\"" + text.substring(0, Math.min(500, text.length())) + "\"";
      }
      System.out.println("{\"check\":\"" + check.getKey() + "\"" + error + "}");
    }
    caller.close();
    System.exit(0);
  }

  /** Something to do for each of several threads. */
  private interface Part {
    void run(int at) throws Exception;
  }

  private static void atOnce(int count, Part part) throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(count);
    List<Future<?>> parts = new ArrayList<>();
    for (int at = 0; at < count; at++) {
      int number = at;
      parts.add(
          threads.submit(
              () -> {
                part.run(number);
                return null;
              }));
    }
    for (Future<?> one : parts) one.get();
    threads.shutdown();
  }

  private static void must(boolean isSo, String what) {
    if (!isSo) throw new AssertionError(what);
  }

  private interface Condition {
    boolean isSo() throws Exception;
  }

  private static void until(String what, Condition condition) throws Exception {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    while (!condition.isSo()) {
      must(System.nanoTime() < end, "not within 30 s: " + what);
      Thread.sleep(20);
    }
  }

  private void isTold(long[] before) throws Exception {
    until("the other end is told", () -> caller.state()[0] > before[0]);
  }

  private void echoes(String text) {
    must(caller.echo(text).equals(text), "another text");
  }

  private static String fails(Check call, Status.Code code) throws Exception {
    try {
      call.run();
    } catch (StatusRuntimeException error) {
      must(error.getStatus().getCode() == code, error.toString());
      return error.getStatus().getDescription();
    }
    throw new AssertionError("the call did not fail");
  }

  private static void checkValues(
      BlockingClientCall<StringValue, StringValue> values, int from, int count, int size)
      throws Exception {
    String letters = "x".repeat(size);
    int at = from;
    for (StringValue value = values.read(); value != null; value = values.read())
      must(value.getValue().equals(at + ":" + letters), "value " + at++);
    must(at == count, at + " values");
  }

  private void unary() {
    for (String text : List.of("hello", "ü€😀", "")) echoes(text);
  }

  private void thirty(int one) {
    for (int n = 0; n < 30; n++) echoes(one + "." + n);
  }

  private void error() throws Exception {
    String message = fails(() -> caller.echoAs("me", "fail"), Status.Code.NOT_FOUND);
    must(message.equals("No order of me: ü"), message);
  }

  private void up() throws Exception {
    BlockingClientCall<StringValue, StringValue> call = caller.up();
    for (int at = 0; at < 20_000; at++) call.write(StringValue.of("xxxxxxxxxx"));
    call.halfClose();
    String answer = call.read().getValue();
    must(answer.equals("20000 200000"), answer);
  }

  private void pingPong() throws Exception {
    BlockingClientCall<StringValue, StringValue> call = caller.both();
    for (int turn = 0; turn < 500; turn++) {
      call.write(StringValue.of(Integer.toString(turn)));
      must(call.read().getValue().equals("<" + turn + ">"), "turn " + turn);
    }
    call.halfClose();
    must(call.read() == null, "the stream has no end");
  }

  private void bothLarge() throws Exception {
    BlockingClientCall<StringValue, StringValue> call = caller.both();
    Thread sending =
        new Thread(
            () -> {
              try {
                for (int at = 0; at < 10; at++) call.write(StringValue.of("x".repeat(300_000)));
                call.halfClose();
              } catch (Exception error) {
                throw new IllegalStateException(error);
              }
            });
    sending.start();
    for (int at = 0; at < 10; at++)
      must(call.read().getValue().length() == 300_002, "value " + at);
    must(call.read() == null, "the stream has no end");
    sending.join();
  }

  private void deadline() throws Exception {
    long[] before = caller.state();
    fails(() -> caller.echo("wait", Caller.within(300)), Status.Code.DEADLINE_EXCEEDED);
    isTold(before);
  }

  private void cancel() throws Exception {
    long[] before = caller.state();
    Future<StringValue> call = caller.echoLater("wait");
    until("the call is there", () -> caller.state()[2] > before[2]);
    must(call.cancel(true), "the call cannot be canceled");
    isTold(before);
  }

  private void cancelStream() throws Exception {
    long[] before = caller.state();
    BlockingClientCall<StringValue, StringValue> values = caller.down("1000000 100");
    for (int at = 0; at < 5; at++) values.read();
    values.cancel("enough", null);
    isTold(before);
    must(caller.state()[1] < 1_000_000, "all values were made");
  }

  private void slowReader() throws Exception {
    BlockingClientCall<StringValue, StringValue> values = caller.down("2000 50000");
    values.read();
    long[] made = {-1};
    until(
        "the other end stands still",
        () -> {
          long before = made[0];
          made[0] = caller.state()[1];
          Thread.sleep(300);
          return made[0] == before;
        });
    must(made[0] <= AHEAD, made[0] + " values of 50 KB were made; one was read");
    checkValues(values, 1, 2_000, 50_000);
  }

  private void connections() throws Exception {
    List<Caller> callers = new ArrayList<>();
    List<Future<StringValue>> answers = new ArrayList<>();
    for (int at = 0; at < 200; at++) callers.add(new Caller(port));
    for (int at = 0; at < 200; at++) answers.add(callers.get(at).echoLater(Integer.toString(at)));
    for (int at = 0; at < 200; at++)
      must(answers.get(at).get().getValue().equals(Integer.toString(at)), "answer " + at);
    for (Caller one : callers) one.close();
  }
}
