/** Lines of the log at a start: events that wait for a group which no process handles any more. */
import { type Logger, shown } from '@elysia-microservices/transport/kit'
import type { Cluster } from '../connection/cluster.ts'
import { isForbidden } from '../connection/errors.ts'
import { Group } from '../connection/group.ts'
import { positionsOf } from '../connection/positions.ts'
import { LATEST } from '../driver.ts'

/** A group in Kafka, as users see it. */
export interface Handled {
  readonly group: string
  readonly pattern: string
}

/** Reads the name of a group in Kafka; a group has no dot in its name, and a pattern may have some. */
export function readName(name: string): Handled {
  const dot = name.indexOf('.')
  return { group: name.slice(0, dot), pattern: name.slice(dot + 1) }
}

/**
 * Logs how many events wait for groups that have no process at the moment.
 * @param names the names of the groups in Kafka @param line makes the line about a group
 */
export async function sayWhatIsLeftBehind(
  cluster: Cluster,
  names: readonly string[],
  line: (left: Handled, events: bigint) => string,
  logger: Logger
): Promise<void> {
  for (const name of names) {
    try {
      const left = readName(name)
      const events = await waitingFor(cluster, name, left.pattern)
      if (events > 0n)
        logger.warn(
          `${line(left, events)} If nobody needs it any more, delete it: kafka-consumer-groups.sh --delete --group ${shown(name)}`
        )
    } catch (error) {
      // The groups of others may not be this user's business.
      if (!isForbidden(error))
        logger.warn(`It is not known whether the group '${shown(name)}' still has a process`, error)
    }
  }
}

/** The events that wait for a group without a process; 0: it has one, or is gone. */
async function waitingFor(cluster: Cluster, name: string, pattern: string): Promise<bigint> {
  const topic = await cluster.lookUp(pattern)
  if (topic === undefined) return 0n
  const group = new Group(cluster, name)
  if ((await group.members()).length > 0) return 0n
  const partitions = [...topic.leaders.keys()]
  const committed = await group.committed(
    partitions.map((partition) => ({ topic: pattern, topicId: topic.id, partition }))
  )
  if (committed.length === 0) return 0n
  const ends = await positionsOf(cluster, pattern, partitions, LATEST)
  let events = 0n
  for (const { partition, next, topicId } of committed) {
    const end = ends.get(partition) ?? 0n
    if (topicId === topic.id && end > next) events += end - next
  }
  return events
}
