/**
 * A Kafka cluster inside the process, behind the driver's interface: what clients must know of brokers, and the faults
 * of them. Brokers answer in later turns of the event loop, the requests of one connection one after the other.
 * `driver-cases.ts` compares it with a real server.
 */
import { randomUUID } from 'node:crypto'
import { type Clock, systemClock } from '@elysia-microservices/transport/kit'
import { Code } from '../connection/errors.ts'
import type { Broker, Driver, DriverConnection, NewTopic } from '../driver.ts'
import { UNAUTHENTICATED } from '../driver.ts'
import type { CheckedOptions } from '../options/options.ts'
import { FakeConnection } from './fake-connection.ts'
import { FakeGroup, type GroupTimes } from './fake-group.ts'
import { FakeLog } from './fake-log.ts'

/** A request: the method of the driver, and the topic or group that it is about. */
export type Request = Exclude<keyof DriverConnection, 'broker' | 'close' | 'destroy'>

export interface FakeTopic {
  readonly name: string
  readonly id: string
  readonly logs: FakeLog[]
  /** The broker that leads each partition; -1: none. */
  readonly leaders: number[]
  /** Milliseconds for which records are kept. */
  readonly retention: number
}

export interface FakeClusterOptions extends Partial<GroupTimes> {
  /** The port of the first broker; the others have the next ones. */
  readonly port?: number
  readonly brokers?: number
  readonly clock?: Clock
}

const DAY = 86_400_000

export class FakeCluster {
  readonly port: number
  readonly clock: Clock
  readonly driver: Driver = {
    connect: (broker, options, clientId, closed) => this.#connect(broker, options, clientId, closed)
  }
  readonly topics = new Map<string, FakeTopic>()
  /** Counts the requests. */
  readonly asked = new Map<Request, number>()
  /** The error code with which a request is refused, for one topic or group; `undefined`: it is not refused. */
  refuses: (request: Request, about: string) => number | undefined = () => undefined
  /** Whether a connection is lost when a request was done, before its answer. */
  losesAnswerTo: (request: Request) => boolean = () => false
  /** Milliseconds for which a broker keeps the records of a topic that does not say it. Default: 7 days */
  keeps: (topic: string) => number | undefined = () => undefined
  /** Milliseconds until a request is done. */
  delays: (request: Request) => number = () => 0
  /** The password of users; who names no user needs none. */
  password: string | undefined
  /** Users without any right. */
  readonly strangers = new Set<string>()
  readonly #times: GroupTimes
  readonly #groups = new Map<string, FakeGroup>()
  readonly #connections = new Set<FakeConnection>()
  /** The brokers that run, by their port. */
  readonly #up = new Map<number, number>()
  readonly #nodes: readonly number[]
  /** Other ports that lead to the first broker. */
  readonly #detours = new Set<number>()
  /** Waits for the next turn of a broker, as in `FakeServer`. */
  later: (work: () => void) => void = setImmediate
  /** Ports over which nothing moves. */
  readonly #held = new Set<number>()
  #isSuspended = false
  #resumed: (() => void)[] = []
  #producers = 0n

  constructor(options: FakeClusterOptions = {}) {
    const { port = 9092, brokers = 1, clock = systemClock } = options
    const { heartbeatInterval = 5_000, sessionTimeout = 45_000, offsetsRetention = 7 * DAY } = options
    this.port = port
    this.clock = clock
    this.#times = { heartbeatInterval, sessionTimeout, offsetsRetention }
    this.#nodes = Array.from({ length: brokers }, (_, index) => index + 1)
    this.start()
  }

  // ── the brokers ──────────────────────────────────────────────────────────────────────────────────────

