/**
 * A cluster of Redis servers, of which all our ends use one node. Who publishes at a node is told who listens at that node,
 * and no other: so all meet where the keys of stored events are, which have one hash tag, whichever node that is by now.
 */
import { createConnection } from 'node:net'
import { connect as connectSecurely } from 'node:tls'
import { OptionError } from '@elysia-microservices/transport/kit'
import { AbstractConnector, Redis, type RedisOptions } from 'ioredis'

/** The slot of the hash tag `{events}`. */
export const SLOT = 9_102

/** Where a node listens. */
export interface Node {
  readonly host: string
  readonly port: number
}

/** Finds our node. */
export class Cluster {
  readonly #options: RedisOptions
  /** Nodes that are asked, those first that the cluster has named last. */
  #nodes: readonly Node[]
  #finding: Promise<Node> | undefined
  /** The one that was found last. */
  #ours: Node | undefined

  /** @param options of a connection to any node */
  constructor(nodes: readonly Node[], options: RedisOptions) {
    this.#nodes = nodes
    this.#options = options
  }

  /**
   * Asks nodes which of them is ours.
   * @throws what the last one says or how it cannot be reached, if none knows
   * @throws {OptionError} a node is a server by itself
   */
  find(): Promise<Node> {
    this.#finding ??= this.#ask().finally(() => {
      this.#finding = undefined
    })
    return this.#finding
  }

  async #ask(): Promise<Node> {
    let failure: Error | undefined
    for (const node of this.#nodes) {
      const asked = new Redis({ ...this.#options, ...node, ...ONCE } as Omit<RedisOptions, 'replyMapping'>)
      let said: Error | undefined
      asked.on('error', (error: Error) => {
        said = error
      })
      try {
        await asked.connect()
        const found = this.#read((await asked.cluster('SLOTS')) as Slots, node)
        if (found !== undefined) return found
        failure = new Error(`CLUSTERDOWN No node of the cluster has the slot ${SLOT}`)
      } catch (error) {
        failure = said ?? (error as Error)
        if (/cluster support disabled/.test(failure.message))
          throw new OptionError(
            'options.cluster',
            `Redis at ${node.host}:${node.port} is no node of a cluster; give options.url in place of options.cluster`
          )
      } finally {
        asked.disconnect()
      }
    }
    throw failure
  }

  /** Whether another node is ours by now. @param commands behind a connection to the one that was found */
  async hasMoved(commands: Redis): Promise<boolean> {
    const before = this.#ours
    if (before === undefined) return false
    const now = this.#read((await commands.cluster('SLOTS')) as Slots, before)
    return now !== undefined && (now.host !== before.host || now.port !== before.port)
  }

  #read(slots: Slots, asked: Node): Node | undefined {
    // A node that does not know how it is called names itself by nothing.
    const nodeOf = ([host, port]: SlotNode): Node => ({ host: host || asked.host, port })
    const named = slots.flatMap(([, , ...nodes]) => nodes.map(nodeOf))
    const all = [...named, ...this.#nodes].map((node) => [`${node.host}:${node.port}`, node] as const)
    this.#nodes = [...new Map(all).values()].slice(0, MAX_NODES)
    const master = slots.find(([from, to]) => from <= SLOT && SLOT <= to)?.[2]
    this.#ours = master === undefined ? undefined : nodeOf(master)
    return this.#ours
  }

  /** Connects the driver to our node, again whenever it has lost it. */
  get Connector(): NonNullable<RedisOptions['Connector']> {
    const cluster = this
    const { tls, disconnectTimeout = 2_000 } = this.#options
    return class extends AbstractConnector {
      constructor() {
        super(disconnectTimeout)
      }

      async connect() {
        this.connecting = true
        const node = await cluster.find()
        if (!this.connecting) throw new Error('The connection was closed')
        const stream =
          tls === undefined ? createConnection({ ...node }) : connectSecurely({ ...node, ...tls })
        stream.once('error', (error: Error) => {
          this.firstError = error
        })
        this.stream = stream
        return stream
      }
    }
  }
}

/** As many as a cluster should have; the nodes that were given come last. */
const MAX_NODES = 1_000

/** A connection that asks once. */
const ONCE: RedisOptions = {
  lazyConnect: true,
  maxRetriesPerRequest: 0,
  retryStrategy: () => null,
  protocol: 2
}

/** The answer of CLUSTER SLOTS: of each range of slots the master, and its replicas. */
type Slots = readonly (readonly [from: number, to: number, ...nodes: SlotNode[]])[]
type SlotNode = readonly [host: string | null, port: number, ...more: unknown[]]
