import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Publisher } from '@elysia-microservices/engine'
import { Code } from '../connection/errors.ts'
import type { KafkaConnection } from '../connection/kafka-connection.ts'
import type { Batch, DriverConnection } from '../driver.ts'
import { EventStore } from './event-store.ts'
import type { StoredRecord } from './stored.ts'

/** Publishes an event whose first batch a broker refuses, and then again. @returns the producer and number of each batch */
async function publishTwice(code: number): Promise<string[]> {
  const sent: string[] = []
  let producers = 0n
  const responses = (errorCode: number) => [
    { name: 'p', partitionResponses: [{ index: 0, errorCode, baseOffset: errorCode === 0 ? 0n : -1n }] }
  ]
  const broker: Partial<DriverConnection> = {
    produce: async (_acks, _within, [batch]: readonly Batch[]) => {
      sent.push(`${batch?.by?.producerId} ${batch?.by?.sequence}`)
      if (sent.length > 1) return { responses: responses(0) }
      throw Object.assign(new Error('refused'), { response: { responses: responses(code) } })
    }
  }
  const cluster = {
    options: {},
    topic: () => ({ name: 'p', id: 'id', leaders: [1] }),
    askAny: async () => ({ producerId: ++producers, producerEpoch: 0 }),
    ask: (_node: number, _purpose: string, act: (one: unknown) => unknown) => act(broker),
    refresh: async () => {}
  }
  const told: string[] = []
  const event = { address: 'p', key: undefined, bytes: Buffer.from(''), size: 1 } as unknown as StoredRecord
  const store = new EventStore(
    { isConnected: true, maxPayload: 100, cluster } as unknown as KafkaConnection,
    {
      sentEvent: () => event,
      stored: () => told.push('stored'),
      refused: (_number: number, _error: Error, isForNow: boolean) => told.push(`refused ${isForNow}`)
    } as unknown as Publisher<StoredRecord>
  )
  const answered = async (count: number) => {
    for (let turns = 0; told.length < count && turns < 100; turns++) await new Promise(setImmediate)
  }
  store.append(event, 3)
  await answered(1)
  await new Promise(setImmediate)
  store.append(event, 3)
  await answered(2)
  assert.deepEqual(told, ['refused true', 'stored'])
  return sent
}

it('a producer whose numbers the brokers do not take any more is replaced, and the next one counts from 0', async () => {
  for (const code of [Code.outOfOrderSequence, Code.invalidProducerEpoch, Code.unknownProducer])
    assert.deepEqual(await publishTwice(code), ['1 0', '2 0'], `Code ${code}`)
})
