package checks;

/** grpc-java: `serve` prints its port, and ends with its standard input; `call PORT` does the checks. */
public final class Peer {
  private Peer() {}

  public static void main(String[] arguments) throws Exception {
    if (arguments[0].equals("serve")) Server.serve();
    else new Checks(Integer.parseInt(arguments[1])).print();
  }
}
