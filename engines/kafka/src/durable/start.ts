/**
 * The position at which a new group begins in each partition of a topic, by the option `start` of a durable handler.
 */
import { type DurableRoute, OptionError, shown } from '@elysia-microservices/transport/kit'
import type { Cluster } from '../connection/cluster.ts'
import { positionsOf } from '../connection/positions.ts'
import { EARLIEST, LATEST } from '../driver.ts'
import { readPosition } from './stored.ts'

type Start = DurableRoute['durable']['start']

/** @throws {OptionError} the option `start` names an invalid position */
export function checkStart(pattern: string, start: Start): void {
  if (typeof start !== 'object' || !('after' in start) || readPosition(start.after) !== undefined) return
  throw new OptionError(
    'options.durable.start',
    `The durable event '${pattern}' starts after '${shown(String(start.after))}', which is not a position in Kafka; give a position that publish() has returned`
  )
}

/** The first position in each partition, by the number of the partition. */
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
  // The partition has no event that is as new as the time: the group begins at the end of the partition.
  for (const [partition, next] of positions)
    if (next < 0n) positions.set(partition, latest.get(partition) ?? 0n)
  if (after !== undefined && positions.has(after.partition))
    positions.set(after.partition, BigInt(after.offset + 1))
  return positions
}
