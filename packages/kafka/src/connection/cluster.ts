/**
 * The brokers of a Kafka cluster as one end sees them: which there are, who leads which partition,
 * and the look for them when they are lost.
 */
import {
  backoffDelay,
  ConnectionError,
  ListenError,
  UnauthenticatedError
} from '@elysia-microservices/transport/kit'
import { type API, type Connection, deleteTopicsV6, metadataV12 } from '@platformatic/kafka'
import type { CheckedOptions } from '../options/options.ts'
import { isOfProcess } from '../words/names.ts'
import { type Broker, Connections } from './connections.ts'
import { createTopicsApi } from './corrected-apis.ts'
import { Code, codesIn, isUnauthenticated, responseOf } from './errors.ts'

/** Milliseconds between attempts. */
const AGAIN_AFTER = { minDelay: 100, maxDelay: 2_000 }
/** Milliseconds after which it is asked again who leads the partitions, and how many there are. */
const STALE_AFTER = 30_000
/** Milliseconds between looks at something that is being made, or is moving to another broker. */
const SOON = 25
/** Milliseconds for a topic to have leaders. */
const MADE_WITHIN = 20_000

/** A topic, as the brokers tell it. */
export interface Topic {
  readonly name: string
  readonly id: string
  /** The broker that leads each partition; -1: none at the moment. */
  readonly leaders: readonly number[]
}

/** A topic that is to be there. */
export interface WantedTopic {
  readonly name: string
  /** Default: as the options say. */
  readonly partitions?: number
  readonly configs?: Readonly<Record<string, string>>
}

/** Is told what becomes of the brokers. */
export interface ClusterListener {
  lost(): void
  restored(): void
}

/** The brokers behind one end. */
export class Cluster {
  readonly options: CheckedOptions
  readonly #listener: ClusterListener
  readonly #brokers = new Map<number, Broker>()
  readonly #topics = new Map<string, Topic>()
  /** Topics by the id that brokers name them by. */
  readonly #byId = new Map<string, Topic>()
  readonly #connections: Connections
  readonly #stale: ReturnType<typeof setInterval>
  #lookups = new Map<string, Promise<void>>()
  #isConnected = false
  #isClosed = false

  private constructor(options: CheckedOptions, clientId: string, listener: ClusterListener) {
    this.options = options
    this.#listener = listener
    this.#connections = new Connections(options, clientId, () => this.#lost())
    this.#stale = setInterval(() => void this.refresh([...this.#topics.keys()]).catch(() => {}), STALE_AFTER)
    this.#stale.unref?.()
  }

  /**
   * Connects.
   * @throws {ConnectionError} no broker can be reached
   * @throws {UnauthenticatedError} the broker does not accept the credentials
   */
  static async open(options: CheckedOptions, clientId: string, listener: ClusterListener): Promise<Cluster> {
    const cluster = new Cluster(options, clientId, listener)
    try {
      await cluster.#find()
    } catch (error) {
      await cluster.close()
      const message = `Cannot reach Kafka at ${options.where}: ${reasonOf(error)}`
      if (isUnauthenticated(error)) throw new UnauthenticatedError(message, error)
      throw new ConnectionError(message, false, error)
    }
    cluster.#isConnected = true
    return cluster
  }

