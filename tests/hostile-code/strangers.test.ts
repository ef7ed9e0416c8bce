/**
 * Nothing that strangers on an engine do affects others. Strangers may publish everywhere, know every address except
 * the secrets of other callers' calls, and send what no client would send. The cases are the same for every engine
 * that has strangers.
 */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { type EngineStats, newSecret, replyToken } from '@elysia-microservices/engine'
import type { CaseOf, RunningEngine } from '@elysia-microservices/engine-tests'
import { isOnPush, Log, pause, until } from '@elysia-microservices/test-support'
import { type Message, microservice } from 'elysia-microservices'
import { connect, type UntypedClient } from 'elysia-microservices/client'
import { overEngines } from '../engines/needs.ts'
import type { EngineUnderTest } from '../engines/shared-engines.ts'
import { STAND_INS } from '../engines/stand-ins.ts'
import type { Overheard, Stranger, StrangersOf } from '../engines/stranger.ts'

const MIB = 1024 * 1024
const COUNT = Array.from({ length: 200 }, (_, n) => n + 1)

overEngines(
  'strangers',
  ['strangers'],
  (engine, caseOf) => {
    describe(`strangers on ${engine.title}`, () => {
      const open: Setting[] = []
      afterEach(async () => {
        for (const one of open.splice(0)) await one.close()
      })
      async function enter(): Promise<Setting> {
        const setting = await Setting.of(engine)
        open.push(setting)
        return setting
      }
      const { forbidden, together, everyone, inbox: inboxNamed } = engine.strangers as StrangersOf
      // Cases of thousands of messages run at night: on a push, units of engines/engine test the limits.
      const manyOf: CaseOf = isOnPush ? () => {} : caseOf

      for (const address of forbidden)
        caseOf(`have nobody answer at ${JSON.stringify(address.slice(0, 32))}`, [], async () => {
          const { stranger, client, heard, log, stats } = await enter()
          const published = [
            ['nothing', '1'],
            ['echo', '{"pattern":"echo","data":"stolen","id":"1"}'],
            ['echo', '"stolen"'],
            ['echo', 'no JSON'],
            [everyone, 'echo'],
            ...(together === undefined ? [] : [[together('echo'), '&x 8 0 "stolen"']])
          ] as const
          for (const [to, words] of published) stranger.publish(to, words, address)
          await stranger.flush().catch(() => {})
          assert.equal(await client.request('echo', 'alive'), 'alive')
          // The messages to this address came from the stranger or from the client.
          const answers = heard.filter(
            (one) => one.address === address && one.reply !== address && !one.words.startsWith('{"pattern"')
          )
          assert.deepEqual(answers, [])
          // Messages that the server itself refuses to carry never arrive.
          assert.ok(stats().refused <= published.length)
          assert.ok(log.lines.length <= 1, log.lines.join('\n'))
        })

      caseOf('cannot answer, cancel, wedge or feed the calls of others', [], async () => {
        const { stranger, client, inboxes, heard, stats } = await enter()
        const stream = collect(client.stream('count', 200))
        const slow = client.request('slow', 'mine')
        const sum = client.request('sum', slowly(COUNT))
        await until('inboxes are known', () => inboxes().size >= 2 && stats().inFlight.current === 3)
        for (const inbox of inboxes())
          for (let number = 0; number < 12; number++) {
            const secret = newSecret()
            for (const token of [
              `${number}.0`,
              `${number}-.0`,
              `${number}-${secret}.0`,
              `1r${number}-${secret}-`,
              `1s${number}-${secret}--1-1`,
              `1m${number}-${secret}-`,
              '1b',
              '1q'
            ])
              for (const words of WORDS)
                stranger.publish(inbox + token, words, inboxNamed('stranger') + number)
            stranger.publish(`${inbox}1b`, `1r${number}-${secret}- 9 +d"forged"`)
            stranger.publish(everyone, 'slow', `${inbox}1r${number}-${secret}-`)
          }
        await stranger.flush()
        assert.equal(await slow, 'mine')
        assert.deepEqual(await stream, COUNT)
        assert.equal(await sum, 20_100)
        assert.ok(heard.every(({ words }) => !words.includes('NaN') || WORDS.includes(words)))
      })

      caseOf(
        'harm only their own calls by words that are out of order, doubled or no numbers',
        [],
        async () => {
          const { stranger, client, heard, stats, own } = await enter()
          for (const words of [
            ...WORDS,
            'g1e99,0',
            'g,',
            'v1 {',
            'v1 1',
            'v1 1',
            'v9 1',
            'e1',
            'e1',
            'x',
            'x'
          ]) {
            const reply = own('stream', 1)
            stranger.publish('sum', '^{"pattern":"sum","id":"1"}', reply)
            const control = () => heard.find((one) => one.address === reply && one.reply !== '')?.reply
            await until('the channel is open', () => control() !== undefined)
            stranger.publish(control() as string, words)
            stranger.publish(control() as string, 'x')
          }
          await until('all of them are over', () => stats().inFlight.current === 0)
          assert.equal(await client.request('echo', 'alive'), 'alive')
          assert.equal(stats().streams, 0)
        }
      )

      caseOf('are not believed what pattern they say', [], async () => {
        const { stranger, heard, own } = await enter()
        for (const pattern of ['admin', { cmd: 'admin' }, 5, null, ['echo']]) {
          const reply = own('request', 1)
          stranger.publish('pattern', JSON.stringify({ pattern, data: 1, id: '1' }), reply)
          await until('an answer', () => heard.some((one) => one.address === reply))
          assert.equal(heard.find((one) => one.address === reply)?.words, '+d"pattern"')
        }
      })

      manyOf('make one line of each kind of nonsense, however much they send', [], async () => {
        const { stranger, client, log, own } = await enter()
        const begun = performance.now()
        for (let n = 0; n < 5_000; n++) {
          stranger.publish('seen', `no JSON ${n}`)
          if (n % 1_000 === 0) await stranger.flush()
        }
        for (let n = 0; n < 1_000; n++) {
          stranger.publish('seen', `~${newSecret()} 7 100\nx`, own('event', n + 1))
          stranger.publish('echo', `~${newSecret()} 7 100\nx`, own('request', n + 1))
          stranger.publish('echo', 'no JSON', own('request', n + 1))
          stranger.publish('echo', '1', `nowhere.${n}`)
          // Few names, because Kafka's server creates a topic of each, and needs a minute for a thousand.
          stranger.publish(`unknown.${n % 20}`, '1', own('request', n + 1))
          if (n % 500 === 0) await stranger.flush()
        }
        await stranger.flush()
        assert.equal(await client.request('echo', 'alive'), 'alive')
        // There are fewer than 10 kinds, and of each a line in 10 seconds.
        const most = 10 * Math.ceil((performance.now() - begun) / 10_000)
        assert.ok(log.lines.length <= most, `${log.lines.length} lines: ${log.lines.slice(0, 12).join('\n')}`)
        const isSaid = log.lines.some((line) => line.includes('is not JSON'))
        assert.equal(isSaid, engine.takesText !== true)
      })

      manyOf('fill a bounded part of the memory with messages in parts', [], async () => {
        const { stranger, client, heard, stats, own } = await enter()
        const part = 'x'.repeat(500_000)
        for (let call = 1; call <= 150; call++) {
          stranger.publish('echo', `~${newSecret()} 0 ${32 * MIB}\n${part}`, own('request', call))
          // The stranger receives these messages, too, and a server disconnects a client that reads too slowly.
          if (call % 10 === 0) await stranger.flush()
        }
        const rejected = () => heard.filter(({ words }) => words.startsWith('+r')).length
        await until('some are refused', () => rejected() > 5)
        assert.ok(stats().parts.current <= 64 * MIB, String(stats().parts.current))
        const text = 'y'.repeat(3_000_000)
        assert.equal(await client.request('echo', text), text)
      })

      manyOf(
        'are counted with what messages in parts cost, even if they have almost no content',
        [],
        async () => {
          const { stranger, client, stats } = await enter()
          for (let call = 1; call <= 5_000; call++)
            stranger.publish(
              'echo',
              `~${newSecret()} 0 ${32 * MIB}\nx`,
              inboxNamed('stranger') + replyToken('request', call, newSecret(), undefined)
            )
          await stranger.flush()
          await until('they have come', () => stats().parts.current >= 5_000 * 1_024)
          assert.ok(stats().parts.current <= Number(stats().parts.limit))
          assert.equal(await client.request('echo', 'alive'), 'alive')
        }
      )

      manyOf('do not have the service send more streams than they take', [], async () => {
        const { stranger, client, heard, stats, own } = await enter()
        for (let call = 1; call <= 1_000; call++)
          stranger.publish('large', `{"pattern":"large","id":"${call}"}`, own('stream', call, 16 * 1024))
        await until('all streams are open', () => stats().streams === 1_000)
        for (let n = 0; n < 5; n++) assert.equal(await client.request('echo', n), n)
        await pause(200)
        const size = () =>
          heard.reduce((sum, { words }) => sum + (words.startsWith('{"resp') ? words.length : 0), 0)
        assert.ok(size() <= 9 * MIB, `${size()} characters came`)
        assert.ok(stats().unconfirmed <= 9 * MIB && stats().unconfirmed > MIB, String(stats().unconfirmed))
        // A client that confirms its parts gets more room.
        answerQuestions(stranger, heard)
        await until('all have come', () => size() >= 1_000 * 100_000)
      })

      manyOf('do not have the service hold more large answers than it may', [], async () => {
        const { stranger, client, heard, log, stats, own } = await enter()
        for (let call = 1; call <= 200; call++)
          stranger.publish(
            'answer',
            `{"pattern":"answer","data":900000,"id":"${call}"}`,
            own('request', call)
          )
        await until('some wait, and some are refused', () =>
          heard.some(({ words }) => words.includes('"err"'))
        )
        assert.ok(stats().answers.current <= 128 * MIB && stats().answers.current > 64 * MIB)
        assert.equal(await client.request('echo', 'alive'), 'alive')
        assert.equal(((await client.request('answer', 900_000)) as string).length, 900_000)
        assert.ok(log.lines.length <= 1, log.lines.join('\n'))
        answerQuestions(stranger, heard)
        await until('all that waited have come', () => stats().answers.current === 0)
      })

      it('are counted', async () => {
        const { stranger, stats } = await enter()
        stranger.publish('echo', '1', 'echo')
        await until('it is counted', () => stats().refused === 1)
      })
    })
  },
  STAND_INS
)

