/** Devices, retained messages and wills: what MQTT has besides calls. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type MqttOptions, mqtt } from '@elysia-microservices/mqtt'
import { isMissing, Log, PATIENCE, until, Values } from '@elysia-microservices/test-support'
import { memory, microservice, OptionError } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { connectAsync } from 'mqtt'
import { MosquittoProcess, mosquittoMissing } from '../support/mosquitto-server.ts'
import { bun, testsFolder } from '../workspace.ts'

/** The programs of the documentation: the service and the device. */
function programs(): readonly string[] {
  const page = readFileSync(join(testsFolder, '../docs/mqtt.md'), 'utf8')
  const part = /<!-- devices -->([\s\S]*)<!-- \/devices -->/.exec(page)?.[1] ?? ''
  return [...part.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, text = '']) => text)
}

if (!isMissing('devices over MQTT', mosquittoMissing())) {
  describe('over MQTT', { timeout: PATIENCE }, () => {
    const log = new Log()
    const { logger } = log
    let server: MosquittoProcess
    before(async () => {
      server = await MosquittoProcess.start()
    })
    after(() => server.stop())
    const transport = (options: MqttOptions = {}) => mqtt({ url: server.url, ...options })

    it('a device without this library is heard and answered, as the documentation shows', async () => {
      const [service = '', device = ''] = programs()
      const file = join(testsFolder, `mqtt/.device-${process.pid}.ts`)
      const steps = [
        service,
        'await plants.listen()',
        device,
        "process.stdin.once('end', () => process.exit()).resume()"
      ]
      writeFileSync(file, steps.join('\n'))
      const child = spawn(bun, [file], { env: { ...process.env, MQTT_URL: server.url }, cwd: testsFolder })
      let said = ''
      child.stdout.on('data', (text) => {
        said += text
      })
      child.stderr.on('data', (text) => {
        said += text
      })
      try {
        await until('the answer', () => said.includes('most') || child.exitCode !== null).catch(() => {})
        assert.match(said, /plants\/7\/measured \{\s*celsius: 21.5,?\s*\}/)
        assert.match(said, /devices\/7\/answers \{\s*most: 70,?\s*\}/)
      } finally {
        // Until the process has ended, it still receives some of the messages for its service.
        const ended = once(child, 'exit')
        child.stdin.end()
        await ended
        rmSync(file)
      }
    })

    it('a device gets answers and errors as JSON, where the service allows it, with its correlation data', async () => {
      const service = microservice({
        name: 'plants',
        transport: transport({ replyTo: ['devices/+/answers'] }),
        logger
      })
        .message('plants/limit', ({ data }) => ({ data }))
        .message('plants/fails', () => {
          throw new Error('secret')
        })
      await service.listen()
      const device = await connectAsync(server.url, { protocolVersion: 5 })
      const heard = new Values<readonly string[]>()
      device.on('message', (topic, bytes, { properties }) =>
        heard.put([topic, String(bytes), String(properties?.correlationData)])
      )
      await device.subscribeAsync(['devices/7/answers', 'victim'])
      const ask = (topic: string, words: string, responseTopic: string) =>
        device.publishAsync(topic, words, {
          properties: { responseTopic, correlationData: Buffer.from([1, 65]) }
        })
      await ask('plants/limit', '[1]', 'devices/7/answers')
      assert.deepEqual(await heard.take(), ['devices/7/answers', '{"data":[1]}', '\u0001A'])
      await ask('plants/fails', '1', 'devices/7/answers')
      assert.match((await heard.take())[1] as string, /Internal server error/)
      await ask('plants/limit', '1', 'victim')
      await log.has("its reply address 'topic victim'")
      await ask('plants/limit', 'no json', 'devices/7/answers')
      assert.match((await heard.take())[1] as string, /not JSON/)
      await device.endAsync()
      await service.stop()
    })

    it('the last event of a topic is kept for later subscribers, until it is deleted', async () => {
      const client = connect({ transport: transport(), logger })
      const headers = { 'mqtt-retain': 'true', 'x-from': 'me' }
      await client.emit('kept/1', 'first', { headers })
      await client.emit('kept/1', 'last', { headers })
      await client.emit('kept/2', 'other', { headers })
      await client.emit('kept/2', undefined, { headers })
      const seen = new Values<unknown>()
      const service = microservice({
        name: 'late',
        transport: transport({ events: 'every-process' }),
        logger
      }).event('kept/#', ({ pattern, data, headers: got }) => void seen.put([pattern, data, { ...got }]))
      await service.listen()
      assert.deepEqual(await seen.take(), ['kept/1', 'last', headers])
      await client.emit('kept/3', 'new')
      assert.deepEqual(await seen.take(), ['kept/3', 'new', {}])
      await assert.rejects(client.emit('kept/1', 1, { headers: { 'mqtt-retain': 'yes' } }), OptionError)
      await assert.rejects(client.emit('kept/1', 1, { headers: { 'mqtt-qos': '3' } }), OptionError)
      await client.close()
      await service.stop()
    })

    it('each process that gets an event stores it for the durable handlers beside', async () => {
      const store = memory()
      const seen = new Values<string | undefined>()
      const services = [1, 2].map(() =>
        microservice({ name: 'each', transport: transport({ events: 'every-process' }), store, logger })
          .event('each', () => {})
          .event('each', ({ delivery }) => void seen.put(delivery?.id), { durable: true })
      )
      for (const service of services) await service.listen()
      const client = connect({ transport: transport(), logger })
      await client.emit('each', 1)
      assert.notEqual(await seen.take(), await seen.take())
      await client.close()
      for (const service of services) await service.stop()
    })

    it('a will is published for a connection that is lost, and not for one that closes', async () => {
      const seen = new Values<unknown>()
      const service = microservice({ name: 'watch', transport: transport(), logger }).event(
        'gone/+',
        ({ pattern, data }) => void seen.put([pattern, data])
      )
      await service.listen()
      const closing = connect({ transport: transport({ will: { pattern: 'gone/1', data: 1 } }), logger })
      await closing.connect()
      await closing.close()
      const options = { clientId: 'two', will: { pattern: 'gone/2', data: 2 } }
      const dying = connect({ transport: transport(options), logger })
      await dying.connect()
      // The server closes the older connection with the same client id, and then publishes its will, too.
      const taker = await connectAsync(server.url, {
        protocolVersion: 5,
        clientId: 'two',
        reconnectPeriod: 0
      })
      assert.deepEqual(await seen.take(), ['gone/2', 2])
      await taker.endAsync()
      await dying.close()
      await service.stop()
    })

    it('two connections with one client id replace each other, and each call gets an answer or an error', async () => {
      const service = microservice({ name: 'calm', transport: transport(), logger }).message('calm', () => 1)
      await service.listen()
      const clients = [1, 2].map(() =>
        connect({ transport: transport({ clientId: 'same' }), logger, timeout: 10_000 })
      )
      const outcomes = await Promise.all(
        clients.flatMap((client) =>
          Array.from({ length: 20 }, () =>
            client.request('calm', 0, { idempotent: true }).catch((error) => error.name)
          )
        )
      )
      for (const outcome of outcomes)
        assert.ok([1, 'ConnectionError', 'TimeoutError'].includes(outcome as never), String(outcome))
      for (const client of clients) await client.close()
      await service.stop()
    })

    it('durable handlers, and patterns that MQTT cannot have as topics, are refused at the start with advice', async () => {
      const make = () => microservice({ name: 'no', transport: transport(), logger })
      const refused = (service: { listen(): Promise<unknown> }, message: RegExp) =>
        assert.rejects(service.listen(), { name: 'OptionError', message })
      await refused(
        make().event('a', () => {}, { durable: true }),
        /mqtt.*store|store.*mqtt/i
      )
      for (const [pattern, advice] of [
        ['orders.*', /use '\+' for one level/],
        [/a/, /RegExp/],
        ['a+/b', /whole level/],
        ['$SYS/a', /belong to the server/],
        ['a/reply', /carry answers/],
        ['$share/x', /\$share\/<group>\/<topic>/]
      ] as const)
        await refused(
          make().message(pattern, () => 1),
          advice
        )
      const client = connect({ transport: transport(), logger })
      await assert.rejects(client.request('a/+'), /a call goes to one/)
      await client.close()
    })
  })
}
