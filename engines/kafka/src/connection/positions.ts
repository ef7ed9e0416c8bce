/** Looks up positions in partitions: their beginning, their end, and the first record of a time. */
import { grouped } from '../words/grouped.ts'
import type { Cluster } from './cluster.ts'

/** The position in one partition; see `positionsOf`. */
export async function positionOf(
  cluster: Cluster,
  topic: string,
  partition: number,
  timestamp: bigint,
  isolation = cluster.isolation
): Promise<bigint> {
  return (await positionsOf(cluster, topic, [partition], timestamp, isolation)).get(partition) ?? 0n
}

/**
 * Looks up positions in the partitions of a topic.
 * @param timestamp the time of the first record that is wanted, or `LATEST` or `EARLIEST`
 * @param isolation whether the end of a partition is in front of its first open transaction. Default: as the records of
 * users are read
 */
export async function positionsOf(
  cluster: Cluster,
  topic: string,
  partitions: readonly number[],
  timestamp: bigint,
  isolation = cluster.isolation
): Promise<Map<number, bigint>> {
  return cluster.persist([topic], async () => {
    const led = await Promise.all(
      partitions.map(async (partition) => ({ partition, leader: await cluster.leaderOf(topic, partition) }))
    )
    const positions = new Map<number, bigint>()
    for (const [leader, of] of grouped(led, (one) => one.leader)) {
      const wanted = of.map(({ partition }) => partition)
      const answered = await cluster.ask(leader, 'main', (broker) =>
        broker.listOffsets(topic, wanted, timestamp, isolation)
      )
      for (const [partition, offset] of answered) positions.set(partition, offset)
    }
    return positions
  })
}
