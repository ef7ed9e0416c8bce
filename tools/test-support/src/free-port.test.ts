import assert from 'node:assert/strict'
import { it } from 'node:test'
import { freePort } from './free-port.ts'

it('a free port is found, and another one each time, although a test has left Math.random as it mocked it', async (t) => {
  t.mock.method(Math, 'random', () => 0.5)
  const ports = [await freePort(), await freePort(), await freePort()]
  assert.equal(new Set(ports).size, 3)
})
