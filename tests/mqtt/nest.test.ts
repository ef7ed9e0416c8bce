/** NestJS and this library on one mosquitto: what is special to MQTT, and the bytes on the topics. */
import 'reflect-metadata'
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { mqtt } from '@elysia-microservices/mqtt'
import { MicroserviceServer } from '@elysia-microservices/nestjs'
import { isMissing, until } from '@elysia-microservices/test-support'
import { Controller, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import {
  type ClientProxy,
  ClientProxyFactory,
  Ctx,
  EventPattern,
  MessagePattern,
  type MicroserviceOptions,
  type MqttContext,
  MqttRecordBuilder,
  Payload,
  Transport
} from '@nestjs/microservices'
import { microservice } from 'elysia-microservices'
import { connect, type UntypedClient } from 'elysia-microservices/client'
import { connectAsync, type IPublishPacket, type MqttClient } from 'mqtt'
import { firstValueFrom, lastValueFrom } from 'rxjs'
import { MosquittoProcess, mosquittoMissing } from '../support/mosquitto-server.ts'

/** A topic that only the tap uses. */
const MARK = 'until-here'
const seen: unknown[] = []
/** The data of a call that is answered when a test says so. */
const HOLD = 'hold'
/** Each function answers a call that is held. */
const held: (() => void)[] = []

function answerTo(data: unknown): unknown {
  if (data !== HOLD) return data
  return new Promise((resolve) => void held.push(() => resolve(data)))
}

/** A controller as users of NestJS write them for MQTT. */
@Controller()
class PlantsController {
  @MessagePattern('echo')
  echo(@Payload() data: unknown): unknown {
    return answerTo(data)
  }

  @MessagePattern('plants/+/state')
  state(@Ctx() context: MqttContext): string {
    return context.getTopic()
  }

  @MessagePattern('plants/#')
  rest(@Ctx() context: MqttContext): string {
    return `rest ${context.getTopic()}`
  }

  @MessagePattern('$share/workers/jobs/+')
  job(@Ctx() context: MqttContext): string {
    return `job ${context.getTopic()}`
  }

  @MessagePattern('packet')
  packet(@Ctx() context: MqttContext): unknown {
    const { topic, properties } = context.getPacket() as unknown as IPublishPacket
    return [topic, { ...properties?.userProperties }]
  }

  @EventPattern('seen/#')
  seen(@Payload() data: unknown, @Ctx() context: unknown): void {
    seen.push([(context as MqttContext).getTopic(), data])
  }
}

@Module({ controllers: [PlantsController] })
class PlantsModule {}

/** The same service with our API. */
function ours(url: string) {
  return microservice({ name: 'plants', transport: mqtt({ url }), logger: { error() {}, warn() {} } })
    .message('echo', ({ data }) => answerTo(data))
    .message('plants/+/state', ({ pattern }) => pattern)
    .message('plants/#', ({ pattern }) => `rest ${pattern}`)
    .message('$share/workers/jobs/+', ({ pattern }) => `job ${pattern}`)
    .message('packet', ({ pattern, headers }) => [pattern, { ...headers }])
    .event('seen/#', ({ data, pattern }) => void seen.push([pattern, data]))
}

type Start = (url: string) => Promise<() => Promise<unknown>>

async function startNest(options: MicroserviceOptions): Promise<() => Promise<unknown>> {
  const app = await NestFactory.createMicroservice<MicroserviceOptions>(PlantsModule, {
    ...options,
    logger: false
  })
  await app.listen()
  return () => app.close()
}

const SERVICES: readonly (readonly [string, Start])[] = [
  ['Nest', (url) => startNest({ transport: Transport.MQTT, options: { url, protocolVersion: 5 } })],
  [
    'Nest on our transport',
    (url) => startNest({ strategy: new MicroserviceServer({ name: 'plants', transport: mqtt({ url }) }) })
  ],
  [
    'ours',
    async (url) => {
      const service = ours(url)
      await service.listen()
      return () => service.stop()
    }
  ]
]

if (!isMissing('Nest and our transport over MQTT', mosquittoMissing())) {
  describe('over MQTT', () => {
    let server: MosquittoProcess
    let tap: MqttClient
    const lines: string[] = []
    before(async () => {
      server = await MosquittoProcess.start()
      tap = await connectAsync(server.url, { protocolVersion: 5 })
      tap.on('message', (topic, bytes) => void lines.push(`${topic} ${bytes}`))
      await tap.subscribeAsync(['echo', 'echo/reply', 'seen/1', MARK])
    })
    after(async () => {
      await tap.endAsync()
      await server.stop()
    })

    async function taken(count: number): Promise<string[]> {
      await until(`${count} messages on Nest's topics`, () => lines.length >= count)
      return lines.splice(0).map((line) => line.replace(/"id":"[^"]+"/, '"id":"ID"'))
    }

    for (const [name, start] of SERVICES) {
      describe(`a service of ${name}`, () => {
        let stop: () => Promise<unknown>
        let nest: ClientProxy
        let own: UntypedClient
        before(async () => {
          stop = await start(server.url)
          nest = ClientProxyFactory.create({
            transport: Transport.MQTT,
            options: { url: server.url, protocolVersion: 5 }
          })
          own = connect({ transport: mqtt({ url: server.url }) })
          // NestJS's listen() does not wait for its subscriptions.
          await until('its subscriptions', async () => (await own.request('echo', 1).catch(() => 0)) === 1)
        })
        after(async () => {
          await own.close()
          await nest.close()
          await stop()
        })

        for (const [client, ask] of [
          ['Nest', (pattern: string, data: unknown = 0) => firstValueFrom(nest.send(pattern, data))],
          ['ours', (pattern: string, data: unknown = 0) => own.request(pattern, data)]
        ] as const) {
          it(`finds handlers by levels and groups for a client of ${client}`, async () => {
            assert.equal(await ask('plants/7/state'), 'plants/7/state')
            assert.equal(await ask('plants/7'), 'rest plants/7')
            assert.equal(await ask('plants/7/8/9'), 'rest plants/7/8/9')
            assert.equal(await ask('jobs/1'), 'job jobs/1')
          })

          it(`gets user properties of a record of a client of ${client}`, async () => {
            const record = new MqttRecordBuilder(1)
              .setQoS(1)
              .setProperties({ userProperties: { 'x-version': '2' } })
              .build()
            assert.deepEqual(await ask('packet', record), ['packet', { 'x-version': '2' }])
          })

          it(`answers a hundred calls of a client of ${client} at once`, async () => {
            // Nest's client unsubscribes from answers when no call waits, even if the subscriptions of further calls
            // are on their way: then it never hears their answers. So one call waits all the time.
            const waiting = ask('echo', HOLD)
            await until('a call waits', () => held.length > 0)
            const all = await Promise.all(Array.from({ length: 100 }, (_, n) => ask('echo', n))).finally(() =>
              held.pop()?.()
            )
            assert.equal(await waiting, HOLD)
            assert.deepEqual(
              all,
              all.map((_, n) => n)
            )
          })
        }

        it('and both clients write what Nest writes', async () => {
          // The server sends this message to the tap after the messages of earlier tests.
          await tap.publishAsync(MARK, '')
          await until('the mark', () => lines.some((line) => line.startsWith(MARK)))
          lines.length = 0
          const request = 'echo {"pattern":"echo","data":{"x":1},"id":"ID"}'
          const answer = 'echo/reply {"response":{"x":1},"isDisposed":true,"id":"ID"}'
          await firstValueFrom(nest.send('echo', { x: 1 }))
          assert.deepEqual(await taken(2), [request, answer])
          await own.request('echo', { x: 1 })
          // Answers to our own client go to inboxes, which the tap does not read.
          const expected = name === 'Nest' ? [request, answer] : [request]
          assert.deepEqual(await taken(expected.length), expected)
          seen.length = 0
          await lastValueFrom(nest.emit('seen/1', { e: 1 }), { defaultValue: undefined })
          assert.deepEqual(await taken(1), ['seen/1 {"pattern":"seen/1","data":{"e":1}}'])
          await own.emit('seen/1', { e: 1 })
          assert.deepEqual(await taken(1), ['seen/1 {"pattern":"seen/1","data":{"e":1}}'])
          await until('both events', () => seen.length >= 2)
          assert.deepEqual(seen, [
            ['seen/1', { e: 1 }],
            ['seen/1', { e: 1 }]
          ])
        })
      })
    }
  })
}