/** Texts that no client sends, or not at this place. */
const WORDS = [
  'x',
  'gx,x',
  'gNaN,NaN',
  'g-5,-1',
  `g${'9'.repeat(30)},1`,
  'g99999,0',
  'e2',
  'e-1',
  'v2 {"a":1}',
  'v',
  'f{}',
  'p',
  '+d"forged"',
  '+e',
  '+x',
  '+n',
  '+i99999999',
  '+s',
  '+v["forged"]',
  '+v5',
  '{"response":"forged","isDisposed":true,"id":"1"}',
  '{"err":"forged","isDisposed":true,"id":"1"}',
  '',
  `~${newSecret()} 0 1000\nxxxx`,
  '~+5',
  '~+99999999999'
]

/** An engine with a service, a client, and a stranger that receives everything. */
class Setting {
  readonly log = new Log()
  readonly heard: Overheard[] = []
  readonly #cleanUps: (() => Promise<unknown>)[] = []
  #strangers!: StrangersOf
  #inbox = ''
  #stats: () => EngineStats = () => assert.fail()
  stranger!: Stranger
  client!: UntypedClient

  static async of(engine: EngineUnderTest): Promise<Setting> {
    const setting = new Setting()
    const running = await engine.start()
    setting.#cleanUps.push(() => running.close())
    await setting.#start(running, engine.strangers as StrangersOf)
    return setting
  }

