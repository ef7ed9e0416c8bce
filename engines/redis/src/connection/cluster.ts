/**
 * A cluster of Redis servers, of which all clients and services use one node. A message published at a node is
 * counted only for the subscribers at that node. So all of them use the node with the keys of stored events; these
 * keys have one hash tag, and may move to another node.
 */
import { createConnection, Socket } from 'node:net'
import { connect as connectSecurely } from 'node:tls'
import { OptionError } from '@elysia-microservices/transport/kit'
import { AbstractConnector, Redis, type RedisOptions } from 'ioredis'

/** The slot of the hash tag `{events}`. */
export const SLOT = 9_102

/** The address of a node. */
export interface Node {
  readonly host: string
  readonly port: number
}

/** Finds the node that clients and services use. */
export class Cluster {
  readonly #options: RedisOptions
  /** Nodes to ask, beginning with those that the cluster named last. */
  #nodes: readonly Node[]
  #finding: Promise<Node> | undefined
  /** The node that was found last. */
  #ours: Node | undefined

  /** @param options for a connection to any node */
  constructor(nodes: readonly Node[], options: RedisOptions) {
    this.#nodes = nodes
    this.#options = options
  }

  /**
   * Asks nodes which of them has the slot.
   * @throws the error of the last node, if no node could answer
   * @throws {OptionError} the server does not belong to a cluster
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
            `Redis at ${node.host}:${node.port} is no node of a cluster; leave out options.cluster`
          )
      } finally {
        asked.disconnect()
      }
    }
    throw failure
  }

  /** Whether the slot has moved to another node. @param commands a connection to the node that was found last */
  async hasMoved(commands: Redis): Promise<boolean> {
    const before = this.#ours
    if (before === undefined) return false
    const now = this.#read((await commands.cluster('SLOTS')) as Slots, before)
    return now !== undefined && (now.host !== before.host || now.port !== before.port)
  }

  #read(slots: Slots, asked: Node): Node | undefined {
    // A node that does not know its own host name gives an empty one.
    const nodeOf = ([host, port]: SlotNode): Node => ({ host: host || asked.host, port })
    const named = slots.flatMap(([, , ...nodes]) => nodes.map(nodeOf))
    const all = [...named, ...this.#nodes].map((node) => [`${node.host}:${node.port}`, node] as const)
    this.#nodes = [...new Map(all).values()].slice(0, MAX_NODES)
    const master = slots.find(([from, to]) => from <= SLOT && SLOT <= to)?.[2]
    this.#ours = master === undefined ? undefined : nodeOf(master)
    return this.#ours
  }

  /**
   * The driver's connector: finds the node again at each attempt to connect. If no node can be found, it returns a
   * closed socket, and the driver tries again; after an error it would not.
   */
  get Connector(): NonNullable<RedisOptions['Connector']> {
    const cluster = this
    const { tls, disconnectTimeout = 2_000 } = this.#options
    return class extends AbstractConnector {
      constructor() {
        super(disconnectTimeout)
      }

      async connect() {
        this.connecting = true
        const node = await cluster.find().catch((error: Error) => {
          this.firstError = error
        })
        if (node === undefined || !this.connecting) return new Socket().destroy()
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

/**
 * The largest number of nodes that is remembered; a cluster should have no more. The nodes of the options come last.
 */
const MAX_NODES = 1_000

/** The options of a connection for a single request. */
const ONCE: RedisOptions = {
  lazyConnect: true,
  maxRetriesPerRequest: 0,
  retryStrategy: () => null,
  protocol: 2
}

/** The answer to CLUSTER SLOTS: for each range of slots, its master and its replicas. */
type Slots = readonly (readonly [from: number, to: number, ...nodes: SlotNode[]])[]
type SlotNode = readonly [host: string | null, port: number, ...more: unknown[]]
