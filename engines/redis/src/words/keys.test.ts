import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertOneReading, textsOf } from '@elysia-microservices/test-support'
import { placeOf, readPlace } from '../words/channels.ts'
import {
  againOf,
  deadOf,
  handlerOf,
  idOf,
  laterOf,
  pausedOf,
  readHandler,
  streamOf,
  turnOf,
  wakeOf
} from './keys.ts'

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
