/** The connection of a client, from its first use to its end, and what the user is told of it. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { ConnectionError, type ConnectionEvent, OptionError } from '@elysia-microservices/transport/kit'
import type { CarrierListener } from '../carrier.ts'
import { Ends } from '../testing/ends.ts'
import type { TestCarrier } from '../testing/hub.ts'

let ends: Ends
/** The listeners of all connections that were opened, in order. */
let listeners: CarrierListener[]
/** While it is set, connections open when it resolves. */
let opening: Promise<void> | undefined
beforeEach(() => {
  ends = new Ends()
  listeners = []
  opening = undefined
  const open = ends.engine.open.bind(ends.engine)
  ends.engine.open = async (listener) => {
    listeners.push(listener)
    await opening
    return open(listener)
  }
})
afterEach(() => ends.close())

const turn = () => new Promise(setImmediate)
const withoutErrors = (event: ConnectionEvent) =>
  event.type === 'status' ? event.status : `${event.type} ${'endpoint' in event ? event.endpoint : ''}`.trim()

/** Calls that are sent and never answered. */
const HANGS = { hangs: () => new Promise(() => {}) }

describe('a client over an engine', () => {
  it('has one connection, however often and at the same time it is asked for', async () => {
    const client = ends.client()
    await Promise.all([client.connect(), client.connect()])
    await client.connect()
    assert.deepEqual([listeners.length, ends.hub.carriers.size, client.name], [1, 1, 'test'])
  })

  it('tells of its connection: made, lost, back, given up, closed', async () => {
    const client = ends.client()
    const told: string[] = []
    const seen: ConnectionEvent[] = []
    const forget = client.onStatus((event) => void told.push(withoutErrors(event)))
    client.onStatus((event) => void seen.push(event))
    await client.connect()
    assert.deepEqual(told.splice(0), ['connecting', 'connected', 'connected hub'])
    ends.lastCarrier.lose()
    assert.deepEqual(told.splice(0), ['reconnecting', 'disconnected hub'])
    const { error } = seen.at(-1) as Extract<ConnectionEvent, { type: 'disconnected' }>
    assert.ok(error instanceof ConnectionError)
    const message = 'The connection to TEST at hub was lost before the answer came'
    assert.deepEqual([error.message, error.mayHaveRun], [message, true])
    ends.lastCarrier.restore()
    assert.deepEqual(told.splice(0), ['connected', 'connected hub'])
    ends.lastCarrier.end(new Error('expired'))
    assert.deepEqual(told.splice(0), ['disconnected'])
    ends.engine.refusal = new Error('refused')
    await assert.rejects(client.connect(), /refused/)
    assert.deepEqual(told.splice(0), ['connecting', 'disconnected', 'connect-failed hub'])
    forget()
    await client.close()
    assert.deepEqual(told, [])
    assert.deepEqual(client.status, 'closed')
  })

  it('that reaches another server in the end does not say that its calls use others: it has one connection', async () => {
    const client = ends.client()
    ends.engine.refusal = new Error('refused')
    await assert.rejects(client.connect(), /refused/)
    ends.engine.refusal = undefined
    const open = ends.engine.open
    ends.engine.open = async (listener) => Object.assign(await open(listener), { server: 'another' })
    await client.connect()
    assert.deepEqual(ends.log, [])
  })

  it('says in the log why its server is lost, if the engine knows it', async () => {
    const client = ends.client()
    await client.connect()
    const [listener] = listeners as [CarrierListener]
    listener.lost()
    assert.equal(
      ends.log.some((line) => line.includes('was lost:')),
      false
    )
    listener.restored()
    listener.lost('the password has changed')
    assert.ok(
      ends.log.includes('The connection to TEST was lost: the password has changed'),
      ends.log.join('\n')
    )
  })

  it('says why its server takes no messages, in the log and to calls that get no answer, until it takes them', async () => {
    await ends.serve(HANGS)
    const client = ends.client()
    await client.connect()
    const listener = listeners.at(-1) as CarrierListener
    const missed = () =>
      client.request('hangs', 1, { timeout: 5 }).then(
        () => assert.fail('It was answered'),
        ({ message }: Error) => message
      )
    listener.halted?.('memory alarm')
    assert.match(await missed(), /within 5 ms: TEST takes no messages at the moment \(memory alarm\)$/)
    listener.halted?.(undefined)
    assert.match(await missed(), /within 5 ms$/)
    assert.deepEqual(ends.log, [
      'TEST takes no messages at the moment (memory alarm); calls and events wait',
      'TEST takes messages again'
    ])
    listener.halted?.('memory alarm')
    // A server that is lost is another one when it is back.
    listener.lost()
    listener.restored()
    assert.match(await missed(), /within 5 ms$/)
  })

  it('fails the calls of a pattern to which its user may not publish, and only these', async () => {
    await ends.serve(HANGS)
    const client = ends.client()
    await client.connect()
    const other = assert.rejects(client.request('hangs', 1), /closed/)
    ends.hub.pause()
    const refused = client.request('secret', 1)
    const [, listener] = listeners as [CarrierListener, CarrierListener]
    listener.refused('secret', 'listen', new Error('no'))
    listener.refused('secret', 'publish', new Error('no'))
    await assert.rejects(refused, {
      code: 'CONNECTION',
      mayHaveRun: false,
      retryable: false,
      message: "TEST does not let this client publish to 'secret'; give its user the permission"
    })
    assert.equal(client.inFlight, 1)
    ends.hub.resume()
    await client.close()
    await other
  })

  it('throws what cannot be published at the call that sends it, and logs what it cannot handle', async () => {
    await ends.client().connect()
    const [listener] = listeners as [CarrierListener]
    const cause = new Error('a header is too long')
    assert.throws(
      () => listener.unpublished('a', cause),
      (error) => error instanceof OptionError && error.path === 'options.headers' && error.cause === cause
    )
    listener.failed(new Error('a bug'))
    assert.deepEqual(ends.log, ['A message of TEST could not be handled'])
  })

  it('fails what was sent and what waits when its driver gives up, and says which may have run', async () => {
    let runs = 0
    await ends.serve({ hangs: () => new Promise(() => runs++) })
    const client = ends.client()
    const over = { message: 'The connection to TEST has ended' }
    const sent = assert.rejects(client.request('hangs', 1), { ...over, mayHaveRun: true })
    while (runs === 0) await turn()
    ends.lastCarrier.end(new Error('expired'))
    await sent
    await client.connect()
    ends.lastCarrier.lose()
    const waiting = assert.rejects(client.request('hangs', 2), { ...over, mayHaveRun: false })
    ends.lastCarrier.end(new Error('expired'))
    await waiting
    assert.deepEqual([client.inFlight, client.status], [0, 'disconnected'])
  })

  it('hears no more of a connection that was replaced', async () => {
    await ends.serve({ echo: ({ data }) => data })
    const client = ends.client()
    await client.connect()
    const [, old] = listeners as [CarrierListener, CarrierListener]
    ends.lastCarrier.end()
    await client.connect()
    const told: string[] = []
    client.onStatus((event) => void told.push(withoutErrors(event)))
    old.lost('late')
    old.halted?.('late')
    old.restored()
    old.ended(undefined)
    assert.deepEqual([told, ends.log], [[], []])
    assert.equal(await client.request('echo', 1), 1)
  })

  it('that is closed while it connects fails all that waits, at once, and leaves no connection', async () => {
    const client = ends.client()
    let open = () => {}
    opening = new Promise((resolve) => (open = resolve))
    const connecting = assert.rejects(client.connect(), /closed/)
    const call = assert.rejects(client.request('a', 1), { code: 'CONNECTION', mayHaveRun: false })
    await client.close()
    await Promise.all([connecting, call])
    assert.equal(listeners[0]?.signal?.aborted, true)
    open()
    await turn()
    assert.equal(ends.hub.carriers.size, 0)
    assert.equal(client.status, 'closed')
  })

  it('that is closed, perhaps twice, closes its connection and takes no calls', async () => {
    const client = ends.client()
    await client.connect()
    const own: TestCarrier = ends.lastCarrier
    await Promise.all([client.close(), client.close()])
    assert.equal(own.isClosed, true)
    await assert.rejects(client.connect(), /closed/)
    await assert.rejects(client.request('a', 1), /closed/)
    assert.equal(listeners.length, 1)
  })

  it('that is about to close takes no new calls, and what is in flight goes on', async () => {
    let answer = (_: unknown) => {}
    await ends.serve({ slow: () => new Promise((resolve) => (answer = resolve)) })
    const client = ends.client()
    const slow = client.request('slow', 1)
    while (ends.hub.published.length === 0) await turn()
    await turn()
    assert.equal(client.inFlight, 1)
    client.refuse()
    await assert.rejects(client.request('slow', 2), { code: 'CONNECTION', mayHaveRun: false })
    answer('done')
    assert.equal(await slow, 'done')
    assert.equal(client.inFlight, 0)
  })
})
