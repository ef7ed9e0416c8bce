/**
 * The topics of a Kafka cluster as one client or service knows them: which topics exist, and which broker leads each
 * partition.
 */
import { repeat } from '@elysia-microservices/engine'
import { ConnectionError, ListenError } from '@elysia-microservices/transport/kit'
import { type Driver, Isolation } from '../driver.ts'
import type { CheckedOptions } from '../options/options.ts'
import { isOfProcess } from '../words/names.ts'
import { Brokers, type BrokersListener, soon } from './brokers.ts'
import { answeredWith, Code, codesIn, isForbidden, isUnreached, responseOf } from './errors.ts'

/** Milliseconds between refreshes of the known topics: their leaders, and their number of partitions. */
const STALE_AFTER = 30_000
/** Milliseconds between checks whether a topic has been created, or a partition has moved to another broker. */
const SOON = 25
/** Milliseconds between checks whether the brokers have elected a leader. */
const SHORTLY = 100
/** Milliseconds within which brokers that have just started can hold partitions. */
const STARTED_WITHIN = 5_000
/** Milliseconds within which all partitions of a new topic must have a leader. */
const MADE_WITHIN = 20_000

/** A topic as the brokers describe it. */
export interface Topic {
  readonly name: string
  readonly id: string
  /** The broker that leads each partition; -1: the partition has no leader at the moment. */
  readonly leaders: readonly number[]
}

/** A topic that is created if it is missing. */
export interface WantedTopic {
  readonly name: string
  /** Default: the option `partitions`. */
  readonly partitions?: number
  readonly configs?: Readonly<Record<string, string>>
}

/** The brokers that one client or service is connected to, and their topics. */
export class Cluster extends Brokers {
  readonly #topics = new Map<string, Topic>()
  /** Topics by id: in some answers, brokers name a topic by its id only. */
  readonly #byId = new Map<string, Topic>()
  readonly #stopRefreshing: () => void
  #lookups = new Map<string, Promise<void>>()
  readonly #moved = new Set<(topic: string) => void>()

  private constructor(driver: Driver, options: CheckedOptions, clientId: string, listener: BrokersListener) {
    super(driver, options, clientId, listener)
    this.#stopRefreshing = repeat(() => void this.refreshAll().catch(() => {}), STALE_AFTER)
  }

  /**
   * Connects.
   * @throws {ConnectionError} no broker can be reached
   * @throws {UnauthenticatedError} the broker does not accept the credentials
   */
  static async open(
    driver: Driver,
    options: CheckedOptions,
    clientId: string,
    listener: BrokersListener
  ): Promise<Cluster> {
    const cluster = new Cluster(driver, options, clientId, listener)
    await cluster.connect()
    return cluster
  }

  /** How the records of users' topics are read. Nobody writes to this library's own topics in transactions. */
  get isolation(): Isolation {
    return this.options.readUncommitted ? Isolation.uncommitted : Isolation.committed
  }

  /** A topic whose description is known already. */
  topic(name: string): Topic | undefined {
    return this.#topics.get(name)
  }

  topicById(id: string): Topic | undefined {
    return this.#byId.get(id)
  }

  /** The names of all topics that this user may see. */
  async allTopics(): Promise<string[]> {
    const { topics } = await responseOf(this.askAny((broker) => broker.metadata(null)))
    return topics.flatMap(({ name }) => name ?? [])
  }

  /**
   * Returns a topic, and asks the brokers for it unless it is known. @returns `undefined`: the topic does not exist
   */
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

  /**
   * Registers a function that is called when a partition of a topic has a new leader. @returns removes the function
   * again
   */
  onMoved(moved: (topic: string) => void): () => void {
    this.#moved.add(moved)
    return () => this.#moved.delete(moved)
  }

