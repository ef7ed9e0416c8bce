/** The names of those who send no spans. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Programs, ProgramView } from '../programs.ts'
import { Traces } from './traces.ts'

const NEST: ProgramView = {
  name: 'nest-stock',
  state: 'ready',
  ports: ['3900', '9464 (health)'],
  starts: 1,
  since: 0,
  services: []
}
const attribute = (key: string, stringValue: string) => ({ key, value: { stringValue } })

/** A call that has reached nobody. */
function callTo(host: string, port: string, id: string): object {
  const attributes = [
    attribute('rpc.method', 'sum'),
    attribute('error.type', 'CONNECTION'),
    attribute('server.address', host),
    attribute('server.port', port)
  ]
  const span = { traceId: id.repeat(32), spanId: id.repeat(16), name: 'sum', kind: 3, attributes }
  const resource = { attributes: [attribute('service.name', 'orders')] }
  return { resourceSpans: [{ resource, scopeSpans: [{ spans: [span] }] }] }
}

describe('a peer that sends no spans', () => {
  it('has the name of the program or service that listens at its address, also while that does not run', () => {
    let all: readonly ProgramView[] = [NEST, { ...NEST, ports: ['4000'], services: ['stock'] }]
    const programs: Programs = {
      list: () => all,
      lines: () => ({ last: 0, lines: [] }),
      environment: () => [],
      act() {}
    }
    const traces = new Traces(programs)
    const names = () => traces.latest().links.map(({ unheard }) => unheard?.name)
    traces.receive('traces', callTo('127.0.0.1', '3900', '1'))
    all = [{ ...NEST, state: 'crashed', ports: [] }]
    for (const [host, port, id] of [
      ['localhost', '3900', '2'],
      ['127.0.0.1', '4000', '3'],
      ['127.0.0.1', '5000', '4'],
      ['10.0.0.7', '3900', '5']
    ] as const)
      traces.receive('traces', callTo(host, port, id))
    assert.deepEqual(names(), ['nest-stock', 'stock', 'localhost:5000', '10.0.0.7:3900'])
    const alone = new Traces()
    alone.receive('traces', callTo('127.0.0.1', '3900', '1'))
    assert.equal(alone.latest().links[0]?.unheard?.name, 'localhost:3900')
  })
})
