/** The promises about messages that wait for their time. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { headers as newHeaders } from '@nats-io/transport-node'
import { isMissing } from '../durable/jetstream-errors.ts'
import { TOLD } from '../durable/names.ts'
import { Opened, type ServerForCases } from './cases-frame.ts'

/** Milliseconds after which messages of the cases are due. */
const SOON = 300
const HOUR = 3_600_000

type Headers = Readonly<Record<string, string>>

/** Declares the cases. */
export function scheduleCases(title: string, open: () => Promise<ServerForCases>): void {
  describe(`messages of NATS that wait for their time over ${title}`, () => {
    const opened = new Opened(open)
    let count = 0
    afterEach(opened.close)

    async function waiting() {
      const server = await opened.server()
      const one = await opened.connect(server)
      const jetStream = await one.connection.jetStream()
      const name = `later${process.pid}-${++count}`
      await jetStream.addStream({
        name,
        subjects: [`${name}.>`],
        allow_msg_schedules: true,
        allow_msg_ttl: true,
        republish: { src: `${name}.due.>`, dest: `woken.${name}.>`, headers_only: true }
      })
      /** Asks for a message to be stored. @returns its number, or the number of the error */
      const ask = async (subject: string, headers: Headers) => {
        const own = newHeaders()
        for (const [header, value] of Object.entries(headers)) own.set(header, value)
        const said = JSON.parse(await one.ask(`${name}.${subject}`, subject, own)) as {
          readonly seq?: number
          readonly error?: { readonly err_code: number }
        }
        return said.error?.err_code ?? said.seq
      }
      const now = async () => Date.parse((await jetStream.stream(name)).ts ?? '')
      /** Plans a message. @param after milliseconds from now */
      const plan = async (subject: string, after: number, headers: Headers = {}) =>
        ask(subject, {
          [TOLD.schedule]: `@at ${new Date((await now()) + after).toISOString()}`,
          [TOLD.target]: `${name}.due.x`,
          ...headers
        })
      const find = (subject: string) =>
        jetStream.message(name, { seq: 1, next_by_subj: `${name}.${subject}` }).catch((error: unknown) => {
          if (!isMissing(error)) throw error
          return null
        })
      /** Waits for the first message that has come. */
      const come = async () => {
        for (;;) {
          const found = await find('due.x')
          if (found) return found
          await server.pass(SOON / 3)
        }
      }
      const counts = async () => (await jetStream.stream(name, `${name}.>`)).state.subjects
      return { server, one, jetStream, name, now, ask, plan, find, come, counts }
    }

    it('come to another subject when it is time, without the headers of NATS, and not before', async () => {
      const { plan, come, find, now, one, name } = await waiting()
      const woken = one.listen(`woken.${name}.>`)
      const at = (await now()) + SOON
      assert.equal(await plan('later.a', SOON, { 'X-A': 'ü', 'Nats-Msg-Id': 'id' }), 1)
      const { time, data, header, seq } = await come()
      assert.ok(time.getTime() >= at)
      assert.deepEqual(
        [seq, new TextDecoder().decode(data), header.get('X-A'), header.get('Nats-Msg-Id')],
        [2, `later.a`, 'ü', '']
      )
      assert.equal(await find('later.a'), null)
      assert.deepEqual(await woken.count(1), [`woken.${name}.x `])
    })

    it('are kept out by one that waits at the same subject, and replace it if they are told to', async () => {
      const { plan, come, counts, name } = await waiting()
      const first = { [TOLD.expected]: '0' }
      assert.equal(await plan('later.a', HOUR, first), 1)
      assert.equal(await plan('later.a', HOUR, first), 10_071)
      assert.equal(await plan('later.a', HOUR, { [TOLD.expected]: '1', [TOLD.rollup]: 'sub' }), 2)
      assert.deepEqual(await counts(), { [`${name}.later.a`]: 1 })
      assert.equal(await plan('later.a', -HOUR, { [TOLD.expected]: '1', [TOLD.rollup]: 'sub' }), 10_071)
      assert.equal(await plan('later.a', -HOUR, { [TOLD.expected]: '2', [TOLD.rollup]: 'sub' }), 3)
      await come()
      assert.deepEqual(await counts(), { [`${name}.due.x`]: 1 })
      assert.equal(await plan('later.a', HOUR, first), 5)
    })

    it('do not come if they are deleted', async () => {
      const { plan, come, jetStream, name, counts } = await waiting()
      await plan('later.a', SOON)
      await plan('later.b', 2 * SOON)
      assert.equal(await jetStream.deleteMessage(name, 1), true)
      assert.equal(new TextDecoder().decode((await come()).data), 'later.b')
      assert.deepEqual(await counts(), { [`${name}.due.x`]: 1 })
    })

    it('come after a restart, if their time was meanwhile or is later', async () => {
      const { plan, come, server, one, counts, name } = await waiting()
      await plan('later.a', 1)
      await plan('later.b', 2 * SOON)
      await plan('later.c', HOUR)
      await server.restart()
      await one.until('restored')
      await come()
      while ((await counts())?.[`${name}.due.x`] !== 2) await server.pass(SOON)
      assert.equal((await counts())?.[`${name}.later.c`], 1)
    })

    it('are refused with a schedule or a target that cannot be', async () => {
      const { ask, plan, name } = await waiting()
      const target = `${name}.due.x`
      assert.equal(await ask('later.a', { [TOLD.schedule]: '@at noon', [TOLD.target]: target }), 10_189)
      assert.equal(await plan('later.a', HOUR, { [TOLD.target]: 'elsewhere' }), 10_190)
    })

    it('end by themselves, if they are told when', async () => {
      const { ask, find, server } = await waiting()
      assert.equal(await ask('mark', { [TOLD.ttl]: '1s', [TOLD.expected]: '0' }), 1)
      assert.equal(await ask('mark', { [TOLD.expected]: '0' }), 10_071)
      while (await find('mark')) await server.pass(SOON)
      assert.equal(await ask('mark', { [TOLD.expected]: '0' }), 2)
    })
  })
}
