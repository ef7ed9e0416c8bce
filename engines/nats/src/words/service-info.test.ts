import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { MAX_REPLY, type Subject } from '@elysia-microservices/engine'
import { answerDiscovery, identityOf } from './service-info.ts'

/** A service that is asked by NATS's tools. @param maxPayload bytes of a message */
function service(subjects: readonly Partial<Subject>[], maxPayload = 1_000_000) {
  const heard = new Map<string, (message: { readonly reply: string }) => void>()
  const answers: string[] = []
  const connection = {
    maxPayload,
    publish: (_: string, words: string) => void answers.push(words),
    listen: (subject: string, receive: (message: { readonly reply: string }) => void) =>
      void heard.set(subject, receive),
    isInbox: (subject: string) => subject.startsWith('_INBOX.')
  }
  const own = { name: 'orders', version: '1.2.3', id: 'i' }
  answerDiscovery(connection, { ...own, subjects: subjects as readonly Subject[] })
  const ask = (subject: string, reply = '_INBOX.x') => {
    answers.length = 0
    heard.get(subject)?.({ reply })
    return answers.map((words) => JSON.parse(words))
  }
  return { heard, ask, answers }
}

const one = { address: 'orders.*', queue: 'q', requests: 0, errors: 0, time: 0 }

describe("a service, as NATS's tools see it", () => {
  it('hears what all services are asked, those of its name, and itself alone', () => {
    const { heard } = service([])
    const verbs = ['PING', 'INFO', 'STATS']
    assert.deepEqual(
      [...heard.keys()],
      verbs.flatMap((verb) => [`$SRV.${verb}`, `$SRV.${verb}.orders`, `$SRV.${verb}.orders.i`])
    )
  })

  it('answers only to an inbox of a bounded length', () => {
    const { ask } = service([])
    const [answer] = ask('$SRV.PING')
    assert.deepEqual([answer?.type, answer?.id], ['io.nats.micro.v1.ping_response', 'i'])
    const longest = `_INBOX.${'x'.repeat(MAX_REPLY - '_INBOX.'.length)}`
    assert.equal(ask('$SRV.PING', longest).length, 1)
    assert.equal(ask('$SRV.PING', `${longest}x`).length, 0)
    assert.equal(ask('$SRV.PING', 'elsewhere').length, 0)
  })

  it('tells its endpoints with what is known of them, as far as a message of NATS has room', () => {
    const facts = () => ({ schema: 'x'.repeat(50) })
    const metadata = (maxPayload: number) =>
      service([{ ...one, facts }, { address: 'b.>' }], maxPayload).ask('$SRV.INFO')[0]?.endpoints
    assert.deepEqual(metadata(1_000_000), [
      { name: 'orders-any', subject: 'orders.*', queue_group: 'q', metadata: facts() },
      { name: 'b-rest', subject: 'b.>', queue_group: '', metadata: {} }
    ])
    const whole = service([{ ...one, facts }, { address: 'b.>' }])
    whole.ask('$SRV.INFO')
    const most = (whole.answers[0]?.length ?? 0) * 3
    assert.deepEqual(metadata(most)?.[0]?.metadata, facts())
    assert.deepEqual(metadata(most - 1)?.[0]?.metadata, {})
  })

  it('tells how many requests it had, and how long they took, in nanoseconds', () => {
    const { ask } = service([
      one,
      { ...one, requests: 1, time: 3 },
      { ...one, requests: 4, errors: 2, time: 10 }
    ])
    const [{ endpoints = [] } = {}] = ask('$SRV.STATS')
    assert.deepEqual(
      endpoints.map((said: Record<string, number>) => [
        said['num_requests'],
        said['num_errors'],
        said['processing_time'],
        said['average_processing_time']
      ]),
      [
        [0, 0, 0, 0],
        [1, 0, 3_000_000, 3_000_000],
        [4, 2, 10_000_000, 2_500_000]
      ]
    )
  })

  it('has a name and a version in the form that the tools want', () => {
    const context = { logger: { error() {}, warn() {} } }
    const identity = (name?: string, version?: string) =>
      identityOf({ ...context, name, version, instance: 'i' } as Parameters<typeof identityOf>[0])
    assert.deepEqual(identity('my_orders-9 (EU)', '1.2.3-beta'), {
      name: 'my_orders-9-EU-',
      version: '1.2.3-beta',
      id: 'i'
    })
    assert.deepEqual(identity(undefined, 'v1'), { name: 'elysia-microservices', version: '0.0.0', id: 'i' })
  })
})
