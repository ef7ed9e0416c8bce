import assert from 'node:assert/strict'
import { it } from 'node:test'
import { OptionError } from '@elysia-microservices/transport/kit'
import { mqttFromNest } from './nest-options.ts'

it('the address of the server may be given as NestJS takes it: whole, in parts, or as a list', () => {
  const urlOf = (given: object) => mqttFromNest(given, []).transport['url']
  const found = [
    { url: 'mqtt://whole:1' },
    { host: 'h', port: 7 },
    { hostname: 'h' },
    { port: 7 },
    { protocol: 'mqtts' },
    { servers: [{ host: 'a', port: 1 }, { host: 'b' }] },
    {}
  ].map(urlOf)
  assert.deepEqual(found, [
    'mqtt://whole:1',
    'mqtt://h:7',
    'mqtt://h',
    'mqtt://localhost:7',
    'mqtts://localhost',
    ['mqtt://a:1', 'mqtt://b'],
    undefined
  ])
})

it('what NestJS can turn off, and is always on here, is taken as it is and refused otherwise', () => {
  const isTaken = (given: object) => {
    try {
      mqttFromNest(given, [])
      return true
    } catch (error) {
      assert.ok(error instanceof OptionError)
      return false
    }
  }
  for (const [name, taken, refused] of [
    ['rejectUnauthorized', [true, 'true'], [false, 'false']],
    ['clean', [true, 'true'], [false, 'false']],
    ['protocol', ['mqtt', 'mqtts', 'tcp', 'ssl'], ['ws', 'wss']]
  ] as const) {
    for (const value of taken) assert.ok(isTaken({ [name]: value }), `${name} ${value}`)
    for (const value of refused) assert.ok(!isTaken({ [name]: value }), `${name} ${value}`)
  }
  assert.deepEqual(
    [false, true].map((nl) => isTaken({ subscribeOptions: { nl } })),
    [true, false]
  )
})

it('user properties become headers of all calls, and seconds milliseconds', () => {
  const { headers, transport } = mqttFromNest({ userProperties: { a: ['1', '2'], b: '3' }, keepalive: 5 }, [])
  assert.deepEqual([headers, transport], [{ a: '1, 2', b: '3' }, { heartbeat: 5_000 }])
  for (const userProperties of ['a', 7])
    assert.throws(
      () => mqttFromNest({ userProperties }, []),
      /options\.userProperties must be an object of texts/
    )
})
