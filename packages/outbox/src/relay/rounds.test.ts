/** The order of a relay's statements, its pauses, and its memory from round to round. */
import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { Timeouts } from '@elysia-microservices/test-support'
import { ConnectionError, figureSources, INSIDE } from '@elysia-microservices/transport/kit'
import { Scene } from '../testing/relay-scene.ts'
import { until } from '../testing/until.ts'
import { outboxRelay } from './relay.ts'
import {
  CHECK_MARK,
  CHECK_PAUSES,
  FAILED,
  FETCH,
  LEAD,
  LEFT,
  MOVE_MARK,
  PUBLISHED,
  SLEEP
} from './statements.ts'

/** Milliseconds after which a round waits no longer for a few unanswered events. */
const ROUND = 1_000
/** Milliseconds between looks of a relay that falls asleep. */
const LINGER = 20
const NEVER = 2 ** 31 - 1

let timeouts: Timeouts
let scenes: Scene[]
let isOver: boolean
let unanswered: (() => void)[]
beforeEach(() => {
  scenes = []
  isOver = false
  unanswered = []
  // No test waits for the end of a round, for a pause, or for a relay that falls asleep.
  timeouts = new Timeouts((delay) => (delay >= 20 && delay <= 10_000 ? 0 : delay))
})
afterEach(async () => {
  isOver = true
  for (const answer of unanswered) answer()
  for (const { relay } of scenes) await relay.stop()
  timeouts[Symbol.dispose]()
})

function newScene(...given: ConstructorParameters<typeof Scene>): Scene {
  const scene = new Scene(...given)
  scene.engine.fail = () => Promise.resolve({ duplicate: false })
  scenes.push(scene)
  return scene
}

/** The broker answers each event when the test says so; after the test, it answers all. */
function silent(scene: Scene): (() => void)[] {
  const answers: (() => void)[] = []
  scene.engine.fail = () =>
    isOver
      ? Promise.resolve({ duplicate: false })
      : new Promise((resolve) => answers.push(() => resolve({ duplicate: false })))
  unanswered = answers
  return answers
}

const turns = async () => {
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setTimeout(resolve, 0))
}

const NAMES = new Map([
  [LEAD, 'lead'],
  [CHECK_MARK, 'check mark'],
  [MOVE_MARK, 'move mark'],
  [CHECK_PAUSES, 'check pauses'],
  [FETCH, 'fetch'],
  [PUBLISHED, 'published'],
  [FAILED, 'failed'],
  [LEFT, 'left'],
  [SLEEP, 'sleep'],
  ['commit', 'commit']
])

/** The statements of each round, by their names. */
function rounds({ pool }: Scene): string[] {
  const all = pool.asked.flatMap(({ text }) => NAMES.get(text) ?? []).join()
  return all.split(',commit').map((round) => round.replace(/^,/, ''))
}

