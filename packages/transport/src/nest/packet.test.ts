/** Packets from outside: JSON of any kind. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parsePacket } from './packet.ts'

describe('parsePacket', () => {
  for (const field of ['pattern', 'id', 'data', 'metadata']) {
    it(`refuses a packet whose ${field} is nested deeper than anybody means it`, () => {
      const deep = (levels: number) => `{"${field}":${'['.repeat(levels)}1${']'.repeat(levels)}}`
      assert.ok(field in parsePacket(deep(999)))
      assert.throws(() => parsePacket(deep(1_000)), { name: 'ProtocolError', message: /1000 levels/ })
    })
  }
})
