import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { replaceTimers } from '../testing/timers.ts'
import { EndpointSource, type Resolver } from './endpoint-source.ts'

/** The resolver of endpoints that are no names. */
const NO_RESOLVER: Resolver = {
  lookup: () => Promise.reject(new Error('nobody asks')),
  srv: () => Promise.reject(new Error('nobody asks'))
}

describe('the source of endpoints', () => {
  it('takes SRV records, and says so if there is no such service', async () => {
    const found: unknown[] = []
    let records = [{ name: '.', port: 0, priority: 0, weight: 0 }]
    const source = new EndpointSource(
      { endpoints: ['srv:_math._tcp.example.com'], resolveInterval: 60_000 },
      { host: 'localhost', port: 4000 },
      (addresses) => found.push(addresses),
      assert.fail,
      {
        lookup: () => Promise.reject(new Error('nobody asks')),
        srv: async (name) => {
          assert.equal(name, '_math._tcp.example.com')
          return records
        }
      }
    )
    assert.equal(source.fixed, undefined)
    await assert.rejects(source.start(), { name: 'ConnectionError', message: /the service is not offered/ })
    records = [
      { name: 'c.example.com', port: 3, priority: 20, weight: 1 },
      { name: 'a.example.com', port: 1, priority: 10, weight: 3 },
      { name: 'c.example.com', port: 3, priority: 10, weight: 2 }
    ]
    await source.start()
    source.stop()
    assert.deepEqual(found, [
      [
        { host: 'a.example.com', port: 1, priority: 10, weight: 3 },
        { host: 'c.example.com', port: 3, priority: 10, weight: 2 }
      ]
    ])
  })

  it('asks again after failures, once a second at most, and not before it has asked at all', async (t) => {
    let time = 5_000
    t.mock.method(performance, 'now', () => time)
    let asked = 0
    const source = new EndpointSource(
      { endpoints: async () => [`10.0.0.${++asked}`], resolveInterval: 60_000 },
      { host: 'localhost', port: 4000 },
      () => {},
      assert.fail,
      NO_RESOLVER
    )
    const refresh = async () => {
      source.refresh()
      await new Promise((resolve) => setImmediate(resolve))
      return asked
    }
    assert.equal(await refresh(), 0)
    await source.start()
    time += 999
    assert.equal(await refresh(), 1)
    time += 1
    assert.equal(await refresh(), 2)
    assert.equal(await refresh(), 2)
    source.stop()
    time += 5_000
    assert.equal(await refresh(), 2)
  })

  describe('that answers when the test says so', () => {
    let time: number
    let questions: { answer: (list: string[]) => void; fail: (error: Error) => void }[]
    let told: string[]
    let source: EndpointSource

    beforeEach(() => {
      time = 5_000
      questions = []
      told = []
      source = newSource()
    })
    afterEach(() => source.stop())

    const newSource = () =>
      new EndpointSource(
        {
          endpoints: () =>
            new Promise<string[]>((answer, fail) => {
              questions.push({ answer, fail })
            }),
          resolveInterval: 60_000
        },
        { host: 'localhost', port: 4000 },
        (addresses) => told.push(`found ${addresses.map(({ host }) => host)}`),
        (error) => told.push(`failed: ${error.message}`),
        NO_RESOLVER
      )

    const turn = () => new Promise((resolve) => setImmediate(resolve))

    it('is asked once at a time', async (t) => {
      t.mock.method(performance, 'now', () => time)
      const started = source.start()
      assert.equal(source.start(), started)
      time += 1_000
      source.refresh()
      assert.equal(questions.length, 1)
      questions[0]!.answer(['a:1'])
      await started
      for (let n = 0; n < 3; n++) {
        source.refresh()
        time += 1_000
      }
      assert.equal(questions.length, 2)
      questions[1]!.fail(new Error('no directory'))
      await turn()
      source.refresh()
      assert.equal(questions.length, 3)
      assert.deepEqual(told, ['found a', 'failed: no directory'])
    })

    for (const isAnswered of [true, false]) {
      it(`is not listened to when it has stopped, whether it ${isAnswered ? 'answers' : 'fails'}`, async (t) => {
        t.mock.method(performance, 'now', () => time)
        const started = source.start()
        questions[0]!.answer(['a:1'])
        await started
        time += 1_000
        source.refresh()
        source.stop()
        if (isAnswered) questions[1]!.answer(['b:1'])
        else questions[1]!.fail(new Error('no directory'))
        await turn()
        assert.deepEqual(told, ['found a'])
      })
    }

    it('fails the start, which may be tried again', async () => {
      const failed = assert.rejects(source.start(), { name: 'ConnectionError', mayHaveRun: false })
      questions[0]!.fail(new Error('no directory'))
      await failed
      const started = source.start()
      questions[1]!.answer(['a:1', 'b:1', 'a:1'])
      await started
      assert.deepEqual(told, ['found a,b'])
    })

    it('has one timer, however often it is asked in between', async (t) => {
      const timers = new Set<unknown>()
      const set = globalThis.setTimeout
      const clear = globalThis.clearTimeout
      t.mock.method(performance, 'now', () => time)
      using _ = replaceTimers({
        setTimeout: (task, delay) => {
          const timer = set(task, delay)
          if (delay === 60_000) timers.add(timer)
          return timer
        },
        clearTimeout: (timer) => {
          timers.delete(timer)
          clear(timer)
        }
      })
      const started = source.start()
      questions[0]!.answer(['a:1'])
      await started
      for (let n = 1; n < 4; n++) {
        time += 1_000
        source.refresh()
        questions[n]!.answer(['a:1'])
        await turn()
        assert.equal(timers.size, 1)
      }
      source.stop()
      assert.equal(timers.size, 0)
    })
  })

  it('says so when it asks again and fails, and asks once more later', async () => {
    const answers = ['a:1', new Error('no directory'), 'b:1']
    const told: unknown[] = []
    // The timers of the source do not keep the process alive, so this timer does.
    const awake = setTimeout(() => {}, 60_000)
    await new Promise<void>((resolve) => {
      const source = new EndpointSource(
        {
          endpoints: async () => {
            const answer = answers.shift() as string | Error
            if (answer instanceof Error) throw answer
            return [answer]
          },
          resolveInterval: 1
        },
        { host: 'localhost', port: 4000 },
        (addresses) => {
          told.push(addresses[0]?.host)
          if (answers.length > 0) return
          source.stop()
          resolve()
        },
        (error) => told.push(error.message),
        NO_RESOLVER
      )
      void source.start()
    })
    clearTimeout(awake)
    assert.deepEqual(told, ['a', 'no directory', 'b'])
  })

  it('asks for the addresses of names that begin with dns:, with the port of the endpoint', async () => {
    const found: unknown[] = []
    const source = new EndpointSource(
      { endpoints: ['dns:math:1', '[::1]:2', '[::1]:2'], resolveInterval: 60_000 },
      { host: 'localhost', port: 4000 },
      (addresses) => found.push(addresses),
      assert.fail,
      { lookup: async () => ['10.0.0.1', '10.0.0.2'], srv: () => Promise.reject(new Error('nobody asks')) }
    )
    await source.start()
    source.stop()
    assert.deepEqual(found, [
      [
        { host: '10.0.0.1', port: 1 },
        { host: '10.0.0.2', port: 1 },
        { host: '::1', port: 2 }
      ]
    ])
  })
})
