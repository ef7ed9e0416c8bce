import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { addressOf, Links } from './links.ts'
import type { ReceivedSpan } from './otlp.ts'
import { TraceStore } from './store.ts'

const TRACE = '1'.repeat(32)
const span = (id: number, more: Partial<ReceivedSpan> = {}): ReceivedSpan => ({
  trace: TRACE,
  id: `${id}`.padStart(16, '0'),
  parent: '',
  name: 'prices.quote',
  service: 'orders',
  kind: 'client',
  start: id,
  duration: 5,
  attributes: [
    ['rpc.method', 'prices.quote'],
    ['network.transport', 'tcp']
  ],
  logs: [],
  ...more
})
const answered = (id: number, to: number) =>
  span(id, { kind: 'server', service: 'prices', parent: `${to}`.padStart(16, '0') })

function collector() {
  const store = new TraceStore()
  let now = 100_000
  const links = new Links(addressOf, () => now)
  return {
    add(...spans: ReceivedSpan[]) {
      for (const each of spans) {
        store.add(each)
        links.add(each, store)
      }
    },
    pass: (milliseconds: number) => {
      now += milliseconds
    },
    transports: () => links.lately().map(({ transport, pattern, rate }) => [transport, pattern, rate]),
    told: () =>
      links.lately().map(({ from, to, pattern, rate, unheard }) => ({ from, to, pattern, rate, unheard }))
  }
}

describe('the messages that spans show', () => {
  it('are between two services, in whichever order their spans arrive', () => {
    const { add, pass, told } = collector()
    add(span(1), answered(2, 1), answered(4, 3), span(3))
    pass(7_000)
    assert.deepEqual(told(), [
      { from: 'orders', to: 'prices', pattern: 'prices.quote', rate: 0.2, unheard: undefined }
    ])
  })

  it('go over gRPC, also by spans of other libraries and of older conventions', () => {
    const { add, transports } = collector()
    const grpc = (...attributes: [string, string][]) => ({ attributes })
    const newer = grpc(['rpc.system.name', 'grpc'], ['rpc.method', 'shop.v1.Orders/Get'])
    const older = grpc(['rpc.system', 'grpc'], ['rpc.service', 'shop.v1.Orders'], ['rpc.method', 'Get'])
    add(span(1, newer), { ...answered(2, 1), ...newer }, span(3, older), { ...answered(4, 3), ...older })
    assert.deepEqual(transports(), [['grpc', 'shop.v1.Orders/Get', 0.2]])
  })

  it('go to somebody who sends no spans, once there was time for them', () => {
    const { add, pass, told } = collector()
    const nest: Partial<ReceivedSpan> = {
      attributes: [
        ['rpc.method', '{"cmd":"sum"}'],
        ['network.transport', 'tcp'],
        ['server.address', '10.0.0.7'],
        ['server.port', '3001']
      ]
    }
    add(span(1, nest), span(2, { attributes: [['http.request.method', 'GET']] }))
    assert.deepEqual(told(), [])
    pass(7_000)
    assert.deepEqual(told(), [
      {
        from: 'orders',
        to: undefined,
        pattern: '{"cmd":"sum"}',
        rate: 0.1,
        unheard: { name: '10.0.0.7:3001' }
      }
    ])
  })

  it('over an engine are lost where nobody has heard them', () => {
    const { add, pass, told } = collector()
    const error = "PATTERN_NOT_FOUND: There is no handler for the pattern 'prices.quote'"
    const over = (transport: string): ReceivedSpan['attributes'] => [
      ['rpc.method', 'prices.quote'],
      ['network.transport', transport],
      ['error.type', 'PATTERN_NOT_FOUND']
    ]
    add(span(1, { error, attributes: over('nats') }), span(2, { error, attributes: over('tcp') }))
    pass(7_000)
    assert.deepEqual(
      told().map(({ unheard }) => unheard),
      [{ problem: 'Nobody listens over nats' }, {}]
    )
  })

  it('have a receiver that is not reached any more, with the reason, at once', () => {
    const { add, told } = collector()
    const refused = 'CONNECTION: Cannot connect to 127.0.0.1:4001'
    add(span(1), answered(2, 1))
    add(span(3, { error: refused, attributes: [...span(3).attributes, ['error.type', 'CONNECTION']] }))
    assert.deepEqual(told()[1], {
      from: 'orders',
      to: 'prices',
      pattern: 'prices.quote',
      rate: 0.1,
      unheard: { problem: refused }
    })
  })
})
