/** Events: which handlers run, in which order, and how requests to event handlers are answered. */
import { answer, type Case, failure, INTERNAL } from '../case.ts'
import { event, request } from '../harness/wire.ts'

const NO_EVENT = 'There is no matching event handler defined in the remote service. Event pattern:'

export const events: readonly Case[] = [
  {
    name: 'runs the handlers of events in the order of sending, and answers nothing',
    send: [Array.from({ length: 20 }, (_, index) => event('note', index)).join('')],
    expected: { frames: [], seen: Array.from({ length: 20 }, (_, index) => index) }
  },
  {
    name: 'does not wait for one event before the next',
    send: [event('slow-note', 1) + event('slow-note', 2)],
    expected: {
      frames: [],
      seen: [
        ['begin', 1],
        ['begin', 2],
        ['end', 1],
        ['end', 2]
      ]
    }
  },
  {
    name: 'subscribes to the Observable of an event handler',
    send: [event('observable', 1)],
    expected: { frames: [], seen: [['subscribed', 1]] }
  },
  {
    name: 'logs the failure of an event handler and goes on',
    send: [event('failing-event', 1) + event('note', 2)],
    expected: { frames: [], seen: [2], logs: 'event failed' }
  },
  {
    name: 'logs an event nobody handles',
    send: [event('unknown', 1)],
    expected: { frames: [], logs: `${NO_EVENT} unknown` }
  },
  {
    name: 'logs an event of an object pattern nobody handles with the text that came',
    send: [event('{"z":1,"a":2}', 1)],
    expected: { frames: [], logs: `${NO_EVENT} {"z":1,"a":2}` }
  },
  {
    name: 'runs all handlers of an event, although one fails',
    send: [event('shared', 1)],
    expected: {
      frames: [],
      logs: 'b failed',
      seen: [
        ['a', 1],
        ['c', 1]
      ]
    }
  },
  {
    name: 'runs the handler of a message when its pattern comes as an event',
    send: [event('echo', 1)],
    expected: { frames: [] }
  },
  {
    name: 'answers a request of an event pattern with the result of its one handler',
    send: [request('one-answer', 1)],
    expected: { frames: [answer('"r1"')] }
  },
  {
    name: 'answers a request of an event pattern with the results of all its handlers, nested',
    send: [request('three-answers', 1)],
    expected: { frames: [answer('{"current":"r1","next":{"current":"r2","next":"r3"}}')] }
  },
  {
    name: 'answers a request of an event pattern whose handler fails with an error',
    send: [request('failing-event', 1)],
    expected: { frames: [INTERNAL], logs: 'event failed' }
  },
  {
    name: 'answers a request of an event pattern of which one handler fails with its error',
    send: [request('shared', 1)],
    expected: { frames: [failure('{"status":"error","message":"Internal server error"}')] }
  }
]
