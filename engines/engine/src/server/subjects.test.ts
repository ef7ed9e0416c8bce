import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Route } from '@elysia-microservices/transport/kit'
import { OncePerQueue, Subjects } from './subjects.ts'

function subjectsOf(
  routes: Readonly<Record<string, Route['kind']>>,
  queues: Readonly<Record<Route['kind'], string | undefined>> = { message: 'q', event: 'q' }
): Subjects {
  return new Subjects(
    Object.entries(routes).map(([route, kind]) => ({ route, kind })),
    String,
    queues
  )
}

/**
 * Returns which subject a message counts for, and how often, if NATS delivers the message to all subscriptions that
 * match.
 */
function counted(
  subjects: Subjects,
  received: readonly string[],
  subject: string,
  kind: Route['kind']
): string[] {
  return subjects.all
    .filter((one) => received.includes(one.address))
    .map((one) => subjects.of(one, subject, kind)?.address)
    .filter((found) => found !== undefined)
}

describe('subjects', () => {
  it('are one for each subject and queue group', () => {
    const subjects = new Subjects(
      [
        { route: 'a', kind: 'message' },
        { route: 'a', kind: 'event' },
        { route: 'b', kind: 'event' },
        { route: 'b', kind: 'event' }
      ],
      String,
      { message: 'q', event: undefined }
    )
    assert.deepEqual(
      subjects.all.map(({ address, queue }) => [address, queue]),
      [
        ['a', 'q'],
        ['a', undefined],
        ['b', undefined]
      ]
    )
  })

  it('count a message once, for the most specific pattern, whichever of a group gets it', () => {
    const subjects = subjectsOf({ 'orders.>': 'message', 'orders.*': 'message', 'orders.new': 'message' })
    for (const received of ['orders.>', 'orders.*', 'orders.new'])
      assert.deepEqual(counted(subjects, [received], 'orders.new', 'message'), ['orders.new'])
    assert.deepEqual(counted(subjects, ['orders.>'], 'orders.a', 'message'), ['orders.*'])
    assert.deepEqual(counted(subjects, ['orders.>'], 'orders.a.b', 'message'), ['orders.>'])
  })

  it('count a message once that comes for every subscription', () => {
    const subjects = subjectsOf(
      { 'audit.>': 'event', 'audit.*': 'event', 'audit.login': 'message' },
      { message: 'q', event: undefined }
    )
    const all = ['audit.>', 'audit.*', 'audit.login']
    assert.deepEqual(counted(subjects, all, 'audit.login', 'event'), ['audit.*'])
    assert.deepEqual(counted(subjects, all, 'audit.login', 'message'), ['audit.login'])
    assert.deepEqual(counted(subjects, ['audit.>', 'audit.*'], 'audit.a', 'event'), ['audit.*'])
    assert.deepEqual(counted(subjects, ['audit.>'], 'audit.a.b', 'event'), ['audit.>'])
  })

  it('may get requests if they are of message handlers, or of events at one address', () => {
    const { all } = subjectsOf({ 'a.*': 'message', 'b.*': 'event', c: 'event', d: 'message' })
    const answering = all.filter(({ answers }) => answers).map(({ address }) => address)
    assert.deepEqual(answering, ['a.*', 'c', 'd'])
  })

  it('count a message once that is for a request and an event of one address, and know which', () => {
    const routes = [
      { route: 'a', kind: 'message' },
      { route: 'a', kind: 'event' }
    ] as const
    const subjects = new Subjects(routes, String, { message: 'q', event: undefined })
    for (const [kind, queue] of [
      ['message', 'q'],
      ['event', undefined]
    ] as const) {
      const chosen = subjects.all.map((one) => subjects.of(one, 'a', kind)).filter((one) => one !== undefined)
      assert.deepEqual(
        chosen.map((one) => one.queue),
        [queue]
      )
    }
  })

  it('leave requests alone that only handlers of many events get: another service answers them', () => {
    const subjects = subjectsOf({ '>': 'event', 'orders.*': 'message', 'mails.sent': 'event' })
    assert.deepEqual(counted(subjects, ['>'], 'users.get', 'message'), [])
    assert.deepEqual(counted(subjects, ['>'], 'users.get', 'message'), [], 'and does so again')
    assert.deepEqual(counted(subjects, ['>'], 'users.get', 'event'), ['>'])
    assert.deepEqual(counted(subjects, ['>'], 'orders.get', 'message'), ['orders.*'])
    assert.deepEqual(counted(subjects, ['>'], 'mails.sent', 'message'), ['mails.sent'])
    assert.deepEqual(
      ['users.get', 'orders.get', 'mails.sent'].map((subject) => subjects.answers(subject)),
      [false, true, true]
    )
  })
})

describe('subjects that are delivered to one by one', () => {
  it('handle a message once for each queue, and once for each subject without a queue', () => {
    const { all } = subjectsOf(
      { 'orders.>': 'event', 'orders.*': 'message', 'orders.placed': 'message' },
      { message: 'q', event: undefined }
    )
    const once = new OncePerQueue(all)
    const addresses = (route: string) => once.of(route).map(({ address }) => address)
    for (let time = 0; time < 2; time++) {
      assert.deepEqual(addresses('orders.placed'), ['orders.placed', 'orders.>'])
      assert.deepEqual(addresses('orders.paid'), ['orders.>', 'orders.*'])
      assert.deepEqual(addresses('orders.paid.late'), ['orders.>'])
      assert.deepEqual(addresses('stock'), [])
    }
  })
})
