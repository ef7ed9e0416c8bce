/** Where a new group begins in the partitions of a topic: `start` of a durable handler. */
import { type DurableRoute, OptionError, shown } from '@elysia-microservices/transport/kit'
import type { Cluster } from '../connection/cluster.ts'
import { EARLIEST, LATEST, positionsOf } from '../connection/reader.ts'
import { readPosition } from './stored.ts'

type Start = DurableRoute['durable']['start']

/** @throws {OptionError} it is no position of Kafka's */
export function checkStart(pattern: string, start: Start): void {
  if (typeof start !== 'object' || !('after' in start) || readPosition(start.after) !== undefined) return
  throw new OptionError(
    'options.durable.start',
    `The durable event '${pattern}' wants to begin behind '${shown(String(start.after))}', which is no position of Kafka's; give one that publish() has given`
  )
}

/** The positions, by partition. */
export async function beginningsOf(
  cluster: Cluster,
  topic: string,
  partitions: readonly number[],
  start: Start
): Promise<Map<number, bigint>> {
  const at = (time: bigint) => positionsOf(cluster, topic, partitions, time)
  if (start === 'all') return at(EARLIEST)
  const latest = await at(LATEST)
  if (start === 'new') return latest
  const after = 'after' in start ? readPosition(start.after) : undefined
  const since = 'since' in start ? start.since.getTime() : (after?.timestamp ?? 0)
  const positions = await at(BigInt(Math.max(0, since)))
  // Nothing is as new as that.
  for (const [partition, next] of positions)
    if (next < 0n) positions.set(partition, latest.get(partition) ?? 0n)
  if (after !== undefined && positions.has(after.partition))
    positions.set(after.partition, BigInt(after.offset + 1))
  return positions
}
