/** The promises about streams. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import type { StreamConfig } from '@nats-io/jetstream'
import { headers as newHeaders } from '@nats-io/transport-node'
import { isForbidden, isMissing, isNoSequence } from '../durable/jetstream-errors.ts'
import { newStream, Opened, type ServerForCases } from './cases-frame.ts'

/** Declares the cases. */
export function streamCases(title: string, open: () => Promise<ServerForCases>): void {
  describe(`streams of NATS over ${title}`, () => {
    const opened = new Opened(open)
    afterEach(opened.close)

    /** A connection, and a stream. */
    async function stored(config: Partial<StreamConfig> = {}) {
      const server = await opened.server()
      const one = await opened.connect(server)
      const jetStream = await one.connection.jetStream()
      const stream = await newStream(jetStream, config)
      /** Stores a message. @returns its number, or why it is not stored */
      const store = async (text: string, subject = 'a', id?: string) => {
        const headers = newHeaders()
        if (id !== undefined) headers.set('Nats-Msg-Id', id)
        const said = JSON.parse(await one.ask(`${stream.name}.${subject}`, text, headers)) as {
          readonly seq?: number
          readonly duplicate?: boolean
          readonly error?: { readonly code: number; readonly description: string }
        }
        return said.error ?? (said.duplicate === true ? `${said.seq} again` : said.seq)
      }
      const numbers = async (subject = '*') => {
        const found: number[] = []
        for (let seq = 1; ; ) {
          const query = { seq, next_by_subj: `${stream.name}.${subject}` }
          const next = await jetStream.message(stream.name, query).catch((error: unknown) => {
            if (!isMissing(error)) throw error
          })
          if (!next) return found
          found.push(next.seq)
          seq = next.seq + 1
        }
      }
      const stateOf = async () => (await jetStream.stream(stream.name)).state
      return { server, one, jetStream, stream, store, numbers, stateOf }
    }

    it('numbers the messages that it stores, each id once within the window', async () => {
      const window = 200
      const { store, server, stateOf } = await stored({ duplicate_window: window * 1e6 })
      assert.equal(await store('x', 'a', 'id'), 1)
      assert.equal(await store('x', 'b', 'id'), '1 again')
      assert.equal(await store('x'), 2)
      await server.pass(2 * window)
      assert.equal(await store('x', 'a', 'id'), 3)
      const { messages, first_seq, last_seq } = await stateOf()
      assert.deepEqual([messages, first_seq, last_seq], [3, 1, 3])
    })

    it('gives a message by its number, or the next one of a subject, with its headers and time', async () => {
      const { store, numbers, jetStream, stream } = await stored()
      for (const subject of ['a', 'b', 'a']) await store('ü', subject, subject + Math.random())
      assert.deepEqual([await numbers('a'), await numbers('b'), await numbers('c')], [[1, 3], [2], []])
      const { state } = await jetStream.stream(stream.name, `${stream.name}.a`)
      assert.deepEqual(state.subjects, { [`${stream.name}.a`]: 2 })
      const found = await jetStream.message(stream.name, { seq: 2 })
      assert.deepEqual(
        [found?.seq, found?.subject, new TextDecoder().decode(found?.data)],
        [2, `${stream.name}.b`, 'ü']
      )
      assert.match(found?.header.get('Nats-Msg-Id') ?? '', /^b/)
      assert.ok(Number(found?.time.getTime()) > 0)
    })

    it('deletes a message once, and keeps the numbers of the others', async () => {
      const { store, numbers, jetStream, stream, stateOf } = await stored()
      for (const text of ['1', '2', '3']) await store(text)
      assert.equal(await jetStream.deleteMessage(stream.name, 1), true)
      await assert.rejects(
        jetStream.deleteMessage(stream.name, 1),
        (error) => isNoSequence(error) || isMissing(error)
      )
      assert.deepEqual(await numbers(), [2, 3])
      assert.equal((await stateOf()).first_seq, 2)
      assert.equal(await store('4'), 4)
    })

    it('refuses what has no room, or deletes the oldest, as it is told; or the oldest of a subject', async () => {
      const full = await stored({ max_bytes: 400, discard: 'new' })
      assert.equal(await full.store('x'.repeat(200)), 1)
      assert.deepEqual(await full.store('x'.repeat(200)), {
        code: 503,
        err_code: 10077,
        description: 'maximum bytes exceeded'
      })
      const moving = await stored({ max_msgs: 2, discard: 'old' })
      for (const text of ['1', '2', '3']) await moving.store(text)
      assert.deepEqual(await moving.numbers(), [2, 3])
      const each = await stored({ max_msgs_per_subject: 1, discard: 'old' })
      for (const subject of ['a', 'b', 'a', 'c', 'a']) await each.store('x', subject)
      assert.deepEqual(await each.numbers(), [2, 4, 5])
    })

    it('deletes what is too old, and counts on', async () => {
      const age = 150
      const { store, numbers, server, stateOf } = await stored({
        max_age: age * 1e6,
        duplicate_window: age * 1e6
      })
      for (const text of ['1', '2']) await store(text)
      for (let rest = await numbers(); rest.length > 0; rest = await numbers()) await server.pass(age)
      const { first_seq, last_seq, messages } = await stateOf()
      assert.deepEqual([first_seq, last_seq, messages], [3, 2, 0])
      assert.equal(await store('3'), 3)
    })

    it('is found by its subjects, and is the only one that has them', async () => {
      const { jetStream, stream } = await stored()
      const namesOf = async (subject?: string) => {
        const names: string[] = []
        for await (const { config } of jetStream.streams(subject)) names.push(config.name)
        return names
      }
      assert.deepEqual(await namesOf(`${stream.name}.x`), [stream.name])
      assert.deepEqual(await namesOf(`${stream.name}.>`), [stream.name])
      assert.deepEqual(await namesOf(`${stream.name}.x.y`), [])
      assert.ok((await namesOf()).includes(stream.name))
      const other = { name: `${stream.name}-other`, subjects: [`${stream.name}.x`] }
      await assert.rejects(jetStream.addStream(other), /subjects overlap/)
      await assert.rejects(jetStream.addStream({ name: stream.name, subjects: ['other'] }), /already in use/)
    })

    it('changes what it is told to change', async () => {
      const { jetStream, stream } = await stored({ metadata: { a: '1' } })
      const { created } = await jetStream.stream(stream.name)
      await jetStream.updateStream(stream.name, { max_age: 9e12 })
      const { config, created: same } = await jetStream.stream(stream.name)
      assert.deepEqual([config.max_age, config.subjects, same], [9e12, [`${stream.name}.*`], created])
      assert.equal(config.metadata?.['a'], '1')
    })

    it('says what is missing', async () => {
      const { jetStream, stream, one } = await stored()
      for (const asked of [
        () => jetStream.stream('none'),
        () => jetStream.updateStream('none', {}),
        () => jetStream.consumer('none', 'none'),
        () => jetStream.consumer(stream.name, 'none'),
        () => jetStream.deleteConsumer(stream.name, 'none'),
        () => jetStream.addConsumer('none', { durable_name: 'x', ack_policy: 'explicit' })
      ])
        await assert.rejects(asked(), (error) => isMissing(error) && !isForbidden(error))
      const none = await jetStream.message(stream.name, { seq: 7 }).catch((error: unknown) => {
        assert.ok(isMissing(error))
        return null
      })
      assert.equal(none, null)
      assert.match(await one.ask('stored.nowhere', ''), /^503/)
    })

    it('in a file is there after a restart with its messages; one in memory is not', async () => {
      const { jetStream, server, one, stream, store, numbers, stateOf } = await stored({ storage: 'file' })
      const memory = await newStream(jetStream)
      for (const text of ['1', '2']) await store(text)
      const { created } = await jetStream.stream(stream.name)
      const name = await stream.join()
      await server.restart()
      await one.until('restored')
      assert.deepEqual(await numbers(), [1, 2])
      assert.equal((await jetStream.stream(stream.name)).created, created)
      assert.equal((await jetStream.consumer(stream.name, name)).num_pending, 2)
      assert.equal((await stateOf()).last_seq, 2)
      await assert.rejects(jetStream.stream(memory.name), isMissing)
      assert.match(await one.ask(`${memory.name}.a`, 'x'), /^503/)
    })
  })
}
