/** How brokers recognize a batch that is sent again: by the id of its producer and by a sequence number. */
import { initProducerIdV5 } from '@platformatic/kafka'
import type { Cluster } from '../connection/cluster.ts'

/** Milliseconds within which all replicas must have stored a batch. */
export const STORED_WITHIN = 10_000

/** The producer id that the brokers gave, which belongs to the sequence numbers. */
export interface ProducerId {
  readonly producerId: bigint
  readonly producerEpoch: number
}

/** Asks any broker for a producer id that nobody else has. */
export function newProducerId(cluster: Cluster): Promise<ProducerId> {
  return cluster.askAny(initProducerIdV5.api, null, 0, -1n, -1)
}

/** The sequence number that follows another one in a partition. */
export function sequenceAfter(sequence: number): number {
  return (sequence + 1) % 2 ** 31
}
