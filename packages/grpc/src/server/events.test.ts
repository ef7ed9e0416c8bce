/** Events over gRPC, whose answer says only that they have arrived. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Log, within } from '@elysia-microservices/test-support'
import { PatternNotFoundError } from '@elysia-microservices/transport/kit'
import { grpc } from '../grpc.ts'
import { dispatcherOf, METHODS } from '../testing/service.ts'

const soon = <Value>(promise: Promise<Value>) => within(promise, 'an answer')

async function ends(handler: () => unknown) {
  const log = new Log()
  const transport = grpc({ proto: METHODS, port: 0, host: '127.0.0.1' })
  const server = transport.server({ name: 'test', version: undefined, logger: log.logger })
  await server.start(dispatcherOf({ Event: handler }))
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
