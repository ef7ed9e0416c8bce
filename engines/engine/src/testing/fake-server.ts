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
  /** By port: what waits on connections that stand still. */
  readonly #held = new Map<number, (() => void)[]>()
  #isUp = true
  #isSuspended = false
  #isWorking = false
  #waiting: (() => void)[] = []
  /** Waits for its next turn of work. A world gives another one: a network has other delays than the event loop. */
  turn: (work: () => void) => void = setImmediate

  constructor(port: number) {
    this.port = port
  }

  /** Ends at once: all connections are lost, with what was on its way. */
  stop(): void {
    this.#isUp = false
    this.#waiting = []
    this.#drop(undefined)
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

  /** Nothing moves on the connections over a port, and neither end is told: a process stands still, or its network. */
  hold(port: number): void {
    if (!this.isHeld(port)) this.#held.set(port, [])
  }

  /** Ends `hold`: what has waited arrives, in its order. */
  free(port: number): void {
    const waiting = this.#held.get(port) ?? []
    this.#held.delete(port)
    for (const command of waiting) this.later(command)
    this.work()
  }

  isHeld(port: number): boolean {
    return this.#held.has(port)
  }

  /** Another port that leads here until it is stopped, which loses the connections over it. */
  detour(port: number): { readonly port: number; stop(): void } {
    this.#detours.add(port)
    this.found()
    const stop = () => {
      this.#detours.delete(port)
      this.#drop(port)
    }
    return { port, stop }
  }

  /** The connections over a port, or all, are lost, and come back at once. */
  cut(port?: number): void {
    this.#drop(port)
    this.found()
  }

  #drop(port: number | undefined): void {
    for (const connection of [...this.connections])
      if (port === undefined || connection.port === port) connection.drop()
  }

  /** Whether a port leads here at the moment. */
  leads(port: number): boolean {
    return this.#isUp && (port === this.port || this.#detours.has(port))
  }

  forget(connection: Connection): void {
    this.connections.delete(connection)
  }

  /**
   * Runs commands in their order, in a later turn. The answer to a command, and what goes to another client, takes a turn
   * of its own: a connection may be lost when the server has done what it was asked for, and before the client knows.
   */
  later(command: () => void): void {
    this.#waiting.push(command)
    this.work()
  }

  /** Runs what comes over a connection, as `later` does, unless that stands still. */
  over({ port }: FakeLink, command: () => void): void {
    const held = this.#held.get(port)
    if (held === undefined) this.later(command)
    else held.push(command)
  }

  /** Does in a later turn what there is to do, unless the server is suspended. */
  work(): void {
    if (this.#isWorking || this.#isSuspended) return
    this.#isWorking = true
    this.turn(() => {
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
