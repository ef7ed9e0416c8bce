import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { groupsOf, LastSamples } from './groups.ts'
import type { DurableView, Sample, ServiceSample, ServiceView } from './protocol.ts'

const durable = (pattern: string, more: Partial<DurableView> = {}): DurableView => ({
  pattern,
  group: 'billing',
  redeliveries: 0,
  deadLetters: 0,
  isPaused: false,
  ...more
})
const view = (id: string): ServiceView => ({ id, service: 'billing' })
const sample = (handlers: DurableView[], runs?: number): ServiceSample => ({
  transports: [{ name: 'nats', gauges: [], durable: handlers }],
  outboxes: [],
  calls: [],
  rows:
    runs === undefined
      ? []
      : [{ kind: 'event', pattern: 'a', rate: 1, inFlight: runs, errors: 0, failures: 0 }]
})

describe('groups of durable events', () => {
  it('are put together of all their processes', () => {
    const groups = groupsOf([
      { view: view('one'), sample: sample([durable('a', { lag: 5, redeliveries: 1 }), durable('b')], 2) },
      { view: view('two'), sample: sample([durable('a', { lag: 7, deadLetters: 3, isPaused: true })], 1) }
    ])
    const handler = { services: ['billing'], triedAgain: 0, died: 0, isPaused: false }
    assert.deepEqual(groups, [
      {
        engine: 'nats',
        group: 'billing',
        service: 'billing',
        processes: 2,
        notReached: 0,
        handlers: [
          { ...handler, pattern: 'a', waits: 7, runs: 3, triedAgain: 1, died: 3, isPaused: true },
          { ...handler, pattern: 'b' }
        ]
      }
    ])
  })

  it('do not say what waits and runs in a process that does not answer', () => {
    const told = { view: view('one'), sample: sample([durable('a', { lag: 5, redeliveries: 1 })], 2) }
    const away = { ...told, view: { ...view('two'), isSilent: true as const } }
    const [group] = groupsOf([away])
    const counted = { pattern: 'a', services: ['billing'], triedAgain: 1, died: 0, isPaused: false }
    assert.deepEqual([group?.notReached, group?.handlers], [1, [counted]])
    const [both] = groupsOf([told, away])
    const present = { ...counted, triedAgain: 2, waits: 5, runs: 2 }
    assert.deepEqual([both?.processes, both?.notReached, both?.handlers], [2, 1, [present]])
  })

  it('are no more than can be shown', () => {
    const handlers = Array.from({ length: 3_000 }, (_, n) => durable(`p${n}`, { group: `g${n}` }))
    assert.equal(groupsOf([{ view: view('one'), sample: sample(handlers) }]).length, 1_000)
  })

  it('stay while a process has not answered, and go with it', () => {
    const last = new LastSamples()
    const first: Sample = { at: 0, services: { one: sample([]) } }
    assert.equal(last.take(first, [view('one')]).length, 1)
    assert.equal(last.take({ at: 1, services: {} }, [view('one')]).length, 1)
    assert.equal(last.take({ at: 2, services: {} }, []).length, 0)
    assert.equal(last.take({ at: 3, services: {} }, [view('one'), view('toString')]).length, 0)
  })
})
