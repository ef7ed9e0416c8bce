/** Tests the options of a server, including wrong types that JavaScript allows. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { serverOptions, type TcpServerOptions } from './server-options.ts'

describe('the options of a server', () => {
  it('are by default what the documentation says', () => {
    const { host, port, path, reusePort, tls, allow, rsocket } = serverOptions(undefined)
    assert.deepEqual([host, port, path], ['localhost', 4000, undefined])
    assert.deepEqual([reusePort, tls, allow], [false, undefined, undefined])
    assert.deepEqual(rsocket, { resume: undefined })
    assert.deepEqual(serverOptions({ rsocket: { resume: true } }).rsocket.resume, {
      window: 60_000,
      bufferSize: 8_388_608,
      waiting: 1_000,
      waitingSize: 67_108_864
    })
  })

  const cases: [options: unknown, path: string | undefined][] = [
    [{ port: 0 }, undefined],
    [{ port: 65_536 }, 'port'],
    [{ path: '/tmp/a.sock' }, undefined],
    [{ path: 5 }, 'path'],
    [{ reusePort: true }, undefined],
    [{ reusePort: 1 }, 'reusePort'],
    [{ reusePort: true, path: '/tmp/a.sock' }, 'reusePort'],
    [{ reusePort: false, path: '/tmp/a.sock' }, undefined],
    [{ allow: ['::1'] }, undefined],
    [{ allow: [], path: '/tmp/a.sock' }, 'allow'],
    [{ idle: 5 }, 'idle'],
    [{ limits: { idel: 5 } }, 'limits.idel'],
    [{ authenticate: true }, 'authenticate'],
    [{ authenticate: () => true }, undefined],
    [{ rsocket: { resume: false } }, undefined],
    [{ rsocket: { resume: { waiting: 0, waitingSize: 0 } } }, undefined],
    [{ rsocket: { resume: { window: 2 ** 31 } } }, 'rsocket.resume.window'],
    [{ rsocket: { resume: { bufferSize: -1 } } }, 'rsocket.resume.bufferSize'],
    [{ rsocket: { resume: { waiting: -1 } } }, 'rsocket.resume.waiting'],
    [{ rsocket: { resume: { waitingSize: -1 } } }, 'rsocket.resume.waitingSize'],
    [{ rsocket: { keepalive: {} } }, 'rsocket.keepalive']
  ]
  for (const [options, path] of cases)
    it(`${path === undefined ? 'may be' : 'are not'} ${JSON.stringify(options)}`, () => {
      const check = () => serverOptions(options as TcpServerOptions)
      if (path === undefined) check()
      else assert.throws(check, { name: 'OptionError', path: `options.${path}` })
    })
})
