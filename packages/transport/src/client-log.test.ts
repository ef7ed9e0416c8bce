/** The log of a client's failures is short: it has one line for each change. */
import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import type { ConnectionEvent } from './connection-event.ts'
import { RejectedError } from './errors/index.ts'
import { Notices } from './notices.ts'

const [A, B] = ['10.0.0.1:4000', '10.0.0.2:4000']
const error = new Error('connection refused')
const retry = { type: 'retry', pattern: 'sum', endpoint: A, attempt: 1, delay: 0, error } as const

describe("a client's log", () => {
  let lines: string[]
  let notices: Notices
  beforeEach(() => {
    lines = []
    notices = new Notices({
      error: () => assert.fail('it is no error'),
      warn: (line, cause) => {
        assert.equal(cause, undefined)
        lines.push(line)
      }
    })
  })
  const tell = (
    ...events: (ConnectionEvent | { readonly type: 'status'; readonly status: Notices['status'] })[]
  ) => {
    for (const event of events) {
      if (event.type === 'status') notices.status = event.status
      else notices.tell(event)
    }
  }
  const connected = (endpoint: string) => tell({ type: 'connected', endpoint })
  const failed = (endpoint: string) => tell({ type: 'connect-failed', endpoint, error })

  it('says nothing of a client that connects, calls and closes', () => {
    tell({ type: 'status', status: 'connecting' })
    connected(A)
    tell(
      { type: 'status', status: 'connected' },
      { type: 'endpoints', endpoints: [A] },
      { type: 'status', status: 'closed' }
    )
    assert.deepEqual(lines, [])
  })

  it('says nothing where the first connection cannot be made: callers are told', () => {
    failed(A)
    failed(A)
    connected(A)
    assert.deepEqual(lines, [])
  })

  it('says nothing of elsewhere where there is one connection, whatever its server is called', () => {
    const logger = { error: assert.fail, warn: (line: string) => void lines.push(line) }
    notices = new Notices(logger, 'disconnected', true)
    failed('localhost:4222')
    connected(A)
    tell({ type: 'disconnected', endpoint: A, error }, { type: 'status', status: 'reconnecting' })
    connected(B)
    tell({ type: 'status', status: 'connected' })
    tell({ type: 'disconnected', endpoint: B, error }, { type: 'status', status: 'reconnecting' })
    connected(A)
    const lost = (endpoint: string) => `The connection to ${endpoint} is lost: connection refused`
    assert.deepEqual(lines, [lost(A), `Connected to ${B}`, lost(B), `Connected to ${A}`])
  })

  it('says once that a connection is lost, and that it is back', () => {
    connected(A)
    tell(
      { type: 'disconnected', endpoint: A, error: new Error('reset\u001b[2J') },
      { type: 'status', status: 'reconnecting' }
    )
    for (let attempt = 1; attempt <= 10; attempt++) {
      tell({ type: 'reconnecting', endpoint: A, attempt, delay: 100 })
      failed(A)
    }
    connected(A)
    tell({ type: 'status', status: 'connected' })
    assert.deepEqual(lines, [`The connection to ${A} is lost: reset\\u{1b}[2J`, `Connected to ${A} again`])
  })

  it('says nothing where a server says that it stops, and is back at once', () => {
    connected(A)
    tell({ type: 'disconnected', endpoint: A, error: undefined }, { type: 'status', status: 'reconnecting' })
    connected(A)
    assert.deepEqual(lines, [])
  })

  it('says where else it is connected', () => {
    connected(A)
    tell({ type: 'disconnected', endpoint: A, error }, { type: 'status', status: 'reconnecting' })
    connected(B)
    connected(A)
    assert.deepEqual(lines, [
      `The connection to ${A} is lost: connection refused`,
      `Connected to ${B}`,
      `Connected to ${A} again`
    ])
  })

  it('says nothing of further connections, once it has said that it is back', () => {
    connected(A)
    tell({ type: 'disconnected', endpoint: A, error }, { type: 'status', status: 'reconnecting' })
    connected(A)
    tell({ type: 'status', status: 'connected' })
    failed(B)
    connected(A)
    assert.deepEqual(lines, [
      `The connection to ${A} is lost: connection refused`,
      `Connected to ${A} again`,
      `Cannot connect to ${B}: connection refused`
    ])
  })

  it('says which of several endpoints cannot be reached from the start', () => {
    failed(A)
    connected(B)
    failed(A)
    assert.deepEqual(lines, [`Cannot connect to ${A}; calls use the other servers`])
  })

  it('forgets endpoints that are not looked up any more', () => {
    connected(B)
    failed(A)
    tell({ type: 'endpoints', endpoints: [B] }, { type: 'endpoints', endpoints: [A, B] })
    failed(A)
    assert.deepEqual(
      lines.map((line) => line.includes(A)),
      [true, true]
    )
  })

  it('reports ejections and retried calls, at most five and one line in a while', () => {
    tell({ type: 'ejected', endpoint: A, delay: 900.5 }, { type: 'restored', endpoint: A })
    for (let n = 0; n < 100; n++) tell(retryOf(`sum${n}`))
    assert.deepEqual(lines, [
      `${A} fails too often and gets no calls for up to 901 ms`,
      `${A} gets calls again`,
      "Retrying 'sum0': connection refused"
    ])
    for (let n = 0; n < 100; n++) tell({ type: 'ejected', endpoint: A, delay: 1 })
    assert.equal(lines.length, 3 + 4)
    for (let n = 0; n < 3; n++) tell({ type: 'resolve-failed', error })
    assert.deepEqual(lines.slice(7), [
      'The endpoints cannot be looked up; the known ones stay in use: connection refused'
    ])
  })

  it('says of calls that were refused only if they are refused again', () => {
    const refused = { ...retry, error: new RejectedError('it stops'), headers: undefined }
    tell(refused)
    assert.deepEqual(lines, [])
    tell({ ...refused, attempt: 2 })
    assert.deepEqual(lines, ["Retrying 'sum': it stops"])
  })

  it('survives errors of every kind', () => {
    connected(A)
    const odd = {
      get message(): string {
        throw new Error()
      }
    } as Error
    tell({ type: 'resolve-failed', error: odd }, { type: 'disconnected', endpoint: A, error: null as never })
    assert.equal(lines.length, 2)
  })
})

function retryOf(pattern: string): ConnectionEvent {
  return { ...retry, pattern, headers: undefined }
}
