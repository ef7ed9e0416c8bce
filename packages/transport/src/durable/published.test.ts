/** Tests which handlers get an event. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Dispatcher } from '../dispatcher.ts'
import { IncomingMessage, type IncomingMessageInit } from '../message.ts'
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

  it('is none if it says nothing: all handlers get the event', () => {
    for (const server of [{}, { isDurable: false }])
      assert.equal(dispatcherFor(server, dispatcher), dispatcher)
  })
})
