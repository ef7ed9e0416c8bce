/** Tests which handlers get an event. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Dispatcher } from '../dispatcher.ts'
import { ProtocolError } from '../errors/index.ts'
import { IncomingMessage, type IncomingMessageInit, readableHeaders } from '../message.ts'
import { directedHeaders, GROUPS_HEADER } from './directed.ts'
import { dispatcherFor, VIA_PLAIN } from './published.ts'

const DELIVERY = {
  ...{ id: '1', group: 'g', attempt: 1, redelivered: false, key: undefined, age: 0, position: undefined },
  publishedAt: new Date(0)
}
const event = (init: Partial<IncomingMessageInit> = {}) =>
  new IncomingMessage({ transport: 'x', kind: 'event', pattern: 'p', route: 'p', data: 1, ...init })

describe('a server that stores events', () => {
  const heard: (string | undefined)[] = []
  const dispatcher: Dispatcher = {
    routes: () => [{ kind: 'event', route: 'p' }],
    request: ({ data }) => data,
    event: ({ via }) => void heard.push(via)
  }

  it('hands what it has not stored to plain handlers only, and says so itself of what it has', () => {
    const { routes, request, event: handle } = dispatcherFor({ isDurable: true }, dispatcher)
    handle(event())
    handle(event({ delivery: DELIVERY, via: 'g p' }))
    handle(event({ delivery: DELIVERY }))
    assert.deepEqual(heard.splice(0), [VIA_PLAIN, 'g p', undefined])
    assert.deepEqual([routes(), request(event())], [dispatcher.routes(), 1])
  })

  it('reads nothing of what is stored to tell that it is: that is dear, and seldom wanted', () => {
    const stored = {
      metadata: undefined,
      get delivery(): never {
        throw new Error('read')
      }
    }
    dispatcherFor({ isDurable: true }, dispatcher).event(event({ stored, via: undefined }))
    assert.deepEqual(heard.splice(0), [undefined])
  })

  it('leaves out an event for other groups, whatever characters their names have', () => {
    const { event: handle } = dispatcherFor({ isDurable: true }, dispatcher)
    for (const group of ['g', 'a b', 'ü%'])
      handle(
        event({
          delivery: { ...DELIVERY, group },
          metadata: directedHeaders(['a b', 'ü%']),
          via: group
        })
      )
    assert.deepEqual(heard.splice(0), ['a b', 'ü%'])
  })

  it('asks a store that can tell the groups alone for nothing else', () => {
    const dear = (): never => {
      throw new Error('read')
    }
    const stored = {
      get metadata() {
        return dear()
      },
      delivery: DELIVERY,
      own: (name: string) => (name === GROUPS_HEADER ? 'h' : dear())
    }
    dispatcherFor({ isDurable: true }, dispatcher).event(event({ stored }))
    assert.deepEqual(heard.splice(0), [])
  })

  it('hands an event on whose headers cannot be read: only a handler that reads them gets the error', () => {
    const stored = {
      get metadata(): never {
        throw new ProtocolError('The headers of the event cannot be read')
      },
      delivery: DELIVERY
    }
    const strange = event({ stored, via: 'g p' })
    dispatcherFor({ isDurable: true }, dispatcher).event(strange)
    assert.deepEqual(heard.splice(0), ['g p'])
    assert.equal(readableHeaders(strange), undefined)
    assert.throws(() => strange.headers, ProtocolError)
  })

  it('is none if it says nothing: all handlers get the event', () => {
    for (const server of [{}, { isDurable: false }])
      assert.equal(dispatcherFor(server, dispatcher), dispatcher)
  })
})
