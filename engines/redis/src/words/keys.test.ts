import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertOneReading, textsOf } from '@elysia-microservices/test-support'
import { placeOf, readPlace } from '../words/channels.ts'
import {
  againOf,
  before,
  comparePositions,
  deadOf,
  handlerOf,
  idOf,
  laterOf,
  patternIn,
  pausedOf,
  readHandler,
  streamOf,
  timeOf,
  turnOf,
  wakeOf
} from './keys.ts'

describe('a position', () => {
  it('is compared by its time, and then by its number, however long they are', () => {
    const sorted = [
      '0-0',
      '0-1',
      '5-0',
      '5-2',
      '5-10',
      '9-11',
      '10-1',
      '10-9007199254740993',
      '1700000000000-0'
    ]
    for (const [at, one] of sorted.entries())
      for (const [its, other] of sorted.entries())
        assert.equal(Math.sign(comparePositions(one, other)), Math.sign(at - its), `${one} ${other}`)
    assert.ok(comparePositions('1-9007199254740992', '1-9007199254740993') < 0)
    assert.ok(comparePositions('1-9007199254740993', '1-10') > 0)
  })

  it('has another one before it, and a time', () => {
    const highest = '18446744073709551615'
    assert.deepEqual(['5-3', '5-1', '5-0', '1-0', '0-1', '0-0'].map(before), [
      '5-2',
      '5-0',
      `4-${highest}`,
      `0-${highest}`,
      '0-0',
      '0-0'
    ])
    assert.deepEqual(['12-3', '0-1'].map(timeOf), [12, 0])
    for (const text of ['', '5', '5-', '-5', 'a-1', '5-1-1']) assert.ok(Number.isNaN(timeOf(text)), text)
    assert.equal(patternIn(streamOf('a.b')), 'a.b')
  })
})

describe('names of several parts', () => {
  it('are read in one way only', () => {
    const groups = textsOf('a:%~', 2)
    const patterns = [...textsOf('a: \n', 2), 'a:a a']
    const named: [name: string, ...parts: string[]][] = []
    for (const pattern of patterns) {
      named.push([streamOf(pattern), 'stream', pattern], [wakeOf(streamOf(pattern)), 'wake', pattern])
      for (const id of textsOf('a: ', 2)) named.push([idOf(pattern, id), 'id', pattern, id])
      for (const group of groups) {
        named.push(
          [againOf(group, pattern), 'again', group, pattern],
          [turnOf(group, pattern), 'turn', group, pattern]
        )
        named.push([laterOf(group, streamOf(pattern)), 'later', group, pattern])
        named.push([laterOf(group, againOf(group, pattern)), 'again later', group, pattern])
        assert.deepEqual(readHandler(handlerOf(group, pattern)), { group, pattern })
      }
    }
    for (const group of groups) named.push([deadOf(group), 'dead', group], [pausedOf(group), 'paused', group])
    assertOneReading(named)
    const places = textsOf('a:%m', 2).flatMap((queue) =>
      patterns.map((one) => placeOf(one, queue, 'abcdefghijkl', true))
    )
    assertOneReading(places.map(({ channel, ...place }) => [channel, place]))
    for (const place of places) assert.deepEqual(readPlace(place.channel), place)
  })
})
