/**
 * The topic with what is known about groups: which are paused, and the positions that are noted for them. Kafka keeps
 * the last record of each key.
 */
import type { WantedTopic } from '../connection/cluster.ts'
import { GROUPS } from '../words/names.ts'

export const GROUPS_TOPIC: WantedTopic = {
  name: GROUPS,
  partitions: 1,
  configs: { 'cleanup.policy': 'compact' }
}
