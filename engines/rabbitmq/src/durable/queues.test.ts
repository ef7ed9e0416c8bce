import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { DriverChannel, QueueSettings } from '../driver.ts'
import {
  bindingOf,
  exchangeOf,
  GROUPS,
  queueOfDead,
  queueOfGroup,
  queueOfMembers,
  queueOfPaused,
  STORED
} from '../words/names.ts'
import { declareQueues } from './queues.ts'

/** Declares the queues of a handler. @returns the settings of each, and the bindings */
async function declared(ordered: boolean) {
  const queues = new Map<string, Readonly<Record<string, unknown>> | undefined>()
  const bound: string[] = []
  const channel = {
    declareExchange: async () => {},
    declareQueue: async (name: string, settings: QueueSettings) => {
      assert.equal(settings.durable, true)
      queues.set(name, settings.arguments as Readonly<Record<string, unknown>> | undefined)
    },
    bindQueue: async (queue: string, exchange: string, key: string) =>
      void bound.push(`${exchange} ${key} ${queue}`)
  } as unknown as DriverChannel
  await declareQueues(channel, { group: 'g', pattern: 'a.*', ordered, pauses: ['short', 'long'] })
  return { queues, bound }
}

const QUEUE = queueOfGroup('g', 'a.*')

it('queues of a handler lose no event: not when they are full, nor after many deliveries', async () => {
  const { queues } = await declared(false)
  const names = ['short', 'long', queueOfDead('g'), queueOfMembers('g'), queueOfPaused('g'), QUEUE]
  assert.deepEqual([...queues.keys()], names)
  const safe = { 'x-queue-type': 'quorum', 'x-overflow': 'reject-publish', 'x-delivery-limit': 2 ** 31 - 1 }
  for (const settings of queues.values()) assert.deepEqual(settings, safe)
})

it('the queue of an ordered handler, and no other, delivers to one process at a time', async () => {
  const { queues } = await declared(true)
  const single = [...queues].filter(([, settings]) => settings?.['x-single-active-consumer'] === true)
  assert.deepEqual(
    single.map(([name]) => name),
    [QUEUE]
  )
})

it('queues of a handler get its events, its copies, and the marker of a paused group', async () => {
  const { bound } = await declared(false)
  const copies = ['short', 'long', queueOfDead('g'), QUEUE].map(
    (name) => `${exchangeOf('g')} ${name} ${name}`
  )
  const paused = queueOfPaused('g')
  const others = [`${GROUPS} ${paused} ${paused}`, `${STORED} ${bindingOf('a.*')} ${QUEUE}`]
  assert.deepEqual(bound.toSorted(), [...copies, ...others].toSorted())
})
