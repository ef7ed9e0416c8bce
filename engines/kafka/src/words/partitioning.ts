/** Which partition the records for handlers go to. */
import { murmur2 } from '@platformatic/kafka'
import { Cursor, Fetched } from './record.ts'

/** The partition of a key: the same as with Kafka's own clients. */
export function partitionOf(key: string, count: number): number {
  return (murmur2(Buffer.from(key)) & 0x7fffffff) % count
}

/** Makes a function that chooses partitions, as kafkajs's option of this name. */
export type CreatePartitioner = () => (record: {
  readonly topic: string
  readonly partitionMetadata: {
    partitionErrorCode: number
    partitionId: number
    /** The broker that leads the partition; -1: there is none at the moment. */
    leader: number
    replicas: number[]
    isr: number[]
  }[]
  readonly message: { key: string | null; value: string | null; headers: Record<string, string> }
}) => number

/** Chooses the partition of a record; `undefined`: any one. @throws {Error} the user's own function has failed */
export type ChoosePartition = (
  record: { readonly topic: string; readonly key?: string | undefined; readonly bytes: Buffer },
  leaders: readonly number[]
) => number | undefined

const byKey: ChoosePartition = ({ key }, { length }) =>
  key === undefined ? undefined : partitionOf(key, length)

export function choosePartition(create: CreatePartitioner | undefined): ChoosePartition {
  if (create === undefined) return byKey
  const choose = create()
  return ({ topic, bytes }, leaders) => {
    const { keyText, text, headers } = new Fetched(0, 0, new Cursor(bytes), bytes.length)
    const chosen = choose({
      topic,
      partitionMetadata: leaders.map((leader, partitionId) => ({
        partitionErrorCode: 0,
        partitionId,
        leader,
        replicas: [],
        isr: []
      })),
      message: { key: keyText ?? null, value: text ?? null, headers: { ...headers } }
    })
    if (Number.isInteger(chosen) && chosen >= 0 && chosen < leaders.length) return chosen
    throw new RangeError(
      `options.createPartitioner has given ${chosen} for a record of '${topic}', which has ${leaders.length} partitions`
    )
  }
}
