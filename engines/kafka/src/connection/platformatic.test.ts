import assert from 'node:assert/strict'
import { it } from 'node:test'
import { serverName } from './platformatic.ts'

it("a broker's certificate is asked for by the broker's name, and not by its address", () => {
  assert.equal(serverName('kafka-1.example', undefined), 'kafka-1.example')
  for (const address of ['127.0.0.1', '::1']) assert.equal(serverName(address, undefined), '')
  assert.equal(serverName('127.0.0.1', 'kafka-1.example'), 'kafka-1.example')
})
