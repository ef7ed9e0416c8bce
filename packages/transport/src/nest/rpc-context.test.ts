import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ProtocolError } from '../errors/index.ts'
import { IncomingMessage } from '../message.ts'
import { contextOver } from './rpc-context.ts'

describe('the context of a message', () => {
  it('reads no metadata until the handler asks for it: they may be dear, or unreadable', () => {
    const message = new IncomingMessage({
      ...({ transport: 'x', kind: 'event', pattern: 'p', route: 'p', data: 1 } as const),
      get metadata(): never {
        throw new ProtocolError('The headers cannot be read')
      }
    })
    const context = new (contextOver(class {}))(message)
    assert.equal(context.getPattern(), 'p')
    for (const read of [() => context.getMetadata(), () => context.getArgs(), () => context.headers])
      assert.throws(read, ProtocolError)
  })
})
