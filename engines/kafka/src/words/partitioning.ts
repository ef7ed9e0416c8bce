/** Which partition the events with a key go to: the same as with Kafka's own clients. */
import { murmur2 } from '@platformatic/kafka'

export function partitionOf(key: string, count: number): number {
  return (murmur2(Buffer.from(key)) & 0x7fffffff) % count
}
