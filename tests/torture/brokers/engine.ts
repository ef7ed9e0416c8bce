/** An engine under torture, with the functions that the plans need. */

import type { EngineProcess } from '@elysia-microservices/test-support'
import type { Transport } from 'elysia-microservices'
import type { UntypedStoringClient } from 'elysia-microservices/client'

/** A server, with its address. */
export type BrokerServer = EngineProcess & { readonly url: string }

/** Options of a transport, for engines that have them. */
export interface TransportOptions {
  /** The number of copies of stored events. */
  readonly replicas?: number
  /** Milliseconds without a sign of life after which a durable event is delivered again. */
  readonly ackWait?: number
  /** Milliseconds between PINGs to the server. */
  readonly pingInterval?: number
  /** The name of the connection; the server allows only one connection with a name. */
  readonly clientId?: string
}

/** An engine under torture. */
export interface Broker {
  readonly name: string
  readonly title: string
  readonly missing: string | undefined
  /**
   * Starts a server, or several as one cluster. @param store the folder for events; `undefined`: the server stores no
   * events
   */
  start(nodes: number, store?: string): Promise<readonly BrokerServer[]>
  transport(urls: readonly string[], options?: TransportOptions): Transport
  /** Deletes the stream of a pattern, or the group `torture` in it, as an operator does. */
  delete(url: string, what: 'stream' | 'group', pattern: string): Promise<void>
  /**
   * Whether there are clusters in which each server has a copy; `only`: only one server is under test, and others
   * take over.
   */
  readonly hasCluster: boolean | 'only'
  /** Kills the server on which all others depend, and starts it again after another server has replaced it. */
  failOver?(servers: readonly BrokerServer[]): Promise<void>
  /** Milliseconds after which declared queues survive the loss of their server. Default: none. */
  readonly settlesIn?: number
  /**
   * The megabytes that the server may need, if it only collects garbage when they are used up. Default: 128 more than
   * at the beginning.
   */
  readonly heap?: number
  /** Whether the engine stores no events. */
  readonly storesNothing?: true
  /** Whether the engine stores events also without a group. */
  readonly hasLog: boolean
  /** Whether its logs have partitions, which move between processes; then a group with members cannot be deleted. */
  readonly hasPartitions?: true
  /** The number of dead letters of the group `torture`. */
  countDeadLetters(client: UntypedStoringClient, url: string): Promise<number>
}

/** The number of dead letters, for engines that can list them. */
export async function countListed(client: UntypedStoringClient): Promise<number> {
  let count = 0
  for await (const _ of client.group('torture').deadLetters.list()) count++
  return count
}
