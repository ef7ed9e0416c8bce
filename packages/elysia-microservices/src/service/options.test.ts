/** The errors for unknown and invalid options. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { connect } from '../client/index.ts'
import { memory } from '../index.ts'
import { tcp } from '../tcp.ts'
import { microservice } from './microservice.ts'

const ofService = (options: object) => () => microservice(options as never)
const ofClient = (options: object) => () => connect(options as never)

describe('an option that does not exist is refused with the nearest that does', () => {
  const cases: Record<string, [() => unknown, string, RegExp]> = {
    'of TCP, in the short form': [
      ofService({ transport: 'tcp', prot: 1 }),
      'prot',
      /did you mean options\.port\?/
    ],
    'of a service, in the short form': [
      ofService({ transport: 'tcp', drian: 1 }),
      'drian',
      /did you mean options\.drain\?/
    ],
    "of Nest's TCP, which has another name here": [
      ofService({ transport: 'tcp', maxBufferSize: 1 }),
      'maxBufferSize',
      /is called options\.limits\.receiveBuffer here/
    ],
    "of Nest's TCP, of a client": [
      ofClient({ maxSendBufferSize: 1 }),
      'maxSendBufferSize',
      /is called options\.limits\.sendBuffer here/
    ],
    'of TCP, in its value': [() => tcp({ prot: 1 } as never), 'prot', /did you mean options\.port\?/],
    'of a service, beside a value': [
      ofService({ transport: tcp(), drian: 1 }),
      'drian',
      /did you mean options\.drain\?/
    ],
    'of TCP, beside a value': [
      ofService({ transport: tcp(), port: 4000 }),
      'port',
      /pass the options of a transport to the transport, as in tcp\(\{ port: 4000 \}\)/
    ],
    'of TCP, beside a list': [
      ofService({ transport: [tcp()], host: 'x' }),
      'host',
      /pass the options of a transport to the transport/
    ],
    'of TCP, however much it is like one of a service': [
      ofService({ transport: tcp(), tls: {} }),
      'tls',
      /pass the options of a transport to the transport/
    ],
    'of a group of TCP': [
      ofService({ transport: 'tcp', limits: { conections: 1 } }),
      'limits.conections',
      /did you mean options\.limits\.connections\?/
    ],
    'of clients, for a service': [
      ofService({ transport: 'tcp', connectTimeout: 1 }),
      'connectTimeout',
      /is not an option of a TCP server; there are host, port, path, reusePort, tls, allow, authenticate, limits, rsocket$/
    ],
    'of TCP, of a client in the short form': [ofClient({ prot: 1 }), 'prot', /did you mean options\.port\?/],
    'of a client, in the short form': [ofClient({ timout: 1 }), 'timout', /did you mean options\.timeout\?/],
    'of a client, beside a value': [
      ofClient({ transport: memory(), timout: 1 }),
      'timout',
      /did you mean options\.timeout\?/
    ],
    'of TCP, of a client beside a value': [
      ofClient({ transport: tcp(), port: 4000 }),
      'port',
      /pass the options of a transport to the transport, as in tcp\(\{ port: 4000 \}\)/
    ],
    'of services, for a client': [
      ofClient({ reusePort: true }),
      'reusePort',
      /is not an option of a TCP client; there are host, port, path, .*limits, rsocket$/
    ],
    'of a limit, outside of its group': [
      ofService({ transport: 'tcp', connections: 5 }),
      'connections',
      /^options\.connections is not an option of a TCP server; did you mean options\.limits\.connections\?$/
    ],
    'of RSocket, outside of its group': [
      ofClient({ keepalive: {} }),
      'keepalive',
      /^options\.keepalive is not an option of a TCP client; did you mean options\.rsocket\.keepalive\?$/
    ],
    'of RSocket, for clients alone': [
      ofService({ transport: 'tcp', codec: 'msgpack' }),
      'codec',
      /is not an option of a TCP server; there are/
    ],
    'of TLS, outside of its group': [
      ofService({ transport: 'tcp', cert: '' }),
      'cert',
      /did you mean options\.tls\.cert\?/
    ],
    'of TCP, in a value that may be for either end': [
      () => tcp({ idle: 1 } as never),
      'idle',
      /^options\.idle is not an option of TCP; did you mean options\.limits\.idle\?$/
    ],
    'of tests, which no hint tells of': [
      ofService({ transport: 'tcp', socket: {} }),
      'socket',
      /is not an option of a TCP server; (?!.*sockets)/
    ],
    'of `nest`': [
      ofService({ transport: 'tcp', nest: { guard: [] } }),
      'nest.guard',
      /did you mean options\.nest\.guards\?/
    ],
    'of `chaos`': [
      ofService({ transport: 'tcp', chaos: { rule: [] } }),
      'chaos.rule',
      /did you mean options\.chaos\.rules\?/
    ],
    'of a rule of `chaos`': [
      ofService({ transport: 'tcp', chaos: { rules: [{ propability: 1, drop: true }] } }),
      'chaos.rules[0].propability',
      /did you mean options\.chaos\.rules\[0\]\.probability\?/
    ],
    'of memory()': [() => memory({ codek: 'json' } as never), 'codek', /did you mean options\.codec\?/]
  }
  for (const [name, [make, path, message]] of Object.entries(cases)) {
    it(name, () => {
      assert.throws(make, { name: 'OptionError', code: 'OPTION', path: `options.${path}`, message })
    })
  }

  it('but not one that is `undefined`', () => {
    microservice({ transport: 'tcp', prot: undefined } as never)
    microservice({ transport: tcp(), port: undefined } as never)
    connect({ transport: memory(), port: undefined } as never)
  })

  for (const transport of [null, 'udp', [], {}, [tcp(), {}], [tcp(), 'tcp'], 5]) {
    it(`nor is ${JSON.stringify(transport)} a transport`, () => {
      const refused = { name: 'OptionError', path: 'options.transport' }
      assert.throws(ofService({ transport }), refused)
      assert.throws(ofClient({ transport }), refused)
    })
  }

  for (const option of ['name', 'version']) {
    for (const value of ['', 5, null]) {
      it(`nor is ${JSON.stringify(value)} the ${option} of a service`, () => {
        assert.throws(ofService({ transport: memory(), [option]: value }), {
          name: 'OptionError',
          path: `options.${option}`
        })
      })
    }
  }
})

describe('an option is refused if it is not what it must be', () => {
  const LOGGER = /^options\.logger must be an object with the functions error and warn, but is /
  for (const logger of [null, 5, {}, { error() {} }, { warn() {} }, { error: 'x', warn() {} }]) {
    it(`such as a logger that is ${JSON.stringify(logger)}`, () => {
      const refused = { name: 'OptionError', path: 'options.logger', message: LOGGER }
      assert.throws(ofService({ transport: memory(), logger }), refused)
      assert.throws(ofClient({ transport: memory(), logger }), refused)
    })
  }

  for (const drain of [-1, Number.NaN, Number.POSITIVE_INFINITY, 'x', null]) {
    it(`such as a drain of ${drain}`, () => {
      assert.throws(ofService({ transport: memory(), drain }), {
        name: 'OptionError',
        path: 'options.drain',
        message: /^options\.drain must be milliseconds from 0 to 24\.8 days, but is /
      })
    })
  }

  it('but not a logger of more functions, or no drain at all', () => {
    assert.ok(microservice({ transport: memory(), logger: console, drain: 0 }))
    assert.ok(connect({ transport: memory(), logger: console }))
  })
})
