import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Place, placeOf } from '../words/channels.ts'
import { Directory } from './directory.ts'

const place = (pattern: string, id: string, queue = 'q', answers = true) =>
  placeOf(pattern, queue, id, answers)
const directoryOf = (...places: readonly Place[]) => {
  const directory = new Directory()
  directory.update(places.map(({ channel }) => channel))
  return directory
}
/** The ids of those that take some requests, one after the other. */
const takers = (directory: Directory, route: string, requests = 6) =>
  Array.from({ length: requests }, () => directory.next(route)?.id)
const [A, B, C] = ['aaaa', 'bbbb', 'cccc'] as const

describe('the processes that a caller knows', () => {
  it('take requests in turn, those of the most specific pattern, and with a queue if there are such', () => {
    const directory = directoryOf(place('p.q', A), place('p.q', B), place('p.*', C))
    const [first, second, ...more] = takers(directory, 'p.q')
    assert.deepEqual([first, second].toSorted(), [A, B])
    assert.deepEqual(more, [first, second, first, second])
    assert.deepEqual(takers(directory, 'p.r', 2), [C, C])
    assert.deepEqual(takers(directory, 'r', 2), [undefined, undefined])
    const alone = directoryOf(place('p', A, ''), place('p', B))
    assert.deepEqual(takers(alone, 'p', 2), [B, B])
    assert.deepEqual(takers(directoryOf(place('*', A), place('p', B, '')), 'p', 2), [A, A])
    assert.deepEqual(takers(directoryOf(place('p', A, 'q', false)), 'p', 1), [undefined])
  })

  it('begin with any of them: callers that start together do not all ask the first', (t) => {
    let drawn = 0
    t.mock.method(Math, 'random', () => drawn)
    const first = (random: number) => {
      drawn = random
      return directoryOf(place('p', A), place('p', B), place('p', C)).next('p')?.id
    }
    assert.deepEqual([0, 0.4, 0.99].map(first), [A, B, C])
  })

  it('get an event once for each queue, beginning with another one each time, and each that has none', () => {
    const directory = directoryOf(
      ...[place('p', A), place('*', A), place('p', B), place('p', A, 'other', false)],
      ...[place('p', B, '', false), place('p', C, '', false)]
    )
    const queues = () =>
      directory.queuesOf('p').map((members) => `${members[0]?.queue} ${members.map(({ id }) => id)}`)
    const both = [queues(), queues()].map((all) => all.toSorted())
    for (const all of both) assert.deepEqual([all.length, all[0], all[1]], [4, ` ${B}`, ` ${C}`])
    assert.deepEqual(both.map((all) => all[3]).toSorted(), [`q ${A},${B}`, `q ${B},${A}`])
    assert.deepEqual(
      both.map((all) => all[2]),
      [`other ${A}`, `other ${A}`]
    )
  })

  it('change when some start or stop, or have gone without a word', () => {
    const directory = directoryOf(place('p', A))
    assert.deepEqual(takers(directory, 'p', 1), [A])
    const channels = [place('p', B), place('p', B)].map(({ channel }) => channel)
    directory.change({ isThere: true, channels })
    directory.change({ isThere: true, channels: [...channels, 'no channel of a process'] })
    assert.deepEqual(new Set(takers(directory, 'p')), new Set([A, B]))
    assert.equal(directory.queuesOf('p')[0]?.length, 2)
    directory.remove(place('other', A))
    assert.deepEqual(takers(directory, 'p', 2), [B, B])
    directory.change({ isThere: false, channels })
    assert.deepEqual(takers(directory, 'p', 1), [undefined])
    directory.change({ isThere: true, channels })
    directory.update([])
    assert.deepEqual(takers(directory, 'p', 1), [undefined])
  })

  it('hear what NestJS publishes by their patterns or globs, each process once for each', () => {
    const directory = directoryOf(
      ...[place('p.q', A), place('p.q', A, 'other'), place('p.q', B), place('p.*', A), place('*', C)],
      place('r', C)
    )
    assert.deepEqual(directory.hearing('p.q'), new Set([`${A} p.q`, `${B} p.q`, `${A} p.*`, `${C} [^_]*`]))
    assert.deepEqual(directory.hearing('r'), new Set([`${C} r`, `${C} [^_]*`]))
  })
})
