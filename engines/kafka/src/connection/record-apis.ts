/**
 * The requests of Kafka's protocol that carry records. They are read and written here, because the driver makes an
 * object for each part of each record.
 */
import { createAPI, fetchV17, produceV11, type Reader, ResponseError, Writer } from '@platformatic/kafka'
import type { Batch, FetchedBytes, Produced } from '../driver.ts'
import { type Aborted, writeBatch } from '../words/batch.ts'
import { grouped } from '../words/grouped.ts'

/** Stores batches (Produce, version 11), at most one for each partition. */
export const produceApi = createAPI<[acks: number, timeout: number, batches: readonly Batch[]], Produced>(
  produceV11.api.key,
  produceV11.api.version,
  (acks: number, timeout: number, batches: readonly Batch[]) => {
    const byTopic = grouped(batches, ({ topic }) => topic)
    return Writer.create()
      .appendString(null)
      .appendInt16(acks)
      .appendInt32(timeout)
      .appendArray([...byTopic], (topic, [name, of]) => {
        topic.appendString(name).appendArray(of, (one, { partition, records, timestamp, by }) => {
          one.appendInt32(partition).appendBytes(writeBatch(records, timestamp, by))
        })
      })
      .appendTaggedFields()
  },
  produceV11.parseResponse
)

/** Fetches records (Fetch, version 17). */
export const fetchApi = createAPI<Parameters<typeof fetchV17.createRequest>, FetchedBytes[]>(
  fetchV17.api.key,
  fetchV17.api.version,
  fetchV17.createRequest,
  (_correlation, key, version, reader) => {
    // The throttle time is not used.
    reader.readInt32()
    const errors: [string, [number, null]][] = []
    const errorCode = reader.readInt16()
    if (errorCode !== 0) errors.push(['', [errorCode, null]])
    // The id of the fetch session is not used.
    reader.readInt32()
    const fetched: FetchedBytes[] = []
    reader.readArray((topic) => {
      const topicId = topic.readUUID()
      topic.readArray((one) => {
        const partition = readPartition(one, topicId)
        if (partition.errorCode !== 0)
          errors.push([`/${topicId}/${partition.partition}`, [partition.errorCode, null]])
        fetched.push(partition)
      })
    })
    if (errors.length > 0) throw new ResponseError(key, version, Object.fromEntries(errors), fetched)
    return fetched
  }
)

function readPartition(reader: Reader, topicId: string): FetchedBytes {
  const partition = reader.readInt32()
  const errorCode = reader.readInt16()
  const end = reader.readInt64()
  // The last stable offset and the first offset of the partition are not used.
  reader.readInt64()
  reader.readInt64()
  const aborted = reader.readArray<Aborted>((transaction) => ({
    producerId: transaction.readInt64(),
    first: Number(transaction.readInt64())
  }))
  // The replica that Kafka prefers for the next fetch request is not used.
  reader.readInt32()
  const size = Math.max(0, reader.readUnsignedVarInt() - 1)
  const bytes = reader.buffer.slice(reader.position, reader.position + size)
  reader.skip(size)
  return { topicId, partition, errorCode, end, aborted, bytes }
}
