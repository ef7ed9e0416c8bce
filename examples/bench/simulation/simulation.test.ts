import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { BENCH_FOLDER } from '../process/folder.ts'
import { Clock, dice } from './clock.ts'
import { markdown, PAGE, TABLES } from './publish.ts'
import { Server } from './server.ts'
import { World, type WorldOptions } from './world.ts'

const SMALL: WorldOptions = {
  servers: 5,
  clients: 5,
  choice: 'ours',
  retries: 'ours',
  load: 0.5,
  server: { work: 10 },
  timeout: 500,
  latency: 0.25,
  seconds: 10,
  warmup: 1,
  seed: 7
}

describe('the clock of the simulation', () => {
  it('does everything in its time, also what is planned on the way', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(100), fc.nat(100))), (plans) => {
        const clock = new Clock()
        const done: number[] = []
        const expected: number[] = []
        for (const [delay, further] of plans) {
          expected.push(delay, delay + further)
          clock.after(delay, () => {
            done.push(clock.now)
            clock.after(further, () => done.push(clock.now))
          })
        }
        clock.runUntil(150)
        assert.deepEqual(
          done,
          expected.filter((time) => time <= 150).sort((one, other) => one - other)
        )
        assert.equal(clock.now, 150)
      })
    )
  })
})

describe('a server of the simulation', () => {
  it('answers, refuses or loses each call it is given, once', () => {
    const clock = new Clock()
    const server = new Server(clock, dice(1), { work: 10, limit: 3 })
    const ends: string[] = []
    const job = (name: string) => ({
      answered: () => ends.push(`${name} answered`),
      refused: () => ends.push(`${name} refused`),
      lost: () => ends.push(`${name} lost`)
    })
    for (const name of ['a', 'b', 'c', 'd']) server.take(job(name))
    clock.runUntil(1_000)
    server.hangs = true
    server.take(job('e'))
    clock.runUntil(2_000)
    server.die()
    server.take(job('f'))
    server.comeBack()
    server.take(job('g'))
    clock.runUntil(3_000)
    assert.deepEqual(ends, [
      'd refused',
      'a answered',
      'b answered',
      'c answered',
      'e lost',
      'f lost',
      'g answered'
    ])
  })
})

describe('the simulation', () => {
  it('gives the same figures for the same seed, and others for another', () => {
    const figures = (seed: number) => {
      const world = new World({ ...SMALL, seed }).run()
      return [world.percentile(0.5), world.percentile(0.99), world.spread, world.attemptsPerCall]
    }
    assert.deepEqual(figures(1), figures(1))
    assert.notDeepEqual(figures(1), figures(2))
  })

  it('settles all calls', () => {
    const world = new World({ ...SMALL, load: (second) => (second < 8 ? 3 : 1e-9) })
    world.at(2, () => world.servers[0]!.die())
    world.at(4, () => {
      world.servers[1]!.hangs = true
    })
    world.run()
    const sum = (of: 'offered' | 'succeeded' | 'failed') =>
      world.slices.reduce((total, slice) => total + slice[of], 0)
    assert.ok(sum('succeeded') > 0 && sum('failed') > 0)
    assert.equal(sum('succeeded') + sum('failed'), sum('offered'))
  })

  it('has the code of the client leave out a server that hangs', () => {
    const failures = (choice: WorldOptions['choice']) => {
      const world = new World({ ...SMALL, choice })
      world.at(1, () => {
        world.servers[0]!.hangs = true
      })
      return world.run().failureShare
    }
    const [ours, byTurns] = [failures('ours'), failures('round robin')]
    assert.ok(ours < byTurns / 3, `${ours}, ${byTurns}`)
  })

  it('has the code of the client make lost calls again', () => {
    const failures = (retries: WorldOptions['retries']) => {
      const world = new World({ ...SMALL, retries })
      world.servers.forEach((server, index) => {
        world.at(1.5 + index, () => server.die())
        world.at(2 + index, () => server.comeBack())
      })
      return world.run().failures
    }
    assert.equal(failures('ours'), 0)
    assert.ok(failures('none') > 0)
  })
})

describe('the page of the simulation', () => {
  it('has all its tables', async () => {
    const text = await readFile(join(BENCH_FOLDER, '..', '..', PAGE), 'utf8')
    const names = [...text.matchAll(/<!-- simulation: (.+?) -->\n\n\|/g)].map(([, name]) => name)
    assert.deepEqual(names.toSorted(), Object.keys(TABLES).toSorted())
  })

  it('has tables of Markdown', () => {
    assert.equal(markdown({ head: ['a', 'b'], rows: [['1', '2']] }), '| a | b |\n| --- | --- |\n| 1 | 2 |')
  })
})