  /** Ends a broker, or all, at once: all connections to it are lost. What is stored stays. */
  stop(node?: number): void {
    for (const [port, one] of this.#up) if (node === undefined || one === node) this.#up.delete(port)
    for (const connection of [...this.#connections])
      if (node === undefined || connection.node === node) connection.drop()
  }

  start(): void {
    for (const node of this.#nodes) this.#up.set(this.port + node - 1, node)
  }

  /** Ends connections on which nothing is asked, as brokers do after some minutes. */
  dropIdle(): void {
    for (const connection of [...this.#connections]) if (connection.isIdle) connection.drop()
  }

  /** Connections stay, but nothing moves. */
  suspend(): void {
    this.#isSuspended = true
  }

  resume(): void {
    this.#isSuspended = false
    this.#goOn()
  }

  /** Nothing moves on the connections over a port, and neither end is told: a process stands still, or its network. */
  hold(port: number): void {
    this.#held.add(port)
  }

  /** Ends `hold`. */
  free(port: number): void {
    this.#held.delete(port)
    this.#goOn()
  }

  #goOn(): void {
    for (const go of this.#resumed.splice(0)) go()
  }

  /** Another port that leads to the first broker until it is stopped, which loses the connections over it. */
  detour(port: number): { readonly port: number; stop(): void } {
    this.#detours.add(port)
    const stop = () => {
      this.#detours.delete(port)
      this.cut(port)
    }
    return { port, stop }
  }

  /** The connections over a port are lost, and come back at once. */
  cut(port: number): void {
    for (const connection of [...this.#connections]) if (connection.broker.port === port) connection.drop()
  }

  /** The brokers that run. */
  get brokers(): (Broker & { readonly nodeId: number })[] {
    return [...this.#up].map(([port, nodeId]) => ({ nodeId, host: '127.0.0.1', port }))
  }

  async #connect(
    broker: Broker,
    { sasl }: CheckedOptions,
    _clientId: string,
    closed: () => void
  ): Promise<DriverConnection> {
    const { port } = broker
    await this.turn(port)
    const node = this.#up.get(this.#detours.has(port) ? this.port : port)
    if (node === undefined)
      throw Object.assign(new Error(`connect ECONNREFUSED 127.0.0.1:${port}`), { code: 'ECONNREFUSED' })
    if (sasl !== undefined && this.password !== undefined && sasl.password !== this.password)
      throw Object.assign(new Error('SASL authentication failed'), { code: UNAUTHENTICATED })
    const isStranger = this.strangers.has(sasl?.username ?? '')
    const connection = new FakeConnection(this, { broker, node, isStranger }, () => {
      this.#connections.delete(connection)
      closed()
    })
    this.#connections.add(connection)
    return connection
  }

  /** Whether a request is under way that does not only wait for records. */
  get isBusy(): boolean {
    return [...this.#connections].some((connection) => connection.isBusy)
  }

  /** Resolves in a later turn of the event loop, in which the brokers work. @param port that of the connection */
  async turn(port = this.port): Promise<void> {
    await new Promise<void>((go) => this.later(go))
    while (this.#isSuspended || this.#held.has(port)) await new Promise<void>((go) => this.#resumed.push(go))
  }

  // ── topics ───────────────────────────────────────────────────────────────────────────────────────────

  /** Creates a topic. @returns the error code; 0: it was created */
  create({ name, partitions, replicas, configs }: Partial<NewTopic> & { readonly name: string }): number {
    if (this.topics.has(name)) return Code.topicExists
    if ((replicas ?? 1) > this.brokers.length) return Code.invalidReplicas
    const logs = Array.from({ length: partitions ?? 1 }, () => new FakeLog())
    const leaders = logs.map((_, index) => this.#nodes[index % this.#nodes.length] as number)
    const isCompact = configs?.['cleanup.policy'] === 'compact'
    const retention = isCompact ? Infinity : Number(configs?.['retention.ms'] ?? this.keeps(name) ?? 7 * DAY)
    this.topics.set(name, { name, id: randomUUID(), logs, leaders, retention })
    return 0
  }

  /** Deletes a topic, and the positions that groups have committed in it. */
  delete(name: string): void {
    this.topics.delete(name)
    for (const group of this.#groups.values()) group.forgetTopic(name)
    // Requests that wait for records of the topic are answered.
    for (const connection of this.#connections) connection.look()
  }

  /** Gives a topic more partitions. */
  widen(name: string, partitions: number): void {
    const { logs, leaders } = this.topic(name)
    while (logs.length < partitions) {
      logs.push(new FakeLog())
      leaders.push(1)
    }
  }

  /** A topic, without the records that are kept no longer. */
  topic(name: string): FakeTopic {
    const topic = this.topics.get(name)
    if (topic === undefined) throw new Error(`There is no topic '${name}'`)
    for (const log of topic.logs) log.expire(this.clock.now() - topic.retention)
    return topic
  }

  /** One partition of a topic. */
  log(topic: string, partition = 0): FakeLog {
    return this.topic(topic).logs[partition] as FakeLog
  }

  newProducer(): bigint {
    return this.#producers++
  }

  // ── groups ───────────────────────────────────────────────────────────────────────────────────────────

  /** A group, which is made if it is missing. */
  group(name: string): FakeGroup {
    this.groups()
    let group = this.#groups.get(name)
    if (group === undefined) {
      const topicOf = (topic: string) => {
        const { id, logs } = this.topics.get(topic) ?? {}
        return id === undefined ? undefined : { id, partitions: logs?.length ?? 0 }
      }
      group = new FakeGroup(this.#times, topicOf, this.clock.now())
      this.#groups.set(name, group)
    }
    return group
  }

  /** The names of the groups. */
  groups(): string[] {
    for (const [name, group] of this.#groups) if (!group.expire(this.clock.now())) this.#groups.delete(name)
    return [...this.#groups.keys()]
  }

  /** Forgets a group with its positions; its members are told at their next heartbeats. */
  forget(group: string): void {
    this.#groups.delete(group)
  }

  /** The broker that coordinates all groups. */
  get coordinator(): number {
    return this.brokers[0]?.nodeId ?? -1
  }
}
