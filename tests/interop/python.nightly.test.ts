/** Interop tests with rsocket-py. */
import assert from 'node:assert/strict'
import { refusesSetup } from './cases/limits.ts'
import { testInterop } from './interop.ts'
import { python } from './toolchains.ts'

await testInterop({
  name: 'rsocket-py 0.4.20',
  toolchain: python(),
  asking: {
    'resumes a lost connection: nothing is lost or doubled': [
      'has no way to resume a connection',
      async (given) => {
        const connection = given.peer.connecting(await given.serve(() => {}, { rsocket: { resume: true } }), {
          resume: true
        })
        assert.match((await connection.event('failed')).message, /resumes no connections/)
      }
    ]
  },
  answering: {
    'is noticed when it is dead, and notices': [
      'is noticed when it is dead, and does not notice a dead client',
      async (given) => {
        const options = { rsocket: { keepalive: { interval: 50, lifetime: 500 } } }
        const { client, connection, tap } = await given.connected(options)
        const lost = assert.rejects(client.request('slow', 1), { name: 'ConnectionError', mayHaveRun: true })
        await connection.requested()
        tap.mute()
        await lost
        assert.equal(connection.count('closed'), 0)
      }
    ],
    'resumes a lost connection: nothing is lost or doubled': refusesSetup(
      'refuses clients that want to resume',
      { rsocket: { resume: true } },
      /UNSUPPORTED_SETUP.*Resume not supported/
    )
  }
})
