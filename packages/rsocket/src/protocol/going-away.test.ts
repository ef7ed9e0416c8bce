/**
 * Tests the early announcement of a server that goes away, byte by byte, and how a client says that it understands the
 * announcement.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ByteWriter } from '@elysia-microservices/transport/kit'
import { entry, join, routeEntry, setup } from '../testing/rsocket-frames.ts'
import {
  goingAwayMetadata,
  isGoingAway,
  understandsGoingAway,
  writeUnderstandsGoingAway
} from './going-away.ts'
import { readSetup } from './setup.ts'

const NAME = 'application/vnd.elysia-microservices.going-away'

/** Whether a server finds that a client with this SETUP understands the announcement. */
function understands(change: Parameters<typeof setup>[0]): boolean {
  const bytes = setup(change)
  return understandsGoingAway(readSetup(bytes, 3, bytes.length))
}

describe('the announcement that a server goes away', () => {
  it('is an entry of composite metadata, with the reason in words', () => {
    assert.deepEqual(Buffer.from(goingAwayMetadata('größe')), entry(NAME, 'größe'))
  })

  it('is recognised wherever it stands, whatever its reason, and whatever comes behind it', () => {
    for (const reason of ['', 'It is stopping']) {
      const announcement = entry(NAME, reason)
      const buffer = join(['before', announcement, 'behind'])
      const [start, end] = [6, 6 + announcement.length]
      assert.equal(isGoingAway(buffer, start, end), true)
      assert.equal(isGoingAway(buffer, start + 1, end), false)
      // The frame ends within the name of the entry.
      assert.equal(isGoingAway(buffer, start, start + NAME.length), false)
    }
  })

  it('is understood by a client that says so in SETUP, among whatever else it says there', () => {
    const out = new ByteWriter()
    writeUnderstandsGoingAway(out)
    const said = Buffer.from(out.copyFrom(0))
    assert.deepEqual(said, entry(NAME))
    assert.equal(understands({ metadata: said }), true)
    assert.equal(understands({ metadata: join([routeEntry('a'), said, entry(0x05, '{}')]) }), true)
  })

  it('is not understood by a client that says nothing, or something else, or in another way', () => {
    assert.equal(understands({}), false)
    assert.equal(understands({ metadata: '' }), false)
    assert.equal(understands({ metadata: routeEntry('a') }), false)
    assert.equal(understands({ metadata: entry(NAME), metadataType: 'application/x.own' }), false)
    assert.equal(understands({ metadata: entry(NAME).subarray(0, -1) }), false)
  })
})
