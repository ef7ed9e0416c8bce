/** Tests the options of a client, including wrong types that JavaScript allows. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { clientOptions, type TcpClientOptions } from './client-options.ts'
import { serverOptions } from './server-options.ts'
import { nameOfPlace } from './shared-options.ts'

describe('the options of a client', () => {
  it('are by default what the documentation says', () => {
    const { host, port, protocol, connectTimeout, dataMimeType, resilience, rsocket } =
      clientOptions(undefined)
    assert.deepEqual([host, port, protocol, connectTimeout], ['localhost', 4000, 'rsocket', 10_000])
    assert.equal(dataMimeType, 'application/json')
    assert.deepEqual(resilience, {
      connections: 1,
      endpoints: undefined,
      resolveInterval: 30_000,
      reconnect: { minDelay: 100, maxDelay: 1_000 },
      retry: { attempts: 3, minDelay: 50, maxDelay: 1_000, budget: { ratio: 0.2, perSecond: 10 } },
      eject: { failures: 5, ratio: 0.5, window: 10_000, minDelay: 1_000, maxDelay: 30_000 }
    })
    assert.equal(rsocket.lease, false)
    assert.equal(rsocket.resume, undefined)
    assert.deepEqual(rsocket.keepalive, { interval: 20_000, lifetime: 90_000 })
  })

  it('turn on with `true` and with an object of some, and off with `false`', () => {
    const given = { reconnect: false, retry: false, eject: false, rsocket: { resume: false } } as const
    const off = clientOptions(given)
    assert.deepEqual(
      [off.resilience.reconnect, off.resilience.retry, off.resilience.eject, off.rsocket.resume],
      [undefined, undefined, undefined, undefined]
    )
    assert.deepEqual(clientOptions({ rsocket: { resume: true } }).rsocket.resume, {
      window: 60_000,
      bufferSize: 8_388_608
    })
    const some = clientOptions({ retry: { attempts: 1, budget: { ratio: 0 } }, eject: { failures: 1 } })
    assert.deepEqual(some.resilience.retry?.budget, { ratio: 0, perSecond: 10 })
    assert.deepEqual([some.resilience.retry?.attempts, some.resilience.eject?.failures], [1, 1])
  })

  const LONGEST = 2 ** 31 - 1
  const cases: [options: unknown, path: string | undefined][] = [
    [{ port: -1 }, 'port'],
    [{ port: 65_536 }, 'port'],
    [{ port: 0 }, undefined],
    [{ port: 65_535 }, undefined],
    [{ port: 1.5 }, 'port'],
    [{ host: '' }, 'host'],
    [{ host: 5 }, 'host'],
    [{ path: '' }, 'path'],
    [{ path: 'a\0b' }, 'path'],
    [{ path: 'x'.repeat(108) }, 'path'],
    [{ path: 'x'.repeat(103) }, undefined],
    [{ protocol: 'amqp' }, 'protocol'],
    [{ protocol: 'nest' }, undefined],
    [{ connectTimeout: 0 }, 'connectTimeout'],
    [{ connectTimeout: 1 }, undefined],
    [{ connectTimeout: LONGEST }, undefined],
    [{ connectTimeout: LONGEST + 1 }, 'connectTimeout'],
    [{ connections: 0 }, 'connections'],
    [{ connections: 1_024 }, undefined],
    [{ connections: 1_025 }, 'connections'],
    [{ connections: 1.5 }, 'connections'],
    [{ url: [] }, 'url'],
    [{ url: 5 }, 'url'],
    [{ url: 'tcp://a:1' }, undefined],
    [{ url: ['a:1'] }, undefined],
    [{ url: 'a:1', host: 'b' }, 'host'],
    [{ url: 'a:1', path: '/b' }, 'path'],
    [{ url: () => [] }, undefined],
    [{ resolveInterval: 0 }, 'resolveInterval'],
    [{ resolveInterval: 1 }, undefined],
    [{ reconnect: { minDelay: -1 } }, 'reconnect.minDelay'],
    [{ reconnect: { minDelay: 0, maxDelay: 0 } }, undefined],
    [{ reconnect: { minDelay: 5, maxDelay: 4 } }, 'reconnect.maxDelay'],
    [{ retry: { attempts: 0 } }, 'retry.attempts'],
    [{ retry: { budget: { ratio: -1 } } }, 'retry.budget.ratio'],
    [{ retry: { budget: { perSecond: -1 } } }, 'retry.budget.perSecond'],
    [{ retry: { budget: { ratio: 0, perSecond: 0 } } }, undefined],
    [{ eject: { failures: 0 } }, 'eject.failures'],
    [{ eject: { ratio: -0.1 } }, 'eject.ratio'],
    [{ eject: { ratio: 0 } }, undefined],
    [{ eject: { ratio: 1 } }, undefined],
    [{ eject: { ratio: 1.1 } }, 'eject.ratio'],
    [{ eject: { ratio: Number.NaN } }, 'eject.ratio'],
    [{ eject: { window: 0 } }, 'eject.window'],
    [{ eject: { window: 1 } }, undefined],
    [{ codec: 'xml' }, 'codec'],
    [{ codec: 'msgpack' }, undefined],
    [{ codec: 'shapes' }, undefined],
    [{ rsocket: { codec: 'json' } }, 'rsocket.codec'],
    [{ protocol: 'nest', codec: 'msgpack' }, 'codec'],
    [{ protocol: 'nest', rsocket: { lease: true } }, 'rsocket'],
    [{ protocol: 'nest', credentials: { type: 'bearer', token: 'x' } }, 'credentials'],
    [{ protocol: 'nest', codec: 'json' }, undefined],
    [{ rsocket: { keepalive: { interval: 0 } } }, 'rsocket.keepalive.interval'],
    [{ rsocket: { keepalive: { lifetime: 0 } } }, 'rsocket.keepalive.lifetime'],
    [{ rsocket: { keepalive: { interval: 1, lifetime: 1 } } }, undefined],
    [{ rsocket: { resume: { window: -1 } } }, 'rsocket.resume.window'],
    [{ rsocket: { resume: { window: 0, bufferSize: 0 } } }, undefined],
    [{ rsocket: { resume: { window: LONGEST, bufferSize: LONGEST + 1 } } }, undefined],
    [{ rsocket: { resume: { window: LONGEST + 1 } } }, 'rsocket.resume.window']
  ]
  for (const [options, path] of cases)
    it(`${path === undefined ? 'may be' : 'are not'} ${JSON.stringify(options)}`, () => {
      const check = () => clientOptions(options as TcpClientOptions)
      if (path === undefined) check()
      else assert.throws(check, { name: 'OptionError', path: `options.${path}` })
    })
})

describe('the path of a Unix socket', () => {
  it('may be as long as the error about longer ones says, in bytes', () => {
    let longest = 0
    assert.throws(
      () => clientOptions({ path: 'x'.repeat(1_000) }),
      ({ message }: Error) => {
        longest = Number(/of up to (\d+) bytes/.exec(message)?.[1])
        return longest > 100
      }
    )
    assert.equal(clientOptions({ path: 'x'.repeat(longest) }).path?.length, longest)
    assert.throws(() => clientOptions({ path: `${'x'.repeat(longest - 1)}é` }), { path: 'options.path' })
  })
})

describe('the name of a place', () => {
  it('is an address as one writes it', () => {
    assert.equal(nameOfPlace({ host: 'localhost', port: 4_000 }), 'tcp://localhost:4000')
    assert.equal(nameOfPlace({ host: '::1', port: 4_000 }), 'tcp://[::1]:4000')
    // Bun resolves an address in brackets, and Node does not.
    for (const options of [clientOptions({ host: '[::1]' }), serverOptions({ host: '[::1]' })])
      assert.deepEqual([options.host, nameOfPlace(options)], ['::1', 'tcp://[::1]:4000'])
    assert.equal(nameOfPlace({ host: 'localhost', port: 4_000, path: '/a.sock' }), 'unix:/a.sock')
  })
})