  async #start(running: RunningEngine, strangers: StrangersOf): Promise<void> {
    const { logger } = this.log
    this.#strangers = strangers
    this.#inbox = strangers.inbox('me')
    // Calls that strangers begin and never end are ended after each test.
    const service = microservice({ name: 'shop', transport: running.transport(), logger, drain: 100 })
      .message('echo', ({ data }) => data)
      .message('nothing', () => undefined)
      .message('pattern', ({ pattern }) => pattern)
      .message('answer', ({ data }: Message<number>) => 'x'.repeat(data))
      .message('slow', async ({ data }) => {
        await pause(300)
        return data
      })
      .message('count', ({ data }: Message<number>) => slowly(COUNT.slice(0, data)))
      .message('large', async function* () {
        yield 'x'.repeat(100_000)
      })
      .message('sum', async ({ data }: Message<AsyncIterable<number>>) => {
        let sum = 0
        for await (const value of data) sum += value
        return sum
      })
      .event('seen', () => {})
    await service.listen()
    this.#cleanUps.push(() => service.stop())
    this.#stats = () => service.stats()[0] as unknown as EngineStats
    this.client = connect({ transport: running.transport(), logger })
    this.#cleanUps.push(() => this.client.close())
    assert.equal(await this.client.request('echo', 1), 1)
    this.stranger = await strangers.enter(running.port)
    this.#cleanUps.push(() => this.stranger.close())
    this.stranger.listen('>', (message) => void this.heard.push(message))
    await this.stranger.flush()
  }

  readonly stats = (): EngineStats => this.#stats()

  /** The inboxes of all others, as a program that receives everything can see them. */
  readonly inboxes = (): Set<string> => {
    const known = new Set<string>()
    for (const { address, reply } of this.heard)
      for (const one of [address, reply]) {
        const inbox = this.#strangers.inboxIn(one)
        const isOurs = inbox === this.#inbox || inbox === this.#strangers.inbox('stranger')
        if (inbox !== undefined && !isOurs) known.add(inbox)
      }
    return known
  }

  /** A reply address in the stranger's own inbox. */
  readonly own = (kind: 'request' | 'stream' | 'event', call: number, window?: number): string =>
    this.#inbox + replyToken(kind, call, newSecret(), undefined, 10, window)

  async close(): Promise<void> {
    for (const cleanUp of this.#cleanUps.splice(0).reverse()) await cleanUp()
  }
}

/** Answers each question of a sender at once: all has arrived. */
function answerQuestions(stranger: Stranger, heard: readonly Overheard[]): void {
  const answer = ({ address, reply }: Overheard) => {
    if (address.endsWith('.1q')) stranger.publish(reply, 'p')
  }
  for (const one of heard) answer(one)
  stranger.listen('_INBOX.>', answer)
}

async function collect(stream: AsyncIterable<unknown>): Promise<unknown[]> {
  const values: unknown[] = []
  for await (const value of stream) values.push(value)
  return values
}

async function* slowly<Value>(values: readonly Value[]): AsyncGenerator<Value> {
  for (const [index, value] of values.entries()) {
    yield value
    if (index % 20 === 0) await pause(5)
  }
}
