import assert from 'node:assert/strict'
import { it } from 'node:test'
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