describe('a relay', () => {
  it('moves the mark before it writes anything, once a second, and checks it once a minute', async (t) => {
    let now = 1_000_000
    t.mock.method(performance, 'now', () => now)
    const scene = newScene(NEVER)
    scene.waiting.push('1')
    await scene.relay.start()
    await until(() => scene.isAsleep)
    const wake = async (data: string) => {
      scene.pool.asked.length = 0
      scene.waiting.push(data)
      scene.pool.notify()
      await until(() => scene.published.includes(data) && scene.isAsleep)
      return rounds(scene)[0]
    }
    now += 999
    assert.equal(await wake('2'), 'lead,fetch,published,sleep')
    now += 1
    assert.equal(await wake('3'), 'lead,move mark,check pauses,fetch,published,sleep')
    now += 60_000
    assert.equal(await wake('4'), 'lead,check mark,move mark,check pauses,fetch,published,sleep')
  })

  it('moves the mark sooner when it has published very many events', async (t) => {
    t.mock.method(performance, 'now', () => 1_000_000)
    const scene = newScene(NEVER)
    for (let n = 0; n < 4_999; n++) scene.waiting.push(String(n))
    await scene.relay.start()
    await until(() => scene.isAsleep)
    assert.equal(scene.count(MOVE_MARK), 1)
    scene.waiting.push('4999')
    scene.pool.notify()
    await until(() => scene.isAsleep && scene.published.includes('4999'))
    assert.equal(scene.count(MOVE_MARK), 2)
  })

  it('lets no event wait longer than it waits for the broker itself', async () => {
    for (const [publishTimeout, longest] of [
      [60_000, '62000'],
      [100, '10000']
    ] as const) {
      const scene = newScene(5, publishTimeout)
      await scene.relay.start()
      await until(() => scene.count(CHECK_PAUSES) > 0)
      assert.deepEqual(scene.pool.asked.find(({ text }) => text === CHECK_PAUSES)?.values, [longest])
    }
  })

  it('lets an unanswered event wait until its attempt has certainly ended: nobody sends it twice', async (t) => {
    t.mock.method(performance, 'now', () => 1_000_000)
    const scene = newScene()
    silent(scene)
    scene.waiting.push('1')
    await scene.relay.start()
    await until(() => scene.left.length === 1)
    // A second of grace for the attempt, and one for the clocks.
    const [[columns] = []] = scene.pool.asked.filter(({ text }) => text === LEFT).map(({ values }) => values)
    assert.deepEqual(JSON.parse(String(columns)), [{ position: '1', pause: 62_000 }])
  })

  it('looks once more when it has said that it sleeps: nobody tells it of what came before', async () => {
    const scene = newScene(NEVER)
    const { answer } = scene.pool
    let isFirst = true
    scene.pool.answer = (asked) => {
      if (asked.text === SLEEP && isFirst) {
        isFirst = false
        scene.waiting.push('1')
      }
      return answer(asked)
    }
    await scene.relay.start()
    await until(() => scene.published.length === 1)
  })

  it('records what became of an event that it left behind, also when another one leads by then', async () => {
    const scene = newScene()
    const answers = silent(scene)
    scene.waiting.push('1')
    await scene.relay.start()
    await until(() => scene.left.length === 1)
    scene.leads = false
    for (const answer of answers) answer()
    await until(() => scene.published.length === 1)
    await turns()
    assert.deepEqual([scene.published, (await scene.relay.stats()).published], [['1'], 1])
  })

  it('leaves no more than a few behind at a time, and waits for all others', async () => {
    const scene = newScene()
    const answers = silent(scene)
    for (let n = 1; n <= 17; n++) scene.waiting.push(String(n))
    await scene.relay.start()
    await until(() => answers.length === 17)
    await turns()
    assert.equal(scene.left.length, 0, 'There are too many to leave')
    answers.shift()?.()
    await until(() => scene.left.length === 16)
    scene.waiting.push('18')
    await until(() => answers.length === 17)
    await turns()
    assert.deepEqual([scene.left.length, scene.published], [16, ['1']])
    answers.pop()?.()
    await until(() => scene.published.includes('18'))
    assert.equal(scene.left.length, 16)
  })

  it('takes a late answer for a sign that the broker stores events, though those of the round have failed', async () => {
    const scene = newScene(NEVER)
    const answers = silent(scene)
    scene.waiting.push('1')
    await scene.relay.start()
    await until(() => scene.left.length === 1 && scene.isAsleep)
    scene.engine.fail = () => Promise.reject(new ConnectionError('down', true))
    scene.pool.asked.length = 0
    scene.waiting.push('2')
    for (const answer of answers) answer()
    const bounds = () => scene.pool.valuesOf('with events').map(([most]) => most)
    await until(() => bounds().length >= 3)
    // Of a broker that has stored nothing in a round, only few events are asked for.
    assert.deepEqual(bounds().slice(0, 3), ['500', '500', '16'])
  })

  it('pauses longer after each round in which nothing was published, or the database was away', async (t) => {
    t.mock.method(Math, 'random', () => 1)
    const scene = newScene(5)
    const pauses = () => timeouts.begun.filter((delay) => delay > LINGER && delay !== ROUND && delay < 60_000)
    let isDown = true
    scene.engine.fail = () =>
      isDown ? Promise.reject(new ConnectionError('down', true)) : Promise.resolve({ duplicate: false })
    scene.waiting.push('1')
    await scene.relay.start()
    await until(() => pauses().length >= 4)
    assert.deepEqual(pauses().slice(0, 4), [100, 200, 400, 800])
    isDown = false
    await until(() => scene.published.length === 1)
    await until(() => scene.isAsleep)
    timeouts.begun.length = 0
    const { answer } = scene.pool
    scene.pool.answer = (asked) => {
      if (asked.text === LEAD) throw new Error('away')
      return answer(asked)
    }
    scene.pool.notify()
    await until(() => pauses().length >= 3)
    assert.deepEqual(pauses().slice(0, 3), [100, 200, 400])
    scene.pool.answer = answer
  })

  it('counts what it has published, what the broker had already, and attempts that failed', async () => {
    const scene = newScene()
    let failures = 1
    scene.engine.fail = ({ data }) =>
      data === 2 && failures-- > 0
        ? Promise.reject(new ConnectionError('down', true))
        : Promise.resolve({ duplicate: data === 1 })
    scene.waiting.push('1', '2')
    await scene.relay.start()
    await until(() => scene.published.length === 2)
    const { published, duplicates, retries, oldest } = await scene.relay.stats()
    // All that a round has found is recorded before its transaction ends.
    const recorded = rounds(scene).find((round) => round.includes('published'))
    assert.match(recorded ?? '', /fetch,published,failed/)
    assert.deepEqual(
      { published, duplicates, retries, oldest },
      { published: 2, duplicates: 1, retries: 1, oldest: 0 }
    )
  })

  it('shows its figures while it runs, with the engine to which it publishes', async () => {
    const scene = newScene()
    const shown = () =>
      figureSources().flatMap(({ name, attributes }) => (name === 'outbox' ? [attributes] : []))
    await scene.relay.start()
    assert.deepEqual(shown(), [{ schema: 'elysia_microservices' }])
    await scene.relay.stop()
    assert.deepEqual(shown(), [])
    const { pool, lines } = new Scene()
    const client = { publish: () => assert.fail(), [INSIDE]: { engine: 'hub' } }
    const relay = outboxRelay({ sql: pool.sql, client, logger: lines })
    await relay.start()
    assert.deepEqual(shown(), [{ schema: 'elysia_microservices', engine: 'hub' }])
    await relay.stop()
  })

  it('listens again when the connection is lost on which it listens, and no more when it stops', async () => {
    const scene = newScene(NEVER)
    const { pool } = scene
    await scene.relay.start()
    await until(() => pool.listening === 1 && scene.isAsleep)
    pool.lose()
    assert.equal(pool.listening, 0)
    await until(() => pool.listening === 1)
    await until(() => scene.isAsleep)
    scene.waiting.push('1')
    pool.notify()
    await until(() => scene.published.length === 1)
    await scene.relay.stop()
    assert.equal(pool.listening, 0)
  })

  it('that may not listen says so, and looks at intervals', async () => {
    const scene = newScene(5)
    const { answer } = scene.pool
    scene.pool.answer = (asked) => {
      if (asked.text.startsWith('listen')) throw new Error('no right')
      return answer(asked)
    }
    await scene.relay.start()
    await until(() => scene.lines.warnings.length > 0)
    assert.match(scene.lines.warnings.join(), /cannot LISTEN for new events; it looks for them at intervals/)
    scene.waiting.push('1')
    await until(() => scene.published.length === 1)
  })

  it('belongs to no context of the code that has started it', async () => {
    const context = new AsyncLocalStorage<string>()
    const scene = newScene()
    const seen: unknown[] = []
    scene.engine.fail = () => {
      seen.push(context.getStore())
      return Promise.resolve({ duplicate: false })
    }
    scene.waiting.push('1')
    await context.run('a request', () => scene.relay.start())
    await until(() => scene.published.length === 1)
    assert.deepEqual(seen, [undefined])
  })
})