  protected async refreshAll(): Promise<void> {
    try {
      await this.refresh([...this.#topics.keys()])
    } catch (error) {
      // A topic that this user may no longer see is no longer known. Code that uses it asks for it, and is refused.
      if (!isForbidden(error)) throw error
    }
  }

  /**
   * Asks the brokers again for the description of topics. @throws {ConnectionError} the broker does not let this user
   * see one of the topics
   */
  async refresh(names: readonly string[]): Promise<void> {
    if (names.length === 0) return
    const { topics, brokers } = await responseOf(this.askAny((broker) => broker.metadata(names)))
    if (this.options.advertised) this.know(brokers)
    let unseen: string | undefined
    for (const { name, topicId, errorCode, partitions } of topics) {
      if (!name) continue
      const known = this.#topics.get(name)
      if (known !== undefined) this.#byId.delete(known.id)
      this.#topics.delete(name)
      if (errorCode === Code.topicAuthorization) unseen ??= name
      if (errorCode !== 0 && errorCode !== Code.leaderNotAvailable) {
        // Readers of the topic ask until it is there again.
        if (known !== undefined) for (const moved of this.#moved) moved(name)
        continue
      }
      const leaders: number[] = []
      for (const { partitionIndex, leaderId } of partitions) leaders[partitionIndex] = leaderId
      const topic = { name, id: topicId, leaders }
      this.#topics.set(name, topic)
      this.#byId.set(topicId, topic)
      if (known === undefined || known.leaders.some((leader, index) => leader !== leaders[index]))
        for (const moved of this.#moved) moved(name)
    }
    if (unseen !== undefined) throw forbidden(unseen)
  }

  /**
   * Creates the topics that are missing. Resolves when each partition of each topic has a leader.
   * @throws {ListenError} a topic is missing and cannot be created
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
          `Kafka at ${this.options.where} has topics without a leader: ${names.join(', ')}`,
          false
        )
      await soon(SOON)
      await this.refresh(names)
    }
    return names.map((name) => this.#topics.get(name) as Topic)
  }

  /** Deletes topics. Topics that this user may not delete stay. */
  async remove(names: readonly string[]): Promise<void> {
    if (names.length > 0) await this.askAny((broker) => broker.deleteTopics(names, MADE_WITHIN))
  }

  async #make(wanted: readonly WantedTopic[]): Promise<void> {
    const { partitions, replicas } = this.options
    const topics = wanted.map((topic) => ({
      name: topic.name,
      partitions: topic.partitions ?? (isOfProcess(topic.name) ? 1 : partitions),
      replicas,
      configs: topic.configs ?? {}
    }))
    const make = () => this.askAny((broker) => broker.createTopics(topics, MADE_WITHIN))
    let made = await make()
    // Brokers that have just started can only hold partitions a moment later.
    const until = performance.now() + STARTED_WITHIN
    while (made.some(({ errorCode }) => errorCode === Code.invalidReplicas) && performance.now() < until) {
      await soon(SHORTLY)
      made = await make()
    }
    for (const { name, errorCode, errorMessage } of made) {
      if (errorCode === 0 || errorCode === Code.topicExists) continue
      const why = errorMessage ?? `error ${errorCode}`
      throw new ListenError(
        `Kafka at ${this.options.where}: the topic '${name}' is missing`,
        new Error(`it cannot be created (${why}); create the topic, or give this user the right to Create`)
      )
    }
  }

  /**
   * Returns the leader of a partition. While a leader is being elected, waits for the election to end.
   * @returns -1 if the partition does not exist, or still has no leader
   */
  async leaderOf(name: string, partition: number): Promise<number> {
    await this.lookUp(name)
    for (const until = performance.now() + MADE_WITHIN; ; await soon(SHORTLY)) {
      const leader = this.#topics.get(name)?.leaders[partition]
      if (leader !== undefined && leader >= 0) return leader
      if (performance.now() > until) return -1
      await this.refresh([name])
      if (this.#topics.get(name)?.leaders[partition] === undefined) return -1
    }
  }

  /**
   * Runs a task that asks a broker, and repeats the task while partitions or coordinators are moving to another
   * broker.
   * @param stale topics whose leaders are asked for again before the task is repeated
   */
  async persist<Result>(stale: readonly string[], task: () => Promise<Result>): Promise<Result> {
    const until = performance.now() + MADE_WITHIN
    for (;;) {
      try {
        return await task()
      } catch (error) {
        const isMoving = isUnreached(error) || codesIn(error).some((code) => MOVING.has(code))
        if (!isMoving || !this.isConnected || performance.now() > until) throw error
      }
      await soon(SOON)
      await this.refresh(stale)
    }
  }

  override async close(): Promise<void> {
    this.#stopRefreshing()
    await super.close()
  }
}

/**
 * Errors that pass by themselves: a partition's leader or a group's coordinator is being elected, or has just been
 * elected.
 */
const MOVING: ReadonlySet<number> = new Set([
  Code.unknownTopic,
  Code.leaderNotAvailable,
  Code.notLeader,
  Code.coordinatorLoading,
  Code.coordinatorNotAvailable,
  Code.notCoordinator
])

function forbidden(topic: string): ConnectionError {
  return new ConnectionError(
    `Kafka does not let this user see the topic '${topic}'; give the user the right to Describe`,
    false,
    answeredWith(Code.topicAuthorization, 'a topic is looked up'),
    false
  )
}
