import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { RedisConnection } from '../connection/redis-connection.ts'
import type { Standing, Take, Taken } from '../driver.ts'
import type { RedisEvent } from './event.ts'
import { Feed } from './feed.ts'
import { Rounds, type Watched } from './rounds.ts'

/** A stream that counts how often it is looked at. */
class Stream implements Watched {
  readonly group: string
  readonly stream: string
  isQuiet = true
  looks = 0
  wakes = 0

  constructor(n: number, group = 'g') {
    this.stream = `s:${n}`
    this.group = group
  }

  look(): void {
    this.looks++
  }

  wake(): void {
    this.wakes++
  }
}

/** @param refusal the error of the server, if it refuses the command */
function setting(count: number, refusal?: () => string | undefined) {
  const commands: unknown[][] = []
  const present = async (...args: unknown[]) => {
    commands.push(args)
    const message = refusal?.()
    if (message !== undefined) throw Object.assign(new Error(message), { name: 'ReplyError' })
  }
  const rounds = new Rounds('process')
  rounds.connection = { isConnected: true, store: { present } } as unknown as RedisConnection
  const streams = Array.from({ length: count }, (_, n) => new Stream(n))
  for (const one of streams) rounds.add(one)
  rounds.close()
  const looks = () => streams.reduce((sum, one) => sum + one.looks, 0)
  return { rounds, streams, commands, looks }
}

describe('streams of which nothing is to be done', () => {
  it('cost one command and two looks each time, however many there are', async () => {
    for (const count of [2, 60, 500]) {
      const { rounds, commands, looks } = setting(count)
      for (let time = 1; time <= 3; time++) {
        await rounds.look()
        assert.deepEqual([commands.length, looks()], [time, 2 * time])
      }
      assert.deepEqual(commands[0]?.slice(0, 2), ['process', 'g'])
      assert.equal((commands[0] as string[][])[2]?.length, count)
    }
  })

  it('are all looked at in turn', async () => {
    const { rounds, streams } = setting(10)
    for (let time = 0; time < 5; time++) await rounds.look()
    assert.deepEqual(
      streams.map(({ looks, wakes }) => [looks, wakes]),
      streams.map(() => [1, 1])
    )
  })

  it('are all looked at when one of them, or its group, is gone', async () => {
    let error: string | undefined
    const { rounds, streams } = setting(10, () => error)
    for (error of ["NOGROUP No such key 's:3' or consumer group 'g'", undefined]) await rounds.look()
    const [first, , ...others] = streams
    assert.equal(first?.looks, 2)
    for (const { looks } of others.slice(2)) assert.equal(looks, 1)
  })

  it('are looked at one by one if the user may not ask about several together', async () => {
    const { rounds, streams, commands } = setting(10, () => 'NOPERM No permissions to access a key')
    for (let time = 0; time < 3; time++) await rounds.look()
    assert.equal(commands.length, 1)
    for (const { looks } of streams) assert.ok(looks >= 3)
  })

  it('are asked about beside those in use, which are looked at each time', async () => {
    const { rounds, streams, commands } = setting(10)
    for (const one of streams.slice(0, 4)) one.isQuiet = false
    await rounds.look()
    await rounds.look()
    for (const { looks } of streams.slice(0, 4)) assert.equal(looks, 2)
    assert.equal(commands.length, 2)
  })

  it('of several groups cost one command for each group, and nothing while the server is lost', async () => {
    const { rounds, commands } = setting(4)
    rounds.add(new Stream(9, 'other'))
    await rounds.look()
    assert.deepEqual(
      commands.map(([, group]) => group),
      ['g', 'other']
    )
    rounds.connection = { isConnected: false } as RedisConnection
    await rounds.look()
    assert.equal(commands.length, 2)
  })
})

const NOTHING: Take = take([], { done: '', first: '', undone: 0, more: -1 })

function take(entries: readonly Taken[], standing: Standing): Take {
  return { state: 'ok', isNew: false, entries, refusal: '', standing }
}

/** A feed over a server whose answers the test gives. */
function feedOf(turn?: string) {
  const answers: Take[] = []
  let commands = 0
  let told = () => {}
  const received: RedisEvent[] = []
  const connection = {
    isConnected: true,
    hear: async (_channel: string, woken: () => void) => {
      told = woken
    },
    unhear() {},
    store: {
      take: async () => {
        commands++
        return answers.shift() ?? NOTHING
      },
      keep: async () => {
        commands++
        return []
      },
      acknowledge: async () => void commands++
    }
  } as unknown as RedisConnection
  const feed: Feed = new Feed({
    source: { stream: 's', pattern: 'p', isAgain: false },
    group: 'g',
    process: 'process',
    ackWait: 30_000,
    maxAge: 0,
    turn,
    logger: { error() {}, warn() {} },
    rounds: setting(0).rounds,
    owner: {
      room: 10,
      isIdle: false,
      receive(events) {
        for (const event of events) {
          feed.held.take(event)
          received.push(event)
        }
      },
      fill: () => feed.fill(),
      uncertain() {},
      paused() {},
      gone() {}
    }
  })
  return { feed, connection, answers, received, commands: () => commands, told: () => told() }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('a stream as a process reads it', () => {
  for (const key of [undefined, 't'])
    it(`costs nothing while it has no events, ${key === undefined ? 'unordered' : 'ordered'}`, async () => {
      const { feed, connection, commands, told } = feedOf(key)
      await feed.start(connection)
      await turn()
      assert.deepEqual([feed.isQuiet, commands()], [true, 1])
      await feed.keep(() => false)
      assert.equal(commands(), 1)
      told()
      await turn()
      assert.equal(commands(), 2)
    })

  it('is not quiet while this process or another one has events that are not done, or while it is paused', async () => {
    const { feed, connection, answers, received, commands, told } = feedOf()
    answers.push(take([['1-0', ['packet', '{}'], 1]], { done: '', first: '1-0', undone: 2, more: -1 }))
    await feed.start(connection)
    await turn()
    assert.equal(feed.isQuiet, false)
    await feed.keep(() => true)
    assert.equal(commands(), 2)
    feed.acknowledge(received[0] as RedisEvent)
    await turn()
    await turn()
    // The other event belongs to another process, which may fail.
    assert.equal(feed.isQuiet, false)
    feed.wake(true)
    await turn()
    assert.equal(feed.isQuiet, true)
    answers.push({ state: 'paused' })
    told()
    await turn()
    assert.equal(feed.isQuiet, false)
  })

  it('is quiet beside the process whose turn it is, if nothing is to be done', async () => {
    const { feed, connection, answers } = feedOf('t')
    answers.push({ state: 'other', standing: { done: '5-0', first: '', undone: 0, more: 30_000 } })
    await feed.start(connection)
    await turn()
    assert.equal(feed.isQuiet, true)
    await feed.stop()
  })
})
