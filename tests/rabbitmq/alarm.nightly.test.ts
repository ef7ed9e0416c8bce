/** A RabbitMQ server without free memory: it reads nothing from connections that publish, until it has memory again. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { rabbitmq } from '@elysia-microservices/rabbitmq'
import { isMissing, PATIENCE, pause, until } from '@elysia-microservices/test-support'
import { microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { rabbitmqForEach } from '../support/rabbitmq-hooks.ts'
import { rabbitmqMissing } from '../support/rabbitmq-server.ts'

if (!isMissing('RabbitMQ without memory', rabbitmqMissing()))
  describe('RabbitMQ without free memory', () => {
    const setup = rabbitmqForEach()
    const { log, cleanUps } = setup
    const transport = () => rabbitmq({ url: setup.server.url, connectTimeout: 2_000, heartbeat: 2_000 })

    async function memory(share: string): Promise<void> {
      const [program, ...rest] = setup.server.ctl('set_vm_memory_high_watermark', share)
      const set = () =>
        promisify(execFile)(program, rest).then(
          () => true,
          () => false
        )
      // On a busy machine the command may give up before it has reached the server.
      await until('RabbitMQ has another limit of memory', set, 2 * PATIENCE)
    }
    const free = () => memory('0.4')
    const fill = () => {
      // Also if the command fails after it has taken effect: all tests share the server.
      cleanUps.push(free)
      return memory('0.000001')
    }

    it('stores a failed event once for its retry, however late', { timeout: 3 * PATIENCE }, async () => {
      const runs: number[] = []
      let fail = () => {}
      const failing = new Promise<void>((resolve) => {
        fail = resolve
      })
      const handler = async ({
        delivery
      }: {
        readonly delivery?: { readonly attempt: number } | undefined
      }) => {
        runs.push(delivery?.attempt ?? 0)
        if (delivery?.attempt === 1) await failing.then(() => Promise.reject(new Error('not yet')))
      }
      for (let n = 0; n < 2; n++) {
        const service = microservice({ name: 'alarm', transport: transport(), logger: log.logger }).event(
          'alarm.x',
          handler,
          { durable: { retry: { attempts: 5, minDelay: 10 } } }
        )
        await service.listen()
        cleanUps.push(() => service.stop())
      }
      await setup.client.publish('alarm.x', 1)
      await until('It runs', () => runs.length === 1)
      await fill()
      fail()
      await until('The late copy is logged', () =>
        log.lines.some((line) => line.includes('has not confirmed'))
      )
      await pause(3_000)
      await free()
      await until('It runs again', () => runs.length > 1)
      await pause(3_000)
      assert.deepEqual(runs, [1, 2])
    })

    it('is named in the log of both ends, and in the errors of calls', {
      timeout: 3 * PATIENCE
    }, async () => {
      const halted = 'RabbitMQ takes no messages at the moment (low on memory)'
      const service = microservice({ name: 'named', transport: transport(), logger: log.logger })
        .message('named.x', () => 1)
        .message('named.count', async function* () {
          for (let n = 0; ; n++) {
            yield n
            await pause(20)
          }
        })
      await service.listen()
      cleanUps.push(() => service.stop())
      const client = connect({ transport: transport(), logger: log.logger })
      cleanUps.push(() => client.close())
      const values = client.stream('named.count')[Symbol.asyncIterator]()
      await values.next()
      await fill()
      await assert.rejects(client.request('named.x', 0, { timeout: 3_000 }), {
        name: 'TimeoutError',
        message: `No answer to 'named.x' within 3000 ms: ${halted}`
      })
      await assert.rejects(client.publish('named.stored', 0, { timeout: 3_000 }), {
        name: 'TimeoutError',
        message: `Nobody has confirmed within 3000 ms that the event 'named.stored' is stored (${halted}); publish it again with its id`
      })
      await log.has(`${halted}; calls and events wait`)
      await log.has(`${halted}; answers wait`)
      await free()
      assert.equal(await client.request('named.x', 0), 1)
      await log.has('RabbitMQ takes messages again')
      await values.return?.()
    })

    it('lets a service stop and a client close', { timeout: 3 * PATIENCE }, async () => {
      const service = microservice({
        name: 'stops',
        drain: 100,
        transport: transport(),
        logger: log.logger
      }).message('stops.x', () => 1)
      await service.listen()
      const client = connect({ transport: transport(), logger: log.logger })
      assert.equal(await client.request('stops.x', 0), 1)
      await fill()
      await assert.rejects(client.request('stops.x', 0, { timeout: 500 }))
      await service.stop()
      await client.close()
    })
  })
