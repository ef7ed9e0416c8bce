import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Route } from '@elysia-microservices/transport/kit'
import { Endpoints } from './endpoints.ts'

function endpointsOf(
  routes: Readonly<Record<string, Route['kind']>>,
  queues: Readonly<Record<Route['kind'], string | undefined>> = { message: 'q', event: 'q' }
): Endpoints {
  return new Endpoints(
    Object.entries(routes).map(([route, kind]) => ({ route, kind })),
    queues
  )
}

/** How often a message counts, and for which endpoint, if NATS delivers it to those that match. */
function counted(
  endpoints: Endpoints,
  received: readonly string[],
  subject: string,
  kind: Route['kind']
): string[] {
  return endpoints.all
    .filter((endpoint) => received.includes(endpoint.subject))
    .map((endpoint) => endpoints.of(endpoint, subject, kind)?.subject)
    .filter((found) => found !== undefined)
}

describe('endpoints', () => {
  it('are one for each subject and queue group', () => {
    const endpoints = new Endpoints(
      [
        { route: 'a', kind: 'message' },
        { route: 'a', kind: 'event' },
        { route: 'b', kind: 'event' },
        { route: 'b', kind: 'event' }
      ],
      { message: 'q', event: undefined }
    )
    assert.deepEqual(
      endpoints.all.map(({ subject, queue }) => [subject, queue]),
      [
        ['a', 'q'],
        ['a', undefined],
        ['b', undefined]
      ]
    )
  })

  it('count a message once, for the most specific pattern, whichever of a group gets it', () => {
    const endpoints = endpointsOf({ 'orders.>': 'message', 'orders.*': 'message', 'orders.new': 'message' })
    for (const received of ['orders.>', 'orders.*', 'orders.new'])
      assert.deepEqual(counted(endpoints, [received], 'orders.new', 'message'), ['orders.new'])
    assert.deepEqual(counted(endpoints, ['orders.>'], 'orders.a', 'message'), ['orders.*'])
    assert.deepEqual(counted(endpoints, ['orders.>'], 'orders.a.b', 'message'), ['orders.>'])
  })

  it('count a message once that comes for every subscription', () => {
    const endpoints = endpointsOf(
      { 'audit.>': 'event', 'audit.*': 'event', 'audit.login': 'message' },
      { message: 'q', event: undefined }
    )
    const all = ['audit.>', 'audit.*', 'audit.login']
    assert.deepEqual(counted(endpoints, all, 'audit.login', 'event'), ['audit.*'])
    assert.deepEqual(counted(endpoints, all, 'audit.login', 'message'), ['audit.login'])
    assert.deepEqual(counted(endpoints, ['audit.>', 'audit.*'], 'audit.a', 'event'), ['audit.*'])
    assert.deepEqual(counted(endpoints, ['audit.>'], 'audit.a.b', 'event'), ['audit.>'])
  })

  it('leave requests alone that only handlers of many events get: another service answers them', () => {
    const endpoints = endpointsOf({ '>': 'event', 'orders.*': 'message', 'mails.sent': 'event' })
    assert.deepEqual(counted(endpoints, ['>'], 'users.get', 'message'), [])
    assert.deepEqual(counted(endpoints, ['>'], 'users.get', 'message'), [], 'and does so again')
    assert.deepEqual(counted(endpoints, ['>'], 'users.get', 'event'), ['>'])
    assert.deepEqual(counted(endpoints, ['>'], 'orders.get', 'message'), ['orders.*'])
    assert.deepEqual(counted(endpoints, ['>'], 'mails.sent', 'message'), ['mails.sent'])
    assert.deepEqual(
      ['users.get', 'orders.get', 'mails.sent'].map((subject) => endpoints.answers(subject)),
      [false, true, true]
    )
  })

  it('refuse what NATS has no subject for', () => {
    assert.throws(() => endpointsOf({ 'two words': 'message' }), { name: 'OptionError' })
  })
})