  get isConnected(): boolean {
    return this.#isConnected
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  // ── brokers ──────────────────────────────────────────────────────────────────────────────────────────

  /** Asks one of the brokers that are named in the options, or that are known, which there are. */
  async #find(): Promise<void> {
    let failure: unknown
    for (const [index, broker] of [...this.options.brokers, ...this.#brokers.values()].entries()) {
      try {
        const connection = await this.#connections.connect(`first ${index}`, broker)
        const { brokers } = await metadataV12.api.async(connection, [], false, false)
        this.#brokers.clear()
        for (const { nodeId, host, port } of brokers)
          this.#brokers.set(nodeId, this.options.advertised ? { host, port } : broker)
        return
      } catch (error) {
        failure ??= error
      }
    }
    throw failure
  }

  /** @param purpose what waits for an answer keeps others of its connection waiting: fetching has connections of its own */
  async connection(node: number, purpose: string): Promise<Connection> {
    const broker = this.#brokers.get(node)
    if (broker === undefined || !this.#isConnected)
      throw new ConnectionError(`Kafka at ${this.options.where} is lost`, false)
    return this.#connections.connect(`${purpose} ${node}`, broker)
  }

  /** Asks a broker. */
  async ask<Args extends unknown[], Answer>(
    node: number,
    purpose: string,
    api: API<Args, Answer>,
    ...args: Args
  ): Promise<Answer> {
    return api.async(await this.connection(node, purpose), ...args)
  }

  /** Asks whichever broker there is. */
  async askAny<Args extends unknown[], Answer>(api: API<Args, Answer>, ...args: Args): Promise<Answer> {
    const [node = -1] = this.#brokers.keys()
    return this.ask(node, 'main', api, ...args)
  }

  /** Ends a connection on which something waits that is not wanted any more. */
  async drop(node: number, purpose: string): Promise<void> {
    await this.#connections.drop(`${purpose} ${node}`)
  }

  #lost(): void {
    if (!this.#isConnected || this.#isClosed) return
    this.#isConnected = false
    void this.#connections.dropAll()
    this.#listener.lost()
    void this.#findAgain()
  }

  async #findAgain(): Promise<void> {
    for (let attempt = 0; !this.#isClosed; attempt++) {
      await soon(backoffDelay(AGAIN_AFTER, attempt, Math.random()))
      try {
        await this.#find()
        if (this.#isClosed) return
        this.#isConnected = true
        await this.refresh([...this.#topics.keys()])
        return this.#listener.restored()
      } catch {
        this.#isConnected = false
        void this.#connections.dropAll()
      }
    }
  }

  /** The brokers that are known. */
  get nodes(): readonly number[] {
    return [...this.#brokers.keys()]
  }

  // ── topics ───────────────────────────────────────────────────────────────────────────────────────────

  /** A known topic. */
  topic(name: string): Topic | undefined {
    return this.#topics.get(name)
  }

  topicById(id: string): Topic | undefined {
    return this.#byId.get(id)
  }

  /** The names of all topics that this user may see. */
  async allTopics(): Promise<string[]> {
    const { topics } = await responseOf(this.askAny(metadataV12.api, null, false, false))
    return topics.flatMap(({ name }) => name ?? [])
  }

  /** Looks a topic up, unless it is known. @returns `undefined`: there is none */
  async lookUp(name: string): Promise<Topic | undefined> {
    const known = this.#topics.get(name)
    if (known !== undefined) return known
    let looking = this.#lookups.get(name)
    if (looking === undefined) {
      looking = this.refresh([name]).finally(() => this.#lookups.delete(name))
      this.#lookups.set(name, looking)
    }
    await looking
    return this.#topics.get(name)
  }

  /** Asks again about topics. @throws {ConnectionError} the broker does not let this user see one */
  async refresh(names: readonly string[]): Promise<void> {
    if (names.length === 0) return
    const { topics, brokers } = await responseOf(this.askAny(metadataV12.api, [...names], false, false))
    if (this.options.advertised)
      for (const { nodeId, host, port } of brokers) this.#brokers.set(nodeId, { host, port })
    for (const { name, topicId, errorCode, partitions } of topics) {
      if (!name) continue
      if (errorCode === Code.topicAuthorization) throw forbidden(name)
      const known = this.#topics.get(name)
      if (known !== undefined) this.#byId.delete(known.id)
      this.#topics.delete(name)
      if (errorCode !== 0 && errorCode !== Code.leaderNotAvailable) continue
      const leaders: number[] = []
      for (const { partitionIndex, leaderId } of partitions) leaders[partitionIndex] = leaderId
      const topic = { name, id: topicId, leaders }
      this.#topics.set(name, topic)
      this.#byId.set(topicId, topic)
    }
  }

  /**
   * Makes topics that are missing. Resolves when each partition has a leader.
   * @throws {ListenError} one is missing, and cannot be made
   */
  async ensure(wanted: readonly WantedTopic[]): Promise<readonly Topic[]> {
    const names = wanted.map(({ name }) => name)
    await this.refresh(names)
    const missing = wanted.filter(({ name }) => !this.#topics.has(name))
    if (missing.length > 0) await this.#make(missing)
    const until = performance.now() + MADE_WITHIN
    while (!names.every((name) => this.#topics.get(name)?.leaders.every((leader) => leader >= 0) ?? false)) {
      if (performance.now() > until)
        throw new ConnectionError(
          `Kafka at ${this.options.where} has no leader for topics of ${names.join(', ')}`,
          false
        )
      await soon(SOON)
      await this.refresh(names)
    }
    return names.map((name) => this.#topics.get(name) as Topic)
  }

  /** Deletes topics, as far as that is allowed. */
  async remove(names: readonly string[]): Promise<void> {
    const topics = names.map((name) => ({ name, topicId: null }))
    if (topics.length > 0) await this.askAny(deleteTopicsV6.api, topics, MADE_WITHIN)
  }

  async #make(wanted: readonly WantedTopic[]): Promise<void> {
    const { partitions, replicas } = this.options
    const topics = wanted.map((topic) => ({
      name: topic.name,
      numPartitions: topic.partitions ?? (isOfProcess(topic.name) ? 1 : partitions),
      replicationFactor: replicas,
      assignments: [],
      configs: Object.entries(topic.configs ?? {}).map(([name, value]) => ({ name, value }))
    }))
    const made = await this.askAny(createTopicsApi, topics, MADE_WITHIN, false)
    for (const { name, errorCode, errorMessage } of made) {
      if (errorCode === 0 || errorCode === Code.topicExists) continue
      const why = errorMessage ?? `error ${errorCode}`
      throw new ListenError(
        `Kafka at ${this.options.where}: the topic '${name}' is missing`,
        new Error(`it cannot be made (${why}); make it, or give this user the right to Create`)
      )
    }
  }

  /**
   * The leader of a partition; looked up again if none is known.
   * @returns -1 if there is none
   */
  async leaderOf(name: string, partition: number): Promise<number> {
    let topic = await this.lookUp(name)
    if ((topic?.leaders[partition] ?? -1) < 0) {
      await this.refresh([name])
      topic = this.#topics.get(name)
    }
    return topic?.leaders[partition] ?? -1
  }

  /**
   * Does something with a broker, again while partitions or groups are moving to another.
   * @param stale topics whose leaders are asked for again
   */
  async persist<Result>(stale: readonly string[], task: () => Promise<Result>): Promise<Result> {
    const until = performance.now() + MADE_WITHIN
    for (;;) {
      try {
        return await task()
      } catch (error) {
        if (
          !this.#isConnected ||
          performance.now() > until ||
          !codesIn(error).some((code) => MOVING.has(code))
        )
          throw error
      }
      await soon(SOON)
      await this.refresh(stale)
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#isConnected = false
    clearInterval(this.#stale)
    await this.#connections.dropAll()
  }
}

/** Errors that pass by themselves: a leader, or a group's coordinator, is being chosen, or has just been. */
const MOVING: ReadonlySet<number> = new Set([
  Code.unknownTopic,
  Code.leaderNotAvailable,
  Code.notLeader,
  Code.coordinatorLoading,
  Code.coordinatorNotAvailable,
  Code.notCoordinator
])

export function soon(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}

function forbidden(topic: string): ConnectionError {
  return new ConnectionError(
    `Kafka does not let this user see the topic '${topic}'; give it the right to Describe`,
    false,
    undefined,
    false
  )
}

function reasonOf(error: unknown): string {
  const { errors, cause, message } = error as { errors?: unknown[]; cause?: unknown; message?: string }
  if (Array.isArray(errors) && errors.length > 0) return reasonOf(errors[0])
  if (cause instanceof Error) return reasonOf(cause)
  return String(message)
}
