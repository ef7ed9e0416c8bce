/** Events over gRPC, whose answer says only that they have been taken. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Log, promised, within } from '@elysia-microservices/test-support'
import {
  type Dispatcher,
  Dispatchers,
  durableSettings,
  type EventStore,
  type IncomingMessage,
  memory,
  PatternNotFoundError,
  type ServerTransport
} from '@elysia-microservices/transport/kit'
import { grpc } from '../grpc.ts'
import { dispatcherOf, METHODS } from '../testing/service.ts'

const soon = <Value>(promise: Promise<Value>) => within(promise, 'an answer')

async function ends(
  handler: (message: IncomingMessage) => unknown,
  dispatcher = dispatcherOf({ Event: handler })
) {
  const log = new Log()
  const transport = grpc({ proto: METHODS, port: 0, host: '127.0.0.1' })
  const server = transport.server({ name: 'test', version: undefined, logger: log.logger })
  await server.start(dispatcher)
  const client = grpc({ proto: METHODS, host: '127.0.0.1', port: transport.address!.port }).client({
    logger: log.logger,
    timeout: 10_000,
    dispatcher: undefined
  })
  return { log, server, client, emit: () => soon(client.emit('test.Kinds/Event', 'x')) }
}

describe('an event over gRPC', () => {
  it('is answered before its handler ends, and a service that stops waits for the handler', async () => {
    let end = () => {}
    let hasEnded = false
    const { server, client, emit } = await ends(() =>
      new Promise<void>((resolve) => {
        end = resolve
      }).then(() => {
        hasEnded = true
      })
    )
    await emit()
    const stopped = server.stop({ drain: 10_000 })
    await client.close()
    end()
    await soon(stopped)
    assert.equal(hasEnded, true)
  })

  it('has arrived, although its handler fails, which is logged', async () => {
    const { log, server, client, emit } = await ends(async () => {
      throw new Error('not today')
    })
    await emit()
    await log.has('not today')
    await client.close()
    await server.stop({ drain: 0 })
  })

  it('without a handler is refused', async () => {
    const { server, client, emit } = await ends(() => {
      throw PatternNotFoundError.of('test.Kinds/Event')
    })
    await assert.rejects(emit(), { name: 'PatternNotFoundError' })
    await client.close()
    await server.stop({ drain: 0 })
  })
})

describe('a durable event over gRPC', () => {
  /** A service whose store does with an event as the test says, and whose handler without a store is `plain`. */
  async function stored(publish: () => Promise<unknown>, plain: (message: IncomingMessage) => unknown) {
    const { store } = memory()
    const watched = {
      ...store,
      client: (context) => Object.assign(store.client(context), { publish })
    } as EventStore
    const event = { kind: 'event', route: 'test.Kinds/Event' } as const
    const handlers: Dispatcher = {
      ...dispatcherOf({ Event: plain }),
      routes: () => [event, { ...event, durable: durableSettings(true) }]
    }
    const { logger } = new Log()
    const server = watched.server({ name: 'test', version: undefined, logger })
    const dispatchers = new Dispatchers(handlers, {
      name: 'test',
      transports: [],
      storing: { store: watched, server },
      logger
    })
    const transport = { name: 'grpc' } as ServerTransport
    const made = await ends(plain, dispatchers.of([server, transport]).get(transport))
    const answered = () => soon(assert.rejects(made.client.request('test.Kinds/Unary', 'x'), /no handler/))
    const stop = async () => {
      await made.client.close()
      await soon(made.server.stop({ drain: 10_000 }))
      await dispatchers.close()
    }
    return { ...made, answered, stop }
  }

  it('is answered when it is stored, before its handlers end', async () => {
    const kept = promised<void>()
    const ending = promised<void>()
    const { emit, answered, stop } = await stored(
      () => kept.promise,
      () => ending.promise
    )
    let isTaken = false
    const emitted = emit().then(() => {
      isTaken = true
    })
    // The answer to a call that came behind the event.
    await answered()
    assert.equal(isTaken, false)
    kept.resolve()
    await emitted
    ending.resolve()
    await stop()
  })

  it('is refused if it cannot be stored', async () => {
    const { emit, stop } = await stored(
      () => Promise.reject(new Error('The disk is full')),
      () => {}
    )
    await assert.rejects(emit(), { name: 'RejectedError', message: /cannot store the event at the moment/ })
    await stop()
  })

  it('does not abort its handlers when its sender waits no longer', async () => {
    const begun = promised<AbortSignal>()
    const kept = promised<void>()
    const { client, answered, stop } = await stored(
      () => kept.promise,
      ({ signal }) => begun.resolve(signal)
    )
    const emitted = client.emit('test.Kinds/Event', 'x', { timeout: 20 })
    const signal = await soon(begun.promise)
    await assert.rejects(soon(emitted), { name: 'TimeoutError' })
    await answered()
    assert.equal(signal.aborted, false)
    kept.resolve()
    await stop()
  })
})
