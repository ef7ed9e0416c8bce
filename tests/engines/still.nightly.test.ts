/** Clients and services whose server stands still: its connections stay, but nothing moves. */
import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { Log, pause } from '@elysia-microservices/test-support'
import { microservice } from 'elysia-microservices'
import { connect, type StoringTransport } from 'elysia-microservices/client'
import { TRIED_ENGINES } from './engines.ts'
import { overEngines } from './needs.ts'

const SHIPPED = TRIED_ENGINES.filter(({ isShipped }) => isShipped)

overEngines(
  'a server that stands still',
  ['server'],
  ({ title, traits, start }, caseOf) => {
    describe(`a server of ${title} that stands still`, () => {
      caseOf('is an error for those who connect', [], async () => {
        const engine = await start()
        const { logger } = new Log()
        const client = connect({ transport: engine.transport() as StoringTransport, logger })
        const service = microservice({ transport: engine.transport(), logger }).message('echo', () => {})
        engine.suspend()
        try {
          const refused = { name: 'ConnectionError', message: new RegExp(`^Cannot reach ${title} at `) }
          await Promise.all([
            assert.rejects(client.connect(), refused),
            assert.rejects(service.listen(), refused)
          ])
        } finally {
          engine.resume()
          await client.close()
          await service.stop()
          await engine.close()
        }
      })

      caseOf('keeps neither a client nor a service from closing', [], async () => {
        const engine = await start()
        const { logger } = new Log()
        const isStored = traits.stores !== undefined
        const app = microservice({ name: 'still', transport: engine.transport(), logger, drain: 1_000 })
        const service = app.message('still.echo', ({ data }) => data)
        if (isStored) service.event('still.stored', () => {}, { durable: {} })
        await service.listen()
        const client = connect({ transport: engine.transport() as StoringTransport, logger })
        try {
          await client.request('still.echo', 1)
          if (isStored) await client.publish('still.stored', 1)
          engine.suspend()
          const waiting: Promise<unknown>[] = [client.emit('still.echo', 2), client.request('still.echo', 3)]
          if (isStored) waiting.push(client.publish('still.stored', 4))
          const ended = Promise.allSettled(waiting)
          await pause(500)
          await Promise.all([service.stop(), client.close()])
          await ended
        } finally {
          engine.resume()
          await client.close()
          await service.stop()
          await engine.close()
        }
      })
    })
  },
  SHIPPED
)
