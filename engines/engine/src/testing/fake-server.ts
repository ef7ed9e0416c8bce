/**
 * A server inside the process, for fakes of drivers: which connections it has, by which ports, and when it works. A fake
 * adds what its server does.
 */

/** A connection of a fake. */
export interface FakeLink {
  /** The port by which it was made. */
  readonly port: number
  /** It is lost, as if the server had ended. */
  drop(): void
}

export class FakeServer<Connection extends FakeLink> {
  /** The port by which transports name this server. */
  readonly port: number
  protected readonly connections = new Set<Connection>()
  /** Other ports that lead here. */
  readonly #detours = new Set<number>()
  #isUp = true
  #isSuspended = false
  #isWorking = false
  #waiting: (() => void)[] = []

  constructor(port: number) {
    this.port = port
  }

  /** Ends at once: all connections are lost, with what was on its way. */
  stop(): void {
    this.#isUp = false
    this.#waiting = []
    for (const connection of [...this.connections]) connection.drop()
  }

  start(): void {
    this.#isUp = true
    this.found()
  }

  /** Connections stay, but nothing moves. */
  suspend(): void {
    this.#isSuspended = true
  }

  resume(): void {
    this.#isSuspended = false
    this.work()
  }

  /** Another port that leads here until it is stopped, which loses the connections over it. */
  detour(port: number): { readonly port: number; stop(): void } {
    this.#detours.add(port)
    this.found()
    const stop = () => {
      this.#detours.delete(port)
      for (const connection of [...this.connections]) if (connection.port === port) connection.drop()
    }
    return { port, stop }
  }

  /** Whether a port leads here at the moment. */
  leads(port: number): boolean {
    return this.#isUp && (port === this.port || this.#detours.has(port))
  }

  forget(connection: Connection): void {
    this.connections.delete(connection)
  }

  /** Runs commands in their order, in a later turn of the event loop. */
  later(command: () => void): void {
    this.#waiting.push(command)
    this.work()
  }

  /** Does in a later turn what there is to do, unless the server is suspended. */
  work(): void {
    if (this.#isWorking || this.#isSuspended) return
    this.#isWorking = true
    setImmediate(() => {
      this.#isWorking = false
      if (!this.#isSuspended) this.step()
    })
  }

  /** One turn of work. Default: the commands that wait. */
  protected step(): void {
    for (const command of this.#waiting.splice(0)) command()
  }

  /** A port leads here again: for drivers that reconnect by themselves. */
  protected found(): void {}
}

/** The error of a connection to a port at which nobody listens. */
export function refusedAt(port: number): Error {
  return Object.assign(new Error(`connect ECONNREFUSED 127.0.0.1:${port}`), { code: 'ECONNREFUSED' })
}
