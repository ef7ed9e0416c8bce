/** The promises about consumers: what they deliver to whom, and what comes again. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import type { ConsumerConfig, StreamConfig } from '@nats-io/jetstream'
import { readPlace } from '../durable/stored.ts'
import { newStream, Opened, Puller, type ServerForCases } from './cases-frame.ts'

/** Milliseconds until a delivery without word comes again. */
const LEASE = 300
const PINNED = { priority_groups: ['one'], priority_policy: 'pinned_client', priority_timeout: 60e9 }

/** Declares the cases. */
export function consumerCases(title: string, open: () => Promise<ServerForCases>): void {
  describe(`consumers of NATS over ${title}`, () => {
    const opened = new Opened(open)
    afterEach(opened.close)

    /** A stream with some messages, a consumer, and a process that pulls. */
    async function joined(config: object = {}, streamConfig: Partial<StreamConfig> = {}) {
      const server = await opened.server()
      const one = await opened.connect(server)
      const jetStream = await one.connection.jetStream()
      const stream = await newStream(jetStream, streamConfig)
      const name = await stream.join(config as Partial<ConsumerConfig>)
      const store = async (text: string, subject = 'a') =>
        void (await one.ask(`${stream.name}.${subject}`, text))
      const info = () => jetStream.consumer(stream.name, name)
      return {
        server,
        one,
        jetStream,
        stream,
        name,
        store,
        info,
        pull: new Puller(one, stream.name, name),
        newPull: async () => new Puller(await opened.connect(server), stream.name, name)
      }
    }

    it('delivers as many as are requested, each with its place, and knows what is done', async () => {
      const { store, pull, info, stream, name } = await joined()
      for (const text of ['1', '2', '3']) await store(text)
      pull.request(2)
      assert.deepEqual(await pull.count(2), ['1 1', '2 1'])
      const place = readPlace(pull.got[1]?.reply ?? '')
      assert.deepEqual(
        { ...place, storedAt: 0, pending: 0 },
        { stream: stream.name, deliveries: 1, sequence: 2, delivery: 2, storedAt: 0, pending: 0 }
      )
      // The server may deliver before it has told the consumer of the last event.
      assert.ok((place?.pending ?? 2) <= 1)
      assert.ok(pull.got[0]?.reply.startsWith(`$JS.ACK.${stream.name}.${name}.1.1.1.`))
      await pull.tell('+ACK', 1)
      const state = async () => {
        const { delivered, ack_floor, num_ack_pending, num_pending } = await info()
        return [
          delivered.consumer_seq,
          delivered.stream_seq,
          ack_floor.stream_seq,
          num_ack_pending,
          num_pending
        ]
      }
      assert.deepEqual(await state(), [2, 2, 0, 1, 1])
      await pull.tell('+ACK', 0)
      assert.deepEqual(await state(), [2, 2, 2, 0, 1])
      pull.request(5)
      await pull.count(3)
      await store('4')
      assert.deepEqual(await pull.count(4), ['1 1', '2 1', '3 1', '4 1'])
    })

    it('delivers again what nobody has acknowledged in time, or was given back, with its count', async () => {
      const { store, pull, server } = await joined({ ack_wait: LEASE * 1e6 })
      await store('slow')
      pull.request(10)
      await pull.count(1)
      await server.pass(LEASE + 1)
      assert.deepEqual(await pull.count(2), ['slow 1', 'slow 2'])
      pull.say('+ACK', 1)
      await store('back')
      await pull.count(3)
      pull.say('-NAK', 2)
      assert.equal((await pull.count(4))[3], 'back 2')
    })

    it('waits with what was given back for a while, and goes on with the others', async () => {
      const { store, pull, server } = await joined()
      for (const text of ['1', '2']) await store(text)
      pull.request(10)
      await pull.count(2)
      pull.say(`-NAK {"delay":${LEASE * 1e6}}`, 0)
      pull.say('-NAK', 1)
      await pull.count(3)
      await server.pass(LEASE + 1)
      assert.deepEqual(await pull.count(4), ['1 1', '2 1', '2 2', '1 2'])
    })

    it('delivers first what comes again', async () => {
      const { store, pull } = await joined()
      for (const text of ['1', '2', '3']) await store(text)
      pull.request(2)
      await pull.count(2)
      await pull.tell('-NAK', 1)
      await pull.tell('-NAK', 0)
      pull.request(3)
      const said = await pull.count(5)
      assert.deepEqual([said.slice(2, 4).toSorted(), said[4]], [['1 2', '2 2'], '3 1'])
    })

    it('holds back new messages while too many are not done', async () => {
      const { store, pull, one } = await joined({ max_ack_pending: 2 })
      for (const text of ['1', '2', '3']) await store(text)
      pull.request(10)
      await pull.count(2)
      await one.connection.flush()
      assert.equal(pull.said.length, 2)
      pull.say('+ACK', 0)
      assert.deepEqual(await pull.count(3), ['1 1', '2 1', '3 1'])
    })

    it('starts where it is told to', async () => {
      const { store, jetStream, stream, one, server } = await joined()
      for (const text of ['1', '2']) await store(text)
      await server.pass(20)
      const { time } = (await jetStream.message(stream.name, { seq: 2 })) as { time: Date }
      const since = new Date(time.getTime() + 1).toISOString()
      const starts = [
        { deliver_policy: 'all' },
        { deliver_policy: 'new' },
        { deliver_policy: 'by_start_sequence', opt_start_seq: 2 },
        { deliver_policy: 'by_start_time', opt_start_time: since },
        { deliver_policy: 'all', filter_subject: `${stream.name}.b` }
      ] as const
      const pulls: Puller[] = []
      for (const start of starts) pulls.push(new Puller(one, stream.name, await stream.join(start)))
      await store('3')
      await store('4', 'b')
      for (const pull of pulls) pull.request(10)
      const texts = [['1', '2', '3', '4'], ['3', '4'], ['2', '3', '4'], ['3', '4'], ['4']]
      for (const [at, expected] of texts.entries())
        assert.deepEqual(
          await pulls[at]?.count(expected.length),
          expected.map((text) => `${text} 1`)
        )
    })

    it('ends a request that gets nothing, and gives signs of life until then', async () => {
      const { pull, server } = await joined()
      pull.request(1, { expires: 400, heartbeat: 150 })
      await server.pass(500)
      await pull.until('408 Request Timeout')
      assert.equal(pull.said[0], '100 Idle Heartbeat')
    })

    it('ends a request whose bytes do not suffice for the next message', async () => {
      const { pull, store } = await joined()
      await store('x'.repeat(2_000))
      pull.request(1, { max_bytes: 1_000 })
      assert.match((await pull.count(1))[0] ?? '', /^409 Message Size Exceeds MaxBytes/)
    })

    it('tells its processes that it is deleted; then nobody answers', async () => {
      const { pull, jetStream, stream, name, info } = await joined()
      pull.request(1)
      while ((await info()).num_waiting === 0);
      assert.equal(await jetStream.deleteConsumer(stream.name, name), true)
      assert.deepEqual(await pull.count(1), ['409 Consumer Deleted'])
      pull.request(1)
      assert.match((await pull.count(2))[1] ?? '', /^503/)
    })

    it('gives nothing to a process that has gone', async () => {
      const { newPull, pull, store, one, info } = await joined()
      const gone = await newPull()
      gone.request(1)
      while ((await info()).num_waiting === 0);
      await opened.close()
      const server = await opened.server()
      const again = await opened.connect(server)
      void [pull, one, store]
      const { stream, name } = { stream: pull.stream, name: pull.consumer }
      const next = new Puller(again, stream, name)
      next.request(1)
      await again.ask(`${stream}.a`, '1')
      assert.deepEqual(await next.count(1), ['1 1'])
    })

    it('delivers nothing while it is paused, and goes on with its next sign of life when it is resumed', async () => {
      const { server, store, pull, jetStream, stream, name, info } = await joined()
      await jetStream.pause(stream.name, name, new Date(Date.now() + 1e9))
      pull.request(1, { heartbeat: 500 })
      await store('1')
      const { paused, config } = await info()
      assert.deepEqual([paused, pull.said], [true, []])
      assert.ok(new Date(config.pause_until as string).getTime() > Date.now())
      await jetStream.pause(stream.name, name, undefined)
      await server.pass(600)
      await pull.until('1 1')
      assert.notEqual((await info()).paused, true)
    })

    it('stays resumed when its settings are written as they were while it was paused', async () => {
      const { jetStream, stream, name, info } = await joined()
      await jetStream.pause(stream.name, name, new Date(Date.now() + 1e9))
      const { config } = await info()
      await jetStream.pause(stream.name, name, undefined)
      await jetStream.updateConsumer(stream.name, name, { ...config, ack_wait: 9e9 })
      const now = await info()
      assert.deepEqual([now.paused === true, now.config.ack_wait], [false, 9e9])
    })

    it('serves one process of a priority group, until another one is to be served', async () => {
      const { store, pull, newPull, jetStream, stream, name, info } = await joined(PINNED)
      const other = await newPull()
      pull.request(2, { group: 'one' })
      while ((await info()).num_waiting === 0);
      other.request(5, { group: 'one' })
      while ((await info()).num_waiting === 1);
      await store('1')
      await pull.count(1)
      const pin = pull.got[0]?.pin as string
      assert.ok(pin.length > 0)
      const served = async () =>
        ((await info()) as { priority_groups?: { pinned_client_id?: string }[] }).priority_groups
      assert.equal((await served())?.[0]?.pinned_client_id, pin)
      await store('2')
      assert.deepEqual(await pull.count(2), ['1 1', '2 1'])
      assert.equal(pull.got[1]?.pin, pin)
      await store('3')
      assert.deepEqual(other.said, [])
      pull.request(1, { group: 'one', id: pin })
      assert.equal((await pull.count(3))[2], '3 1')
      await jetStream.unpin(stream.name, name, 'one')
      await store('4')
      assert.deepEqual(await other.count(1), ['4 1'])
      assert.notEqual(other.got[0]?.pin, pin)
      pull.request(1, { group: 'one', id: pin })
      assert.match((await pull.count(4))[3] ?? '', /^423/)
    })

    it('serves another process when nothing is heard of the one that was served', async () => {
      const { store, pull, newPull, server } = await joined({ ...PINNED, priority_timeout: 1e9 })
      const other = await newPull()
      pull.request(1, { group: 'one' })
      await store('1')
      await pull.count(1)
      other.request(1, { group: 'one' })
      await store('2')
      await server.pass(1_100)
      assert.deepEqual(await other.count(1), ['2 1'])
    })

    it('forgets requests and the process that it serves when the server starts again, and no delivery', async () => {
      const { store, pull, server, one, info, stream, name } = await joined(PINNED, { storage: 'file' })
      await store('1')
      pull.request(10, { group: 'one' })
      await pull.count(1)
      await server.restart([stream.name, name])
      await one.until('restored')
      const { num_waiting, num_ack_pending, delivered } = await info()
      assert.deepEqual([num_waiting, num_ack_pending, delivered.stream_seq], [0, 1, 1])
      await store('2')
      pull.request(1, { group: 'one' })
      assert.equal((await pull.count(2))[1], '2 1')
      pull.say('-NAK', 0)
      pull.request(1, { group: 'one', id: pull.got[1]?.pin as string })
      assert.equal((await pull.count(3))[2], '1 2')
    })

    it('of a work queue deletes what is done', async () => {
      const { store, pull, jetStream, stream } = await joined(
        { deliver_policy: 'all' },
        { retention: 'workqueue' }
      )
      for (const text of ['1', '2']) await store(text)
      pull.request(2)
      await pull.count(2)
      await pull.tell('+ACK', 0)
      const { messages, first_seq } = (await jetStream.stream(stream.name)).state
      assert.deepEqual([messages, first_seq], [1, 2])
    })

    it('does not deliver what its stream has deleted', async () => {
      const { store, pull, one, info, jetStream, stream } = await joined()
      for (const text of ['1', '2', '3']) await store(text)
      pull.request(1)
      await pull.count(1)
      for (const sequence of [1, 2]) await jetStream.deleteMessage(stream.name, sequence)
      pull.say('-NAK', 0)
      pull.request(5)
      assert.deepEqual(await pull.count(2), ['1 1', '3 1'])
      await one.connection.flush()
      assert.equal((await info()).num_pending, 0)
    })

    it('keeps its metadata and its name, and changes what it is told to change', async () => {
      const { jetStream, stream, name, info } = await joined({ metadata: { a: '1' } })
      const { config, created } = await info()
      await jetStream.updateConsumer(stream.name, name, { ...config, ack_wait: 9e9, metadata: { a: '2' } })
      const now = await info()
      assert.deepEqual([now.config.ack_wait, now.config.metadata?.['a'], now.created], [9e9, '2', created])
      const names: string[] = []
      for await (const one of jetStream.consumers(stream.name)) names.push(one.name)
      assert.deepEqual(names, [name])
      const other = {
        durable_name: name,
        ack_policy: 'explicit',
        filter_subject: `${stream.name}.b`
      } as const
      await assert.rejects(jetStream.addConsumer(stream.name, other), /already exists/)
    })
  })
}
